"""Gyros: angular velocity."""

from __future__ import annotations

from typing import Any

from limber.assembly.system import System
from limber.control.sensors.base import Instant, Reader
from limber.control.sensors.mounted import AXES, MountedSensor
from limber.dynamics import jacobian, pose


class Gyro(MountedSensor):
    """Measures the angular velocity of a node in sensor axes, rad/s; see `MountedSensor` and `Sensor` for the
    options."""

    def __init__(
        self,
        body: str,
        node: str | int | None = None,
        name: str = "gyro",
        *,
        rate: float,
        **options: Any,
    ):
        super().__init__(body, node, name, rate=rate, **options)

    def reader(self, system: System) -> Reader:
        """The gyro on a system."""
        body, node = self.place(system)

        def read(now: Instant):
            R, _ = pose(system, now.q, body, node)
            turning = jacobian(system, now.q, body, node)[:3] @ now.v
            return self.rotation.T @ (R.T @ turning)

        return Reader(read, AXES, "rad/s", 3)
