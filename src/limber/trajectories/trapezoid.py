"""Trapezoidal velocity: as fast as limits of velocity and acceleration allow."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array
from limber.errors import ArgumentValueError
from limber.trajectories.base import Trajectory, alike, positive


class Trapezoid(Trajectory):
    """From rest at `start` to rest at `end`, velocity a trapezoid (or a triangle) in time.

    Parameters
    ----------
    start, end : positions.
    max_velocity, max_acceleration : limits of each joint.

    The joint that needs longest goes as fast as its limits allow; the others take the same time, their
    profile stretched.  Position and velocity are continuous, the acceleration jumps at `breaks`.  With
    end = start the duration is zero.
    """

    def __init__(
        self,
        start: ArrayLike,
        end: ArrayLike,
        max_velocity: ArrayLike,
        max_acceleration: ArrayLike,
    ):
        self.shape, x = alike(
            start=start, end=end, max_velocity=max_velocity, max_acceleration=max_acceleration
        )
        self._start, self._end = x["start"], x["end"]
        v = positive("max_velocity", x["max_velocity"])
        a = positive("max_acceleration", x["max_acceleration"])
        self.distance = self._end - self._start
        d = np.abs(self.distance)
        with np.errstate(over="ignore", under="ignore"):
            ramp = np.minimum(v / a, np.sqrt(d / a))
            cruise = np.where(d / a > (v / a) ** 2, d / v - v / a, 0.0)
        alone = 2.0 * ramp + np.maximum(cruise, 0.0)
        self.duration = T = float(alone.max())
        if not np.isfinite(T):
            raise ArgumentValueError(
                "the motion takes too long to count: are the limits in SI units?"
            )
        stretch = T / np.where(alone > 0.0, alone, 1.0)
        # each joint: ramp up until `ramp`, cruise at `speed`, ramp down from T - ramp
        self.ramp = np.where(alone > 0.0, ramp * stretch, 0.0)
        self.speed = self.distance / np.where(self.ramp < T, T - self.ramp, 1.0)
        self.slope = self.speed / np.where(self.ramp > 0.0, self.ramp, 1.0)
        times = np.concatenate([[0.0, T], np.ravel(self.ramp), np.ravel(T - self.ramp)])
        self.breaks = np.unique(times)
        self._freeze()

    def _inside(self, t: Array) -> tuple[Array, Array, Array]:
        t = t[(...,) + (None,) * len(self.shape)]
        left = self.duration - t
        ramp, speed, slope = self.ramp, self.speed, self.slope
        up, down = t < ramp, left < ramp
        position = self._start + speed * (t - 0.5 * ramp)
        position = np.where(up, self._start + 0.5 * slope * t * t, position)
        position = np.where(down | (left <= 0.0), self._end - 0.5 * slope * left * left, position)
        velocity = np.where(up, slope * t, np.where(down, slope * left, speed))
        velocity = np.where(left <= 0.0, 0.0, velocity)
        acceleration = np.where(up, slope, np.where(down, -slope, 0.0))
        return position, velocity, acceleration
