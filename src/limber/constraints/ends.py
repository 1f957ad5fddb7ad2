"""The positions of the ends of closures."""

from __future__ import annotations

import numpy as np

from limber.assembly.closures import End
from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.kinematics import pose


def end_pose(system: System, q: Array, end: End) -> tuple[Array, Array]:
    """Axes (..., 3, 3) and origin (..., 3) of the frame of an end in the world."""
    R, p = node_pose(system, q, end)
    return R @ end.rotation, p + R @ end.offset


def node_pose(system: System, q: Array, end: End) -> tuple[Array, Array]:
    """The axes and origin of the node to which the end is fixed."""
    if end.body == "world":
        return np.eye(3), np.zeros(3)
    return pose(system, q, end.body, end.node)
