r"""Sets of shapes, and the body coordinates made from them.

A set starts with normal modes and may also have static shapes of interface nodes and shapes of the user.  In
the end all of them are replaced by combinations with Phi^T M Phi = I and Phi^T K Phi = diag(omega^2), which span the
same space.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from limber.checks import Array
from limber.errors import ModelError
from limber.structures.support import Support

if TYPE_CHECKING:
    from limber.structures.structure import Structure

#: A shape of which less than this fraction, in M, is new depends on those before it.
DEPENDENT = 1e-7

LOADS = (
    "force along x", "force along y", "force along z", "moment about x", "moment about y", "moment about z",
)  # fmt: skip


class ModeSet:
    """Labelled shapes (N, k), made independent one by one."""

    def __init__(self, structure: Structure, support: Support):
        self.structure = structure
        self.support = support
        self.basis = np.zeros((structure.K.shape[0], 0))  # orthonormal in M
        self.labels: list[str] = []

    def add(self, shapes: Array, labels: Sequence[str]) -> None:
        """Add shapes; a rigid-body motion, or a shape that depends on those before it, is rejected."""
        M = self.structure.M
        moved = self.support.without_rigid(shapes, M)
        for i, label in enumerate(labels):
            shape = moved[:, i]
            size = _length(M, shape)
            if size <= DEPENDENT * _length(M, shapes[:, i]) or size == 0.0:
                what = "has no mass" if not _length(M, shapes[:, i]) else "is a rigid-body motion"
                raise ModelError(f"{label} {what}: it cannot be a shape of the body. Leave it out.")
            shape = shape / size
            for _ in range(2):
                shape = shape - self.basis @ (self.basis.T @ (M @ shape))
            new = _length(M, shape)
            if new < DEPENDENT:
                raise ModelError(
                    f"{label} depends on the shapes before it{self._nearest(moved[:, i])}: only {new:.1e} of it is new. "
                    "Leave it out, or request fewer modes."
                )
            self.basis = np.column_stack([self.basis, shape / new])
            self.labels.append(label)

    def _nearest(self, shape: Array) -> str:
        """The shape of the set that has the largest part of another."""
        if not self.labels:
            return ""
        parts = np.abs(self.basis.T @ (self.structure.M @ shape))
        return f" (mostly on {self.labels[int(parts.argmax())]})"

    def coordinates(self) -> tuple[Array, Array]:
        """omega (m,) ascending and shapes (N, m), orthonormal in M and orthogonal in K.

        The largest displacement of each shape is positive.
        """
        K = self.basis.T @ (self.structure.K @ self.basis)
        value, vector = np.linalg.eigh(0.5 * (K + K.T))
        shapes = self.basis @ vector
        per_node = self.structure.freedoms
        moves = shapes.reshape(-1, per_node, shapes.shape[1])[:, :3].reshape(-1, shapes.shape[1])
        largest = np.abs(moves).argmax(axis=0)
        signs = np.sign(moves[largest, np.arange(shapes.shape[1])])
        return np.sqrt(np.maximum(value, 0.0)), shapes * np.where(signs == 0.0, 1.0, signs)


def _length(M: sp.csr_array, shape: Array) -> float:
    return float(np.sqrt(max(shape @ (M @ shape), 0.0)))


def attachment_shapes(support: Support, rows: sp.csr_array) -> Array:
    """(N, 6 k): deformation under unit forces and moments at the interface nodes, with inertia relief if free."""
    return support.elastic(rows.T.toarray())


def constraint_shapes(support: Support, rows: sp.csr_array) -> Array:
    """(N, j): deformation when interface nodes move and nothing else loads the structure, without rigid-body motion.

    It is caused by forces at the nodes that are in equilibrium by themselves: j is 6 k minus the number of rigid-body
    motions that the nodes can make.
    """
    balance = (rows @ support.rigid).T
    forces = np.eye(rows.shape[0])
    if balance.shape[0]:
        value, vector = np.linalg.eigh(balance.T @ balance)
        forces = vector[:, value <= 1e-9 * max(value[-1], 1e-300)]
    return support.elastic(rows.T @ forces)
