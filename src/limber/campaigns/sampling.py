"""Samples: the values of all variables in all cases.

Every sample except a grid is made in the unit cube by SciPy and mapped by the quantiles of the distributions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from limber.campaigns.correlation import Correlation
from limber.campaigns.distributions import Distribution
from limber.checks import did_you_mean, shown, whole
from limber.errors import ArgumentValueError

#: Samples of a number of cases; of `saltelli` it is the number of base points, n (d + 2) cases for d variables.
COUNTED = ("monte_carlo", "latin_hypercube", "sobol", "halton", "saltelli")
#: Samples of the listed values: all combinations, or the first of each, the second of each, ...
LISTED = ("grid", "listed")
METHODS = (*COUNTED, *LISTED)
#: A campaign has no more cases than this.
MOST_CASES = 10_000_000


@dataclass(frozen=True)
class Sample:
    """How cases are sampled. method: one of METHODS; count: for the methods in COUNTED."""

    method: str
    count: int | None = None

    @property
    def record(self) -> dict[str, Any]:
        """The sample in the form used in files."""
        return {self.method: True if self.count is None else self.count}


def sample_of(method: Any, count: Any) -> Sample:
    """Make and check a sample."""
    if not isinstance(method, str) or method not in METHODS:
        raise ArgumentValueError(
            f"method={shown(method)} is not a sampling method. {did_you_mean(str(method), METHODS)}"
        )
    if method in LISTED:
        if count is not None:
            raise ArgumentValueError(
                f"samples={shown(count)}: the values of a {method} determine the number of cases; leave samples out."
            )
        return Sample(method)
    if count is None:
        raise ArgumentValueError(f'method="{method}" needs samples=..., the number of cases.')
    n = whole("samples", count, 1)
    if method in ("sobol", "saltelli") and n & (n - 1):
        low = 2 ** (n.bit_length() - 1)
        raise ArgumentValueError(
            f"samples={n}: {method} needs a power of two, on which its balance depends; give {low} or {2 * low}."
        )
    return Sample(method, n)


def drawn(
    sample: Sample,
    variables: Mapping[str, Distribution],
    seed: int,
    correlation: Correlation | None = None,
) -> dict[str, list[Any]]:
    """The values of every variable in all cases."""
    if correlation is not None and sample.method in (*LISTED, "saltelli"):
        why = (
            "indices of Sobol are those of independent variables"
            if sample.method == "saltelli"
            else "its values are given"
        )
        raise ArgumentValueError(
            f"correlate: variables of the sample {sample.method} cannot be correlated: {why}."
        )
    if sample.method in LISTED:
        return _listed(sample.method, variables)
    dimensions = len(variables)
    _refuse_too_many((sample.count or 0) * (dimensions + 2 if sample.method == "saltelli" else 1))
    u = _unit_cube(sample, dimensions, seed)
    if correlation is not None:
        u = _open(correlation.applied(u, list(variables), sample.method == "latin_hypercube"))
    values = {name: x.at(u[:, i]) for i, (name, x) in enumerate(variables.items())}
    for name, x in variables.items():
        if not x.discrete and not np.isfinite(values[name]).all():
            raise ArgumentValueError(
                f"vary[{name!r}]: {x.record} gives values that are not finite: its numbers are too large or its tails too "
                "long. Truncate it with within, or use other numbers."
            )
    return values


def _unit_cube(sample: Sample, dimensions: int, seed: int) -> np.ndarray:
    """Points (cases, dimensions) in the open unit cube."""
    from scipy.stats import qmc  # noqa: PLC0415 (slow to import)

    n, rng = sample.count or 0, np.random.default_rng(seed)
    if not dimensions:
        return np.zeros((n, 0))
    if sample.method == "monte_carlo":
        u = rng.random((n, dimensions))
    elif sample.method == "latin_hypercube":
        u = qmc.LatinHypercube(dimensions, seed=rng).random(n)
    elif sample.method == "halton":
        u = qmc.Halton(dimensions, seed=rng).random(n)
    elif sample.method == "sobol":
        u = qmc.Sobol(dimensions, seed=rng).random(n)
    else:
        u = saltelli(qmc.Sobol(2 * dimensions, seed=rng).random(n))
    return _open(u)


def _open(u: np.ndarray) -> np.ndarray:
    """Points in the open unit cube, where no quantile is infinite."""
    return np.clip(u, np.finfo(float).tiny, 1.0 - np.finfo(float).epsneg)


def saltelli(points: np.ndarray) -> np.ndarray:
    """The cases of Saltelli's sample: A, B, and for every variable A with that column of B.

    points : (n, 2 d); returns (n (d + 2), d), the blocks A, B, AB_1, ... AB_d in sequence.
    """
    d = points.shape[1] // 2
    A, B = points[:, :d], points[:, d:]
    blocks = [A, B]
    for i in range(d):
        mixed = A.copy()
        mixed[:, i] = B[:, i]
        blocks.append(mixed)
    return np.concatenate(blocks)


def _listed(method: str, variables: Mapping[str, Distribution]) -> dict[str, list[Any]]:
    for name, x in variables.items():
        if not x.discrete:
            raise ArgumentValueError(
                f"vary[{name!r}]: a {method} needs values, as in [1, 2, 3] or {{'steps': [first, last, number]}}; got "
                f"{x.record}."
            )
    lists = {name: list(x.values) for name, x in variables.items()}
    if method == "grid":
        _refuse_too_many(int(np.prod([len(x) for x in lists.values()], dtype=float)))
        rows = list(product(*lists.values()))
        return {name: [row[i] for row in rows] for i, name in enumerate(lists)}
    lengths = {name: len(x) for name, x in lists.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{name} {n}" for name, n in lengths.items())
        raise ArgumentValueError(
            f"every variable must have the same number of listed values, got {counts}."
        )
    return lists


def _refuse_too_many(cases: int) -> None:
    if cases > MOST_CASES:
        raise ArgumentValueError(f"this sample has {cases:,} cases; the maximum is {MOST_CASES:,}.")


def case_seed(seed: int, case: int) -> int:
    """The seed of a case, which depends only on the seed of the campaign and the number of the case."""
    sequence = np.random.SeedSequence(seed, spawn_key=(case,))
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(11))  # JSON keeps 53 bits
