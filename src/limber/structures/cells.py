"""Cells of solid meshes: shape functions on the reference cell, faces, and nodes between corners.

The reference elements and their quadrature are those of scikit-fem, which is imported when a mesh is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from limber.checks import Array
from limber.errors import MissingExtraError

#: Corners that belong together, as those of a face.
Groups = tuple[tuple[int, ...], ...]

#: Corners of the reference cube in the order of VTK, Abaqus and Nastran; mid-edge nodes follow in that of VTK.
CUBE = np.array(
    [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]], float
)
CUBE_EDGES: Groups = (
    (0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7),
)  # fmt: skip
#: Corners of the reference tetrahedron, and its faces, seen from outside.
TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
TETRAHEDRON_EDGES: Groups = ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3))
TETRAHEDRON_FACES: Groups = ((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2))
CUBE_FACES: Groups = (
    (0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7),
)  # fmt: skip


def scikit_fem() -> ModuleType:
    """The library."""
    try:
        import skfem  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            "meshes of solids, and mesh files, need the library scikit-fem: install it with "
            "pip install limber-dynamics[mesh]."
        ) from error
    return skfem


@dataclass(frozen=True, eq=False)
class Cell:
    """A kind of cell with n nodes at `nodes` (n, 3) of the reference cell, the corners first."""

    element: Any  # of scikit-fem
    order: np.ndarray  # (n,) the node's number in that element
    nodes: Array
    corners: Array
    faces: Groups

    def shapes(self, points: Array) -> tuple[Array, Array]:
        """Values (q, n) and slopes (q, n, 3) of the shape functions at points (q, 3) of the reference cell."""
        found = [self.element.lbasis(points.T, int(i)) for i in self.order]
        values = np.array([np.broadcast_to(x, len(points)) for x, _ in found])
        slopes = np.array([np.broadcast_to(dx, (3, len(points))) for _, dx in found])
        return values.T, slopes.transpose(2, 0, 1)

    def quadrature(self, degree: int) -> tuple[Array, Array]:
        """Points (q, 3) and weights (q,) exact for polynomials of this degree."""
        from skfem.quadrature import get_quadrature  # noqa: PLC0415

        points, weights = get_quadrature(self.element.refdom, degree)
        return points.T, weights

    def corner_weights(self) -> Array:
        """(n, corners): the place of each node in terms of the corners of a straight cell."""
        x, y, z = self.nodes.T
        if len(self.corners) == 4:
            return np.column_stack([1.0 - x - y - z, x, y, z])
        each = [np.where(c, self.nodes, 1.0 - self.nodes).prod(axis=1) for c in self.corners > 0.5]
        return np.column_stack(each)

    def face_triangles(self) -> list[np.ndarray]:
        """For each face the triangles (k, 3) of local nodes that cover it, seen from outside; mid nodes included."""
        quadratic = len(self.nodes) > len(self.corners)
        found = []
        for face in self.faces:
            if not quadratic:
                found.append(_fan(list(face)))
                continue
            n = len(face)
            mids = [self._at(face[i - 1], face[i]) for i in range(n)]
            outer = [[mids[i], face[i], mids[(i + 1) % n]] for i in range(n)]
            middle = self._at(*face)
            inner = (
                _fan(mids) if middle is None else [[mids[i - 1], mids[i], middle] for i in range(n)]
            )
            found.append(np.array([*outer, *inner]))
        return found

    def _at(self, *corners: int) -> Any:
        """The node in the middle of corners; None if there is none."""
        middle = self.corners[list(corners)].mean(axis=0)
        near = np.flatnonzero(np.abs(self.nodes - middle).max(axis=1) < 1e-9)
        return int(near[0]) if near.size else None


def _fan(ring: list[int]) -> np.ndarray:
    """Triangles of a convex polygon."""
    return np.array([[ring[0], ring[i], ring[i + 1]] for i in range(1, len(ring) - 1)])


def cell_of(corners: int, order: int, serendipity: bool = False) -> Cell:
    """The cell of 4 (tetrahedron) or 8 corners, linear or quadratic; `serendipity`: nodes at edges only."""
    fem = scikit_fem()
    if corners == 4:
        element = fem.ElementTetP1() if order == 1 else fem.ElementTetP2()
        places, edges, faces = TETRAHEDRON, TETRAHEDRON_EDGES, TETRAHEDRON_FACES
    else:
        quadratic = fem.ElementHexS2 if serendipity else fem.ElementHex2
        element = fem.ElementHex1() if order == 1 else quadratic()
        places, edges, faces = CUBE, CUBE_EDGES, CUBE_FACES
    nodes = places
    if order == 2:
        nodes = np.vstack([places, [places[list(pair)].mean(axis=0) for pair in edges]])
        if corners == 8 and not serendipity:
            middles = [places[list(face)].mean(axis=0) for face in faces]
            nodes = np.vstack([nodes, middles, [places.mean(axis=0)]])
    distance = np.abs(nodes[:, None] - element.doflocs[None]).max(axis=2)
    return Cell(element, distance.argmin(axis=1), nodes, places, faces)


def elevated(position: Array, cells: np.ndarray, cell: Cell) -> tuple[Array, np.ndarray]:
    """The points and cells (e, n) of a mesh of corners (e, corners) with the nodes of `cell` between them.

    The points of the mesh keep their numbers; new ones follow.
    """
    weights = cell.corner_weights()
    first = len(cell.corners)
    columns = [cells]
    points = [position]
    start = len(position)
    groups: dict[int, list[int]] = {}
    for i in range(first, len(cell.nodes)):
        groups.setdefault(int((weights[i] > 1e-9).sum()), []).append(i)
    for members in groups.values():  # edges, faces, insides
        keys = np.stack([np.sort(cells[:, weights[i] > 1e-9], axis=1) for i in members])
        unique, number = np.unique(keys.reshape(-1, keys.shape[2]), axis=0, return_inverse=True)
        columns.append(start + number.reshape(len(members), len(cells)).T)
        points.append(position[unique].mean(axis=1))
        start += len(unique)
    return np.vstack(points), np.hstack(columns)
