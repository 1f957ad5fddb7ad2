"""The `<visual>` of URDF links as shapes."""

from __future__ import annotations

from typing import Any

from limber.errors import FileError
from limber.io.urdf import Urdf, origin_of
from limber.io.visuals import Visuals, paint
from limber.io.xml_tree import Element
from limber.shapes import Box, Capsule, Cylinder, Shape, Sphere


def link_shapes(robot: Urdf) -> tuple[dict[str, list[Shape]], list[str]]:
    """The shapes of the links by name, and the warnings."""
    visuals = Visuals(robot.element.file)
    materials = {
        element.attributes.get("name", ""): element for element in robot.element.all("material")
    }
    found: dict[str, list[Shape]] = {}
    for name, link in robot.links.items():
        shapes = [_shape(visual, materials, visuals) for visual in link.element.all("visual")]
        found[name] = [shape for shape in shapes if shape is not None]
    return found, visuals.notes()


def _shape(visual: Element, materials: dict[str, Element], visuals: Visuals) -> Shape | None:
    try:
        at, rotation = origin_of(visual)
        look: dict[str, Any] = {
            "at": at,
            "rotation": rotation,
            "colour": _colour(visual, materials),
        }
        geometry = visual.one("geometry")
        kind = geometry.children[0] if geometry is not None and geometry.children else None
        if kind is None:
            return None
        if kind.tag == "box":
            return visuals.shape(Box, kind.numbers("size", 3), **look)
        if kind.tag == "sphere":
            return visuals.shape(Sphere, kind.number("radius"), **look)
        if kind.tag in ("cylinder", "capsule"):
            round_kind = Cylinder if kind.tag == "cylinder" else Capsule
            sizes = kind.number("radius"), kind.number("length")
            return visuals.shape(round_kind, *sizes, **look)
        if kind.tag == "mesh":
            return visuals.mesh(kind.get("filename"), kind.numbers("scale", 3, "1 1 1"), **look)
        visuals.wrong(f"<{kind.tag}> in line {kind.line}")
    except FileError as error:
        visuals.wrong(str(error))
    return None


def _colour(visual: Element, materials: dict[str, Element]) -> str | None:
    """The colour of a visual, given there or under a name for the whole robot."""
    material = visual.one("material")
    if material is None:
        return None
    color = material.one("color")
    if color is None and material.attributes.get("name") in materials:
        color = materials[material.attributes["name"]].one("color")
    return None if color is None else paint(color, color.numbers("rgba", 4))
