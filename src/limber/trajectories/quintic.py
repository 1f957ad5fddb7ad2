"""Quintic polynomials between given positions, velocities and accelerations."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array, number
from limber.trajectories.base import Trajectory, alike


class Quintic(Trajectory):
    """The polynomial of degree five that meets position, velocity and acceleration at both ends.

    Parameters
    ----------
    start, end : positions.
    duration : one for all joints.
    start_velocity, end_velocity, start_acceleration, end_acceleration : zero unless given.

    With all of them zero, position, velocity and acceleration are continuous over all times.
    """

    def __init__(
        self,
        start: ArrayLike,
        end: ArrayLike,
        duration: float,
        *,
        start_velocity: ArrayLike = 0.0,
        end_velocity: ArrayLike = 0.0,
        start_acceleration: ArrayLike = 0.0,
        end_acceleration: ArrayLike = 0.0,
    ):
        T = self.duration = number("duration", duration, above=0.0)
        self.shape, x = alike(
            start=start,
            end=end,
            start_velocity=start_velocity,
            end_velocity=end_velocity,
            start_acceleration=start_acceleration,
            end_acceleration=end_acceleration,
        )
        # in s = t/T, rates scaled to it
        p0, v0, a0 = x["start"], T * x["start_velocity"], T**2 * x["start_acceleration"]
        p1, v1, a1 = x["end"], T * x["end_velocity"], T**2 * x["end_acceleration"]
        d = p1 - p0
        self.coefficients = np.array(
            [
                p0,
                v0,
                0.5 * a0,
                10.0 * d - 6.0 * v0 - 4.0 * v1 - 1.5 * a0 + 0.5 * a1,
                -15.0 * d + 8.0 * v0 + 7.0 * v1 + 1.5 * a0 - a1,
                6.0 * d - 3.0 * (v0 + v1) + 0.5 * (a1 - a0),
            ]
        )
        self.breaks = np.array([0.0, T])
        self._freeze()

    def _inside(self, t: Array) -> tuple[Array, Array, Array]:
        T = self.duration
        s = (t / T)[(...,) + (None,) * len(self.shape)]
        c = self.coefficients
        position = c[0] + s * (c[1] + s * (c[2] + s * (c[3] + s * (c[4] + s * c[5]))))
        velocity = c[1] + s * (2 * c[2] + s * (3 * c[3] + s * (4 * c[4] + s * 5 * c[5])))
        acceleration = 2 * c[2] + s * (6 * c[3] + s * (12 * c[4] + s * 20 * c[5]))
        return position, velocity / T, acceleration / T**2
