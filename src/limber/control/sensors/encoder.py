"""Encoders: the coordinates of joints."""

from __future__ import annotations

import math
from typing import Any

from limber.assembly.system import System
from limber.checks import number
from limber.control.joints import bodies_of, joint_places, joint_unit
from limber.control.sensors.base import Reader, Sensor, several
from limber.errors import ArgumentValueError


class Encoder(Sensor):
    """Measures the coordinates of joints, rad or m.

    Parameters
    ----------
    bodies : the bodies whose joints are read; None for all joints without quaternions.
    counts : counts per turn, instead of `quantization`: the resolution is 2 pi / counts rad; for revolute joints.
    options : those of `Sensor`.
    """

    def __init__(
        self,
        bodies: Any = None,
        name: str = "encoder",
        *,
        rate: float,
        counts: float | None = None,
        **options: Any,
    ):
        if counts is not None:
            if "quantization" in options:
                raise ArgumentValueError(f"sensor {name!r}: give counts or quantization, not both.")
            options["quantization"] = 2.0 * math.pi / number("counts", counts, above=0.0)
        super().__init__(name, rate=rate, **options)
        self.counts = counts
        self.bodies = several(bodies)
        self._freeze()

    def reader(self, system: System) -> Reader:
        """The encoder on a system."""
        places = joint_places(system, self.bodies, f"sensor {self.name!r}", with_rates=False)
        q = places.q
        unit = joint_unit(system, places.v.tolist(), "rad", "m")
        if self.counts is not None and unit != "rad":
            raise ArgumentValueError(
                f"sensor {self.name!r}: counts={self.counts:g} means counts per revolution, but the encoder reads sliding "
                "joints. Give quantization=..., in m, for these, and if joints of both kinds are read, use two encoders "
                "and name the bodies of each."
            )
        plain = all(all(system.joints[body].has_coordinate) for body in bodies_of(system, places))
        rates = places.v if plain else None
        return Reader(lambda now: now.q[q], places.labels, unit, len(q), q=q, rates=rates)
