"""Joints in files: `joint: {revolute: z}`, `joint: free`, `joint: {compound: [...]}`."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np

from limber import joints as J
from limber.checks import did_you_mean, shown
from limber.errors import ArgumentTypeError
from limber.io.fields import Axis, Number, named, numbers, problem
from limber.io.section import Section

#: Joints that need no numbers may be given by their name alone.
BARE = {"spherical": J.Spherical, "free": J.Free, "fixed": J.Fixed}


class ScrewSection(Section):
    """A screw: axis, and pitch in metres per radian."""

    axis: Axis
    pitch: Number


class UniversalSection(Section):
    """Two axes, the inboard one first; a list of two is short for it."""

    short: ClassVar[str] = "two axes"
    axis1: Axis
    axis2: Axis

    @classmethod
    def shorthand(cls, data: Any) -> Any:
        """[axis1, axis2]."""
        if isinstance(data, list) and len(data) == 2:
            return dict(zip(("axis1", "axis2"), data))
        return data


class NothingSection(Section):
    """No numbers: {} or nothing."""


class JointSection(Section):
    """One joint, by the key that names its kind; spherical, free and fixed also as a word."""

    one_of: ClassVar[tuple[str, ...]] = (
        "revolute",
        "prismatic",
        "screw",
        "cylindrical",
        "universal",
        "planar",
        "spherical",
        "free",
        "fixed",
        "simple",
        "compound",
    )
    short: ClassVar[str] = "free, fixed or spherical"
    revolute: Axis | None = None
    prismatic: Axis | None = None
    screw: ScrewSection | None = None
    cylindrical: Axis | None = None
    universal: UniversalSection | None = None
    planar: Axis | None = None
    spherical: NothingSection | None = None
    free: NothingSection | None = None
    fixed: NothingSection | None = None
    simple: Annotated[Any, numbers((6, "r"))] | None = None
    compound: list[JointSection] | None = None

    @classmethod
    def shorthand(cls, data: Any) -> Any:
        """The bare word `free`, `fixed` or `spherical`."""
        if isinstance(data, str):
            if data not in BARE:
                if data in cls.one_of:
                    raise problem(f"{data} needs numbers, as in {{revolute: [0, 0, 1]}}.")
                raise problem(f"{named(data)} is not a joint. {did_you_mean(data, cls.one_of)}")
            return {data: {}}
        if isinstance(data, dict):
            return {k: {} if k in BARE and x is None else x for k, x in data.items()}
        return data

    def build(self) -> J.Joint:
        """The joint."""
        for kind, make in BARE.items():
            if getattr(self, kind) is not None:
                return make()
        if self.screw is not None:
            return J.Screw(self.screw.axis, self.screw.pitch)
        if self.universal is not None:
            return J.Universal(self.universal.axis1, self.universal.axis2)
        if self.simple is not None:
            return J.SimpleJoint(self.simple)
        if self.compound is not None:
            return J.CompoundJoint([part.build() for part in self.compound])
        for kind, make_about in ABOUT.items():
            axis = getattr(self, kind)
            if axis is not None:
                return make_about(axis)
        # a key was given, and nothing came with it
        kind = next(iter(self.model_fields_set))
        raise ArgumentTypeError(f"{kind} has no value: give its numbers.")


ABOUT: dict[str, type[J.Revolute | J.Prismatic | J.Cylindrical | J.Planar]] = {
    "revolute": J.Revolute,
    "prismatic": J.Prismatic,
    "cylindrical": J.Cylindrical,
    "planar": J.Planar,
}


def axis_data(axis: np.ndarray) -> Any:
    """A unit axis: x, y or z, or its numbers."""
    for letter, unit in zip("xyz", np.eye(3)):
        if axis.tobytes() == unit.tobytes():
            return letter
    return axis


def joint_data(joint: J.Joint) -> Any:
    """A joint as files write it."""
    kind = type(joint)
    for word, bare in BARE.items():
        if kind is bare:
            return word
    for word, about in ABOUT.items():
        if isinstance(joint, about) and kind is about:
            return {word: axis_data(joint.normal if isinstance(joint, J.Planar) else joint.axis)}
    if isinstance(joint, J.Screw) and kind is J.Screw:
        return {"screw": {"axis": axis_data(joint.axis), "pitch": joint.pitch}}
    if isinstance(joint, J.Universal) and kind is J.Universal:
        return {"universal": [axis_data(joint.axis1), axis_data(joint.axis2)]}
    if kind is J.SimpleJoint:
        return {"simple": joint.groups[0].H}
    if isinstance(joint, J.CompoundJoint) and kind is J.CompoundJoint:
        return {"compound": [joint_data(part) for part in joint.joints]}
    raise ArgumentTypeError(f"joint {shown(joint)} is of a kind that files do not have.")
