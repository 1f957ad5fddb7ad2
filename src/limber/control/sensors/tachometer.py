"""Tachometers: the speeds of joints."""

from __future__ import annotations

from typing import Any

from limber.assembly.system import System
from limber.control.joints import joint_places, joint_unit
from limber.control.sensors.base import Reader, Sensor, several


class Tachometer(Sensor):
    """Measures the speeds of joints, rad/s or m/s.

    Parameters
    ----------
    bodies : the bodies whose joints are read; None for all joints without quaternions.
    options : those of `Sensor`.
    """

    def __init__(
        self, bodies: Any = None, name: str = "tachometer", *, rate: float, **options: Any
    ):
        super().__init__(name, rate=rate, **options)
        self.bodies = several(bodies)
        self._freeze()

    def reader(self, system: System) -> Reader:
        """The tachometer on a system."""
        places = joint_places(system, self.bodies, f"sensor {self.name!r}", with_rates=False)
        v = places.v
        unit = joint_unit(system, places.v.tolist(), "rad/s", "m/s")
        return Reader(lambda now: now.v[v], places.labels, unit, len(v), v=v)
