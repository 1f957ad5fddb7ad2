r"""Isoparametric solid elements: their matrices, and strain at nodes.

With shape functions N_a, slopes g_a = grad N_a in space and Lame's constants lam, mu:

    M_ab   = int rho N_a N_b I
    K_ab   = int lam g_a g_b^T + mu g_b g_a^T + mu (g_a . g_b) I
    K_g,ab = int (g_a . sigma g_b) I          sigma, the stress of the displacements that load the structure

Elements are integrated in blocks, which bounds the memory that is needed in addition to the matrices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from limber.bodies.section import Material
from limber.checks import Array
from limber.errors import ModelError
from limber.structures.cells import Cell

#: Numbers in the largest array of a block of elements.
BLOCK = 4_000_000
#: Strain components, engineering shear strains last.
STRAINS = ("xx", "yy", "zz", "yz", "zx", "xy")
_PAIRS = ((0, 0), (1, 1), (2, 2), (1, 2), (2, 0), (0, 1))


@dataclass(frozen=True, eq=False)
class SolidElements:
    """Elements of one kind, `cells` (e, n), between points (N, 3)."""

    position: Array
    cells: np.ndarray
    cell: Cell
    material: Material

    @property
    def lame(self) -> tuple[float, float]:
        """lam and mu, Pa."""
        nu, mu = self.material.poisson_ratio, self.material.shear_modulus
        return 2.0 * mu * nu / (1.0 - 2.0 * nu), mu

    @property
    def degree(self) -> int:
        """The degree to which elements are integrated: that of a product of two shape functions."""
        return 2 if len(self.cell.nodes) == len(self.cell.corners) else 4

    def matrices(self) -> tuple[sp.csr_array, sp.csr_array]:
        """Mass and stiffness matrix, 3 degrees of freedom per node."""
        lam, mu = self.lame
        points, weights = self.cell.quadrature(self.degree)
        values, _ = self.cell.shapes(points)
        M = K = sp.csr_array((3 * len(self.position),) * 2)
        for chosen in self._blocks(9 * len(self.cell.nodes) ** 2):
            slopes, dx = self._slopes(chosen, points, weights)
            mass = self.material.rho * np.einsum("qa,qb,eq->eab", values, values, dx, optimize=True)
            weighted = slopes * dx[:, :, None, None]
            n = len(self.cell.nodes)
            flat = slopes.transpose(0, 2, 3, 1).reshape(len(dx), 3 * n, -1)
            both = flat @ weighted.reshape(len(dx), -1, 3 * n)
            G = both.reshape(-1, n, 3, n, 3)  # int g_a g_b^T
            stiffness = lam * G + mu * G.transpose(0, 1, 4, 3, 2)
            square = mu * np.einsum("eaibi->eab", G)
            for i in range(3):
                stiffness[:, :, i, :, i] += square
            M = M + self._assembled(chosen, _in_space(mass))
            K = K + self._assembled(chosen, stiffness)
        return M, K

    def geometric(self, u: Array) -> sp.csr_array:
        """The geometric stiffness of the stresses at the displacements u (3 N), linear in u."""
        points, weights = self.cell.quadrature(self.degree)
        moved = np.asarray(u, dtype=float).reshape(-1, 3)
        n = len(self.cell.nodes)
        total = sp.csr_array((len(self.position),) * 2)
        for chosen in self._blocks(max(n**2, 9 * n)):
            slopes, dx = self._slopes(chosen, points, weights)
            gradient = np.einsum("eqaj,eai->eqij", slopes, moved[self.cells[chosen]], optimize=True)
            stressed = slopes @ (self.stress(gradient) * dx[:, :, None, None])
            flat = slopes.transpose(0, 2, 3, 1).reshape(len(dx), n, -1)
            matrix = flat @ stressed.transpose(0, 3, 1, 2).reshape(len(dx), -1, n)
            rows, columns = self._pairs(chosen)
            total = total + sp.coo_array(
                (matrix.ravel(), (rows.ravel(), columns.ravel())), shape=total.shape
            )
        return sp.kron(total, np.eye(3), format="csr")

    def modal_stiffness(self, u: Array, shapes: Array) -> Array:
        """(k, m, m): shapes^T K_g shapes for each column of displacements u (3 N, k), of shapes (3 N, m)."""
        points, weights = self.cell.quadrature(self.degree)
        m, k = shapes.shape[1], u.shape[1]
        loaded, moved = u.reshape(-1, 3, k), shapes.reshape(-1, 3, m)
        total = np.zeros((k, m * m))
        for chosen in self._blocks(9 * len(points) * m * max(m, k)):
            slopes, dx = self._slopes(chosen, points, weights)
            gradient = _gradients(slopes, loaded[self.cells[chosen]])
            stress = self.stress(gradient.transpose(0, 1, 4, 2, 3)) * dx[:, :, None, None, None]
            slope = _gradients(slopes, moved[self.cells[chosen]])  # (e, q, i, j, m)
            for a, b in _PAIRS:
                first, second = slope[:, :, :, a], slope[:, :, :, b]
                product = np.swapaxes(first, 2, 3) @ second  # (e, q, m, m)
                if a != b:
                    product = product + np.swapaxes(product, 2, 3)
                part = stress[..., a, b].reshape(-1, k)
                total += part.T @ product.reshape(-1, m * m)
        return total.reshape(k, m, m)

    def stress(self, gradient: Array) -> Array:
        """(..., 3, 3): stress of displacement gradients (..., 3, 3), Pa."""
        lam, mu = self.lame
        strain = 0.5 * (gradient + np.swapaxes(gradient, -1, -2))
        trace = np.trace(strain, axis1=-2, axis2=-1)[..., None, None]
        return lam * trace * np.eye(3) + 2.0 * mu * strain

    def node_strains(self) -> sp.csr_array:
        """(6 N, 3 N): the strains `STRAINS` at the nodes, as the mean over the elements weighted by volume."""
        points, weights = self.cell.quadrature(self.degree)
        rows, columns, entries = [], [], []
        share = np.zeros(len(self.position))
        n = len(self.cell.nodes)
        for chosen in self._blocks(6 * n**2):
            _, dx = self._slopes(chosen, points, weights)
            volume = dx.sum(axis=1)
            np.add.at(share, self.cells[chosen], volume[:, None])
            slopes, _ = self._slopes(chosen, self.cell.nodes, np.ones(n))  # at node a, of N_b
            nodes = self.cells[chosen]
            for k, (i, j) in enumerate(_PAIRS):
                for component, along in {(i, j), (j, i)}:
                    rows.append(np.repeat(6 * nodes + k, n))
                    columns.append(np.tile(3 * nodes + component, (1, n)).ravel())
                    entries.append((slopes[..., along] * volume[:, None, None]).ravel())
        shape = (6 * len(self.position), 3 * len(self.position))
        table = np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns))
        mean = sp.diags_array(np.repeat(1.0 / share, 6))
        return (mean @ sp.coo_array(table, shape=shape)).tocsr()

    def _blocks(self, numbers: int) -> Iterator[slice]:
        """Blocks of elements that need so many numbers each."""
        size = max(1, BLOCK // numbers)
        for start in range(0, len(self.cells), size):
            yield slice(start, start + size)

    def _slopes(self, chosen: slice, points: Array, weights: Array) -> tuple[Array, Array]:
        """Slopes in space (e, q, n, 3) at points of the reference cell, and volume elements (e, q)."""
        _, local = self.cell.shapes(points)
        corners = self.position[self.cells[chosen]]
        J = np.einsum("eai,qaj->eqij", corners, local, optimize=True)
        volume = np.linalg.det(J)
        size = np.abs(volume).max(axis=1)
        bad = np.flatnonzero(
            (np.abs(volume).min(axis=1) <= 1e-9 * size)
            | (np.sign(volume) != np.sign(volume[:, :1])).any(axis=1)
        )
        flat = np.flatnonzero(size <= 1e-12 * np.ptp(corners, axis=1).max(axis=1) ** 3)
        if bad.size or flat.size:
            which = int((bad if bad.size else flat)[0]) + chosen.start
            raise ModelError(
                f"cell {which} of the mesh has no volume or is turned inside out: its nodes are "
                f"{self.cells[which].tolist()}. Their order is that of VTK; look for points at the same position."
            )
        slopes = local[None] @ np.linalg.inv(J)
        return slopes, np.abs(volume) * weights

    def _pairs(self, chosen: slice) -> tuple[np.ndarray, np.ndarray]:
        nodes = self.cells[chosen]
        n = nodes.shape[1]
        return np.repeat(nodes, n, axis=1), np.tile(nodes, (1, n))

    def _assembled(self, chosen: slice, matrices: Array) -> sp.csr_array:
        """The matrix of all nodes from those of elements, (e, n, 3, n, 3)."""
        freedoms = (3 * self.cells[chosen][:, :, None] + np.arange(3)).reshape(len(matrices), -1)
        k = freedoms.shape[1]
        rows, columns = np.repeat(freedoms, k, axis=1), np.tile(freedoms, (1, k))
        shape = (3 * len(self.position),) * 2
        table = matrices.ravel(), (rows.ravel(), columns.ravel())
        return sp.coo_array(table, shape=shape).tocsr()


def _in_space(matrices: Array) -> Array:
    """(e, n, 3, n, 3) of (e, n, n): the same for each direction."""
    return matrices[:, :, None, :, None] * np.eye(3)[None, None, :, None, :]


def _gradients(slopes: Array, moved: Array) -> Array:
    """(e, q, 3, 3, k): du_i/dx_j of displacements (e, n, 3, k) of the nodes, from the slopes (e, q, n, 3)."""
    e, q, n, _ = slopes.shape
    flat = slopes.transpose(0, 1, 3, 2).reshape(e, 3 * q, n) @ moved.reshape(e, n, -1)
    return flat.reshape(e, q, 3, 3, -1).transpose(0, 1, 3, 2, 4)
