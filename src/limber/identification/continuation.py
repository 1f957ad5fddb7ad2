"""Searches that begin with the first part of the data.

Long motions of a poor model run out of step with the data, and the sum of squares then has many minima. Over a short
part they stay in step. A search over a growing part of the data keeps them so: each one starts from the result of the
one before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from limber.checks import Array
from limber.identification.least_squares import Problem
from limber.identification.whiteness import probability_of_white

#: The first part of the data, the factor by which it grows, and the smallest factor that is tried after failures.
FIRST, GROWTH, LEAST = 1.0 / 32.0, 2.0, 1.1
#: A part has at least this many readings for each unknown.
MANY = 4
#: Residuals of more than this many times the noise are too large for a good fit.
LARGE = 3.0
#: If the noise is unknown, so are those of more than this part of the signal that are not white.
VISIBLE, WHITE = 0.02, 1e-4
#: The searches before the last one may take this many evaluations of the model each.
ROUGHLY = 30
#: In these the unknowns stay near their starts, with this standard deviation of z: the first data say little about some
#: of them, which would wander off.
HELD = 1.0

#: Searches from a point: (problem, z, deviation of the unknowns from their starts, evaluations) to the result.
Search = Callable[[Problem, Array, float, int], "Searched"]


@dataclass(frozen=True, eq=False)
class Searched:
    """The result of a search: the best z, the result of SciPy, the evaluations, and the noise that was estimated."""

    z: Array
    search: Any
    evaluations: int
    noise: dict[str, Array]


def automatic(problem: Problem, estimated: Sequence[str], most: int, search: Search) -> Searched:
    """Search all data at once, and if that ends with a poor fit, over a growing part of them; return the better result."""
    first = search(problem, np.zeros(problem.size), np.inf, most)
    if first.search.status > 0 and not poor(problem, first, estimated):
        return first
    z, part, spent = _grown(problem, estimated, search)
    if part == 0.0:
        return first
    second = search(problem, z, np.inf, most)
    costs = [_cost(problem, one, estimated) for one in (first, second)]
    best = first if costs[0] <= costs[1] else second
    problem.noise.update(best.noise)
    total = first.evaluations + spent + second.evaluations
    return Searched(best.z, best.search, total, best.noise)


def _grown(problem: Problem, estimated: Sequence[str], search: Search) -> tuple[Array, float, int]:
    """z, the largest part of the data that it fits (0 if there is none), and the number of evaluations."""
    z, fitted, spent = np.zeros(problem.size), 0.0, 0
    part, growth = FIRST, GROWTH
    while part < 1.0:
        shorter = problem.until(part)
        if shorter.readings < MANY * problem.size:
            part *= GROWTH
            continue
        found = search(shorter, z, HELD, ROUGHLY)
        spent += found.evaluations
        if not poor(shorter, found, estimated):
            z, fitted, growth = found.z, part, GROWTH
        elif fitted:
            growth = np.sqrt(growth)
            if growth < LEAST:
                break
        else:
            break
        part = growth * fitted
    return z, fitted, spent


def poor(problem: Problem, found: Searched, estimated: Sequence[str]) -> bool:
    """Whether the residuals are larger than the noise explains."""
    ends = np.cumsum([len(c.y) for c in problem.channels])
    known = 0.0, 0
    for c, end in zip(problem.channels, ends):
        r = found.search.fun[end - len(c.y) : end]
        if c.noise not in estimated:
            known = known[0] + r @ r, known[1] + len(r)
            continue
        size = float(np.sqrt(np.mean((r * problem.sigma(c)) ** 2)))
        if size > VISIBLE * float(c.y.std()) and probability_of_white(r) < WHITE:
            return True
    return known[1] > 0 and bool(known[0] > LARGE**2 * known[1])


def _cost(problem: Problem, found: Searched, estimated: Sequence[str]) -> float:
    """The negative logarithm of the likelihood, less what all results have in common."""
    logs = sum(
        len(c.y) * np.log(found.noise[c.noise][c.column])
        for c in problem.channels
        if c.noise in estimated
    )
    return float(found.search.cost + logs)
