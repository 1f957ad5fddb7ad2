"""Assemblies from SDF files."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly import Assembly
from limber.bodies import RigidBody
from limber.checks import did_you_mean, flag, shown
from limber.errors import ArgumentValueError, LimberError
from limber.io.files import file_path
from limber.io.left_out import LeftOut
from limber.io.lenient import inertia_notes, link_body
from limber.io.placement import Pose
from limber.io.sdf import Sdf, SdfJoint, SdfLink, parse_sdf
from limber.io.sdf_joints import KINDS, cut_joint_of, joint_of
from limber.io.sdf_values import number
from limber.io.sdf_visuals import link_shapes
from limber.io.stops import Notes
from limber.io.visuals import Visuals
from limber.io.xml_tree import Element
from limber.joints import Fixed, Free, Joint

#: The node of a link whose joint is not at the origin of its frame.
ANCHOR = "joint anchor"


def read_sdf(
    path: str | PathLike,
    *,
    root: str = "free",
    gravity: ArrayLike | None = None,
    stops: bool = True,
    lenient: bool = False,
) -> Assembly:
    """Read the assembly of an SDF file: one body for each link, under its name.

    Parameters
    ----------
    path : the path of the file, with a `<model>` or a `<world>` of models.
    root : for links without a joint: "free", as in SDF, or "fixed" to the world.
    gravity : the acceleration of gravity in world axes; by default that of the `<world>` of the file, or
        (0, 0, -9.81) if it has none.
    stops : False for joints without stops; their limits can still be read.
    lenient : True to keep inertias with negative principal moments, as in `read_urdf`.

    Joints of the types revolute, continuous, prismatic, ball, fixed, screw, revolute2 and universal are read; the last
    two become a CompoundJoint of two Revolute.  Coordinates are zero where the file places the links.  A second joint
    to a link that already has one becomes a closure (`Assembly.close`) under its name.  `<mimic>` becomes a gear.

    Joints have damping, friction, spring_stiffness and spring_reference, effort and velocity limits, and stops whose
    stiffness is that of `<limit>`, or as in `read_urdf` if none is given.  Links of nested models, and of several
    models of a world, are named model::link.  Static models are fixed to the world.

    One ModelWarning lists what is left out, such as collisions, sensors and plugins.
    """
    if root not in ("fixed", "free"):
        raise ArgumentValueError(f'root must be "fixed" or "free", got {shown(root)}.')
    file = file_path(path)
    left_out, notes = LeftOut(file), Notes()
    model = parse_sdf(file, left_out)
    own = np.array([0.0, 0.0, -9.81]) if model.gravity is None else model.gravity
    assembly = Assembly(model.name, own if gravity is None else gravity)
    builder = _Builder(model, assembly, left_out, notes, root, flag("stops", stops))
    builder.build(flag("lenient", lenient))
    for line in notes.lines():
        left_out.note(line)
    left_out.report()
    return assembly


class _Builder:
    """Attaches the links of a file, tree first, and closes its loops."""

    def __init__(
        self,
        model: Sdf,
        assembly: Assembly,
        left_out: LeftOut,
        notes: Notes,
        root: str,
        stops: bool,
    ):
        self.model, self.assembly, self.left_out, self.notes = model, assembly, left_out, notes
        self.root, self.stops = root, stops
        self.visuals = Visuals(model.element.file)
        self.inboard: dict[str, SdfJoint] = {}
        self.loops: list[SdfJoint] = []

    def build(self, lenient: bool) -> None:
        """Fill the assembly."""
        self._choose_tree()
        anchors = {name: self._anchor(name) for name in self.model.links}
        bodies = {}
        for name, link in self.model.links.items():
            body = link_body(link.mass, link.com, link.inertia, link.element, name, lenient)
            if anchors[name].any():
                body = RigidBody(
                    body.mass, body.com, body.inertia, {ANCHOR: anchors[name]}, body.check_inertia
                )
            bodies[name] = body
        for note in inertia_notes(bodies):
            self.left_out.note(note)
        for name in self._base_to_tip():
            self._attach(self.model.links[name], bodies[name], anchors[name])
        for joint in self.loops:
            self._close(joint)
        self._gear_mimics()
        for words in self.visuals.notes():
            self.left_out.note(words)

    def _choose_tree(self) -> None:
        """The first joint to a link carries it; further ones, and those that would form a cycle, close loops."""
        links = self.model.links
        for joint in self.model.joints:
            if joint.kind == "gearbox":
                self.left_out.note(f"joint {joint.name!r} is a gearbox and is left out")
            elif links[joint.child].fixed:
                self.left_out.note(
                    f"joint {joint.name!r} belongs to a static model and is left out"
                )
            elif joint.child in self.inboard or self._carries(joint.child, joint.parent):
                self.loops.append(joint)
            else:
                self.inboard[joint.child] = joint

    def _carries(self, link: str, other: str) -> bool:
        """Whether `other` is the link, or one of its descendants."""
        while other != link and other in self.inboard:
            other = self.inboard[other].parent
        return other == link

    def _base_to_tip(self) -> list[str]:
        """The links, each after the one that carries it."""
        order: dict[str, None] = {}
        for name in self.model.links:
            chain, link = [], name
            while link != "world" and link not in order:
                chain.append(link)
                link = self.inboard[link].parent if link in self.inboard else "world"
            order |= dict.fromkeys(reversed(chain))
        return list(order)

    def _anchor(self, name: str) -> np.ndarray:
        """The place of the joint of a link, in the frame of the link."""
        joint, link = self.inboard.get(name), self.model.links[name]
        if joint is None or joint.kind in ("fixed", "prismatic"):
            return np.zeros(3)
        return _rounded(link.pose.inverse().point(joint.position))

    def _attach(self, link: SdfLink, body: RigidBody, anchor: np.ndarray) -> None:
        joint, place, to = self.inboard.get(link.name), link.pose, "world"
        made: Joint = Fixed() if link.fixed or self.root == "fixed" else Free()
        if joint is not None:
            made = self._joint(joint)
            to = joint.parent
            if to != "world":
                place = self.model.links[to].pose.inverse().then(place)
        try:
            inboard = ANCHOR if anchor.any() else None
            offset = _rounded(place.point(anchor))
            name = None if joint is None else joint.name
            self.assembly.attach(
                link.name,
                body,
                made,
                to,
                None,
                offset,
                place.rotation,
                inboard,
                name,
                link_shapes(link.element, self.visuals),
            )
        except LimberError as error:
            raise link.element.error(f"link {link.name!r}: {error}") from error

    def _joint(self, joint: SdfJoint, closes: bool = False) -> Joint:
        """The joint with its axes in the frame of its child; one that closes a loop has no physics."""
        turn = self.model.links[joint.child].pose.rotation.T
        axes = [_rounded(turn @ axis) for axis in joint.axes]
        if closes:
            return cut_joint_of(joint, axes, self.left_out)
        return joint_of(joint, axes, self.stops, self.left_out, self.notes)

    def _close(self, joint: SdfJoint) -> None:
        """A joint that closes a loop."""
        made = self._joint(joint, closes=True)
        child = self.model.links[joint.child].pose
        parent = Pose.here() if joint.parent == "world" else self.model.links[joint.parent].pose
        end = ("world", (0.0, 0.0, 0.0)) if joint.parent == "world" else (joint.parent, None)
        between = parent.inverse().then(child)
        here = child.inverse().point(joint.position)
        try:
            self.assembly.close(
                end,
                (joint.child, None),
                made,
                joint.name,
                between.point(here),
                between.rotation,
                here,
            )
        except LimberError as error:
            raise joint.element.error(f"joint {joint.name!r}: {error}") from error

    def _gear_mimics(self) -> None:
        """Gear the axes of joints that mimic one of another joint."""
        for joint in self.inboard.values():
            for place, tag in enumerate(("axis", "axis2")):
                axis = joint.element.one(tag)
                mimic = None if axis is None else axis.one("mimic")
                if mimic is not None and place < KINDS[joint.kind]:
                    self._gear(joint, place, mimic)

    def _gear(self, joint: SdfJoint, place: int, mimic: Element) -> None:
        """Gear an axis of a joint as its <mimic> says."""
        joints: Mapping[str, SdfJoint] = {joint.name: joint for joint in self.model.joints}
        prefix = joint.name[: len(joint.name) - len(joint.element.get("name"))]
        other = prefix + mimic.get("joint")
        if other not in joints:
            hint = did_you_mean(other, joints)
            raise mimic.error(f"joint {joint.name!r} mimics the unknown joint {other!r}. {hint}")
        if self.inboard.get(joints[other].child) is not joints[other]:
            raise mimic.error(
                f"joint {joint.name!r} mimics the joint {other!r}, which has no coordinate here because it closes a loop "
                "or is left out: let it mimic a joint that carries its child link, which is the first joint of that link "
                "in the file."
            )
        ratio = number(mimic, "multiplier", 1.0)
        shift = number(mimic, "offset", 0.0) - ratio * number(mimic, "reference", 0.0)
        driver = joints[other].child, int(mimic.attributes.get("axis") == "axis2")
        name = joint.name if place == 0 else f"{joint.name} axis2"
        try:
            self.assembly.gear((joint.child, place), driver, ratio, shift, name)
        except LimberError as error:
            raise mimic.error(f"mimic of joint {joint.name!r}: {error}") from error


def _rounded(vector: np.ndarray) -> np.ndarray:
    """A vector without the rounding of the rotations that it came from."""
    largest = np.abs(vector).max()
    return np.where(np.abs(vector) < 1e-15 * max(largest, 1.0), 0.0, vector)
