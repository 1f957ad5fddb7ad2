"""`<dynamics>` and `<limit>` of a URDF as the physics of joints.

A stop needs a stiffness, which URDF does not give.  It is chosen such that the effort limit presses the joint
by one percent of its range into the stop.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from limber.checks import listed
from limber.io.urdf import UrdfJoint
from limber.joints.physics import FARTHEST, JointOptions

#: The depth to which the effort limit presses a joint into its stop, as a fraction of its range.
PRESSED = 0.01
ONE_SPEED = ("revolute", "prismatic", "continuous")


@dataclass
class Notes:
    """The differences between a model and its file, for one warning."""

    single: list[str] = field(default_factory=list)
    soft: list[str] = field(default_factory=list)
    no_range: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Each difference as a clause of the warning."""
        lines = list(self.single)
        if self.soft:
            lines.append(
                f"joints {listed(self.soft)} have limits, but no effort or only one limit, so that no stiffness of "
                "stops follows: the limits are kept to be read, and nothing stops the joints there"
            )
        if self.no_range:
            lines.append(
                f"joints {listed(self.no_range)} have no range from lower to upper: their limits are left out, and they "
                "move freely"
            )
        return lines


def joint_physics(
    joints: Iterable[UrdfJoint], stops: bool
) -> tuple[dict[str, JointOptions], list[str]]:
    """The options of every joint by its name, and what to warn of."""
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
        options |= _stops(joint.name, lower, upper, effort if stops else 0.0, notes)
    else:
        notes.no_range.append(joint.name)
    return options


def _stops(
    name: str, lower: float, upper: float, effort: float | None, notes: Notes
) -> JointOptions:
    """The limits and the stiffness of the stops at them; an effort of zero means no stops."""
    # Files write the largest floating-point number for no limit.
    bounds = tuple(x if abs(x) <= FARTHEST else None for x in (lower, upper))
    if bounds == (None, None):
        return {}
    if effort is None or None in bounds:
        notes.soft.append(name)
        effort = 0.0
    return {"limits": bounds, "stop_stiffness": effort / (PRESSED * (upper - lower))}


def _limit(joint: UrdfJoint, name: str, notes: Notes) -> float | None:
    """The limit of effort or velocity of a joint; files write zero or the largest floating-point number for none."""
    value = getattr(joint, name)
    if value is not None and value < 0.0:
        notes.single.append(f"joint {joint.name!r}: {name} {value:g} is negative and left out")
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
