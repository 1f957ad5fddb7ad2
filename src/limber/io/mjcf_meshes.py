"""Volumes, centres and inertias of the meshes of MJCF, by the rules of MuJoCo.

A mesh is a sum of tetrahedra with one triangle as base and a common apex.  Of a closed surface the signed sum is exact.
MuJoCo's default, `legacy`, adds their absolute volumes, first with the centroid of the surface as apex, for the centre of
mass, and then with the centre of mass as apex, for volume and inertia.  The result is exact for convex bodies and too
large for others, and it also exists for surfaces with holes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from limber.checks import Array
from limber.errors import FileError
from limber.io.mjcf_assets import Assets
from limber.io.mjcf_compiler import unit, word
from limber.io.rotations import quaternion_matrix
from limber.io.visuals import found
from limber.io.xml_tree import Element
from limber.shapes.mesh_file import read_mesh

RULES = ("legacy", "exact", "convex", "shell")


class Solid(NamedTuple):
    """What a mesh is at density one: its volume (a shell: its area), its centre, and the inertia about it."""

    volume: float
    centre: Array
    inertia: Array


class Meshes:
    """The solids of the meshes of a file; each is read once."""

    def __init__(self, assets: Assets, exact: bool = False):
        self._assets = assets
        self._rule = "exact" if exact else "legacy"
        self._solids: dict[str, Solid] = {}

    def solid(self, geom: Element) -> Solid:
        """The solid of the mesh of a geom, in the frame of the geom."""
        name = geom.get("mesh")
        if name not in self._assets.meshes:
            raise geom.error(f"the mesh {name!r} is not among the assets of the model.")
        if name not in self._solids:
            self._solids[name] = self._read(name, self._assets.meshes[name])
        return self._solids[name]

    def _read(self, name: str, mesh: Element) -> Solid:
        if "builtin" in mesh.attributes:
            raise mesh.error(
                f"the mass of a body follows from the built-in mesh {name!r}, which is not read. Give the body an <inertial>."
            )
        points, faces = self._inline(mesh) if "vertex" in mesh.attributes else self._file(mesh)
        points = points - mesh.numbers("refpos", 3, "0 0 0")
        turn = mesh.numbers("refquat", 4, "1 0 0 0")
        unit(mesh, "refquat", turn)
        scale = mesh.numbers("scale", 3, "1 1 1")
        points = points @ quaternion_matrix(turn) * scale
        rule = word(mesh, "inertia", RULES) if "inertia" in mesh.attributes else self._rule
        if faces is None or rule == "convex":
            faces = _hull(mesh, points)
        elif scale.prod() < 0.0:
            faces = faces[:, ::-1]
        made = solid(points, faces, rule)
        if not made.volume > 0.0 or not (np.linalg.eigvalsh(made.inertia) > 0.0).all():
            raise mesh.error(
                f"the mesh {name!r} encloses no volume by the rule inertia={rule!r}: got {made.volume:.3g} m^3. "
                'Use inertia="shell" for a flat mesh, or give the body that it makes an <inertial>.'
            )
        return made

    def _inline(self, mesh: Element) -> tuple[Array, np.ndarray | None]:
        """`vertex` and `face` of the element; without faces, the mesh is the convex hull."""
        points = mesh.numbers("vertex", None)
        if len(points) % 3 or len(points) < 12:
            raise mesh.error("vertex must have three numbers for each of at least four points.")
        points = points.reshape(-1, 3)
        if "face" not in mesh.attributes:
            return points, None
        faces = mesh.numbers("face", None)
        if len(faces) % 3 or not np.isin(faces, np.arange(len(points))).all():
            raise mesh.error(
                f"face must have three numbers of points, from 0 to {len(points) - 1}, for each triangle."
            )
        return points, faces.astype(np.int64).reshape(-1, 3)

    def _file(self, mesh: Element) -> tuple[Array, np.ndarray]:
        address = self._assets.address(mesh)
        path = found(address, self._assets.file)
        if path is None:
            raise mesh.error(
                f"the mass of a body follows from the mesh file {address!r}, which is not there. Put it beside the model, or "
                "give the body an <inertial>."
            )
        try:
            return read_mesh(path)
        except FileError as error:
            raise mesh.error(f"the mass of a body follows from this mesh: {error}") from None


def _hull(mesh: Element, points: Array) -> np.ndarray:
    try:
        return ConvexHull(points).simplices
    except QhullError:
        raise mesh.error(
            "the points of this mesh lie in a plane and have no convex hull."
        ) from None


def solid(points: Array, faces: np.ndarray, rule: str) -> Solid:
    """Volume, centre and inertia of triangles, by a rule of MuJoCo."""
    corners = points[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])  # 2 area n
    areas = 0.5 * np.linalg.norm(normals, axis=1)
    middles = corners.mean(axis=1)
    centroid = areas @ middles / max(areas.sum(), np.finfo(float).tiny)

    def parts(apex: Array) -> Array:
        """The volumes of the tetrahedra; of a shell, the areas of the triangles."""
        if rule == "shell":
            return areas
        signed = np.einsum("ij,ij->i", middles - apex, normals) / 6.0
        return signed if rule == "exact" else np.abs(signed)

    first = parts(centroid)
    total = first.sum()
    if not total > 0.0:
        return Solid(float(total), centroid, np.zeros((3, 3)))
    centre = 0.75 * (first @ middles) / total + 0.25 * centroid
    volumes = parts(centre)
    arms = corners - centre
    sums = arms.sum(axis=1)
    # the second moment of a tetrahedron with its apex at the origin is V / 20 (s s^T + a a^T + b b^T + c c^T), s = a + b + c;
    # that of a triangle is A / 12 times the same
    share = volumes / (12.0 if rule == "shell" else 20.0)
    second = np.einsum("n,ni,nj->ij", share, sums, sums)
    second += np.einsum("n,nki,nkj->ij", share, arms, arms)
    return Solid(float(volumes.sum()), centre, np.trace(second) * np.eye(3) - second)
