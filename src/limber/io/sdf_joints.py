"""Joints of SDF: kinds, and the physics of their axes."""

from __future__ import annotations

import math

import numpy as np

from limber.checks import Array, did_you_mean
from limber.errors import LimberError
from limber.io.left_out import LeftOut
from limber.io.sdf import SdfJoint
from limber.io.sdf_values import bound, number
from limber.io.stops import Notes, stop_options
from limber.io.xml_tree import Element
from limber.joints import CompoundJoint, Fixed, Joint, Prismatic, Revolute, Screw, Spherical
from limber.joints.physics import JointOptions

#: How many axes a kind has.
KINDS = {
    **{"revolute": 1, "continuous": 1, "prismatic": 1, "screw": 1},
    **{"revolute2": 2, "universal": 2, "ball": 0, "fixed": 0},
}
IN_JOINT = {"parent", "child", "pose", "axis", "axis2", "provide_feedback"}
IN_SCREW = {"screw_thread_pitch", "thread_pitch"}
IN_AXIS = {"xyz", "dynamics", "limit", "use_parent_model_frame", "mimic"}
IN_DYNAMICS = {"damping", "friction", "spring_reference", "spring_stiffness"}
IN_LIMIT = {"lower", "upper", "effort", "velocity", "stiffness"}
#: Files write this, or more, for a missing limit.
NONE = 1e16


def joint_of(
    joint: SdfJoint, axes: list[Array], stops: bool, left_out: LeftOut, notes: Notes
) -> Joint:
    """The joint, its axes in the frame of its child."""
    tags = _axis_tags(joint, axes, left_out)
    return _made(joint, axes, [_physics(tag, joint, stops, left_out, notes) for tag in tags])


def cut_joint_of(joint: SdfJoint, axes: list[Array], left_out: LeftOut) -> Joint:
    """The same as a joint that closes a loop, which has no physics."""
    tags = _axis_tags(joint, axes, left_out)
    if any(axis.one(tag) is not None for axis in tags for tag in ("dynamics", "limit", "mimic")):
        left_out.note(f"joint {joint.name!r} closes a loop: its dynamics and limits are left out")
    return _made(joint, axes, [{} for _ in tags])


def _axis_tags(joint: SdfJoint, axes: list[Array], left_out: LeftOut) -> list[Element]:
    """The elements of the axes that the kind of a joint has."""
    element = joint.element
    if joint.kind not in KINDS:
        hint = did_you_mean(joint.kind, KINDS)
        raise element.error(f"joint {joint.name!r} has the unknown type {joint.kind!r}. {hint}")
    left_out.tags(element, IN_JOINT | IN_SCREW)
    tags = [*element.all("axis"), *element.all("axis2")]
    count = KINDS[joint.kind]
    if len(axes) < count:
        raise element.error(
            f"joint {joint.name!r} is {joint.kind} and needs {count} <axis> elements (axis, axis2), got {len(axes)}."
        )
    if len(tags) > count:
        left_out.note(f"joint {joint.name!r} is {joint.kind}: its <{tags[count].tag}> is left out")
    return tags[:count]


def _made(joint: SdfJoint, axes: list[Array], physics: list[JointOptions]) -> Joint:
    """The joint of its kind."""
    if joint.kind in ("fixed", "ball"):
        return Fixed() if joint.kind == "fixed" else Spherical()
    try:
        if joint.kind == "prismatic":
            return Prismatic(axes[0], **physics[0])
        if joint.kind == "screw":
            return Screw(axes[0], _pitch(joint), **physics[0])
        made = [Revolute(axis, **options) for axis, options in zip(axes, physics)]
        return made[0] if len(made) == 1 else CompoundJoint(made)
    except LimberError as error:
        raise joint.element.error(f"joint {joint.name!r}: {error}") from error


def _pitch(joint: SdfJoint) -> float:
    """The pitch of a screw, m/rad.

    `screw_thread_pitch` is in m per revolution; the older `thread_pitch` in rad/m, of the opposite sign, counts where the other is missing.
    """
    element = joint.element
    if element.one("screw_thread_pitch") is not None or element.one("thread_pitch") is None:
        return number(element, "screw_thread_pitch", 1.0) / (2.0 * math.pi)
    turns = number(element, "thread_pitch", 0.0)
    if turns == 0.0:
        raise element.error(
            f"joint {joint.name!r} has thread_pitch 0, a screw that does not turn: give screw_thread_pitch, in m per "
            "revolution."
        )
    return -1.0 / turns


def _physics(
    axis: Element, joint: SdfJoint, stops: bool, left_out: LeftOut, notes: Notes
) -> JointOptions:
    """The options of one axis."""
    left_out.tags(axis, IN_AXIS)
    dynamics, limit = axis.one("dynamics"), axis.one("limit")
    options: JointOptions = {}
    if dynamics is not None:
        left_out.tags(dynamics, IN_DYNAMICS)
    damping, friction, stiffness = (
        number(dynamics, tag, 0.0) for tag in ("damping", "friction", "spring_stiffness")
    )
    if damping:
        options["damping"] = damping
    if friction:
        options["friction"] = friction
    if stiffness:
        options["stiffness"] = stiffness
        rest = number(dynamics, "spring_reference", 0.0)
        if rest:
            options["rest"] = rest
    if limit is None:
        return options
    left_out.tags(limit, IN_LIMIT)
    effort, speed = (_positive(limit, tag) for tag in ("effort", "velocity"))
    if effort is not None:
        options["effort_limit"] = effort
    if speed is not None:
        options["speed_limit"] = speed
    if joint.kind != "continuous":
        options |= _limits(limit, joint.name, effort, stops, notes)
    return options


def _positive(limit: Element, tag: str) -> float | None:
    """A limit of effort or velocity; a negative one, or none, stands for no limit."""
    value = bound(limit, tag)
    return value if value is not None and 0.0 < value < NONE else None


def _limits(
    limit: Element, name: str, effort: float | None, stops: bool, notes: Notes
) -> JointOptions:
    """Limits and their stops, whose stiffness the file may give."""
    given = [bound(limit, tag) for tag in ("lower", "upper")]
    lower, upper = (
        none if x is None or abs(x) >= NONE else x for x, none in zip(given, (-math.inf, math.inf))
    )
    if math.isinf(lower) and math.isinf(upper):
        return {}
    if not lower < upper:
        notes.no_range.append(name)
        return {}
    stiffness = bound(limit, "stiffness")
    if stiffness is not None and stiffness > 0.0 and stops:
        bounds = tuple(x if np.isfinite(x) else None for x in (lower, upper))
        return {"limits": bounds, "stop_stiffness": stiffness}
    return stop_options(name, lower, upper, effort if stops else 0.0, notes)
