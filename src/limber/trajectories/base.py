"""The interface of all trajectories: positions, velocities and accelerations over time."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from limber import native
from limber.checks import Array, array, numbers
from limber.errors import ArgumentValueError
from limber.frozen import Frozen
from limber.trajectories.pieces import merged


class Motion(NamedTuple):
    """Position, velocity and acceleration, each with the shape of t followed by that of the joints."""

    position: Array
    velocity: Array
    acceleration: Array


@cache
def _evaluate() -> Callable:
    """The compiled evaluation of motions at times, `kernels.paths`."""
    return native.load("trajectory")


class Trajectory(Frozen):
    """A motion of one or several joints over [0, duration]; called with t, it returns a `Motion`.

    t may be one time or an array; one time costs about a microsecond.  `shape` is () for one joint given by numbers,
    (n,) for n joints.  Outside [0, duration] the motion continues at the velocity that it has there, which is zero for
    most trajectories.  `breaks`, (k,), are the times at which the acceleration or its rate may jump, including 0 and
    the duration; between them the motion is smooth.

    `knots` (k,) and `pieces` (k + 1, n, 9) hold the whole motion, for compiled code of your own
    (`limber.kernels.paths`).
    """

    duration: float
    shape: tuple[int, ...]
    breaks: Array
    knots: Array
    pieces: Array

    def __repr__(self) -> str:
        count = int(np.prod(self.shape, dtype=int))
        return (
            f"{type(self).__name__}({count} joint{'' if count == 1 else 's'}, {self.duration:g} s)"
        )

    def _finish(self, breaks: ArrayLike, knots: ArrayLike, pieces: ArrayLike) -> None:
        """Keep the motion as pieces between knots, and freeze."""
        self.breaks = merged(breaks)
        self.knots, self.pieces = np.array(knots, dtype=float), np.array(pieces, dtype=float)
        self._joints = self.pieces.shape[1]
        self._numbers = self.pieces.reshape(-1)
        self._freeze()

    def __call__(self, t: ArrayLike) -> Motion:
        """Return the motion at one time or many."""
        n = self._joints
        if isinstance(t, float):  # the quick way, for torques that call it at every step
            out = self._motion(np.array((t,)))
            if self.shape:
                return Motion(out[:n], out[n : 2 * n], out[2 * n :])
            return Motion(out[0], out[1], out[2])
        times = numbers("t", t, "(...)")
        out = self._motion(np.ascontiguousarray(times).reshape(-1))
        position, velocity, acceleration = out.reshape(3, *times.shape, *self.shape)
        return Motion(position, velocity, acceleration)

    def _motion(self, times: Array) -> Array:
        """All positions, then all velocities, then all accelerations at times (m,)."""
        out = np.empty(3 * times.size * self._joints)
        if _evaluate()(self.knots, self._numbers, self._joints, times, out):
            raise ArgumentValueError("t must be finite.")
        return out

    @property
    def start(self) -> Array:
        """The position at t = 0."""
        return self(0.0).position

    @property
    def end(self) -> Array:
        """The position at t = duration."""
        return self(self.duration).position


def alike(**given: ArrayLike) -> tuple[tuple[int, ...], dict[str, Array]]:
    """The arguments as arrays of one shape, () or (n,); single numbers stand for n equal ones."""
    arrays = {name: numbers(name, value, "() or (n,)") for name, value in given.items()}
    sizes = {name: x.shape[0] for name, x in arrays.items() if x.ndim == 1}
    for name, x in arrays.items():
        if x.ndim > 1:
            raise ArgumentValueError(f"{name} must have shape () or (n,), got {x.shape}.")
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name} {n}" for name, n in sizes.items())
        raise ArgumentValueError(f"arguments are for different numbers of joints: {listed}.")
    if 0 in sizes.values():
        raise ArgumentValueError(f"{next(iter(sizes))} is empty: give at least one joint.")
    shape = (next(iter(sizes.values())),) if sizes else ()
    full = {name: np.full(shape, x) if x.ndim == 0 else x for name, x in arrays.items()}
    return shape, {name: array(name, x, shape) for name, x in full.items()}


def positive(name: str, values: Array) -> Array:
    """`values`, all greater than zero."""
    if values.min(initial=np.inf) <= 0.0:
        raise ArgumentValueError(f"{name} must be greater than 0, got {values.tolist()}.")
    return values
