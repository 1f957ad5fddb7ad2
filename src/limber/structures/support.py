r"""A structure with some degrees of freedom held, and its flexibility.

The held degrees of freedom may leave r rigid-body motions R, up to six of them.  Then r more degrees of freedom support
the structure; a load that is in equilibrium by itself needs no force from them.  K of the remaining degrees of freedom
is factored once, and three kinds of flexibility are computed from it:

    static       u = G f                      held, and supported
    elastic      u = P G P^T f                the deformation of a structure that f accelerates (inertia relief);
                 P = I - R (R^T M R)^{-1} R^T M
    constrained  u = G (f + W^T y) + R a      with W u = 0: rows W are held in addition; y and a follow from
                 [[W G W^T, W R], [R^T W^T, 0]] [y; a] = -[W G f; R^T f]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from limber.checks import Array
from limber.errors import ArgumentValueError, ModelError
from limber.structures.cholesky import Cholesky, NotHeldError
from limber.structures.matrices import freedom
from limber.structures.rigid import rigid_motions

if TYPE_CHECKING:
    from limber.structures.structure import Structure

#: Rigid-body motions of which the held degrees of freedom remove less than this fraction remain.
LEFT = 1e-9


class Support:
    """`structure` with the degrees of freedom `held` (a mask); M, the mass matrix that resists acceleration."""

    def __init__(
        self,
        structure: Structure,
        held: np.ndarray,
        M: sp.csr_array,
        advanced: Callable[[float], None] = lambda part: None,
    ):
        self.M = M
        self.rigid = _left_motions(structure, held)
        free = structure.active & ~held
        free[_supports(self.rigid, free)] = False
        self.free = np.flatnonzero(free)
        used, self._node_of = np.unique(self.free // structure.freedoms, return_inverse=True)
        self._position = structure.position[used]
        if not self.free.size:
            raise ArgumentValueError(
                "every degree of freedom of the structure is held: nothing is left to deform. Clamp or pin fewer nodes, "
                "or use a "
                "RigidBody."
            )
        try:
            self.factor = self.factored(structure.K, advanced)
        except NotHeldError as caught:
            where = freedom(int(self.free[caught.row]), structure.K, structure.names)
            raise ModelError(
                f"K is singular beyond rigid-body motions, or not positive semidefinite: nothing holds {where} against the "
                "rest of the structure. Look for a hinge, a missing member or a rotation without stiffness there."
            ) from None
        self.rigid_mass = self.rigid.T @ (M @ self.rigid)

    def factored(
        self, A: sp.csr_array, advanced: Callable[[float], None] = lambda part: None
    ) -> Cholesky:
        """The factor of a matrix (N, N) like K, for the free degrees of freedom; `NotHeldError` if not definite."""
        return Cholesky(A[self.free][:, self.free], self._node_of, self._position, advanced)

    # --- flexibilities ------------------------------------------------------------------------

    def static(self, f: Array) -> Array:
        """Displacements (N, k) under the loads f (N, k), held and supported."""
        return self.solved(self.factor, f)

    def solved(self, factor: Cholesky, f: Array) -> Array:
        """Displacements (N, k) under the loads f (N, k), with another stiffness, which `factored` has factored."""
        u = np.zeros(f.shape)
        u[self.free] = factor.solve(f[self.free])
        return u

    def elastic(self, f: Array) -> Array:
        """Deformations (N, k), orthogonal in M to rigid-body motions, under the loads f and their inertia forces."""
        if not self.rigid.shape[1]:
            return self.static(f)
        relieved = f - self.M @ (self.rigid @ np.linalg.solve(self.rigid_mass, self.rigid.T @ f))
        return self.without_rigid(self.static(relieved))

    def without_rigid(self, u: Array, M: sp.csr_array | None = None) -> Array:
        """u minus its rigid-body motion, in M or in another mass matrix."""
        if not self.rigid.shape[1]:
            return u
        M = self.M if M is None else M
        MR = M @ self.rigid
        return u - self.rigid @ np.linalg.solve(self.rigid.T @ MR, MR.T @ u)

    def constrained(self, W: sp.csr_array) -> Callable[[Array], Array]:
        """The flexibility with the rows W held in addition."""
        GW = self.static(W.T.toarray())
        WR = W @ self.rigid
        r = WR.shape[1]
        saddle = scipy.linalg.lu_factor(
            np.block([[W @ GW, WR], [WR.T, np.zeros((r, r))]]), check_finite=False
        )

        def flexibility(f: Array) -> Array:
            u = self.static(f)
            right = np.vstack([W @ u, self.rigid.T @ f])
            y = scipy.linalg.lu_solve(saddle, right, check_finite=False)
            rows = len(y) - r
            return u - GW @ y[:rows] - self.rigid @ y[rows:]

        return flexibility


def _left_motions(structure: Structure, held: np.ndarray) -> Array:
    """(N, r): the rigid-body motions that do not move held degrees of freedom.

    Rotations are scaled to the structure's size.
    """
    centre = structure.position.mean(axis=0)
    motions = rigid_motions(structure.position, structure.freedoms, centre)
    motions[:, :3] /= np.linalg.norm(structure.position - centre, axis=1).max()
    motions[~structure.active] = 0.0
    if not held.any():
        return motions
    value, vector = np.linalg.eigh(motions[held].T @ motions[held])
    left = value < LEFT * max(1.0, value[-1])
    motions = motions @ vector[:, left]
    motions[held] = 0.0
    return motions


def _supports(rigid: Array, free: np.ndarray) -> np.ndarray:
    """r degrees of freedom that support r rigid-body motions as well as possible."""
    r = rigid.shape[1]
    if not r:
        return np.zeros(0, np.int64)
    candidates = np.flatnonzero(free)
    pivots = scipy.linalg.qr(rigid[candidates].T, mode="r", pivoting=True)[1]
    return candidates[pivots[:r]]
