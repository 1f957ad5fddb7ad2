"""What every trajectory is: positions, velocities and accelerations over time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array, array, numbers
from limber.errors import ArgumentValueError
from limber.frozen import Frozen


class Motion(NamedTuple):
    """Position, velocity and acceleration, each of the shape of t followed by that of the joints."""

    position: Array
    velocity: Array
    acceleration: Array


class Trajectory(Frozen):
    """A motion of one joint or several over [0, duration]; called with t, it gives a `Motion`.

    t may be one time or an array of them.  `shape` is () for one joint given by numbers, (n,) for n
    joints.  Outside [0, duration] the motion goes on at the velocity it has there, which is rest for most.
    `breaks` are the times at which the acceleration or its rate may jump.
    """

    duration: float
    shape: tuple[int, ...]
    breaks: Array

    def __call__(self, t: ArrayLike) -> Motion:
        """The motion at one time or many."""
        times = numbers("t", t, "(...)")
        if not np.isfinite(times).all():
            raise ArgumentValueError("t must be finite.")
        inside = np.clip(times, 0.0, self.duration)
        position, velocity, acceleration = self._inside(inside)
        outside = times != inside
        if outside.any():
            widened = (...,) + (None,) * len(self.shape)
            beyond = (times - inside)[widened]
            position = position + velocity * beyond
            acceleration = np.where(outside[widened], 0.0, acceleration)
        return Motion(position, velocity, acceleration)

    def _inside(self, t: Array) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration at times within [0, duration]."""
        raise NotImplementedError

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
