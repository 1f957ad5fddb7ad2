r"""Cycloids: the joint paths of the Canadarm paper.

Mohan & Saha, Eq. (44), print

    theta = k [t - T/pi sin(pi t/T)]

which starts at rest and ends, at kT, with the rate 2k.  With T/(2 pi) sin(2 pi t/T) it rests at both
ends and keeps its end point; that is the default here, `printed=True` the other.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array
from limber.errors import ArgumentTypeError
from limber.trajectories.base import Trajectory, alike, positive


class Cycloid(Trajectory):
    """From `start` by `distance` in `duration`: start + k [t - T/(2 pi) sin(2 pi t/T)], k = distance/T.

    Parameters
    ----------
    distance : of each joint; or give `rate`, the k of the paper's Eq. (44).
    duration : one for all joints, or one each; a joint that is done holds.
    start : position at t = 0.
    rate : mean rate k; distance = k duration.
    printed : Eq. (44) as printed, k [t - T/pi sin(pi t/T)]: it ends with the rate 2k and goes on with it.

    Position, velocity and acceleration are continuous, before and after as well.
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
            raise ArgumentTypeError("distance or rate: give one of them.")
        given = {"rate": rate} if distance is None else {"distance": distance}
        self.shape, x = alike(duration=duration, start=start, **given)  # type: ignore[arg-type]
        self.durations = positive("duration", x["duration"])
        self.duration = float(self.durations.max())
        self.rate = x["rate"] if distance is None else x["distance"] / self.durations
        self._start = x["start"]
        self.printed = bool(printed)
        self.breaks = np.unique(np.append(self.durations.ravel(), 0.0))
        self._freeze()

    def _inside(self, t: Array) -> tuple[Array, Array, Array]:
        T, k = self.durations, self.rate
        t = t[(...,) + (None,) * len(self.shape)]
        own = np.minimum(t, T)
        done = t >= T
        w = (math.pi if self.printed else 2.0 * math.pi) / T
        # at the end, sine and cosine as they are meant
        sine = np.where(done, 0.0, np.sin(w * own))
        cosine = np.where(done, -1.0 if self.printed else 1.0, np.cos(w * own))
        velocity = k * (1.0 - cosine)
        position = self._start + k * (own - sine / w) + velocity * (t - own)
        return position, velocity, k * w * sine
