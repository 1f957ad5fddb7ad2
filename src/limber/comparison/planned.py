"""Joint references: motions planned from rest to rest, and the oscillations of a loop that shapers need."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.control import DesiredMotion
from limber.control.patent.desired import plain_speeds
from limber.simulation import simulate
from limber.simulation.result import Result
from limber.simulation.table import Table


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


def along(system: System, motion: DesiredMotion) -> Result:
    """A planned motion in the form of a simulation result, to be followed by `LQR`."""
    places = plain_speeds(system)
    torque = np.zeros((len(motion.t), system.nv))
    torque[:, places.v] = motion.force
    return simulate(system, float(motion.t[-1]), torque=Table(motion.t, torque), every=0.01)


def oscillations(rates: np.ndarray, damping: float = 0.5) -> list[tuple[float, float]]:
    """(omega, damping ratio) of the poles s that oscillate with less than the given damping ratio, the slowest
    first."""
    found = [(abs(s), -s.real / abs(s)) for s in rates if s.imag > 0.0]
    return sorted((float(w), max(float(z), 0.0)) for w, z in found if z < damping)
