"""Joints of MJCF: kinds, anchors and physics; several joints of one body as one compound joint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from limber.checks import Array
from limber.errors import LimberError
from limber.io.left_out import LeftOut
from limber.io.mjcf_compiler import Compiler, unit, word
from limber.io.placement import Pose
from limber.io.stops import Notes, stop_options
from limber.io.xml_tree import Element
from limber.joints import (
    CompoundJoint,
    Fixed,
    Free,
    Joint,
    Prismatic,
    Revolute,
    SimpleJoint,
    Spherical,
)
from limber.joints.physics import JointOptions

KINDS = ("hinge", "slide", "ball", "free")
READ = {
    *("name", "class", "type", "pos", "axis", "range", "limited", "ref", "springref", "stiffness"),
    *("damping", "armature", "frictionloss", "actuatorfrcrange", "actuatorfrclimited"),
}
#: Settings of the solver of MuJoCo, which has soft constraints for limits and friction, and remarks.
SILENT = {
    *("group", "user", "solreflimit", "solimplimit", "solreffriction", "solimpfriction", "margin"),
}


@dataclass(frozen=True, eq=False)
class MjcfJoint:
    """A joint: its anchor and axis in the frame of its body, and its physics.

    reference : its position in MuJoCo where its coordinate here is zero.
    """

    name: str | None
    kind: str
    anchor: Array
    axis: Array
    reference: float
    physics: JointOptions
    element: Element


@dataclass
class JointReader:
    """Reads the joints of a file; `notes` has remarks about them."""

    compiler: Compiler
    left_out: LeftOut
    notes: Notes
    stops: bool = True

    def read(self, element: Element, frame: Pose) -> MjcfJoint:
        """A joint that is given in a frame of its body; <freejoint> is a free joint without physics."""
        name = element.attributes.get("name")
        if element.tag == "freejoint":
            self.left_out.attributes(element, ("name", "group", "align"))
            return MjcfJoint(name, "free", np.zeros(3), np.zeros(3), 0.0, {}, element)
        self.left_out.attributes(element, READ | SILENT)
        kind = word(element, "type", KINDS) if "type" in element.attributes else "hinge"
        anchor = frame.point(element.numbers("pos", 3, "0 0 0"))
        axis = np.zeros(3)
        if kind in ("hinge", "slide"):
            axis = frame.rotation @ unit(element, "axis", element.numbers("axis", 3, "0 0 1"))
        turn = self.compiler.unit if kind == "hinge" else 1.0
        reference = turn * element.number("ref", "0") if kind in ("hinge", "slide") else 0.0
        physics = self._physics(element, kind, name or f"at line {element.line}", turn, reference)
        if reference:
            self.left_out.note(
                "joint coordinates are zero where the file places the bodies: they are the positions of MuJoCo minus `ref`"
            )
        return MjcfJoint(name, kind, anchor, axis, reference, physics, element)

    def _physics(
        self, element: Element, kind: str, name: str, turn: float, reference: float
    ) -> JointOptions:
        options: JointOptions = {}
        damping, stiffness = (self._constant(element, key) for key in ("damping", "stiffness"))
        friction, armature = (element.number(key, "0") for key in ("frictionloss", "armature"))
        if damping:
            options["damping"] = damping
        if friction:
            options["friction"] = friction
        if kind in ("ball", "free"):
            for key, value in (("armature", armature), ("stiffness", stiffness)):
                if value:
                    self.left_out.note(
                        f"{key} {value:g} of the {kind} joint {name!r} is left out: it has no coordinate for each speed"
                    )
            if self._limited(element, "limited", "range"):
                self.left_out.note(f"the limit of the {kind} joint {name!r} is left out")
            return options
        if armature:
            options["armature"] = armature
        if stiffness:
            options["stiffness"] = stiffness
            rest = turn * element.number("springref", "0") - reference
            if rest:
                options["rest"] = rest
        return options | self._limits(element, name, turn, reference)

    def _constant(self, element: Element, key: str) -> float:
        """The constant of a damper or spring, whose law MuJoCo lets be a polynomial."""
        values = element.numbers(key, None, "0")
        if values[1:].any():
            raise element.error(
                f"{key} of <joint> is a polynomial, {element.get(key)!r}: only a constant is read."
            )
        return float(values[0])

    def _limits(self, element: Element, name: str, turn: float, reference: float) -> JointOptions:
        options: JointOptions = {}
        effort = None
        if self._limited(element, "actuatorfrclimited", "actuatorfrcrange"):
            low, high = element.numbers("actuatorfrcrange", 2)
            effort = float(max(abs(low), abs(high)))
            if low != -high:
                self.left_out.note(
                    f"actuatorfrcrange of joint {name!r} is {low:g} to {high:g}: effort_limit is the larger magnitude"
                )
            options["effort_limit"] = effort
        if self._limited(element, "limited", "range"):
            lower, upper = turn * element.numbers("range", 2) - reference
            if lower < upper:
                pressing = effort if self.stops else 0.0
                options |= stop_options(name, float(lower), float(upper), pressing, self.notes)
            else:
                self.notes.no_range.append(name)
        return options

    def _limited(self, element: Element, flag: str, key: str) -> bool:
        """Whether a range is in force."""
        said = (
            word(element, flag, ("true", "false", "auto")) if flag in element.attributes else "auto"
        )
        there = key in element.attributes
        if said == "auto" and there and not self.compiler.autolimits:
            raise element.error(
                f'{key} of <joint> is given without {flag}, but autolimits="false": state whether it is limited.'
            )
        if said == "true" and not there:
            raise element.error(f"{flag} of <joint> is true, but {key} is missing.")
        return there and said != "false"


def one_joint(joints: Sequence[MjcfJoint]) -> tuple[Joint, Array]:
    """The joints of a body, inboard to outboard, as one joint, and its anchor in the frame of the body."""
    if not joints:
        return Fixed(), np.zeros(3)
    balls = [joint.anchor for joint in joints if joint.kind == "ball"]
    hinges = [joint.anchor for joint in joints if joint.kind == "hinge"]
    anchor = (balls or hinges[::-1] or [np.zeros(3)])[0]
    for joint in joints:
        if joint.kind == "ball" and not np.array_equal(joint.anchor, anchor):
            raise joint.element.error(
                "two ball joints of one body have different anchors: put a body in between."
            )
    made = [_joint(joint, anchor) for joint in joints]
    if len(made) == 1:
        return made[0], anchor
    try:
        return CompoundJoint(made), anchor
    except LimberError as error:
        raise joints[0].element.error(str(error)) from error


def _joint(joint: MjcfJoint, anchor: Array) -> Joint:
    try:
        if joint.kind == "free":
            return Free(**joint.physics)
        if joint.kind == "ball":
            return Spherical(**joint.physics)
        if joint.kind == "slide":
            return Prismatic(joint.axis, **joint.physics)
        arm = joint.anchor - anchor
        if not arm.any():
            return Revolute(joint.axis, **joint.physics)
        column = np.concatenate([joint.axis, np.cross(arm, joint.axis)])
        return SimpleJoint(column[:, None], **joint.physics)
    except LimberError as error:
        name = joint.name or "without a name"
        raise joint.element.error(f"joint {name!r}: {error}") from error
