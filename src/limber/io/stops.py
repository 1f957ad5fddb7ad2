"""Stops at the limits of joints, for files that give limits without the stiffness of stops.

The stiffness is chosen so that the effort limit presses the joint into the stop by one percent of its range.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from limber.checks import listed
from limber.joints.physics import FARTHEST, JointOptions

#: The depth to which the effort limit presses a joint into its stop, as a fraction of its range.
PRESSED = 0.01


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
            have, _, them = _counted(self.soft)
            lines.append(
                f"{have} limits, but no finite effort or only one limit, so the stiffness of stops is not defined: the "
                f"limits are kept as information, and nothing stops {them} there"
            )
        if self.no_range:
            have, their, them = _counted(self.no_range)
            lines.append(
                f"{have} no range from lower to upper: {their} limits are left out, and nothing stops {them}"
            )
        return lines


def _counted(names: list[str]) -> tuple[str, str, str]:
    """The beginning of a clause on one or several joints, and its pronouns."""
    if len(names) == 1:
        return f"joint {names[0]!r} has", "its", "it"
    return f"joints {listed(names)} have", "their", "them"


def stop_options(
    name: str, lower: float, upper: float, effort: float | None, notes: Notes
) -> JointOptions:
    """The limits and the stiffness of the stops at them; an effort of zero means no stops."""
    # Files write infinity or the largest floating-point number for no limit.
    bounds = tuple(x if abs(x) <= FARTHEST else None for x in (lower, upper))
    if bounds == (None, None):
        return {}
    if effort is None or None in bounds:
        notes.soft.append(name)
        effort = 0.0
    return {"limits": bounds, "stop_stiffness": effort / (PRESSED * (upper - lower))}
