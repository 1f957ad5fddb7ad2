"""Plates and folded plates from meshes of triangles or quadrilaterals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from limber.bodies.section import Material, check_material
from limber.checks import Array, did_you_mean, number, repeated, shown
from limber.errors import ArgumentValueError
from limber.structures.mesh import read_mesh
from limber.structures.meshed import MeshStructure
from limber.structures.plate_elements import PlateElements

#: Layers of a plate, in half thicknesses above its middle.
SIDES = {"top": 1.0, "middle": 0.0, "bottom": -1.0}
KINDS = {3: "triangles", 4: "quadrilaterals"}


class Plate(MeshStructure):
    """A plate of finite elements, made by `plate`.

    elements : the elements; their `cells` (e, 3) are triangles of nodes.
    """

    def __init__(self, elements: PlateElements, names, triangles, groups):
        self.elements = elements
        M, K = elements.matrices()
        super().__init__(
            elements.position, M, K, names, triangles, groups, geometric=elements.geometric
        )

    knows_loads = True

    def modal_stiffness(self, u: Array, shapes: Array) -> Array:
        """The same as for any structure, computed from the elements directly."""
        return self.elements.modal_stiffness(u, shapes)

    def _strain_rows(self, side: str) -> sp.csr_array:
        return self.elements.node_strains(_height(side))

    def strain(self, u: ArrayLike, side: str = "top") -> Array:
        """Return (n, 6, ...), the strains xx, yy, zz, yz, zx, xy at the nodes, in the axes of the structure.

        They are averaged over the elements at a node.  Shear strains are engineering strains; the strain along the
        normal is omitted.

        Parameters
        ----------
        u : displacements of the nodes, (6 n,), or (6 n, m) for m columns, such as mode shapes.
        side : "top", to which the normal points, "middle" or "bottom".
        """
        return self._at_nodes(self._strain_rows(side), u)

    def stress(self, u: ArrayLike, side: str = "top") -> Array:
        """Return (n, 6, ...), the stresses xx, yy, zz, yz, zx, xy at the nodes, Pa; arguments as in `strain`."""
        return self._at_nodes(self.elements.node_strains(_height(side), stress=True), u)


def plate(
    mesh: Any,
    material: Material,
    thickness: float | ArrayLike,
    *,
    names: Mapping[str, ArrayLike] | None = None,
) -> Plate:
    """A structure of plate elements in space, with consistent mass and six degrees of freedom per node.

    Parameters
    ----------
    mesh : (points, cells), with (n, 2) or (n, 3) points in m and (e, 3) or (e, 4) numbers of points; a mesh of
        scikit-fem (`MeshTri`, `MeshQuad`); or the name of a mesh file in any format that meshio reads.  Points in space
        can form folded plates and, as facets, shells.  A quadrilateral is the mean of its two divisions into triangles.
    material : an isotropic `Material`.
    thickness : m, one number or one for each cell.
    names : points by name; the node nearest to a point gets its name.  Other nodes are named "0", "1", ...

    Plates bend with shear deformation and do not lock when they are thin (discrete Kirchhoff-Mindlin triangles);
    stretch, shear and bending in their plane are those of Felippa's optimal triangle.  Frequencies converge with the
    second power of the element size.  The normal points to the side from which the corners of a cell are
    counterclockwise; for a flat mesh with two columns of points it is z.
    """
    check_material(material)
    given = read_mesh(mesh, KINDS, True)
    position, cells = given.position, given.cells
    each = repeated("thickness", thickness, len(cells), "m, one number or one for each cell.")
    for i, t in enumerate(each):
        number("thickness" if np.ndim(thickness) == 0 else f"thickness[{i}]", t, above=0.0)
    if not position[:, 2].any():
        cells = _upward(position, cells)
    surface, weight = cells, np.ones(len(cells))
    if cells.shape[1] == 4:
        surface = np.vstack([cells[:, [0, 1, 2]], cells[:, [0, 2, 3]]])
        cells = np.vstack([surface, cells[:, [0, 1, 3]], cells[:, [1, 2, 3]]])
        each, weight = np.tile(each, 4), np.full(len(cells), 0.5)
    elements = PlateElements.of(position, cells, each, weight, material)
    groups = {name: np.unique(facets) for name, facets in given.facets.items()}
    return Plate(elements, names, surface, groups)


def _height(side: Any) -> float:
    """The height of a layer in half thicknesses."""
    if side not in SIDES:
        raise ArgumentValueError(f"side={shown(side)} is unknown. {did_you_mean(str(side), SIDES)}")
    return SIDES[side]


def _upward(position: Array, cells: np.ndarray) -> np.ndarray:
    """Cells in the x-y plane with their normals along z."""
    x, y = np.moveaxis(position[cells, :2], 2, 0)
    down = np.sum(x * np.roll(y, -1, axis=1) - y * np.roll(x, -1, axis=1), axis=1) < 0.0
    turned = cells.copy()
    turned[down] = cells[down][:, ::-1]
    return turned
