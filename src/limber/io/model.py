"""Model files: their sections, and the Assembly that they describe."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, ClassVar

from limber.assembly import Assembly
from limber.bodies import Body
from limber.errors import ModelWarning, warn
from limber.io.bodies import BodySection
from limber.io.closures import ClosureSection
from limber.io.dh import KINDS, DhRow, attach_dh
from limber.io.document import Document, Where
from limber.io.fields import (
    FileName,
    Flag,
    Name,
    NodeName,
    Number,
    Text,
    Vector,
    choice,
    named,
    whole,
)
from limber.io.joints import JointSection, NothingSection, PhysicsSection
from limber.io.rotations import RotationSection
from limber.io.section import Section, validated
from limber.io.shape_section import ShapeSection, built
from limber.io.urdf import parse_urdf
from limber.io.urdf_assembly import attach_urdf
from limber.io.visuals import Visuals

#: The version of the file format that this Limber reads and writes.
FORMAT = 1


class PlaceSection(Section):
    """The place of a body or chain: parent, node, and the fixed transform from there."""

    to: Name = "world"
    at: NodeName | None = None
    offset: Vector = (0.0, 0.0, 0.0)
    rotation: RotationSection | None = None

    def place(self, where: Where) -> dict[str, Any]:
        """The keywords of `Assembly.attach`."""
        with where.checked("rotation"):
            R = None if self.rotation is None else self.rotation.build()
        return {"to": self.to, "at": self.at, "offset": self.offset, "rotation": R}


class AttachedSection(PlaceSection, BodySection):
    """A body, its joint, and the place of the joint."""

    joint: JointSection
    joint_name: Name | list[Text] | None = None
    inboard: NodeName | None = None
    shapes: list[ShapeSection] | None = None

    def attach(self, assembly: Assembly, name: str, where: Where, visuals: Visuals) -> None:
        """Add it to the assembly."""
        body = self.build_body(where)
        place = self.place(where)
        joint = self.joint.build(where / "joint")
        shapes = built(self.shapes, where / "shapes", visuals)
        with where.checked():
            assembly.attach(
                name,
                body,
                joint,
                inboard=self.inboard,
                joint_name=self.joint_name,
                shapes=shapes,
                **place,
            )


class DhJointSection(PhysicsSection):
    """The joint of a row, about or along its z axis: `revolute`, or {revolute: {}, damping: 0.1}."""

    one_of: ClassVar[tuple[str, ...]] = tuple(KINDS)
    short: ClassVar[str] = "revolute or prismatic"
    revolute: NothingSection | None = None
    prismatic: NothingSection | None = None

    @classmethod
    def shorthand(cls, data: Any) -> Any:
        """The bare word."""
        if isinstance(data, str):
            return {choice(*cls.one_of).check(data): {}}
        return data

    @property
    def kind(self) -> str:
        """ "revolute" or "prismatic"."""
        return next(kind for kind in self.one_of if kind in self.model_fields_set)


class DhLinkSection(BodySection):
    """A row of a Denavit-Hartenberg table with its body."""

    name: Name
    joint: DhJointSection = DhJointSection(revolute=NothingSection())
    a: Number = 0.0
    alpha: Number = 0.0
    d: Number = 0.0
    theta: Number = 0.0
    tip: NodeName | None = None
    shapes: list[ShapeSection] | None = None


class DhSection(PlaceSection):
    """A chain given by Denavit-Hartenberg parameters (metres, radians or degrees)."""

    convention: Annotated[str, choice("standard", "modified")]
    degrees: Flag = False
    links: list[DhLinkSection]

    def attach(self, assembly: Assembly, where: Where, visuals: Visuals) -> None:
        """Add the chain to the assembly."""
        unit = math.pi / 180.0 if self.degrees else 1.0
        place = self.place(where)
        rows = []
        for i, link in enumerate(self.links):
            place_of_row = where / "links" / i
            row = DhRow(
                name=link.name,
                body=link.build_body(place_of_row),
                a=link.a,
                alpha=unit * link.alpha,
                d=link.d,
                theta=unit * link.theta,
                kind=link.joint.kind,
                tip=link.tip,
                physics=link.joint.options(),
                shapes=tuple(built(link.shapes, place_of_row / "shapes", visuals)),
            )
            with (place_of_row / "joint").checked():
                row.joint()
            rows.append(row)
        with where.checked():
            attach_dh(assembly, rows, convention=self.convention, **place)


class FlexibleLinkSection(BodySection):
    """The flexible body that replaces a link of a URDF, in the link frame."""


class SideSection(Section):
    """A side file: the flexible links of a URDF, and the nodes that carry its joints."""

    limber: Annotated[int, whole(FORMAT, FORMAT)]
    flexible: dict[Name, FlexibleLinkSection]
    attach: dict[Name, NodeName] | None = None


class UrdfSection(Section):
    """A robot from a URDF file; named links are made flexible, here or in a side file."""

    file: FileName
    root: Annotated[str, choice("fixed", "free")] = "fixed"
    stops: Flag = True
    mimic: Flag = True
    lenient: Flag = False
    visuals: Flag = True
    flexible: dict[Name, FlexibleLinkSection] | None = None
    side_file: FileName | None = None
    attach: dict[Name, NodeName] | None = None

    def add(self, assembly: Assembly, where: Where) -> None:
        """Add the robot to the assembly."""
        bodies = flexible_links(self.flexible or {}, where / "flexible")
        nodes = dict(self.attach or {})
        if self.side_file is not None:
            with (where / "side_file").checked():
                side_bodies, side_nodes = read_side(where.folder / self.side_file)
            bodies, nodes = side_bodies | bodies, side_nodes | nodes
        with (where / "file").checked():
            robot = parse_urdf(where.folder / self.file)
        with where.checked():
            attach_urdf(
                assembly,
                robot,
                bodies,
                root=self.root,
                attach=nodes,
                stops=self.stops,
                mimic=self.mimic,
                lenient=self.lenient,
                visuals=self.visuals,
            )


def flexible_links(sections: dict, where: Where) -> dict[str, Body]:
    """The bodies of `flexible` sections, by link."""
    return {name: link.build_body(where / name) for name, link in sections.items()}


def read_side(path: Path) -> tuple[dict[str, Body], dict[str, str | int]]:
    """The bodies by link and the nodes by joint of a side file."""
    document = Document(path)
    check_format(document)
    side = validated(SideSection, document.data, document.root)
    return flexible_links(side.flexible, document.root / "flexible"), dict(side.attach or {})


class ModelSection(Section):
    """A model file."""

    limber: Annotated[int, whole(FORMAT, FORMAT)]
    name: Text | None = None
    gravity: Vector = (0.0, 0.0, 0.0)
    fidelity: Annotated[str, choice("full", "ruthless")] = "full"
    urdf: UrdfSection | None = None
    dh: DhSection | None = None
    bodies: dict[Name, AttachedSection] | None = None
    closures: list[ClosureSection] | None = None

    def build(self, where: Where, name: str) -> Assembly:
        """Build the assembly; `name` is used if the file gives none."""
        with where.checked():
            assembly = Assembly(
                name if self.name is None else self.name, self.gravity, self.fidelity
            )
        if self.urdf is not None:
            self.urdf.add(assembly, where / "urdf")
        visuals = Visuals(where.document.path)
        if self.dh is not None:
            self.dh.attach(assembly, where / "dh", visuals)
        for body, section in (self.bodies or {}).items():
            section.attach(assembly, body, where / "bodies" / body, visuals)
        if notes := visuals.notes():
            warn(f"{where.document.path}: {'; '.join(notes)}.", ModelWarning)
        for i, closure in enumerate(self.closures or []):
            closure.add(assembly, where / "closures" / i)
        return assembly


def check_format(document: Document) -> None:
    """Reject content that is not a Limber file of this format, before any entry is checked."""
    data, where = document.data, document.root
    if not isinstance(data, dict):
        raise where.error(
            f"a Limber file is a mapping that starts with `limber: {FORMAT}`, got {named(data)}."
        )
    version = data.get("limber")
    if "limber" not in data:
        raise where.error(f"the format version is missing: add the line `limber: {FORMAT}`.")
    if isinstance(version, bool) or version != FORMAT:
        raise where.error(
            f"this Limber reads format {FORMAT}, got {named(version)}. Write `limber: {FORMAT}`, or install a Limber "
            "that knows the other format.",
            "limber",
        )


def read_model(path: Path) -> Assembly:
    """The assembly of a model file."""
    document = Document(path)
    check_format(document)
    if "model" in document.data:
        raise document.root.error(
            "this is a scenario, not a model: read it with limber.io.load_scenario.", "model"
        )
    return build_model(document.data, document.root, path.stem)


def build_model(data: Any, where: Where, name: str) -> Assembly:
    """The assembly that `data` at `where` describes."""
    return validated(ModelSection, data, where).build(where, name)
