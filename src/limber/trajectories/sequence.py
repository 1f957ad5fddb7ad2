"""Trajectories in sequence and in parallel."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import number, shown
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.trajectories.base import Trajectory, alike
from limber.trajectories.pieces import later, piece, together


def _parts(parts: SequenceOf[Trajectory]) -> tuple[Trajectory, ...]:
    try:
        listed = tuple(parts)
    except TypeError:
        listed = ()
    if not listed:
        raise ArgumentTypeError(f"parts must be a list of trajectories, got {shown(parts)}.")
    for i, part in enumerate(listed):
        if not isinstance(part, Trajectory):
            raise ArgumentTypeError(f"parts[{i}] must be a trajectory, got {shown(part)}.")
    return listed


class Hold(Trajectory):
    """Stay at `position` for `duration`, and afterwards."""

    def __init__(self, position: ArrayLike, duration: float = 0.0):
        self.duration = number("duration", duration, minimum=0.0)
        self.shape, x = alike(position=position)
        self.position = x["position"]
        knots = np.unique([0.0, self.duration])
        self._finish(knots, knots, [piece(0.0, [self.position])] * (len(knots) + 1))


class Sequence(Trajectory):
    """Trajectories one after the other, each for its duration.

    parts : trajectories of the same joints; each starts where the previous one ends (to 1e-9 of the motion).

    Velocity and acceleration are as continuous as the parts are at their ends.  At a transition, the later part
    applies.
    """

    def __init__(self, parts: SequenceOf[Trajectory]):
        self.parts = _parts(parts)
        self.shape = self.parts[0].shape
        for i, (before, after) in enumerate(zip(self.parts, self.parts[1:]), start=1):
            if after.shape != self.shape:
                raise ArgumentValueError(
                    f"parts[{i}] moves joints of shape {after.shape}, parts[0] of shape {self.shape}."
                )
            gap = np.abs(after.start - before.end).max(initial=0.0)
            if gap > 1e-9 * (1.0 + np.abs(before.end).max(initial=0.0)):
                raise ArgumentValueError(
                    f"parts[{i}] starts at {after.start.tolist()}, but parts[{i - 1}] ends at {before.end.tolist()}: "
                    "a joint cannot jump."
                )
        self.starts = np.concatenate([[0.0], np.cumsum([part.duration for part in self.parts])])
        self.duration = float(self.starts[-1])
        placed = list(zip(self.starts, self.parts))
        breaks = [begin + part.breaks for begin, part in placed]
        knots = [begin + part.knots[:-1] for begin, part in placed]
        pieces = [later(part.pieces[1:-1], begin) for begin, part in placed]
        first, last = self.parts[0].pieces[:1], self.parts[-1].pieces[-1:]
        last = later(last, float(self.starts[-2]))
        self._finish(
            np.concatenate(breaks),
            np.append(np.concatenate(knots), self.duration),
            np.concatenate([first, *pieces, last]),
        )


class Together(Trajectory):
    """Trajectories in parallel: the joints of all parts in a row.

    A part that has finished continues at its end velocity.
    """

    def __init__(self, parts: SequenceOf[Trajectory]):
        self.parts = _parts(parts)
        self.shape = (sum(int(np.prod(part.shape)) for part in self.parts),)
        self.duration = max(part.duration for part in self.parts)
        breaks = np.concatenate([part.breaks for part in self.parts])
        knots, pieces = [p.knots for p in self.parts], [p.pieces for p in self.parts]
        self._finish(breaks, *together(knots, pieces))
