"""Trapezoidal velocity profiles, as fast as limits of velocity and acceleration allow."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from limber.errors import ArgumentValueError
from limber.trajectories.base import Trajectory, alike, positive
from limber.trajectories.pieces import chosen, piece


class Trapezoid(Trajectory):
    """Motion from rest at `start` to rest at `end` with a trapezoidal (or triangular) velocity profile.

    Parameters
    ----------
    start, end : positions.
    max_velocity, max_acceleration : limits of each joint.

    The slowest joint moves as fast as its limits allow; the profiles of the others are stretched to take the same
    time.  Position and velocity are continuous; the acceleration jumps at `breaks`.  With
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
        v = positive("max_velocity", x["max_velocity"])
        a = positive("max_acceleration", x["max_acceleration"])
        self.distance = x["end"] - x["start"]
        d = np.abs(self.distance)
        with np.errstate(over="ignore", under="ignore"):
            ramp = np.minimum(v / a, np.sqrt(d / a))
            cruise = np.where(d / a > (v / a) ** 2, d / v - v / a, 0.0)
        alone = 2.0 * ramp + np.maximum(cruise, 0.0)
        self.duration = T = float(alone.max())
        if not np.isfinite(T):
            raise ArgumentValueError(
                "the duration of the motion overflows: are the limits in SI units?"
            )
        stretch = T / np.where(alone > 0.0, alone, 1.0)
        # each joint: ramp up until `ramp`, cruise at `speed`, ramp down from T - ramp
        self.ramp = np.where(alone > 0.0, ramp * stretch, 0.0)
        self.speed = self.distance / np.where(self.ramp < T, T - self.ramp, 1.0)
        self.slope = self.speed / np.where(self.ramp > 0.0, self.ramp, 1.0)
        knots = np.unique(np.concatenate([[0.0, T], np.ravel(self.ramp), np.ravel(T - self.ramp)]))
        start_at, end_at, half = x["start"], x["end"], 0.5 * self.slope
        up = piece(0.0, [start_at, 0.0, half])
        cruise = piece(0.5 * self.ramp, [start_at, self.speed])
        down = piece(T, [end_at, 0.0, -half])
        pieces = [piece(0.0, [start_at])]
        for t in knots[:-1]:
            pieces.append(chosen(t < self.ramp, up, chosen(t < T - self.ramp, cruise, down)))
        self._finish(knots, knots, [*pieces, piece(T, [end_at])])
