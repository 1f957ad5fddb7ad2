"""`<mimic>` of a URDF as gears between joints.

URDF defines the position of a joint that mimics another as multiplier * position of the other + offset.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from limber.assembly import Assembly
from limber.checks import did_you_mean, listed
from limber.errors import FileError, LimberError
from limber.io.urdf import UrdfJoint
from limber.io.urdf_physics import ONE_SPEED


class Follower(NamedTuple):
    """A joint whose position is ratio * that of the driver + offset; the driver mimics no other joint."""

    joint: UrdfJoint
    driver: UrdfJoint
    ratio: float
    offset: float


def gear_mimics(assembly: Assembly, joints: Mapping[str, UrdfJoint]) -> list[str]:
    """Gear the joints that mimic others, under the names of these joints; returns the warnings."""
    notes = []
    for joint in joints.values():
        if joint.mimic is None:
            continue
        if joint.kind == "fixed":
            notes.append(f"joint {joint.name!r} is fixed and does not move: its mimic is left out")
            continue
        made = followed(joint, joints)
        try:
            assembly.gear(made.joint.child, made.driver.child, made.ratio, made.offset, joint.name)
        except LimberError as error:
            raise _error(joint, str(error)) from error
    return notes


def followed(joint: UrdfJoint, joints: Mapping[str, UrdfJoint]) -> Follower:
    """The driver of a joint that mimics another, at the end of a chain of mimics."""
    _refuse_kind(joint, joint, "cannot mimic another joint")
    ratio, offset, here, seen = 1.0, 0.0, joint, [joint.name]
    while here.mimic is not None:
        name, factor, shift = here.mimic
        if name not in joints:
            raise _error(
                here, f"it mimics the unknown joint {name!r}. {did_you_mean(name, joints)}"
            )
        if name == here.name:
            raise _error(here, "it mimics itself. Name the joint that drives it.")
        if name in seen:
            circle = listed(seen[seen.index(name) :])
            raise _error(
                here,
                f"the joints {circle} mimic each other in a cycle, so none of them drives the others.",
            )
        ratio, offset = ratio * factor, ratio * shift + offset
        here = joints[name]
        seen.append(name)
        _refuse_kind(joint, here, "cannot be mimicked")
    return Follower(joint, here, ratio, offset)


def _refuse_kind(joint: UrdfJoint, other: UrdfJoint, cannot: str) -> None:
    """Reject a joint that has no coordinate, or several of them."""
    if other.kind not in ONE_SPEED:
        has = "no position" if other.kind == "fixed" else "several coordinates"
        raise _error(
            joint,
            f"{other.name!r} is {other.kind}, so it has {has} and {cannot}. Remove the <mimic>.",
        )


def _error(joint: UrdfJoint, message: str) -> FileError:
    """An error at the <mimic> of a joint."""
    element = joint.element.one("mimic") or joint.element
    return element.error(f"mimic of joint {joint.name!r}: {message}")
