"""The elements of a plate: their matrices in the axes of the structure, and strain at nodes.

Each is a flat triangle with six degrees of freedom per corner: the membrane of `plate_membrane` and the bending of
`plate_fields`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from limber.bodies.section import Material
from limber.checks import Array
from limber.errors import ModelError
from limber.structures.plate_fields import PlateFields
from limber.structures.plate_membrane import mean_strain, membrane_stiffness
from limber.structures.triangles import Triangles, quadrature

#: Elements that are integrated at once.
BLOCK = 2000
#: Shear coefficient of a homogeneous plate.
SHEAR = 5.0 / 6.0
#: Degrees of freedom u, v and the rotation about the normal of all corners, among the 18.
_MEMBRANE = np.array([6 * i + k for i in range(3) for k in (0, 1, 5)])


@dataclass(frozen=True, eq=False)
class PlateElements:
    """Triangles `cells` (e, 3) of points (N, 3); each counts with its weight, so that they may overlap."""

    position: Array
    cells: np.ndarray
    thickness: Array  # (e,)
    weight: Array  # (e,)
    material: Material
    axes: Array  # (e, 3, 3), columns x, y and the normal

    @staticmethod
    def of(
        position: Array, cells: np.ndarray, thickness: Array, weight: Array, material: Material
    ) -> PlateElements:
        """Elements whose normals follow from the order of their corners."""
        a, b, c = (position[cells[:, i]] for i in range(3))
        x = b - a
        normal = np.cross(x, c - a)
        size = np.linalg.norm(normal, axis=1)
        longest = np.maximum(np.square(x).sum(axis=1), np.square(c - a).sum(axis=1))
        flat = np.flatnonzero(size <= 1e-9 * longest)
        if flat.size:
            raise ModelError(
                f"a triangle of the mesh has no area: its corners are nodes {cells[flat[0]].tolist()}."
            )
        x = x / np.linalg.norm(x, axis=1)[:, None]
        z = normal / size[:, None]
        axes = np.stack([x, np.cross(z, x), z], axis=2)
        return PlateElements(position, cells, thickness, weight, material, axes)

    @property
    def plane_stress(self) -> Array:
        """(3, 3): stress of eps_x, eps_y, gamma_xy, Pa."""
        E, nu, G = self.material.E, self.material.poisson_ratio, self.material.shear_modulus
        c = E / (1.0 - nu**2)
        return np.array([[c, nu * c, 0.0], [nu * c, c, 0.0], [0.0, 0.0, G]])

    def matrices(self) -> tuple[sp.csr_array, sp.csr_array]:
        """Mass and stiffness matrix, 6 degrees of freedom per node."""
        points, weights = quadrature(6)
        C, rho, nu = self.plane_stress, self.material.rho, self.material.poisson_ratio
        shear = SHEAR * self.material.shear_modulus * np.eye(2)
        M = K = sp.csr_array((6 * len(self.position),) * 2)
        for chosen in self._blocks():
            triangles, fields = self._fields(chosen)
            t = self.thickness[chosen][:, None, None]
            dx = triangles.area[:, None] * weights
            stiffness = t**3 / 12.0 * _integral(fields.curvatures(points), C, dx)
            stiffness += t * _integral(fields.shear(points), shear, dx)
            membrane = membrane_stiffness(triangles, C, nu)
            stiffness[:, _MEMBRANE[:, None], _MEMBRANE] += t * membrane
            moves, _ = fields.displacements(points)
            mass = rho * t * _integral(moves, np.eye(3), dx)
            mass += rho * t**3 / 12.0 * _integral(fields.turns(points), np.eye(2), dx)
            M = M + self._assembled(chosen, mass)
            K = K + self._assembled(chosen, stiffness)
        return M, K

    def geometric(self, u: Array) -> sp.csr_array:
        """The geometric stiffness of the membrane stresses at the displacements u (6 N), linear in u."""
        points, weights = quadrature(4)
        u = np.asarray(u, dtype=float)
        total = sp.csr_array((6 * len(self.position),) * 2)
        for chosen in self._blocks():
            triangles, fields = self._fields(chosen)
            strain = mean_strain(triangles) @ self._local(chosen, u)[:, _MEMBRANE]
            x, y, xy = np.moveaxis((self.plane_stress @ strain)[..., 0], 1, 0)
            stress = np.stack([np.stack([x, xy], 1), np.stack([xy, y], 1)], 1)
            dx = triangles.area[:, None] * weights
            _, slopes = fields.displacements(points)
            turns = fields.turn_slopes(points)
            t = self.thickness[chosen][:, None, None]
            matrix = t * _stressed(slopes, stress, dx)
            matrix += t**3 / 12.0 * _stressed(turns, stress, dx)
            total = total + self._assembled(chosen, matrix)
        return total

    def modal_stiffness(self, u: Array, shapes: Array) -> Array:
        """(k, m, m): shapes^T K_g shapes for each column of displacements u (6 N, k), of shapes (6 N, m)."""
        points, weights = quadrature(4)
        m = shapes.shape[1]
        total = np.zeros((u.shape[1], m * m))
        for chosen in self._blocks():
            triangles, fields = self._fields(chosen)
            strain = mean_strain(triangles) @ self._local(chosen, u)[:, _MEMBRANE]
            stress = self.plane_stress @ strain  # (e, 3, k): x, y, xy
            moved = self._local(chosen, shapes)
            t = (self.thickness[chosen] * self.weight[chosen])[:, None]
            dx = triangles.area[:, None] * weights * t
            _, slopes = fields.displacements(points)
            unit = _unit_stressed(slopes, moved, dx)
            thick = self.thickness[chosen][:, None] ** 2 / 12.0
            unit += _unit_stressed(fields.turn_slopes(points), moved, dx * thick)
            both = stress.reshape(-1, stress.shape[2]), unit.reshape(-1, m * m)
            total += both[0].T @ both[1]
        return total.reshape(-1, m, m)

    def node_strains(self, height: float, stress: bool = False) -> sp.csr_array:
        """(6 N, 6 N): the strains xx, yy, zz, yz, zx, xy of the layer at `height` half thicknesses above the middle.

        Those at a node are the mean of the triangles there weighted by their area, in the axes of the structure; the
        strain along the normal is omitted.  `stress`: the stresses, Pa, instead.
        """
        C, shear = (self.plane_stress, 1.0) if stress else (np.eye(3), 2.0)
        N = len(self.position)
        share = np.zeros(N)
        rows, columns, entries = [], [], []
        for chosen in self._blocks():
            triangles, fields = self._fields(chosen)
            area = triangles.area * self.weight[chosen]
            nodes = self.cells[chosen]
            np.add.at(share, nodes, area[:, None])
            z = 0.5 * height * self.thickness[chosen][:, None, None, None]
            strain = z * fields.curvatures(np.eye(3))  # (e, corner, 3, 18)
            strain[..., _MEMBRANE] += mean_strain(triangles)[:, None]
            strain = C @ strain
            tensor = np.zeros((*strain.shape[:2], 3, 3, 18))
            tensor[:, :, 0, 0], tensor[:, :, 1, 1] = strain[:, :, 0], strain[:, :, 1]
            tensor[:, :, 0, 1] = tensor[:, :, 1, 0] = strain[:, :, 2] / shear
            R = self.axes[chosen]
            turned = np.einsum("eij,ecjkf,elk->ecilf", R, tensor, R, optimize=True)
            pairs = ((0, 0), (1, 1), (2, 2), (1, 2), (2, 0), (0, 1))
            six = np.stack(
                [turned[:, :, i, j] * (shear if i != j else 1.0) for i, j in pairs], axis=2
            )
            six = self._to_structure(chosen, six.reshape(len(area), 18, 18))
            six *= area[:, None, None]
            at = (6 * nodes[:, :, None] + np.arange(6)).reshape(len(area), 18)
            rows.append(np.repeat(at, 18, axis=1).ravel())
            columns.append(np.tile(at, (1, 18)).ravel())
            entries.append(six.ravel())
        table = np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns))
        mean = sp.diags_array(np.repeat(1.0 / share, 6))
        return (mean @ sp.coo_array(table, shape=(6 * N, 6 * N))).tocsr()

    def _blocks(self) -> Iterator[slice]:
        for start in range(0, len(self.cells), BLOCK):
            yield slice(start, start + BLOCK)

    def _fields(self, chosen: slice) -> tuple[Triangles, PlateFields]:
        """Triangles in their own planes, and their fields."""
        corners = self.position[self.cells[chosen]]
        local = (corners - corners[:, :1]) @ self.axes[chosen]
        triangles = Triangles(local[:, :, :2])
        nu = self.material.poisson_ratio
        softness = 2.0 / (SHEAR * (1.0 - nu)) * self.thickness[chosen] ** 2  # 12 D / D_s
        return triangles, PlateFields(triangles, softness)

    def _to_structure(self, chosen: slice, rows: Array) -> Array:
        """(e, k, 18): rows that act on displacements in the axes of the elements, for displacements in those of the structure."""
        split = rows.reshape(len(rows), -1, 6, 3)
        return np.einsum("ekaj,eij->ekai", split, self.axes[chosen]).reshape(rows.shape)

    def _local(self, chosen: slice, u: Array) -> Array:
        """(e, 18, k): displacements of the elements in their own axes, from those of the structure (6 N,) or (6 N, k)."""
        at = u.reshape(len(self.position), 2, 3, -1)[self.cells[chosen]]
        split = at.reshape(len(at), 6, 3, -1)
        turned = np.swapaxes(self.axes[chosen], 1, 2)[:, None] @ split
        return turned.reshape(len(at), 18, -1)

    def _assembled(self, chosen: slice, matrices: Array) -> sp.csr_array:
        """The matrix of all nodes from those of elements (e, 18, 18) in their own axes."""
        half = self._to_structure(chosen, matrices * self.weight[chosen][:, None, None])
        both = self._to_structure(chosen, half.swapaxes(1, 2))
        at = (6 * self.cells[chosen][:, :, None] + np.arange(6)).reshape(-1, 18)
        rows, columns = np.repeat(at, 18, axis=1), np.tile(at, (1, 18))
        shape = (6 * len(self.position),) * 2
        return sp.coo_array((both.ravel(), (rows.ravel(), columns.ravel())), shape=shape).tocsr()


def _integral(field: Array, C: Array, dx: Array) -> Array:
    """(e, 18, 18): the integral of field^T C field, for a field (e, q, c, 18)."""
    weighted = C @ field * dx[:, :, None, None]
    flat = field.reshape(len(field), -1, 18)
    return flat.transpose(0, 2, 1) @ weighted.reshape(flat.shape)


def _stressed(slopes: Array, stress: Array, dx: Array) -> Array:
    """(e, 18, 18): the integral of stress_ij u_k,i u_k,j for slopes (e, q, k, 2, 18) and stress (e, 2, 2)."""
    weighted = (stress[:, None, None] @ slopes) * dx[:, :, None, None, None]
    flat = slopes.reshape(len(slopes), -1, 18)
    return flat.transpose(0, 2, 1) @ weighted.reshape(flat.shape)


def _unit_stressed(slopes: Array, moved: Array, dx: Array) -> Array:
    """(e, 3, m, m): the integrals of u_k,i u_k,j of shapes, for unit stresses x, y, xy.

    slopes : (e, q, k, 2, 18); moved : (e, 18, m) the displacements of the shapes.
    """
    size = len(moved)
    slope = slopes @ moved[:, None, None]  # (e, q, k, 2, m)
    x, y = (slope[..., i, :].reshape(size, -1, moved.shape[2]) for i in range(2))
    weight = np.repeat(dx, slope.shape[2], axis=1)[:, :, None]
    cross = x.transpose(0, 2, 1) @ (weight * y)
    squares = (a.transpose(0, 2, 1) @ (weight * a) for a in (x, y))
    return np.stack([*squares, cross + cross.transpose(0, 2, 1)], axis=1)
