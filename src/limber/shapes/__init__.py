"""Shapes that pictures show of bodies: boxes, cylinders, meshes, tubes along beams.  The dynamics does not know them."""

from limber.shapes.mesh_file import Mesh
from limber.shapes.shape import Shape
from limber.shapes.solids import Box, Capsule, Cylinder, Ellipsoid, Sphere
from limber.shapes.swept import Panel, Swept, Tube

__all__ = [
    "Box",
    "Capsule",
    "Cylinder",
    "Ellipsoid",
    "Mesh",
    "Panel",
    "Shape",
    "Sphere",
    "Swept",
    "Tube",
]
