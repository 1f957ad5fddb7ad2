"""Star trackers: attitude."""

from __future__ import annotations

from typing import Any

from limber.assembly.system import System
from limber.checks import Array
from limber.control.rotations import conjugate, product, quaternion_of, quaternion_of_vector
from limber.control.sensors.base import Instant, Reader
from limber.control.sensors.mounted import MountedSensor
from limber.dynamics import pose
from limber.errors import ArgumentValueError


class StarTracker(MountedSensor):
    """Measures the attitude of the sensor as a unit quaternion, scalar first, which maps sensor axes to world axes.

    `noise`, `bias` and so on are small rotations about the sensor axes, rad: three numbers, of which the one about the
    line of sight is usually the largest. See `MountedSensor` and `Sensor` for the options.
    """

    def __init__(
        self,
        body: str,
        node: str | int | None = None,
        name: str = "star tracker",
        *,
        rate: float,
        **options: Any,
    ):
        for option in ("quantization", "range"):
            if option in options:
                raise ArgumentValueError(
                    f"sensor {name!r}: a star tracker does not support {option}; its quaternion covers all attitudes."
                )
        super().__init__(body, node, name, rate=rate, **options)

    def reader(self, system: System) -> Reader:
        """The star tracker on a system."""
        body, node = self.place(system)

        def read(now: Instant):
            R, _ = pose(system, now.q, body, node)
            return quaternion_of(R @ self.rotation)

        return Reader(read, ("w", "x", "y", "z"), "", 3)

    def disturbed(self, exact: Array, error: Array) -> Array:
        """The attitude with a small rotation about the sensor axes."""
        found = product(exact, quaternion_of_vector(error))
        return -found if found[0] < 0.0 else found

    def difference(self, reading: Array, exact: Array) -> Array:
        """The small rotation about the sensor axes from the exact attitude to the reading."""
        turn = product(conjugate(exact), reading)
        return 2.0 * turn[1:] * (1.0 if turn[0] >= 0.0 else -1.0)
