r"""Collocation of linear second-order equations, udd = C(t) u + E(t) ud + B(t).

Gauss      the points that, for a given number, follow oscillations best
Radau      points that include the end of the interval: fast decaying parts are gone there, however long the interval is
Cost       of an interval with s points: s n linear equations for n degrees of freedom
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dgesv

from limber.checks import Array
from limber.errors import DynamicsError

#: Intervals are divided until a whole one and its halves differ by this fraction of the largest values, but no
#: further than to this fraction of the run.
REFINED, SHORTEST = 1e-7, 1e-13
#: Those that differ by this many times more are divided into this many parts at once.
FAR, MANY = 30.0, 8
#: A degree of freedom that moves less than this fraction of the one that moves most is as exact as one that moves so
#: much.
LEAST = 1e-3
#: The most intervals.
MOST_INTERVALS = 50_000

#: C, E (m, s, n, n) and B (m, s, n, d) at s points of some intervals after the others, from the times (:, s) of all points.
Slopes = Callable[[Array], Iterable[tuple[Array, Array, Array]]]


class Points(NamedTuple):
    """A collocation method on [0, 1] for second-order equations.

    c : (s,) the points.
    slopes : (i, j, 2) minus the effects of the acceleration at point j on u and ud at point i.
    ends : (2, s) the effects of the accelerations on u and ud at the end.
    tested : a point between the last one and the end, at which the equations are not imposed and can be tested.
    there : (3, s) the effects of the accelerations on u, ud and udd at `tested`.
    """

    c: Array
    slopes: Array
    ends: Array
    tested: float
    there: Array


@cache
def gauss(stages: int) -> Points:
    """The Gauss points, of order 2 stages."""
    nodes, _ = np.polynomial.legendre.leggauss(stages)
    return _points(0.5 * (nodes + 1.0))


@cache
def radau(stages: int) -> Points:
    """The Radau points, of order 2 stages - 1; the last one is the end."""
    polynomial = np.zeros(stages + 1)
    polynomial[-2:] = -1.0, 1.0
    nodes = np.sort(np.polynomial.legendre.legroots(polynomial).real)
    nodes[-1] = 1.0
    return _points(0.5 * (nodes + 1.0))


def _points(c: Array) -> Points:
    powers = np.arange(len(c))
    # the integrals of the polynomials that are one at a point and zero at the others
    values = np.linalg.inv(c[:, None] ** powers).T
    a = (values @ (c ** (powers[:, None] + 1) / (powers[:, None] + 1))).T
    b = values @ (1.0 / (powers + 1))
    x = 0.5 * (float(c[-1]) + 1.0)
    once, twice = x / (powers + 1), x * x / ((powers + 1) * (powers + 2))
    there = np.stack([values @ (part * x**powers) for part in (twice, once, 1.0)])
    return Points(c, -np.stack([a @ a, a], axis=-1), np.stack([b @ a, b]), x, there)


def carried(
    points: Points, h: float, C: Array, E: Array, B: Array, u: Array, ud: Array
) -> tuple[Array, Array]:
    """u and ud (n, d) at the end of an interval, from those at its start and C, E and B at its points."""
    k = accelerations(points, h, C, E, B, u, ud)
    return reached(points, h, k, u, ud)


def accelerations(
    points: Points, h: float, C: Array, E: Array, B: Array, u: Array, ud: Array
) -> Array:
    """The accelerations (s, n, d) at the points of an interval.

    The unknowns are the accelerations k_i: udd = k_i, ud = ud_0 + h a_ij k_j, u = u_0 + h c_i ud_0 + h^2 (a a)_ij k_j there.
    B drives the first columns of u.
    """
    stages, n, d = B.shape
    # left[j, y, i, x] is the slope of the equation x of point i by k[j, y]: LAPACK has columns first
    both = np.stack([h * h * C.transpose(0, 2, 1), h * E.transpose(0, 2, 1)], axis=1)
    left = points.slopes @ both.reshape(stages, 2, n * n)
    left = left.reshape(stages, stages, n, n).transpose(1, 2, 0, 3).reshape(stages * n, stages * n)
    left[np.diag_indices(stages * n)] += 1.0
    right = C @ (u + h * points.c[:, None, None] * ud) + E @ ud
    right[..., :d] += B
    *_, k, failed = dgesv(left.T, right.reshape(stages * n, -1), overwrite_a=True)
    if failed:
        raise DynamicsError(
            "the derivatives of the motion with respect to the unknowns have no solution: they grow without bound."
        )
    return k.reshape(right.shape)


def reached(points: Points, h: float, k: Array, u: Array, ud: Array) -> tuple[Array, Array]:
    """u and ud (n, d) at the end of an interval, from its accelerations (s, n, d)."""
    moved, sped = points.ends @ k.reshape(len(k), -1)
    return u + h * ud + h * h * moved.reshape(u.shape), ud + h * sped.reshape(u.shape)


def defects(
    points: Points, h: Array, k: Array, C: Array, E: Array, B: Array, u: Array, ud: Array
) -> tuple[Array, Array]:
    """The errors (m, n, d) of the equations at the tested points of m intervals, and the sums of the magnitudes of their
    terms there.

    h : (m,) the lengths.
    k : (m, s, n, d) the accelerations.
    C, E, B : (m, n, n) and (m, n, ...) at the tested points.
    u, ud : (m, n, d) at the starts.
    """
    h = h[:, None, None]
    moved, sped, udd = np.einsum("as,msnd->amnd", points.there, k)
    u, ud = u + h * points.tested * ud + h * h * moved, ud + h * sped
    right, size = C @ u + E @ ud, np.abs(C) @ np.abs(u) + np.abs(E) @ np.abs(ud)
    d = B.shape[-1]
    right[..., :d] += B
    size[..., :d] += np.abs(B)
    return np.abs(udd - right), size


class _Map:
    """The map of an interval on [u, ud]: X (2 n, d) becomes by_start X, with `driven` added to its first columns."""

    def __init__(self, points: Points, h: float, C: Array, E: Array, B: Array):
        n, d = B.shape[1:]
        at = np.zeros((2 * n, d + 2 * n))
        at[:, d:] = np.eye(2 * n)
        found = np.vstack(carried(points, h, C, E, B, at[:n], at[n:]))
        self.driven, self.by_start = found[:, :d], found[:, d:]

    def __call__(self, X: Array) -> Array:
        found = self.by_start @ X
        found[:, : self.driven.shape[1]] += self.driven
        return found


class _Interval:
    """An interval; its map and those of its halves are stored once they are known."""

    def __init__(self, start: float, end: float, whole: _Map | None = None):
        self.start, self.end, self.whole = start, end, whole
        self.halves: tuple[_Map, ...] = ()

    @property
    def middle(self) -> float:
        return 0.5 * (self.start + self.end)

    def unknown(self) -> list[tuple[float, float]]:
        """The ends of the parts without a map: the interval itself, and its halves."""
        if self.halves:
            return []
        whole = [] if self.whole else [(self.start, self.end)]
        return [*whole, (self.start, self.middle), (self.middle, self.end)]

    def know(self, maps: Iterator[_Map]) -> None:
        """Store the maps that were unknown."""
        if not self.halves:
            self.whole = self.whole or next(maps)
            self.halves = next(maps), next(maps)

    def carried(self, X: Array) -> tuple[Array, Array]:
        """[u, ud] at the end from those at the start, by the halves, and the error of the whole interval."""
        assert self.whole is not None
        end = self.halves[1](self.halves[0](X))
        return end, np.abs(self.whole(X) - end)

    def parts(self, many: bool) -> list[_Interval]:
        """The interval as its halves, or as many shorter ones."""
        if not many:
            ends = (self.start, self.middle, self.end)
            return [_Interval(*x) for x in zip(ends, ends[1:], self.halves)]
        places = np.linspace(self.start, self.end, MANY + 1).tolist()
        return [_Interval(*x) for x in pairwise(places)]


def refined(ends: Array, stages: int, slopes: Slopes, start: Array) -> Array:
    """[u, ud] (m, 2 n, d) at the `ends` (m,) of intervals, which are divided wherever C, E or B change abruptly.

    start : [u, ud] (2 n, d) at the first end.

    An interval is short enough if its two halves end where it ends.  The result is that of the halves.  Maps of intervals do not
    depend on where they start, so that each is computed once.
    """
    points = radau(stages)
    intervals = [_Interval(*x) for x in pairwise(ends.tolist())]
    shortest = SHORTEST * (ends[-1] - ends[0])
    while True:
        _mapped(intervals, points, slopes)
        X = np.empty((len(intervals) + 1, *start.shape))
        X[0] = start
        errors = np.empty((len(intervals), *start.shape))
        for i, one in enumerate(intervals):
            X[i + 1], errors[i] = one.carried(X[i])
        sizes = _sizes(X)
        off = np.max(errors / np.where(sizes > 0.0, sizes, 1.0), axis=(1, 2), initial=0.0)
        wrong = (off > REFINED) & (np.array([x.end - x.start for x in intervals]) > shortest)
        if not wrong.any():
            at = np.array([ends[0], *(one.end for one in intervals)])
            return X[np.searchsorted(at, ends)]
        many = wrong & (off > FAR * REFINED)
        if len(intervals) + MANY * many.sum() + wrong.sum() > MOST_INTERVALS:
            raise DynamicsError(
                f"the derivatives of the motion with respect to the unknowns change so often that {MOST_INTERVALS} time "
                "intervals cannot follow them. Use a shorter part of the readings, or a larger friction_speed."
            )
        intervals = [
            part
            for one, w, m in zip(intervals, wrong, many)
            for part in (one.parts(bool(m)) if w else [one])
        ]


def _mapped(intervals: Sequence[_Interval], points: Points, slopes: Slopes) -> None:
    """Find the maps that intervals do not have yet."""
    places = np.array([x for one in intervals for x in one.unknown()])
    lengths = np.diff(places, axis=1)[:, 0]
    found = slopes(places[:, :1] + lengths[:, None] * points.c)
    every = (x for C, E, B in found for x in zip(C, E, B))
    maps = iter([_Map(points, h, *x) for h, x in zip(lengths, every)])
    for one in intervals:
        one.know(maps)


def _sizes(X: Array) -> Array:
    """The largest values (2 n, d) over time; for degrees of freedom that hardly move, a fraction of the largest of
    all."""
    largest = np.abs(X).max(axis=0)
    n = len(largest) // 2
    for part in (largest[:n], largest[n:]):
        np.maximum(part, LEAST * part.max(axis=0), out=part)
    return largest
