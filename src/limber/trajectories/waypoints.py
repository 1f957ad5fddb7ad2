"""Waypoints under limits of velocity and acceleration."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import numbers
from limber.errors import ArgumentValueError
from limber.trajectories.sequence import Hold, Sequence
from limber.trajectories.trapezoid import Trapezoid


class Waypoints(Sequence):
    """Motion from waypoint to waypoint, at rest at each, with every leg as fast as the limits allow.

    Parameters
    ----------
    points : (k,) positions of one joint, or (k, n) of n joints.
    max_velocity, max_acceleration : limits of each joint.
    pause : time to wait at each waypoint between two legs.

    All joints of a leg start and stop together (`Trapezoid`).  `arrivals` are the times at which the
    waypoints are reached.
    """

    def __init__(
        self,
        points: ArrayLike,
        max_velocity: ArrayLike,
        max_acceleration: ArrayLike,
        *,
        pause: float = 0.0,
    ):
        listed = numbers("points", points, "(k,) or (k, n)")
        if listed.ndim not in (1, 2) or len(listed) < 2:
            raise ArgumentValueError(
                f"points must be at least two waypoints of shape (k,) or (k, n), got shape {listed.shape}."
            )
        parts: list[Trapezoid | Hold] = []
        arrivals = [0.0]
        for i, (here, there) in enumerate(pairwise(listed)):
            leg = Trapezoid(here, there, max_velocity, max_acceleration)
            if i and pause:
                parts.append(Hold(np.broadcast_to(here, leg.shape), pause))
            parts.append(leg)
            arrivals.append(float(sum(part.duration for part in parts)))
        self.arrivals = np.array(arrivals)
        super().__init__(parts)
