"""The `<visual>` of SDF links as shapes."""

from __future__ import annotations

import numpy as np

from limber.errors import FileError
from limber.io.sdf_values import number, pose, text, vector
from limber.io.visuals import Visuals, paint
from limber.io.xml_tree import Element
from limber.shapes import Box, Capsule, Cylinder, Ellipsoid, Shape, Sphere


def link_shapes(link: Element, visuals: Visuals) -> list[Shape]:
    """The shapes of a link; those that are given in frames of other links are left out."""
    shapes = [_shape(visual, visuals) for visual in link.all("visual")]
    return [shape for shape in shapes if shape is not None]


def _shape(visual: Element, visuals: Visuals) -> Shape | None:
    try:
        given = visual.one("pose")
        if given is not None and given.attributes.get("relative_to"):
            visuals.wrong(f"a <visual> relative to another frame, line {visual.line}")
            return None
        place = pose(given)
        look = {"at": place.position, "rotation": place.rotation, "colour": _colour(visual)}
        geometry = visual.one("geometry")
        for kind in geometry.children if geometry is not None else ():
            if kind.tag == "box":
                size = kind.one("size")
                return visuals.shape(Box, np.ones(3) if size is None else vector(size), **look)
            if kind.tag == "sphere":
                return visuals.shape(Sphere, number(kind, "radius", 1.0), **look)
            if kind.tag == "ellipsoid":
                radii = kind.one("radii")
                return visuals.shape(
                    Ellipsoid, np.ones(3) if radii is None else vector(radii), **look
                )
            if kind.tag in ("cylinder", "capsule"):
                round_kind = Cylinder if kind.tag == "cylinder" else Capsule
                sizes = number(kind, "radius", 0.5), number(kind, "length", 1.0)
                return visuals.shape(round_kind, *sizes, **look)
            if kind.tag == "mesh":
                scale = kind.one("scale")
                factors = np.ones(3) if scale is None else vector(scale)
                return visuals.mesh(text(kind, "uri"), factors, kind.file, **look)
            visuals.wrong(f"<{kind.tag}> in line {kind.line}")
    except FileError as error:
        visuals.wrong(str(error))
    return None


def _colour(visual: Element) -> str | None:
    material = visual.one("material")
    diffuse = None if material is None else material.one("diffuse")
    if diffuse is None:
        return None
    words = diffuse.text.split()
    return paint(diffuse, diffuse.parsed("<diffuse>", diffuse.text.strip(), len(words) or 4))
