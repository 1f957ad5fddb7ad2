"""`<dynamics>` and `<limit>` of a URDF as the physics of joints."""

from __future__ import annotations

from collections.abc import Iterable

from limber.io.stops import Notes, stop_options
from limber.io.urdf import UrdfJoint
from limber.joints.physics import FARTHEST, JointOptions

#: Limits of a revolute joint of so many radians, from four turns on, are probably degrees.
LIKE_DEGREES = (25.0, 720.0)
ONE_SPEED = ("revolute", "prismatic", "continuous")


def joint_physics(
    joints: Iterable[UrdfJoint], stops: bool
) -> tuple[dict[str, JointOptions], list[str]]:
    """The options of every joint by its name, and the warnings."""
    notes = Notes()
    return {joint.name: _options(joint, stops, notes) for joint in joints}, notes.lines()


def _options(joint: UrdfJoint, stops: bool, notes: Notes) -> JointOptions:
    """The options of one joint."""
    if joint.kind not in ONE_SPEED:
        _note_left_out(joint, notes)
        return {}
    options: JointOptions = {}
    if joint.damping:
        options["damping"] = joint.damping
    if joint.friction:
        options["friction"] = joint.friction
    effort, speed = (_limit(joint, name, notes) for name in ("effort", "velocity"))
    if effort is not None:
        options["effort_limit"] = effort
    if speed is not None:
        options["speed_limit"] = speed
    if joint.lower is None and joint.upper is None:
        return options
    lower, upper = joint.lower or 0.0, joint.upper or 0.0  # URDF defines zero as the default.
    if joint.kind == "continuous":
        if lower < upper:
            notes.single.append(
                f"joint {joint.name!r} is continuous: its limits {lower:g} and {upper:g} are left out"
            )
    elif lower < upper:
        if joint.kind == "revolute" and LIKE_DEGREES[0] < max(-lower, upper) <= LIKE_DEGREES[1]:
            notes.single.append(
                f"joint {joint.name!r}: its limits {lower:g} and {upper:g} look like degrees; URDF has radians"
            )
        options |= stop_options(joint.name, lower, upper, effort if stops else 0.0, notes)
    else:
        notes.no_range.append(joint.name)
    return options


def _limit(joint: UrdfJoint, name: str, notes: Notes) -> float | None:
    """The limit of effort or velocity of a joint; files write zero, infinity or the largest floating-point number for
    none."""
    value = getattr(joint, name)
    if value is not None and value < 0.0:
        notes.single.append(f"joint {joint.name!r}: {name} {value:g} is negative and is left out")
    return value if value is not None and 0.0 < value <= FARTHEST else None


def _note_left_out(joint: UrdfJoint, notes: Notes) -> None:
    """Note the entries of a joint that has no speed, or several of different units."""
    names = ["damping", "friction"]
    if joint.kind != "fixed":  # The limits of a fixed joint have no meaning.
        names += ["lower", "upper", "effort", "velocity"]
    said = [f"{name} {getattr(joint, name):g}" for name in names if getattr(joint, name)]
    if said:
        why = "does not move" if joint.kind == "fixed" else "has several speeds"
        notes.single.append(
            f"joint {joint.name!r} is {joint.kind} and {why}: {', '.join(said)} left out"
        )
