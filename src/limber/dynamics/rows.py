"""The rows of closures as a matrix: rank, degrees of freedom, and multipliers."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from limber.assembly.closures import Closure
from limber.assembly.cut_joints import cut_joint_rows
from limber.assembly.extent import extent
from limber.assembly.system import System
from limber.checks import Array, listed
from limber.dynamics.evaluate import evaluated
from limber.dynamics.freedoms import undeformed
from limber.dynamics.reach import joint_reach, reach
from limber.dynamics.sweep import fastest_sweep
from limber.errors import DynamicsError

#: A singular value of the rows below this fraction of the largest counts as zero; each row is measured by the kinetic
#: energy that it takes to move it, and has unit size.  The kernels (`fronts.DEPENDENT`) use its square.
DEPENDENT = 1e-6
#: A row that moves its ends by less than this, in radians and fractions of the system's size, where each degree of freedom moves as
#: far as it can, moves nothing: the motions of its ends cancel except for rounding.  `fronts.ROUNDING` is the same in the kernels.
NOTHING = 1e-12
#: So does a row that moves its ends by less than this fraction of the largest coordinate: positions far from the origin
#: have no more digits.  `fronts.BLUR` stands for the same in the kernels.
ROUNDED = 1e-14
#: A combination of rows that counts as dependent moves its ends by less than this fraction of what the single rows do.
CANCELLED = 1e-2


def closure_jacobian(system: System, q: Array) -> Array:
    """A (rows, nv) at one configuration: A v is the velocity of the closure rows.

    A ruthless system has the rows of its undeformed geometry.  Rows that move nothing except by rounding are zero.
    """
    where = undeformed(system, q) if system.fidelity == "ruthless" else q
    A = evaluated(system, "row_rates", (where, np.eye(system.nv))).T.copy()
    moved = np.abs(A * reach(system)).max(axis=1, initial=0.0)
    units = row_units(system)
    most = (moved / units).max(initial=0.0)
    A[moved <= np.maximum(row_digits(system, q), NOTHING * most * units)] = 0.0
    return A


def row_digits(system: System, q: Array) -> Array:
    """What each row moves its ends by but for rounding, (..., rows), where bodies turn by a radian at q (..., nq)."""
    places = ROUNDED * np.abs(q).max(axis=-1, initial=0.0)
    return np.maximum(NOTHING * row_units(system), places[..., None])


def row_units(system: System) -> Array:
    """The unit (rows,) of the violation of each closure row: the system's size for displacements, rad for rotations.

    The unit of a relation is its largest change due to one coordinate, by a radian or by that size.  Rows of cut joints
    with coordinates of their own, which may be displacements or rotations, have the smaller of the two.
    """
    return _kept(_units, system, extent(system))


def fine_units(system: System) -> Array:
    """The units of the rows as in `row_units`, with at most a metre for the system's size."""
    return _kept(_fine, system, min(1.0, extent(system)))


def relation_units(system: System) -> Array:
    """The units of the rows of relations as in `fine_units`, and 1 for all others."""
    units = np.ones(system.rows)
    for name, rows in system.closure_rows.items():
        if not isinstance(system.closures[name], Closure):
            units[rows] = fine_units(system)[rows]
    return units


Kept = WeakKeyDictionary[System, Array]
_units: Kept = WeakKeyDictionary()
_fine: Kept = WeakKeyDictionary()


def _kept(where: Kept, system: System, length: float) -> Array:
    if system not in where:
        where[system] = _units_of_rows(system, length)
    return where[system]


def _units_of_rows(system: System, length: float) -> Array:
    units = np.full(system.rows, min(1.0, length))
    for name, rows in system.closure_rows.items():
        closure = system.closures[name]
        if isinstance(closure, Closure):
            cut = cut_joint_rows(closure.joint).without(closure.left_out)
            shifts, turns = (cut.rows[:, part].any(axis=1) for part in (slice(3, 6), slice(0, 3)))
            units[rows] = np.where(shifts, length, np.where(turns, 1.0, units[rows]))
        else:
            units[rows] = max(
                abs(x) * joint_reach(system.joints[body], length)[i]
                for (body, i), x in closure.terms.items()
            )
    units.setflags(write=False)
    return units


