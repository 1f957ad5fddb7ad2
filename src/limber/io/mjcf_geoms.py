"""Mass, centre and inertia of the shapes of MJCF."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from limber.checks import Array
from limber.io.mjcf_compiler import Compiler, turned_z, unit, word, yes
from limber.io.mjcf_meshes import Meshes
from limber.io.placement import Pose
from limber.io.xml_tree import Element

SHAPES = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")
#: How many numbers of `size` a shape needs; `fromto` gives the last one, and the first is then that of all others.
SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}
#: Shapes that are part of the world and have no mass.
WORLD = ("plane", "hfield")


class Inertial(NamedTuple):
    """Mass, its centre, and the inertia about it, in the axes of a body."""

    mass: float
    com: Array
    inertia: Array


def geom_inertial(
    geom: Element, compiler: Compiler, meshes: Meshes, frame: Pose
) -> Inertial | None:
    """What a geom, given in a frame of a body, adds to the body; None where it has no mass."""
    shape = word(geom, "type", SHAPES) if "type" in geom.attributes else "sphere"
    low, high = compiler.groups
    if shape in WORLD or not low <= geom.number("group", "0") <= high:
        return None
    mass = geom.number("mass") if "mass" in geom.attributes else None
    density = geom.number("density", "1000")
    if mass == 0.0 or (mass is None and density == 0.0):
        return None
    if yes(geom, "shellinertia"):
        raise geom.error(
            "shellinertia is not supported for shapes: give the body of this geom an <inertial>."
        )
    if shape == "mesh":
        volume, centre, inertia = meshes.solid(geom)
        place = frame.then(compiler.pose(geom))
        density = density if mass is None else mass / volume
        turned = place.rotation @ (density * inertia) @ place.rotation.T
        return Inertial(density * volume, place.point(centre), turned)
    if shape == "sdf":
        raise geom.error(
            "the mass of this geom comes from a signed distance function, which is not read. Give its body an <inertial>, or "
            'give the geom mass="0" and put its mass elsewhere. With saveinertial="true" in <compiler>, MuJoCo writes the '
            "inertials of a model that it has compiled."
        )
    size, pose = size_and_pose(geom, shape, compiler, meshes)
    volume, moments = SOLIDS[shape](*size)
    if mass is None:
        mass = density * volume
    place = frame.then(pose)
    return Inertial(
        mass, place.position, place.rotation @ np.diag(mass * moments) @ place.rotation.T
    )


def size_and_pose(
    geom: Element, shape: str, compiler: Compiler, meshes: Meshes
) -> tuple[Array, Pose]:
    """The half sizes of a shape, and its place.

    `fromto` gives both the place and the last size.  A mesh gives sizes and place of the shape that is fitted to it.
    """
    if "mesh" in geom.attributes:
        return _fitted(geom, shape, compiler, meshes)
    along = "fromto" in geom.attributes and shape != "sphere"
    needed = 1 if along else SIZES[shape]
    size = geom.numbers("size", None)[:needed]
    if len(size) < needed or not (size > 0.0).all():
        raise geom.error(f"size of a {shape} must be {needed} numbers above zero, got {size}.")
    if not along:
        return size, compiler.pose(geom)
    ends = geom.numbers("fromto", 6)
    axis = ends[:3] - ends[3:]
    pose = Pose(turned_z(unit(geom, "fromto", axis)), 0.5 * (ends[:3] + ends[3:]))
    widths = np.full(SIZES[shape] - 1, size[0])
    return np.append(widths, 0.5 * np.linalg.norm(axis)), pose


def _fitted(geom: Element, shape: str, compiler: Compiler, meshes: Meshes) -> tuple[Array, Pose]:
    """The shape that MuJoCo fits to the box with the inertia of a mesh (`FitGeom` in its source)."""
    if compiler.fit_bounds:
        raise geom.error(
            'this shape is fitted to the bounds of a mesh (fitaabb="true"), which is not read. Give it a size instead of a '
            "mesh, or give its body an <inertial>."
        )
    volume, centre, inertia = meshes.solid(geom)
    moments, axes = np.linalg.eigh(inertia)
    moments, axes = moments[::-1], axes[:, ::-1]  # MuJoCo has the longest axis as z
    axes[:, 0] *= np.linalg.det(axes)
    x, y, z = np.sqrt(1.5 * (moments.sum() - 2.0 * moments) / volume)
    r = 0.5 * (x + y)
    sizes = {
        "sphere": ((x + y + z) / 3.0,),
        "capsule": (r, max(0.0, z - 0.5 * r)),
        "cylinder": (r, z),
    }
    size = geom.number("fitscale", "1") * np.array(sizes.get(shape, (x, y, z)))
    return size, compiler.pose(geom).then(Pose(axes, centre))


def sphere(r: float) -> tuple[float, Array]:
    """The volume, and the principal moments divided by the mass; so of the other shapes."""
    return 4.0 / 3.0 * math.pi * r**3, np.full(3, 0.4 * r * r)


def ellipsoid(a: float, b: float, c: float) -> tuple[float, Array]:
    """Of half axes a, b, c."""
    moments = np.array([b * b + c * c, a * a + c * c, a * a + b * b]) / 5.0
    return 4.0 / 3.0 * math.pi * a * b * c, moments


def box(a: float, b: float, c: float) -> tuple[float, Array]:
    """Of half edges a, b, c."""
    moments = np.array([b * b + c * c, a * a + c * c, a * a + b * b]) / 3.0
    return 8.0 * a * b * c, moments


def cylinder(r: float, half: float) -> tuple[float, Array]:
    """Along z, of the length 2 half."""
    across = r * r / 4.0 + half * half / 3.0
    return 2.0 * math.pi * r * r * half, np.array([across, across, r * r / 2.0])


def capsule(r: float, half: float) -> tuple[float, Array]:
    """A cylinder along z, of the length 2 half, between two half spheres."""
    middle, of_cylinder = cylinder(r, half)
    ends, of_sphere = sphere(r)
    volume = middle + ends
    moved = half * half + 0.75 * half * r  # the half spheres are away from the centre
    moments = (
        middle * of_cylinder + ends * (of_sphere + moved * np.array([1.0, 1.0, 0.0]))
    ) / volume
    return volume, moments


SOLIDS: dict[str, Callable[..., tuple[float, Array]]] = {
    "sphere": sphere,
    "ellipsoid": ellipsoid,
    "box": box,
    "cylinder": cylinder,
    "capsule": capsule,
}


def together(parts: list[Inertial]) -> Inertial:
    """Several masses as one."""
    mass = sum(part.mass for part in parts)
    if mass == 0.0:
        return Inertial(0.0, np.zeros(3), np.zeros((3, 3)))
    com = sum((part.mass * part.com for part in parts), np.zeros(3)) / mass
    inertia = np.zeros((3, 3))
    for part in parts:
        c = part.com - com
        inertia = inertia + part.inertia + part.mass * (c @ c * np.eye(3) - np.outer(c, c))
    return Inertial(mass, com, inertia)
