"""Joints in files: `joint: {revolute: z, damping: 0.1}`, `joint: free`, `joint: {compound: [...]}`."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np

from limber import joints as J
from limber.checks import did_you_mean, free_symbols, shown
from limber.errors import ArgumentTypeError
from limber.io.document import Where
from limber.io.fields import Axis, Limits, Number, named, numbers, per_speed, problem
from limber.io.section import Section
from limber.joints.physics import OPTIONS, JointOptions, JointPhysics

#: Joints that need no numbers may be given by their names alone.
BARE = {"spherical": J.Spherical, "free": J.Free, "fixed": J.Fixed}
#: Grasp models, which have no physics of joints.
GRASPS: dict[str, Any] = {
    "rigid_grasp": J.RigidGrasp,
    "hard_point": J.HardPoint,
    "soft_finger": J.SoftFinger,
    "frictionless_point": J.FrictionlessPoint,
    "sliding_line": J.SlidingLine,
}
#: Those that need no numbers.
BARE_GRASPS = ("rigid_grasp", "frictionless_point")


class ScrewSection(Section):
    """A screw: its axis, and its pitch in metres per radian."""

    axis: Axis
    pitch: Number


class UniversalSection(Section):
    """Two axes, the inboard one first; a list of two axes is a short form."""

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
    """A section without entries: {} or nothing."""


class HardPointSection(Section):
    """A hard finger tip: the coefficient of friction."""

    friction: Number


class SoftFingerSection(Section):
    """A soft finger tip: the friction coefficients of forces, and of the moment about the normal in metres."""

    friction: Number
    torsion: Number


class SlidingLineSection(Section):
    """A sliding edge: its length in metres."""

    length: Number


class PhysicsSection(Section):
    """The physics of a joint, next to its kind; see `limber.joints.physics.JointOptions`."""

    armature: Annotated[Any, per_speed()] = None
    stiffness: Annotated[Any, per_speed()] = None
    rest: Annotated[Any, per_speed(minimum=None)] = None
    damping: Annotated[Any, per_speed()] = None
    friction: Annotated[Any, per_speed()] = None
    friction_speed: Annotated[Any, per_speed(above=True)] = None
    static_friction: Annotated[Any, per_speed()] = None
    stribeck_speed: Annotated[Any, per_speed(above=True)] = None
    limits: Limits = None
    stop_stiffness: Annotated[Any, per_speed()] = None
    stop_damping: Annotated[Any, per_speed()] = None
    stop_softness: Annotated[Any, per_speed(above=True)] = None
    effort_limit: Annotated[Any, per_speed(above=True, infinite=True)] = None
    speed_limit: Annotated[Any, per_speed(above=True, infinite=True)] = None

    @classmethod
    def key_names(cls) -> list[str]:
        """The keys of this section, the kinds of joints first."""
        return [*cls.one_of, *OPTIONS]

    def options(self) -> JointOptions:
        """The options in the file, as keywords of the joint."""
        given: Any = {x: getattr(self, x) for x in OPTIONS if x in self.model_fields_set}
        return given


class JointSection(PhysicsSection):
    """One joint: the key of its kind, and its physics.  Spherical, free and fixed joints may be a single word."""

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
        *GRASPS,
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
    rigid_grasp: NothingSection | None = None
    hard_point: HardPointSection | None = None
    soft_finger: SoftFingerSection | None = None
    frictionless_point: NothingSection | None = None
    sliding_line: SlidingLineSection | None = None

    @classmethod
    def shorthand(cls, data: Any) -> Any:
        """The bare word `free`, `fixed` or `spherical`."""
        if isinstance(data, str):
            if data not in (*BARE, *BARE_GRASPS):
                if data in cls.one_of:
                    raise problem(f"{data} needs numbers, as in {{revolute: [0, 0, 1]}}.")
                raise problem(f"{named(data)} is not a joint. {did_you_mean(data, cls.one_of)}")
            return {data: {}}
        if isinstance(data, dict):
            bare = (*BARE, *BARE_GRASPS)
            return {k: {} if k in bare and x is None else x for k, x in data.items()}
        return data

    def build(self, where: Where) -> J.Joint:
        """The joint; `where` is its place in the file."""
        with where.checked():
            return self._joint(where, self.options())

    def _joint(self, where: Where, options: JointOptions) -> J.Joint:
        for kind, make in BARE.items():
            if getattr(self, kind) is not None:
                return make(**options)
        for kind, grasp in GRASPS.items():
            section = getattr(self, kind)
            if section is not None:
                if options:
                    raise ArgumentTypeError(
                        f"{next(iter(options))} cannot be used with {kind}: a grasp model has no joint physics. Remove it."
                    )
                return grasp(**section.model_dump())
        if self.screw is not None:
            return J.Screw(self.screw.axis, self.screw.pitch, **options)
        if self.universal is not None:
            return J.Universal(self.universal.axis1, self.universal.axis2, **options)
        if self.simple is not None:
            return J.SimpleJoint(self.simple, **options)
        if self.compound is not None:
            parts = enumerate(self.compound)
            return J.CompoundJoint(
                [part.build(where / "compound" / i) for i, part in parts], **options
            )
        for kind, make_about in ABOUT.items():
            axis = getattr(self, kind)
            if axis is not None:
                return make_about(axis, **options)
        # The key has no value.
        kind = next(x for x in self.one_of if x in self.model_fields_set)
        raise ArgumentTypeError(f"{kind} has no value: give its numbers.")


ABOUT: dict[str, type[J.Revolute | J.Prismatic | J.Cylindrical | J.Planar]] = {
    "revolute": J.Revolute,
    "prismatic": J.Prismatic,
    "cylindrical": J.Cylindrical,
    "planar": J.Planar,
}


def axis_data(axis: np.ndarray) -> Any:
    """A unit axis as files write it: x, y or z, or its numbers."""
    for letter, unit in zip("xyz", np.eye(3)):
        if axis.tobytes() == unit.tobytes():
            return letter
    return axis


def joint_data(joint: J.Joint) -> Any:
    """A joint as files write it."""
    kind = kind_data(joint)
    physics = physics_data(joint.physics)
    if not physics:
        return kind
    return ({kind: {}} if isinstance(kind, str) else kind) | physics


def physics_data(physics: JointPhysics) -> dict[str, Any]:
    """The options that were given to a joint as a whole, as files write them."""
    for name, value in physics.given.items():
        unknown = free_symbols(value)
        if unknown:
            names = ", ".join(sorted(map(str, unknown)))
            raise ArgumentTypeError(
                f"{name} of a joint contains the symbols {names}, but files hold numbers. Substitute numbers for them."
            )
    return dict(physics.given)


def kind_data(joint: J.Joint) -> Any:
    """A joint without its physics: a word, or a mapping of one key."""
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
    for word, grasp in GRASPS.items():
        if kind is grasp:
            names = [x for x in ("friction", "torsion", "length") if hasattr(joint, x)]
            return {word: {x: getattr(joint, x) for x in names}} if names else word
    raise ArgumentTypeError(f"joint {shown(joint)} is of a kind that cannot be written to a file.")
