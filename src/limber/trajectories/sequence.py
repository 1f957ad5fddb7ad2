"""Trajectories one after the other, and side by side."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array, number, shown
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.trajectories.base import Trajectory, alike


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
    """Stay at `position` for `duration`, and beyond."""

    def __init__(self, position: ArrayLike, duration: float = 0.0):
        self.duration = number("duration", duration, minimum=0.0)
        self.shape, x = alike(position=position)
        self.position = x["position"]
        self.breaks = np.unique([0.0, self.duration])
        self._freeze()

    def _inside(self, t: Array) -> tuple[Array, Array, Array]:
        position = np.broadcast_to(self.position, t.shape + self.shape).copy()
        return position, np.zeros_like(position), np.zeros_like(position)


class Sequence(Trajectory):
    """Trajectories one after the other, each for its duration.

    parts : trajectories of the same joints; each starts where the one before ends (to 1e-9 of the motion).

    Velocity and acceleration are as continuous as the parts are at their ends.  At a join, the later part
    counts.
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
        breaks = [begin + part.breaks for begin, part in zip(self.starts, self.parts)]
        self.breaks = np.unique(np.concatenate(breaks))
        self._freeze()

    def _inside(self, t: Array) -> tuple[Array, Array, Array]:
        which = np.clip(np.searchsorted(self.starts, t, "right") - 1, 0, len(self.parts) - 1)
        out = np.zeros((3, *t.shape, *self.shape))
        for i, part in enumerate(self.parts):
            mine = which == i
            if mine.any():
                local = np.clip(t[mine] - self.starts[i], 0.0, part.duration)
                out[:, mine] = part(local)
        return out[0], out[1], out[2]


class Together(Trajectory):
    """Trajectories side by side: the joints of all parts in a row; a part that is done coasts."""

    def __init__(self, parts: SequenceOf[Trajectory]):
        self.parts = _parts(parts)
        self.shape = (sum(int(np.prod(part.shape)) for part in self.parts),)
        self.duration = max(part.duration for part in self.parts)
        self.breaks = np.unique(np.concatenate([part.breaks for part in self.parts]))
        self._freeze()

    def _inside(self, t: Array) -> tuple[Array, Array, Array]:
        motions = [part(t) for part in self.parts]
        flat = [
            np.concatenate(
                [
                    m[i].reshape(*t.shape, int(np.prod(p.shape)))
                    for m, p in zip(motions, self.parts)
                ],
                axis=-1,
            )
            for i in range(3)
        ]
        return flat[0], flat[1], flat[2]
