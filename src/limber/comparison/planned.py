"""Motions of arms from rest to rest as references of joints."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.control import DesiredMotion
from limber.control.patent.desired import plain_speeds


def joints_along(
    system: System, motion: DesiredMotion
) -> Callable[[float], tuple[Array, Array, Array]]:
    """The joints of a planned motion as `reference` of a controller: t -> (position, velocity, acceleration)."""
    places = plain_speeds(system)
    rows = np.stack([motion.q[:, places.q], motion.v[:, places.v], motion.vdot[:, places.v]])
    rows[1:, -1] = 0.0

    def reference(t: float) -> tuple[Array, Array, Array]:
        at = min(max((t - motion.t[0]) / motion.sample_time, 0.0), len(motion.t) - 1.0)
        low = min(int(at), len(motion.t) - 2)
        part = at - low
        found = (1.0 - part) * rows[:, low] + part * rows[:, low + 1]
        return found[0], found[1], found[2]

    return reference
