"""Slews: rotations from one attitude to another about an axis that is fixed in the body, the eigenaxis."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array, array, number, shown, unit_quaternion
from limber.control.rotations import conjugate, product, quaternion_of_vector
from limber.control.shaping import Shaper
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.trajectories import Motion, Quintic


class AttitudeMotion(NamedTuple):
    """The reference of an attitude controller at one time.

    quaternion : (4,) scalar first; it maps components in the desired body axes to world components.
    rate, acceleration : (3,) angular, in the desired body axes, rad/s and rad/s^2.
    """

    quaternion: Array
    rate: Array
    acceleration: Array


class EigenAxisSlew:
    """A rotation about the eigenaxis between two attitudes. Called with a time, it returns an `AttitudeMotion`.

    Parameters
    ----------
    start, end : quaternions, scalar first, that map body components to world components. The slew takes the shorter
        way.
    profile : the angle over time: a duration in s, for a quintic; or a trajectory, or a function t -> (position,
        velocity, acceleration), whose position goes from 0 to 1.
    begin : the time at which the slew begins, s.

    axis, angle : of the slew, in body axes and rad.
    duration : s; None if that of the profile is not known.

    `shaped(shaper)` is the same slew with an input shaper applied to its profile.
    """

    def __init__(self, start: ArrayLike, end: ArrayLike, profile: Any, *, begin: float = 0.0):
        self.start, self.end = (
            unit_quaternion(f"{name} of the slew", array(name, given, (4,)))
            for name, given in (("start", start), ("end", end))
        )
        if not callable(profile):
            if not isinstance(profile, (int, float)):
                raise ArgumentTypeError(
                    f"profile must be a duration in s, a trajectory or a function of time, got {shown(profile)}."
                )
            profile = Quintic(0.0, 1.0, number("profile", profile, above=0.0))
        self.profile, self.begin = profile, number("begin", begin)
        turn = product(conjugate(self.start), self.end)
        turn = -turn if turn[0] < 0.0 else turn
        size = math.sqrt(turn[1:] @ turn[1:])
        self.angle = 2.0 * math.atan2(size, turn[0])
        self.axis = turn[1:] / size if size > 0.0 else np.array([1.0, 0.0, 0.0])
        last = getattr(profile, "end", None)
        if last is not None and abs(float(last) - 1.0) > 1e-9:
            raise ArgumentValueError(
                f"profile must end at 1, the full rotation; it ends at {float(last):g}."
            )

    @property
    def duration(self) -> float | None:
        """Duration of the slew, s."""
        return getattr(self.profile, "duration", None)

    def shaped(self, shaper: Shaper) -> EigenAxisSlew:
        """The slew with an input shaper applied to it; it is longer by the duration of the shaper."""
        if not isinstance(shaper, Shaper):
            raise ArgumentTypeError(
                f"shaper must be a Shaper, such as lb.control.zvd(omega), got {shown(shaper)}."
            )
        return EigenAxisSlew(self.start, self.end, shaper.shaped(self.profile), begin=self.begin)

    def __call__(self, t: float) -> AttitudeMotion:
        """The attitude at a time, and its rates."""
        part, speed, acceleration = Motion(*self.profile(float(t) - self.begin))
        turn = quaternion_of_vector(self.angle * float(part) * self.axis)
        return AttitudeMotion(
            product(self.start, turn),
            self.angle * float(speed) * self.axis,
            self.angle * float(acceleration) * self.axis,
        )

    def __repr__(self) -> str:
        return f"EigenAxisSlew({math.degrees(self.angle):g} deg about {np.round(self.axis, 3).tolist()})"
