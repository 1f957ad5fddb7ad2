"""Accelerometers: specific force."""

from __future__ import annotations

from typing import Any

from limber.assembly.system import System
from limber.control.sensors.base import Instant, Reader
from limber.control.sensors.mounted import AXES, MountedSensor
from limber.dynamics import acceleration, pose


class Accelerometer(MountedSensor):
    """Measures the specific force at a node, acceleration minus gravity, in sensor axes, m/s^2.

    In orbit, gravity is that of the planet at the node. If the torque jumps at the sample, the acceleration is the one
    just before the jump. See `MountedSensor` and `Sensor` for the options.
    """

    def __init__(
        self,
        body: str,
        node: str | int | None = None,
        name: str = "accelerometer",
        *,
        rate: float,
        **options: Any,
    ):
        super().__init__(body, node, name, rate=rate, **options)

    def reader(self, system: System) -> Reader:
        """The accelerometer on a system."""
        body, node = self.place(system)

        def read(now: Instant):
            R, p = pose(system, now.q, body, node)
            moving = acceleration(system, now.q, now.v, now.vdot, body, node)[3:]
            free = system.gravity if now.field is None else now.field.falling(now.t, p)
            return self.rotation.T @ (R.T @ (moving - free))

        return Reader(read, AXES, "m/s^2", 3)
