"""The shapes of bodies in files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from limber.errors import LimberError
from limber.io.document import Where
from limber.io.fields import Check, FileName, NodeName, Vector, number, numbers, problem
from limber.io.rotations import RotationSection
from limber.io.section import Section
from limber.io.visuals import Visuals
from limber.io.written import same
from limber.shapes import Box, Capsule, Cylinder, Ellipsoid, Mesh, Panel, Shape, Sphere, Tube
from limber.shapes.shape import colour_of

Length = Annotated[float, number(above=0.0)]


def _colour(value: Any) -> str:
    """A colour, as shapes take it."""
    try:
        return colour_of(value)
    except LimberError as error:
        raise problem(str(error).removeprefix("colour")) from None


class RoundSection(Section):
    """A cylinder or capsule along z: radius and length (m)."""

    radius: Length
    length: Length


class RadiusSection(Section):
    """A sphere, or a tube along the body: its radius (m)."""

    short: ClassVar[str] = "the radius"
    radius: Length

    @classmethod
    def shorthand(cls, data: Any) -> Any:
        """A number is the radius."""
        return {"radius": data} if isinstance(data, (int, float)) else data


class PanelSection(Section):
    """A panel along the body: its width and thickness (m)."""

    width: Length
    thickness: Length


class MeshSection(Section):
    """A mesh of triangles: the file (STL, OBJ, COLLADA), and the unit of its numbers in metres."""

    short: ClassVar[str] = "the name of the file"
    file: FileName
    scale: Annotated[Any, numbers((3,), scalar=True)] = 1.0

    @classmethod
    def shorthand(cls, data: Any) -> Any:
        """A text is the name of the file."""
        return {"file": data} if isinstance(data, str) else data


class ShapeSection(Section):
    """A shape of a body for pictures: its place, the node that carries it, and its colour."""

    one_of: ClassVar[tuple[str, ...]] = (
        *("box", "cylinder", "sphere", "capsule", "ellipsoid", "tube", "panel", "mesh"),
    )
    box: Vector | None = None
    cylinder: RoundSection | None = None
    sphere: RadiusSection | None = None
    capsule: RoundSection | None = None
    ellipsoid: Vector | None = None
    tube: RadiusSection | None = None
    panel: PanelSection | None = None
    mesh: MeshSection | None = None
    at: Vector = (0.0, 0.0, 0.0)
    rotation: RotationSection | None = None
    node: NodeName | None = None
    colour: Annotated[Any, Check(_colour, {"type": ["string", "array"]})] | None = None

    def build(self, where: Where, visuals: Visuals) -> Shape | None:
        """The shape; None for a mesh whose file is missing."""
        with where.checked("rotation"):
            R = None if self.rotation is None else self.rotation.build()
        look = {"at": self.at, "rotation": R, "node": self.node, "colour": self.colour}
        if self.mesh is not None:
            with where.checked():
                return visuals.mesh(self.mesh.file, self.mesh.scale, **look)
        for kind, make in (("box", Box), ("ellipsoid", Ellipsoid)):
            if getattr(self, kind) is not None:
                with where.checked(places={"size": (kind,), "radii": (kind,)}):
                    return make(getattr(self, kind), **look)  # type: ignore[operator]
        for kind, made in KINDS.items():
            section = getattr(self, kind)
            if section is not None:
                with where.checked(kind):
                    return made(**section.model_dump(), **look)
        kind = next(kind for kind in self.one_of if where.has(kind))
        raise where.error(f"{kind} is empty: give its sizes.", kind)


KINDS: dict[str, Any] = {
    "cylinder": Cylinder, "sphere": Sphere, "capsule": Capsule, "tube": Tube, "panel": Panel,
}  # fmt: skip


def built(sections: list[ShapeSection] | None, where: Where, visuals: Visuals) -> list[Shape]:
    """The shapes of a body."""
    found = [x.build(where / i, visuals) for i, x in enumerate(sections or [])]
    return [shape for shape in found if shape is not None]


def shape_data(shape: Shape, folder: Path) -> dict[str, Any]:
    """A shape as files in that folder write it."""
    sizes = shape.sizes()
    data: dict[str, Any]
    if isinstance(shape, Mesh):
        file = Path(os.path.relpath(shape.file, folder)).as_posix()
        data = {"mesh": {"file": file, "scale": sizes["scale"]}}
    elif isinstance(shape, (Box, Ellipsoid)):
        data = {shape.kind: next(iter(sizes.values()))}
    else:
        data = {shape.kind: sizes}
    if not same(shape.at, np.zeros(3)):
        data["at"] = shape.at
    if not same(shape.rotation, np.eye(3)):
        data["rotation"] = shape.rotation
    if shape.node is not None:
        data["node"] = shape.node
    if shape.colour is not None:
        data["colour"] = shape.colour
    return data
