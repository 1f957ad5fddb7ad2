"""The rigid model of a floating system for attitude control; only its wheels and gyros move."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.control.joints import floats
from limber.control.rotations import quaternion_of
from limber.dynamics import jacobian, mass_matrix, pose
from limber.dynamics.evaluate import check_system
from limber.errors import ArgumentValueError
from limber.joints import Free


@dataclass(frozen=True, eq=False)
class RigidCraft:
    """Inertia in hub axes, without deformation.

    inertia : (3, 3) of the whole system about its centre of mass, kg m^2; times the angular velocity of the hub it is
        the angular momentum of the system while the wheels are locked.
    turned : (3, 3) the inertia that torques between hub and wheels turn: without that of the wheels about their axes.
    centre : (3,) the centre of mass from the origin of the hub, m.
    """

    inertia: Array
    turned: Array
    centre: Array


def free_hub(system: System, hub: str, owner: str) -> slice:
    """The place in v of the speeds of a hub, which must be rigid and floating."""
    check_system(system)
    system.number(hub, f"{owner}: hub")
    place, item = system.layout[hub], system.attachments[hub]
    rigid = place.v_modes.stop == place.v_modes.start
    if not isinstance(system.joints[hub], Free) or not rigid or item.inboard is not None:
        raise ArgumentValueError(
            f"{owner}: the hub {hub!r} must be a rigid body with a Free joint at its body frame, because the torques act "
            "on it and attitude and rate are its own."
        )
    if not floats(system, hub):
        raise ArgumentValueError(
            f"{owner}: the Free joint of the hub {hub!r} is attached to {item.to!r}, which moves: its torques would push "
            f"{item.to!r} back, and its "
            "attitude and rate would be relative to it. Attach the hub to the world."
        )
    return place.v_joint


def placed(system: System, hub: str) -> Array:
    """(4,) the attitude in the world of a floating hub whose own quaternion is that of no rotation: that of its place."""
    return quaternion_of(pose(system, system.neutral(), hub)[0])


def undeformed(model: System, system: System, q: Array) -> Array:
    """The configuration of a model without deformation, with the joints of q, a configuration of a system with the same
    joints."""
    found = model.neutral()
    for body, where in system.layout.items():
        there = model.layout.get(body)
        if there is not None and found[there.q_joint].shape == q[where.q_joint].shape:
            found[there.q_joint] = q[where.q_joint]
    return found


def rigid_craft(system: System, hub: str, q: Array, turning: Iterable[int] = ()) -> RigidCraft:
    """The inertia of a system about its centre of mass; `turning` has the places in v of wheels that turn freely."""
    place = free_hub(system, hub, "AttitudeController")
    M = mass_matrix(system, q)
    spin = np.arange(place.start, place.start + 3)
    line = np.arange(place.start + 3, place.stop)
    mass = M[line[0], line[0]]
    lever = M[np.ix_(spin, line)] / mass
    centre = np.array([lever[2, 1], lever[0, 2], lever[1, 0]])
    return RigidCraft(
        _without(M, spin, line), _without(M, spin, np.append(line, np.array([*turning], dtype=int))), centre
    )  # fmt: skip


def _without(M: Array, kept: Array, free: Array) -> Array:
    """The mass matrix of some speeds while others follow without force."""
    across = M[np.ix_(kept, free)]
    return M[np.ix_(kept, kept)] - across @ np.linalg.solve(M[np.ix_(free, free)], across.T)


def turning_axis(system: System, hub: str, body: str, q: Array) -> Array:
    """(3,) the axis of the revolute joint of a body, in hub axes."""
    R, _ = pose(system, q, hub)
    return R.T @ jacobian(system, q, body)[:3, system.layout[body].v_joint.start]
