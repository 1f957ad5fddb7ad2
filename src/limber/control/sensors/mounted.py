"""Sensors mounted at a node of a body."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import rotation as rotation_matrix
from limber.control.sensors.base import Sensor

AXES = ("x", "y", "z")


class MountedSensor(Sensor):
    """The base class of sensors at a node.

    Parameters
    ----------
    body, node : where the sensor is mounted; without a node, on the body frame.
    rotation : its columns are the sensor axes in the axes of the (deforming) node.
    options : those of `Sensor`.
    """

    def __init__(
        self,
        body: str,
        node: str | int | None = None,
        name: str = "",
        *,
        rate: float,
        rotation: ArrayLike | None = None,
        **options: Any,
    ):
        super().__init__(name, rate=rate, **options)
        self.body, self.node = body, node
        self.rotation = (
            np.eye(3)
            if rotation is None
            else rotation_matrix(f"rotation of sensor {name!r}", rotation)
        )
        self._freeze()

    def place(self, system: System) -> tuple[str, str | int | None]:
        """Check and return the body and the node."""
        system.number(self.body, f"sensor {self.name!r}: body")
        system.node_number(self.body, self.node, f"sensor {self.name!r}: node")
        return self.body, self.node
