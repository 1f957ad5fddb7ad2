"""The rows of closures as a matrix: rank, freedoms, and multipliers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.evaluate import evaluated

#: A singular value of the rows below this part of the largest counts as zero; each row is measured by the kinetic
#: energy that it takes to move it, and has unit size.  The kernels (`fronts.DEPENDENT`) use its square.
DEPENDENT = 1e-6
#: A row whose largest entry is below this part of that of all rows moves nothing.
NOTHING = 1e-12


def closure_jacobian(system: System, q: Array) -> Array:
    """A (rows, nv) of one configuration: A v is the velocity of the closure rows.

    A ruthless system has the rows of its undeformed geometry.
    """
    where = undeformed(system, q) if system.fidelity == "ruthless" else q
    return evaluated(system, "row_rates", (where, np.eye(system.nv))).T.copy()


def undeformed(system: System, q: Array) -> Array:
    """The same configuration with all modal coordinates zero."""
    q = np.array(q, dtype=float)
    for where in system.layout.values():
        q[..., where.q_modes] = 0.0
    return q


@dataclass(frozen=True, eq=False)
class RowSpace:
    """The rows of closures at one configuration.

    A : (rows, nv).
    rank : the number of independent rows.
    basis : (nv, nv - rank), speeds that the closures allow, orthonormal with respect to the mass matrix.
    null : (rows, rows - rank), orthonormal combinations of multipliers that exert no force.
    """

    A: Array
    rank: int
    basis: Array
    null: Array
    _inverse: Array  # (rows, nv), of A^T

    def multipliers(self, force: Array) -> Array:
        """The multipliers of least norm with A^T lambda = force."""
        lam = self._inverse @ force
        return lam - self.null @ (self.null.T @ lam)


def row_space(system: System, q: Array) -> RowSpace:
    """The rows at one configuration.  O(N^3): a singular value decomposition."""
    from scipy.linalg import cholesky, solve_triangular  # noqa: PLC0415 (slow to import)

    A = closure_jacobian(system, q)
    L = cholesky(evaluated(system, "mass_matrix", (q,)), lower=True)
    weighed = solve_triangular(L, A.T, lower=True).T
    size = np.linalg.norm(weighed, axis=1)
    # rows that move nothing but for rounding, because what their ends move cancels
    moves = np.abs(A).max(axis=1, initial=0.0) > NOTHING * np.abs(A).max(initial=0.0)
    weighed[~moves] = 0.0
    scale = np.where(moves, 1.0 / np.where(moves, size, 1.0), 1.0)
    U, s, Vt = np.linalg.svd(weighed * scale[:, None])
    rank = int((s > DEPENDENT * s.max(initial=0.0)).sum())
    null = U[:, rank:] * scale[:, None]
    null = np.linalg.qr(null)[0] if null.size else null
    basis = solve_triangular(L.T, Vt[rank:].T, lower=False)
    inverse = (U[:, :rank] * scale[:, None] / s[:rank]) @ Vt[:rank]
    return RowSpace(A, rank, basis, null, solve_triangular(L.T, inverse.T, lower=False).T)