def worst(system: System, violations: Array, said: str = "is off by {:.3g} (rad or m)") -> str:
    """Describe the closure that is violated most, and its violation."""
    name = max(system.closure_rows, key=lambda n: np.abs(violations[system.closure_rows[n]]).max())
    rows = violations[system.closure_rows[name]]
    return f"{name!r} {said.format(np.abs(rows).max())}"


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

    def change(self, rows: Array) -> Array:
        """The speeds v with A v = rows of least kinetic energy."""
        return self._inverse.T @ rows


def row_space(system: System, q: Array, moving: np.ndarray | None = None) -> RowSpace:
    """The rows at one configuration, by a singular value decomposition: O(N^3).

    moving : indices of the speeds that may move, all by default.  A has only these columns, and the basis only these
        rows.
    """
    A, M = closure_jacobian(system, q), evaluated(system, "mass_matrix", (q,))
    if moving is not None:
        A, M = A[:, moving], M[np.ix_(moving, moving)]
    try:
        L = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        zero = np.zeros(system.nv)
        sweep = f"{fastest_sweep(system)}_sweep"
        evaluated(system, "forward_dynamics", (q, zero, zero), row=sweep)  # says what has no mass
        raise DynamicsError(
            f"the mass matrix of {system.name!r} is not positive definite at this configuration."
        ) from None
    weighed = np.linalg.solve(L, A.T).T
    size = np.linalg.norm(weighed, axis=1)
    scale = 1.0 / np.where(size > 0.0, size, 1.0)
    U, s, Vt = np.linalg.svd(weighed * scale[:, None])
    rank = int((s > DEPENDENT * s.max(initial=0.0)).sum())
    null = U[:, rank:] * scale[:, None]
    counts = (
        np.linalg.norm(U[size > 0.0, rank:], axis=0) > CANCELLED
    )  # the others combine rows that move nothing
    _refuse_masses(system, A, null[:, counts], slice(None) if moving is None else moving)
    null = np.linalg.qr(null)[0] if null.size else null
    basis = np.linalg.solve(L.T, Vt[rank:].T)
    inverse = (U[:, :rank] * scale[:, None] / s[:rank]) @ Vt[:rank]
    return RowSpace(A, rank, basis, null, np.linalg.solve(L.T, inverse.T).T)


def _refuse_masses(system: System, A: Array, null: Array, moving: np.ndarray | slice) -> None:
    """Reject combinations of rows that count as dependent only because a heavy body moves less than a light one."""
    moves = np.abs(A) * reach(system)[moving]
    single = np.abs(null).T @ moves.max(axis=1, initial=0.0)
    together = np.abs(null.T @ A * reach(system)[moving]).max(axis=1, initial=0.0)
    hidden = null[:, together > CANCELLED * single]
    if not hidden.size:
        return
    parts = np.abs(hidden).max(axis=1) > NOTHING * np.abs(hidden).max()
    names = [name for name, rows in system.closure_rows.items() if parts[rows].any()]
    raise DynamicsError(
        f"the closures of {system.name!r} connect bodies whose masses differ so much that their constraints "
        f"are lost to rounding: {listed(names)}. Give the lightest of these bodies more mass, or attach them "
        "with a joint instead of a closure."
    )


def carried(A: Array, force: Array, exactly: np.ndarray, weights: Array) -> tuple[Array, Array]:
    """Multipliers lambda that carry a generalized force, and the remainder, force - A^T lambda.

    Where `exactly` is True, the remainder is zero if possible; elsewhere the sum of weights times its squares is
    minimal.  Of several lambda it is the one of least norm, with each row of unit size.
    """
    size = np.linalg.norm(A, axis=1)
    scale = 1.0 / np.where(size > 0.0, size, 1.0)
    unit = A.T * scale
    U, s, Vt = np.linalg.svd(unit[exactly], full_matrices=True)
    rank = int((s > max(DEPENDENT * s.max(initial=0.0), NOTHING)).sum())
    lam = Vt[:rank].T @ ((U[:, :rank].T @ force[exactly]) / s[:rank])
    free, root = Vt[rank:].T, np.sqrt(weights[~exactly])
    rest = root[:, None] * unit[~exactly]
    U, s, Wt = np.linalg.svd(rest @ free, full_matrices=False)
    more = s > DEPENDENT * np.linalg.norm(rest)
    left = root * force[~exactly] - rest @ lam
    lam = lam + free @ (Wt[more].T @ ((U[:, more].T @ left) / s[more]))
    return scale * lam, force - unit @ lam
