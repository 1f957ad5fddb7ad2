"""Endless sequences of events, in which each action leads back to an event, ever sooner."""

from __future__ import annotations

from itertools import pairwise

from limber.errors import SimulationError
from limber.simulation.events import Happened

#: An event repeats without end if it happens this many times in a row while the motion in between changes the state by
#: no more than this fraction of it.  The first pair catches events that come ever closer, the second those that keep their
#: distance.
CROWDS = ((100, 1e-12), (1000, 1e-6))
#: Events pile up before a time if, at FEWEST of them or more, the times in which their number doubled have shrunk
#: RATIOS times by the same factor, to within SPREAD; a factor above SLOWEST is too close to 1 to be decisive.
FEWEST, RATIOS, SPREAD, SLOWEST = 2048, 3, 0.1, 0.9


class Repetitions:
    """How the events of a run repeat.

    count : the number of events.
    end : the time at which the run ends.
    """

    def __init__(self, count: int, end: float):
        self._end = end
        self._crowds = [Crowd(count, *limits) for limits in CROWDS]
        self._pileups = [PileUp() for _ in range(count)]

    def endless(self, event: int, t: float, pace: float) -> bool:
        """Count an event at a time, given the pace of the motion; returns whether it repeats without end."""
        crowded = [crowd.joined(event, t, pace) for crowd in self._crowds]
        return any(crowded) or self._pileups[event].joined(t) < self._end


class Crowd:
    """How often each event has occurred in a row with negligible motion in between."""

    def __init__(self, count: int, most: int, part: float):
        self.most, self.part = most, part
        self.counts, self.last = [0] * count, [-float("inf")] * count

    def joined(self, event: int, t: float, pace: float) -> bool:
        """Count an event; returns whether it has happened too often."""
        near = (t - self.last[event]) * pace <= self.part
        self.counts[event] = self.counts[event] + 1 if near else 0
        self.last[event] = t
        return self.counts[event] >= self.most


class PileUp:
    """The times at which the count of an event doubled: its 1st, 2nd, 4th, 8th ... occurrence.

    Gaps that decrease as a power of their number, n^-(1 + p), add up to a finite time.  The doubling times then shrink
    by the factor 2^-p, and their sum is the time at which the events accumulate.  Gaps that are constant, or that
    decrease as 1/n or slower, have doubling times that do not shrink.  Gaps that decrease as a geometric sequence, such
    as those of a bouncing ball, have ever smaller factors; they are left to `Crowd`, because they soon are as small as
    rounding.
    """

    def __init__(self):
        self.count, self.doubled = 0, []

    def joined(self, t: float) -> float:
        """Count an event; return the time at which the events accumulate, which is infinite if they do not."""
        self.count += 1
        if self.count & (self.count - 1):
            return float("inf")
        self.doubled.append(t)
        if self.count < FEWEST:
            return float("inf")
        times = self.doubled[-(RATIOS + 2) :]
        lengths = [b - a for a, b in pairwise(times)]
        if min(lengths) <= 0.0:
            return float("inf")
        factors = [b / a for a, b in pairwise(lengths)]
        factor = factors[-1]
        if max(factors) > SLOWEST or max(factors) > (1.0 + SPREAD) * min(factors):
            return float("inf")
        return t + lengths[-1] * factor / (1.0 - factor)


def endless(happened: list[Happened]) -> SimulationError:
    """The error of events that follow each other without end."""
    last = happened[-1]
    return SimulationError(
        f"events follow each other without end at t = {last.t:.9g} s, the last of {len(happened)} being {last.name!r}: "
        "each action leads immediately to the next event, like the ever smaller bounces of a ball. Let the action stop "
        "the run when the motion has become slow or move the state away from zero, or give the event a direction."
    )
