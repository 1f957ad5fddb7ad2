"""Correlated variables: a Gaussian copula between points of the unit cube.

The normal scores of the variables, Phi^-1 of their probabilities, have the given correlations.  For normal variables
these are the correlations of the values themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from limber.campaigns.distributions import Distribution
from limber.checks import Array, did_you_mean, shown
from limber.errors import ArgumentTypeError, ArgumentValueError


@dataclass(frozen=True, eq=False)
class Correlation:
    """The correlations of some of the variables.

    pairs : (name, name, coefficient), as given.
    names : the variables that are correlated, and the matrix of their coefficients.
    """

    pairs: tuple[tuple[str, str, float], ...]
    names: tuple[str, ...]
    matrix: Array

    @property
    def record(self) -> list[list[Any]]:
        """The correlations in the form used in files."""
        return [list(pair) for pair in self.pairs]

    def applied(self, u: Array, columns: Sequence[str], keep_strata: bool) -> Array:
        """Points (cases, d) of the unit cube with these correlations.

        keep_strata : only reorder the numbers of each variable (Iman and Conover, 1982), so that a Latin hypercube remains
            one; otherwise each point moves on its own.
        """
        from scipy.special import ndtr, ndtri  # noqa: PLC0415 (slow to import)

        places = [list(columns).index(name) for name in self.names]
        scores = ndtri(u[:, places])
        factor = np.linalg.cholesky(self.matrix)
        if not keep_strata:
            found = u.copy()
            found[:, places] = ndtr(scores @ factor.T)
            return found
        if len(u) > 2 * len(places):  # takes the correlations that the sample has by chance away
            own = np.linalg.cholesky(np.corrcoef(scores, rowvar=False))
            scores = np.linalg.solve(own, scores.T).T
        wanted = np.argsort(np.argsort(scores @ factor.T, axis=0), axis=0)
        found = u.copy()
        found[:, places] = np.take_along_axis(np.sort(u[:, places], axis=0), wanted, axis=0)
        return found


def correlation_of(given: Any, variables: Mapping[str, Distribution]) -> Correlation | None:
    """The correlations of `correlate`, a list of [name, name, coefficient]; None if there are none."""
    if given is None or (isinstance(given, Sequence) and not len(given)):
        return None
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
        raise ArgumentTypeError(
            f'correlate must be a list such as [["load", "link.EI", 0.5]], got {shown(given)}.'
        )
    pairs = tuple(_pair(entry, variables) for entry in given)
    names = tuple(name for name in variables if any(name in pair[:2] for pair in pairs))
    matrix, seen = np.eye(len(names)), set()
    for a, b, coefficient in pairs:
        if frozenset((a, b)) in seen:
            raise ArgumentValueError(f"correlate: {a!r} and {b!r} are named twice.")
        seen.add(frozenset((a, b)))
        i, j = names.index(a), names.index(b)
        matrix[i, j] = matrix[j, i] = coefficient
    if np.linalg.eigvalsh(matrix)[0] < 1e-10:
        raise ArgumentValueError(
            f"correlate: no variables have these correlations together ({', '.join(names)}): their matrix is not positive "
            "definite. Pairs that are not named have the correlation zero."
        )
    return Correlation(pairs, names, matrix)


def _pair(entry: Any, variables: Mapping[str, Distribution]) -> tuple[str, str, float]:
    plain = isinstance(entry, Sequence) and not isinstance(entry, str) and len(entry) == 3
    if not plain or not all(isinstance(name, str) for name in entry[:2]):
        raise ArgumentTypeError(
            f"correlate: an entry must be [variable, variable, coefficient], got {shown(entry)}."
        )
    a, b, coefficient = entry
    for name in (a, b):
        if name not in variables:
            raise ArgumentValueError(
                f"correlate: {name!r} is not among the variables. {did_you_mean(name, variables)}"
            )
        if variables[name].discrete:
            raise ArgumentValueError(
                f"correlate: {name!r} has single values, and only continuous distributions can be correlated."
            )
    if a == b:
        raise ArgumentValueError(f"correlate: {a!r} cannot be correlated with itself.")
    if isinstance(coefficient, bool) or not isinstance(coefficient, int | float | np.number):
        raise ArgumentTypeError(
            f"correlate: a coefficient must be a number, got {shown(coefficient)}."
        )
    if not -1.0 < coefficient < 1.0:
        raise ArgumentValueError(
            f"correlate: the coefficient of {a!r} and {b!r} must be between -1 and 1, got {shown(coefficient)}."
        )
    return a, b, float(coefficient)
