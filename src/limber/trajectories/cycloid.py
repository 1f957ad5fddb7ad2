r"""Cycloids: the joint paths of the Canadarm paper.

Mohan & Saha, Eq. (44), print

    theta = k [t - T/pi sin(pi t/T)]

which starts at rest and ends, at kT, with the rate 2k.  With T/(2 pi) sin(2 pi t/T) it is at rest at both ends, with
the same end point.  This is the default here; `printed=True` gives the printed form.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from limber.errors import ArgumentTypeError
from limber.trajectories.base import Trajectory, alike, positive
from limber.trajectories.pieces import chosen, piece


class Cycloid(Trajectory):
    """A cycloid from `start` by `distance` in `duration`: start + k [t - T/(2 pi) sin(2 pi t/T)], k = distance/T.

    Parameters
    ----------
    distance : distance of each joint; or give `rate`, the k of the paper's Eq. (44).
    duration : one for all joints, or one for each; a joint that has finished stays at its end position.
    start : position at t = 0.
    rate : mean rate k; distance = k duration.
    printed : Eq. (44) as printed, k [t - T/pi sin(pi t/T)]: it ends with the rate 2k and continues at it.

    Position, velocity and acceleration are continuous, also before and after the motion.
    """

    def __init__(
        self,
        distance: ArrayLike | None = None,
        duration: ArrayLike | None = None,
        start: ArrayLike = 0.0,
        *,
        rate: ArrayLike | None = None,
        printed: bool = False,
    ):
        if duration is None:
            raise ArgumentTypeError("duration is missing: give the time that the motion takes.")
        if (distance is None) == (rate is None):
            raise ArgumentTypeError("distance or rate must be given, but not both.")
        given = {"rate": rate} if distance is None else {"distance": distance}
        self.shape, x = alike(duration=duration, start=start, **given)  # type: ignore[arg-type]
        self.durations = positive("duration", x["duration"])
        self.duration = float(self.durations.max())
        self.rate = x["rate"] if distance is None else x["distance"] / self.durations
        self.printed = bool(printed)
        T, k, start_at = self.durations, self.rate, x["start"]
        w = (math.pi if printed else 2.0 * math.pi) / T
        # from either end to the middle, so that both ends are exact
        first = piece(0.0, [start_at, k], -k, w)
        second = piece(T, [start_at + k * T, k], k if printed else -k, w)
        after = piece(T, [start_at + k * T, 2.0 * k if printed else 0.0])
        knots = np.unique(np.append(0.0, [0.5 * T, T]))
        pieces = [piece(0.0, [start_at, 0.0 * k])]
        for t in knots:
            pieces.append(chosen(t < 0.5 * T, first, chosen(t < T, second, after)))
        self._finish(np.append(T.ravel(), 0.0), knots, pieces)
