"""Shapes of bodies for pictures: boxes, cylinders, meshes, tubes along beams.  They do not affect the dynamics."""

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
