"""Root loci: the poles of a loop followed over its gain.

Two poles that meet cannot be told apart afterwards: a real pair becomes a complex one, or the other way round, and
either pole is as near to either of the new ones. There the poles that come first keep the new ones that are more
stable, or have the greater imaginary part, so that no rounding error decides.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from limber.checks import Array
from limber.control.feedback import Feedback
from limber.structures.threads import one_thread

#: From a factor of 0 to 1 and from there to LARGEST, in this many steps each.
STEPS, LARGEST = 160, 100.0
#: Between two steps, the factor at the stability limit is found by this many halvings.
HALVED = 30
#: Distances between poles that differ by less than this fraction are equal; what then counts more than an imaginary part
#: is stability, by this factor.
EQUAL, STABILITY = 1e-9, 1e3


def followed(loop: Feedback, start: np.ndarray, factors: Array) -> np.ndarray:
    """Poles (len(factors), n), each matched to the nearest pole at the previous factor, from `start` at the first
    factor.

    Where that is not unique, poles that come first in `start` are the more stable ones.
    """
    found = np.empty((len(factors), len(start)), dtype=complex)
    before = found[0] = np.asarray(start, dtype=complex)
    with one_thread():
        every = [loop.poles(factor) for factor in factors[1:]]
    for i, poles in enumerate(every, start=1):
        expected = before if i == 1 else 2.0 * before - found[i - 2]
        size = np.abs(poles) if loop.dt else poles.real
        rank = STABILITY * size - poles.imag
        equal = EQUAL / STABILITY * np.outer(np.arange(len(poles))[::-1], rank)
        rows, columns = linear_sum_assignment(np.abs(expected[:, None] - poles) + equal)
        now = np.empty_like(before)
        now[rows] = poles[columns]
        found[i] = before = now
    return found


def gains_to_one() -> Array:
    """Factors from 0 to 1, dense where they are small."""
    return np.linspace(0.0, 1.0, STEPS) ** 2


def gains_beyond() -> Array:
    """Factors from 1 to LARGEST."""
    return np.geomspace(1.0, LARGEST, STEPS)


def critical(loop: Feedback, factors: Array, path: np.ndarray) -> float:
    """The first factor at which a followed pole crosses the stability limit; inf if none does."""

    def beyond(pole: np.ndarray) -> np.ndarray:
        return np.abs(pole) >= 1.0 if loop.dt else pole.real >= 0.0

    out = beyond(path)
    change = np.flatnonzero(out[:-1] != out[1:])
    if not change.size:
        return float("inf")
    i = int(change[0])
    low, high = float(factors[i]), float(factors[i + 1])
    near, far = path[i], path[i + 1]
    for _ in range(HALVED):  # the pole between is the one nearest to both
        middle = 0.5 * (low + high)
        poles = loop.poles(middle)
        pole = poles[np.argmin(np.abs(poles - near) + np.abs(poles - far))]
        if beyond(pole) == out[i]:
            low, near = middle, pole
        else:
            high, far = middle, pole
    return 0.5 * (low + high)
