"""Coordinates of small motions that locked joints and closures allow.

x = T y, with X^T M X = T^T M T of unit diagonal.  In a tree, T selects the free speeds, each in the unit in which its
inertia is 1.  In a closed system the columns of T are a basis of the speeds that the closures allow, A T = 0.  With

    M vdot + b(q, v) = tau + A^T lambda,    dv = xdot + B x,    A x = 0

about a steady state, and with T^T A^T = 0, the equations of small motion are

    T^T M T y'' + T^T (M B + db/dv) T y' + T^T (db/dv B + db/dq - d(A^T lambda)/dq) T y = 0

where lambda is constant: the second derivatives of the closures enter with their forces, and the change of lambda
does no work.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics import eigen
from limber.dynamics.closure_loads import closure_forces
from limber.dynamics.evaluate import evaluated, with_starts_at
from limber.dynamics.reach import reach
from limber.dynamics.rows import closure_jacobian, row_space
from limber.dynamics.statics import Statics
from limber.errors import ArgumentValueError, ModelWarning, warn

#: Degrees of freedom that closures resist to second order by more than this fraction of their size are not motions.
RESISTED = 1e-6
#: The distance of nearby configurations that are examined, in radians and fractions of the system's size.
NEARBY = 1e-4


@dataclass(frozen=True, eq=False)
class SmallMotions:
    """T (nv, n); elastic stiffness is exact to 1e-13 of its terms, even if T adds them up to less."""

    system: System
    T: Array

    def all(self, *matrices: Array, uncertain: Array | None = None) -> list[Array]:
        """T^T X T of each of M, D, the elastic stiffness and that of loads, and a bound of their errors if one is given."""
        found = [self.T.T @ X @ self.T for X in matrices]
        if uncertain is not None:
            size = np.abs(self.T)
            if self.system.closures:
                uncertain = uncertain + 1e-13 * np.abs(matrices[2])
            found.append(size.T @ uncertain @ size)
        return found

    def whole(self, found: eigen.Solved) -> eigen.Solved:
        """The same modes with their shapes in all speeds."""
        return found._replace(shapes=self.T @ found.shapes)

    def broken(self, q: Array) -> float:
        """How much of these motions the closures forbid at another q; 0 if nothing."""
        if not self.system.closures:
            return 0.0
        A = closure_jacobian(self.system, q)
        most = np.linalg.norm(A, axis=1)[:, None] * np.linalg.norm(self.T, axis=0)
        return float(np.abs(A @ self.T).max() / most.max())


def small_motions(problem: Statics, q: Array, M: Array, K: Array) -> SmallMotions:
    """The small motions that a problem allows at q, with M, and K about it."""
    system, free = problem.system, problem.free
    if not problem.carried:
        T = np.zeros((system.nv, len(free)))
        T[free, np.arange(len(free))] = 1.0 / np.sqrt(np.diag(M))[free]
        return SmallMotions(system, T)
    space = row_space(system, q, free)
    n = space.basis.shape[1]
    if n == 0:
        raise ArgumentValueError(
            f"the closures of {system.name!r} allow no motion: {space.rank} of their rows are independent, for "
            f"{len(free)} free speeds. lb.freedoms gives details. Lock fewer joints, or check the closures."
        )
    T = np.zeros((system.nv, n))
    T[free] = space.basis
    # modes without damping, so that bounds of errors are those of each mode alone
    K = 0.5 * (K + K.T)
    return SmallMotions(system, T @ eigen.undamped(T.T @ M @ T, T.T @ K @ T))


def warn_if_singular(states: Iterable[tuple[Statics, Array]]) -> None:
    """Warn, once, if closures that depend on each other at one of the configurations do not do so nearby."""
    for problem, q in states:
        freedoms = freedoms_if_singular(problem.system, q, problem.free) if problem.carried else 0
        if freedoms:
            warn(
                f"{problem.system.name!r} is in a singular position: its closures leave {freedoms} degree(s) of "
                "freedom at q, but fewer nearby, and the closure forces, on which the stiffness depends, are not "
                "unique. These modes are valid only at q; move away from it if you can.",
                ModelWarning,
            )
            return


def freedoms_if_singular(system: System, q: Array, free: np.ndarray | None = None) -> int:
    """The number of degrees of freedom at q if not all of them exist nearby; otherwise 0.

    For multipliers n with A^T n = 0, T^T d(A^T n)/dq T is zero if the rank of A does not change.  It is tested with one
    combination of the multipliers, along one combination of the degrees of freedom T.

    free : indices of the speeds that may move, all by default.
    """
    system = with_starts_at(system, q, "the examination of nearby configurations")
    space = row_space(system, q, free)
    if not space.null.size or not space.basis.size:
        return 0
    T = np.zeros((system.nv, space.basis.shape[1]))
    T[slice(None) if free is None else free] = space.basis
    rng = np.random.default_rng(0)
    n = space.null @ rng.normal(size=space.null.shape[1])
    along = T @ rng.normal(size=T.shape[1])
    step = NEARBY / np.abs(along / reach(system)).max()
    there, back = (
        closure_forces(system, evaluated(system, "integrate", (q, along, np.array([h]))), n)
        for h in (step, -step)
    )
    resisted = T.T @ (there - back) / (2.0 * step)
    A = closure_jacobian(system, q)
    size = np.linalg.norm(n) * np.linalg.norm(A) * np.linalg.norm(T) * np.linalg.norm(along)
    return T.shape[1] if np.abs(resisted).max() > RESISTED * size else 0
