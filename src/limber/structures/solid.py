"""Solids from meshes of tetrahedra or hexahedra."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from limber.bodies.section import Material, check_material
from limber.checks import Array
from limber.errors import ArgumentValueError
from limber.structures.cells import Cell, cell_of, elevated
from limber.structures.mesh import read_mesh
from limber.structures.meshed import MeshStructure
from limber.structures.solid_elements import SolidElements

#: Nodes of a cell: what it is, its corners and its order.
KINDS = {
    4: ("tetrahedra", 4, 1),
    8: ("hexahedra", 8, 1),
    10: ("quadratic tetrahedra", 4, 2),
    20: ("quadratic hexahedra", 8, 2),
    27: ("quadratic hexahedra with nodes in their faces", 8, 2),
}
#: Above this Poisson's ratio an isotropic solid is practically incompressible, and displacement elements lock.
INCOMPRESSIBLE = 0.4999


class Solid(MeshStructure):
    """A solid of finite elements, made by `solid`.

    elements : the elements; their `cells` (e, k) are nodes in VTK order.
    """

    def __init__(self, elements: SolidElements, names, triangles, groups):
        self.elements = elements
        M, K = elements.matrices()
        super().__init__(
            elements.position, M, K, names, triangles, groups, geometric=elements.geometric
        )

    @cached_property
    def _strains(self) -> sp.csr_array:
        return self.elements.node_strains()

    knows_loads = True

    def modal_stiffness(self, u: Array, shapes: Array) -> Array:
        """The same as for any structure, computed from the elements directly."""
        return self.elements.modal_stiffness(u, shapes)

    def _strain_rows(self, side: str) -> sp.csr_array:
        return self._strains

    def strain(self, u: ArrayLike) -> Array:
        """Return (n, 6, ...), the strains xx, yy, zz, yz, zx, xy at the nodes; shear strains are engineering strains.

        They are averaged over the elements at a node.

        Parameters
        ----------
        u : displacements of the nodes, (3 n,), or (3 n, m) for m columns, such as mode shapes.
        """
        return self._at_nodes(self._strains, u)

    def stress(self, u: ArrayLike) -> Array:
        """Return (n, 6, ...), the stresses xx, yy, zz, yz, zx, xy at the nodes, Pa; `u` as in `strain`."""
        strain = self.strain(u)
        lam, mu = self.elements.lame
        stress = mu * strain
        stress[:, :3] = 2.0 * mu * strain[:, :3] + lam * strain[:, :3].sum(axis=1, keepdims=True)
        return stress


def solid(
    mesh: Any,
    material: Material,
    *,
    order: int | None = None,
    names: Mapping[str, ArrayLike] | None = None,
) -> Solid:
    """A structure of solid finite elements with consistent mass; needs the extra `mesh`.

    Parameters
    ----------
    mesh : a mesh of scikit-fem (`MeshTet`, `MeshHex`, straight or quadratic); (points, cells), with (n, 3) points in m
        and (e, k) numbers of points, k = 4 or 10 for tetrahedra, 8 or 20 for hexahedra in the order of VTK and Abaqus;
        or the name of a mesh file in any format that meshio reads.
    material : an isotropic `Material`.
    order : 2 for quadratic elements, with nodes between the corners added if the mesh has none; 1 for linear elements,
        which are much too stiff in bending unless there are many across the thickness.  None: 2.
    names : points by name; the node nearest to a point gets its name.  Other nodes are named "0", "1", ...

    Frequencies converge from above as elements get smaller: with quadratic elements with the fourth power of their
    size, with linear ones with the second.  Nodes have three degrees of freedom; `reduce` fits the rotation of a node
    to its neighbours or to the nodes that `patches` names.
    """
    check_material(material)
    if material.poisson_ratio > INCOMPRESSIBLE:
        raise ArgumentValueError(
            f"material has nu = {material.poisson_ratio:g}: solids must be compressible (nu below {INCOMPRESSIBLE}), or "
            "their elements would not deform."
        )
    given = read_mesh(mesh, {k: name for k, (name, _, _) in KINDS.items()}, False)
    _, corners, has = KINDS[given.cells.shape[1]]
    wanted = 2 if order is None else order
    if wanted not in (1, 2) or isinstance(wanted, bool):
        raise ArgumentValueError(f"order must be 1 or 2, got {order!r}.")
    if wanted < has:
        raise ArgumentValueError(
            "order=1, but the cells of the mesh are quadratic. Leave order out, or give a mesh of corners only."
        )
    cell = cell_of(corners, wanted, given.cells.shape[1] == 20)
    position, cells = given.position, given.cells
    if wanted > has:
        position, cells = elevated(position, cells, cell)
    elements = SolidElements(position, cells, cell, material)
    triangles, groups = _faces(position, cells, cell, given.facets)
    return Solid(elements, names, triangles, groups)


def _faces(
    position: Array, cells: np.ndarray, cell: Cell, facets: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Triangles (t, 3) of the surface, seen from outside, and the nodes of named faces."""
    first, *others = (
        position[cells[:, i]] for i in ((0, 1, 2, 3) if len(cell.corners) == 4 else (0, 1, 3, 4))
    )
    mirrored = np.linalg.det(np.stack([x - first for x in others], axis=1)) < 0.0
    keys = np.stack([np.sort(cells[:, list(face)], axis=1) for face in cell.faces])  # (f, e, c)
    shape = keys.shape[:2]
    unique, number, count = np.unique(
        keys.reshape(-1, keys.shape[2]), axis=0, return_inverse=True, return_counts=True
    )
    number = number.reshape(shape)
    outside = count[number] == 1
    local = cell.face_triangles()
    parts = [
        cells[outside[i] & (mirrored == flip)][:, t[:, ::-1] if flip else t].reshape(-1, 3)
        for i, t in enumerate(local)
        for flip in (False, True)
    ]
    triangles = np.vstack(parts)
    groups = {}
    for name, corners in facets.items():
        chosen = np.unique(
            np.vstack([unique, np.sort(corners, axis=1)]), axis=0, return_inverse=True
        )[1]
        named = np.isin(chosen[: len(unique)], chosen[len(unique) :])[number]
        nodes = [cells[named[i]][:, np.unique(t)].ravel() for i, t in enumerate(local)]
        groups[name] = np.unique(np.concatenate(nodes))
    return triangles, groups
