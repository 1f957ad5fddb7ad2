"""The recent past of a filter: readings that arrive late correct the estimate at the time at which they were taken.

A filter that gets such a reading goes back to its estimate before that time, and repeats everything since, with the
reading in its place. The result is that of a filter to which all readings come in the order in which they were taken.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

from limber.checks import Array
from limber.control.estimate import Estimate


@dataclass(frozen=True, eq=False)
class Reading:
    """A reading of the sensor with this number."""

    taken: float
    sensor: int
    y: Array


@dataclass(frozen=True, eq=False)
class Span:
    """The generalized forces from the last sample to this one.

    mean : on average.
    before, after, change : the forces before and after the time at which they change, and that time, later by more than
        rounding, so that readings at this time tell of the forces before it.
    """

    until: float
    mean: Array
    before: Array
    after: Array
    change: float

    def at(self, t: float) -> Array:
        """The forces just before t."""
        return self.before if t <= self.change else self.after


@dataclass(frozen=True, eq=False)
class _Kept:
    """An estimate at a time, and the recent readings that it includes."""

    t: float
    estimate: Estimate
    included: frozenset[Reading]


class Past:
    """Estimates at the last samples, and the forces and readings since.

    length : s; older readings than this do not arrive.
    """

    def __init__(self, length: float, t: float, estimate: Estimate):
        self._length = length
        self._kept = [_Kept(t, copy.copy(estimate), frozenset())]
        self._spans: list[Span] = []
        self._readings: list[Reading] = []

    def __len__(self) -> int:
        return len(self._kept)

    def back(
        self, new: list[Reading], span: Span
    ) -> tuple[float, Estimate, list[Span], list[Reading]]:
        """Take new readings in; return an estimate, its time, and what comes after it, in the order of time."""
        self._spans.append(span)
        self._readings = sorted([*self._readings, *new], key=lambda reading: reading.taken)
        first = min((reading.taken for reading in new), default=span.until)
        while len(self._kept) > 1 and self._kept[-1].t >= first:
            self._kept.pop()
        last = self._kept[-1]
        spans = [x for x in self._spans if x.until > last.t]
        readings = [x for x in self._readings if x not in last.included]
        return last.t, copy.copy(last.estimate), spans, readings

    def keep(self, t: float, estimate: Estimate) -> None:
        """Note the estimate at a sample, with all readings up to then; forget what is too old."""
        included = frozenset(x for x in self._readings if x.taken <= t)
        self._kept.append(_Kept(t, copy.copy(estimate), included))
        while len(self._kept) > 1 and self._kept[1].t <= t - self._length:
            self._kept.pop(0)
        oldest = self._kept[0]
        self._spans = [x for x in self._spans if x.until > oldest.t]
        self._readings = [x for x in self._readings if x not in oldest.included]
