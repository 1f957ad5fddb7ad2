"""The sensitivity of a quantity to each variable: Sobol indices, or rank correlations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from limber.checks import Array
from limber.notebook import as_text

#: Samples drawn again for the intervals of Sobol indices.
RESAMPLED = 1000
#: The kind of sensitivities that follow from a `saltelli` sample.
SOBOL = "Sobol indices"


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """The sensitivities of one quantity. It prints as a table.

    kind : "Sobol indices" or "rank correlations".
    variables : their names.
    values : {"first", "total"} for Sobol indices or {"rank correlation"}: (variables,).
    low, high : the same, for the ends of the 95 % intervals.
    cases : the number of cases (for Sobol indices, base points) that the estimates are based on.
    """

    quantity: str
    kind: str
    variables: tuple[str, ...]
    values: Mapping[str, Array]
    low: Mapping[str, Array]
    high: Mapping[str, Array]
    cases: int

    _repr_html_ = as_text

    def __repr__(self) -> str:
        width = max((len(name) for name in self.variables), default=0)
        heads = "".join(f"{name:>18}{'95 %':>18}" for name in self.values)
        counted = "base points" if self.kind == SOBOL else "cases"
        lines = [f"{self.kind} of {self.quantity!r} ({self.cases} {counted})"]
        lines.append(f"{'':{width}}{heads}")
        for i, name in enumerate(self.variables):
            cells = (
                f"{x[i]:18.3f}{f'{self.low[key][i]:.3f} .. {self.high[key][i]:.3f}':>18}"
                for key, x in self.values.items()
            )
            lines.append(f"{name:{width}}{''.join(cells)}")
        return "\n".join(lines)


def sobol_indices(quantity: str, variables: Sequence[str], y: Array, seed: int) -> Sensitivity:
    """First-order and total Sobol indices from Saltelli's sample.

    y : (n (d + 2),), the blocks f(A), f(B), f(AB_1), ..., f(AB_d) in sequence.

    Estimators (Saltelli et al. 2010, Table 2, b and f):  S_i V = mean f(B) (f(AB_i) - f(A)), S_Ti V = mean (f(A) -
    f(AB_i))^2 / 2. Base points with a failed case are left out. The intervals are percentiles over resampled base
    points (bootstrap), with a fixed seed.
    """
    d = len(variables)
    blocks = y.reshape(d + 2, -1)
    f = blocks[:, np.isfinite(blocks).all(axis=0)]
    n = f.shape[1]
    names = ("first", "total")
    if n < 2 or np.ptp(f) == 0.0:
        unknown = {name: np.full(d, np.nan) for name in names}
        return Sensitivity(quantity, SOBOL, tuple(variables), unknown, unknown, unknown, n)
    f = f - f[:2].mean()  # the estimators have less variance about the mean
    found = _indices(f)
    rng = np.random.default_rng(seed)
    again = np.array([_indices(f[:, rng.integers(0, n, n)]) for _ in range(RESAMPLED)])
    low, high = np.nanpercentile(again, [2.5, 97.5], axis=0)
    parts = {
        key: dict(zip(names, x)) for key, x in (("values", found), ("low", low), ("high", high))
    }
    return Sensitivity(quantity, SOBOL, tuple(variables), cases=n, **parts)


def _indices(f: Array) -> Array:
    """(2, d): first-order and total indices of f (d + 2, n)."""
    A, B, AB = f[0], f[1], f[2:]
    variance = f[:2].var()
    if variance == 0.0:
        return np.full((2, len(AB)), np.nan)
    first = (B * (AB - A)).mean(axis=1) / variance
    total = 0.5 * ((A - AB) ** 2).mean(axis=1) / variance
    return np.array([first, total])


def rank_correlations(quantity: str, x: Mapping[str, Array], y: Array) -> Sensitivity:
    """Spearman's rank correlation of a quantity with each variable; intervals by Fisher's transformation."""
    from scipy.stats import rankdata  # noqa: PLC0415 (slow to import)

    there = ~np.isnan(y)
    n = int(there.sum())
    ranks = rankdata(y[there])
    found = np.full(len(x), np.nan)
    for i, values in enumerate(x.values()):
        own = rankdata(values[there])
        if n > 2 and np.ptp(own) > 0.0 and np.ptp(ranks) > 0.0:
            found[i] = np.corrcoef(own, ranks)[0, 1]
    # the standard error of Spearman's coefficient after the transformation (Fieller, Hartley & Pearson 1957)
    key = "rank correlation"
    low, high = (np.where(np.isnan(found), np.nan, end) for end in (-1.0, 1.0))
    if n > 3:
        with np.errstate(divide="ignore"):
            z, width = np.arctanh(found), 1.96 * np.sqrt(1.06 / (n - 3))
        low, high = np.tanh(z - width), np.tanh(z + width)
    return Sensitivity(
        quantity, "rank correlations", tuple(x), {key: found}, {key: low}, {key: high}, n
    )
