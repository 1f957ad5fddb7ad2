"""Joints of a URDF that move no mass: links at the end of a chain without <inertial>.

Other programs read such files and divide by zero later.  The lenient reader gives these joints an armature.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from limber.bodies import RigidBody
from limber.checks import Array
from limber.io.urdf import Urdf, UrdfJoint

#: A moment of inertia below this fraction of the largest one of the same links is rounding.
ROUNDING = 1e-14


@dataclass
class Outboard:
    """What a link carries: the mass that is rigidly attached, and whether joints further outboard move mass."""

    mass: float = 0.0
    moment: Array = field(default_factory=lambda: np.zeros(3))  # mass times its centre
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))  # about the origin of the link
    beyond: bool = False

    def add_rigidly(self, other: Outboard, joint: UrdfJoint) -> None:
        """Add the load of a link that is attached by a fixed joint."""
        R, p = joint.rotation, joint.offset
        turned, moment = R @ other.inertia @ R.T, R @ other.moment
        self.mass += other.mass
        self.moment = self.moment + moment + other.mass * p
        # Steiner's theorem for an inertia about the origin of the other link
        cross = np.outer(p, moment) + np.outer(moment, p)
        shift = (2.0 * p @ moment + other.mass * p @ p) * np.eye(3)
        self.inertia = self.inertia + turned + shift - cross - other.mass * np.outer(p, p)
        self.beyond |= other.beyond

    def moves_along(self, joint: UrdfJoint) -> bool:
        """Whether the motion of the joint moves mass."""
        if self.beyond:
            return True
        about_axis = abs(joint.axis @ self.inertia @ joint.axis)
        turns = bool(about_axis > ROUNDING * np.abs(self.inertia).max())
        if joint.kind == "prismatic":
            return self.mass > 0.0
        return turns and (self.mass > 0.0 or joint.kind != "planar")


def massless_joints(robot: Urdf, rigid: Mapping[str, RigidBody]) -> list[str]:
    """The joints, in the order of the file, that move no mass and can have an armature.

    rigid : the bodies of the links that are rigid; the mass of the others moves by itself.
    """
    carried = {name: Outboard(beyond=name not in rigid) for name in robot.links}
    for name, body in rigid.items():
        moment = body.mass * body.com
        carried[name] = Outboard(body.mass, moment, body.inertia_about_origin())
    found = set()
    for joint in _tip_to_base(robot):
        outboard, inboard = carried[joint.child], carried[joint.parent]
        if joint.kind == "fixed":
            inboard.add_rigidly(outboard, joint)
            continue
        if joint.kind != "floating" and not outboard.moves_along(joint):
            found.add(joint.name)
        inboard.beyond |= outboard.beyond or outboard.mass > 0.0 or bool(outboard.inertia.any())
    return [name for name in robot.joints if name in found]


def _tip_to_base(robot: Urdf) -> list[UrdfJoint]:
    """The joints, each after those that its child carries."""
    children: dict[str, list[UrdfJoint]] = {}
    for joint in robot.joints.values():
        children.setdefault(joint.parent, []).append(joint)
    order, stack = [], [robot.root]
    while stack:
        for joint in children.get(stack.pop(), ()):
            order.append(joint)
            stack.append(joint.child)
    return order[::-1]
