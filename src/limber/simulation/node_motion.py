"""The motion of a node over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from limber import dynamics
from limber.checks import Array
from limber.short_repr import short_repr

if TYPE_CHECKING:
    from limber.simulation.result import Result


@dataclass(frozen=True, eq=False)
class NodeMotion:
    """The motion of a node in world axes.

    It has position, velocity and acceleration (n, 3), orientation R (n, 3, 3), angular velocity and angular
    acceleration (n, 3).
    """

    __repr__ = short_repr

    position: Array
    velocity: Array
    R: Array
    angular_velocity: Array
    acceleration: Array
    angular_acceleration: Array


def node_motion(result: Result, body: str, node: str | int | None) -> NodeMotion:
    """The motion of a node in a result, or of the body frame if `node` is None."""
    R, p = dynamics.pose(result.system, result.q, body, node)
    J = dynamics.jacobian(result.system, result.q, body, node)
    twist = np.einsum("nij,nj->ni", J, result.v)
    rate = dynamics.acceleration(result.system, result.q, result.v, result.vdot, body, node)
    return NodeMotion(p, twist[:, 3:], R, twist[:, :3], rate[:, 3:], rate[:, :3])
