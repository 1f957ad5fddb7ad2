"""Consistency of filters: NEES, NIS and whiteness of innovations, with the bounds of chi-squared tests.

    NEES = x^T P^-1 x of the error x of the estimate, NIS = y^T S^-1 y of innovations y

If the covariances are right, both have the mean n, the number of components; over N independent samples, N times the
mean is chi-squared with N n degrees of freedom. The innovations of a consistent filter are white: the correlation of N
of them at any lag is approximately normal with variance 1/N (Bar-Shalom, Li & Kirubarajan, Estimation with
Applications, 5.4).

Rows of nan are samples at which a sensor sent nothing new; they are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincinv, ndtri

from limber.checks import Array, array, number, numbers, whole
from limber.errors import ArgumentValueError


@dataclass(frozen=True)
class Consistency:
    """A mean, and the bounds within which it lies with the given probability if the filter is consistent."""

    value: float
    low: float
    high: float

    def __bool__(self) -> bool:
        return self.low <= self.value <= self.high


def nees(errors: ArrayLike, covariances: ArrayLike) -> Array:
    """(N,) NEES x^T P^-1 x of errors (N, n) with covariances (N, n, n)."""
    x = array("errors", errors, ("N", "n"))
    P = array("covariances", covariances, (len(x), x.shape[1], x.shape[1]))
    return np.einsum("ni,ni->n", x, np.linalg.solve(P, x[..., None])[..., 0])


def nis(innovations: ArrayLike) -> Array:
    """(N,) NIS of innovations (samples, n) scaled to unit variance, as `Kalman` records them; N samples have new
    readings.
    """
    return (_new(innovations) ** 2).sum(axis=1)


def mean_test(values: ArrayLike, components: int, level: float = 0.95, independent: int | None = None) -> Consistency:  # fmt: skip
    """The mean of NEES or NIS with its bounds. The result is true if the mean lies between them.

    Parameters
    ----------
    values : (N,) samples.
    components : n, the number of components of the error or the innovation.
    level : the probability of the bounds.
    independent : how many of the samples count as independent; all by default. Successive errors of an estimate are
        strongly correlated: use those of several runs at one time, or count one sample for each time constant of the
        filter.
    """
    x = array("values", values, ("N",))
    if not len(x):
        raise ArgumentValueError("values is empty: there is nothing to average.")
    level = _probability(level)
    count = len(x) if independent is None else whole("independent", independent, 1)
    freedoms = count * whole("components", components, 1)
    tails = np.array([0.5 * (1.0 - level), 0.5 * (1.0 + level)])
    low, high = 2.0 * gammaincinv(0.5 * freedoms, tails) / count  # quantiles of chi-squared
    return Consistency(float(x.mean()), float(low), float(high))


def whiteness(innovations: ArrayLike, lag: int = 1, level: float = 0.95) -> list[Consistency]:
    """The autocorrelation of each component of innovations (samples, n) at a lag of `lag` readings, with its bounds."""
    x = _new(innovations)
    lag, level = whole("lag", lag, 1), _probability(level)
    if len(x) <= lag:
        raise ArgumentValueError(f"lag={lag} needs more than {len(x)} innovations.")
    bound = float(ndtri(0.5 * (1.0 + level)) / np.sqrt(len(x) - lag))
    scale = (x**2).mean(axis=0)
    correlation = (x[lag:] * x[:-lag]).mean(axis=0) / scale
    return [Consistency(float(c), -bound, bound) for c in correlation]


def _probability(level: float) -> float:
    """The probability of bounds, checked."""
    found = number("level", level, above=0.0)
    if found >= 1.0:
        raise ArgumentValueError(
            f"level must be a probability below 1, such as 0.95, got {found:g}."
        )
    return found


def _new(innovations: ArrayLike) -> Array:
    """The rows of innovations that are not entirely nan."""
    rows = numbers("innovations", innovations, "(samples, n)")
    if rows.ndim == 2:
        rows = rows[~np.isnan(rows).all(axis=1)]
    return array("innovations", rows, ("N", "n"))
