"""Newton's method along a branch of equilibria, stable or not.

Solves    r(q) = 0 from a start near a solution, like `equilibrium`, but without going downhill: it stays on an unstable
          branch that `equilibrium` would leave
Step      K x = -r in the directions that have a stiffness.  K is that of the start, and it is recomputed only if the
          forces decrease slowly.  The first step is the tangent of the branch.
Closures  as in `equilibrium`: steps are in the null space of A, and after each step the closures are satisfied again
Cost      one inverse dynamics per step, and 16 per degree of freedom for each K
"""

from __future__ import annotations

import numpy as np

from limber.checks import Array
from limber.dynamics.equilibrium import (
    BALANCED,
    Directions,
    Point,
    apart,
    point,
    principal,
)
from limber.dynamics.statics import Statics
from limber.errors import DynamicsError

#: A search ends after this many steps, and after so many computations of K.
STEPS, STIFFNESSES = 30, 6
#: A step that leaves more than this fraction of the forces requires a new K.
SLOW = 0.1
#: Forces below this fraction of those present are rounding errors.
ROUNDING = 1e-15


def corrected(
    problem: Statics, q: Array, farthest: float, slopes: tuple[Array, Array] | None = None
) -> Point | None:
    """The equilibrium near q, or None if there is none within `farthest`.

    farthest : in radians and fractions of the system's size.
    slopes : the stiffness and its elastic part at q, or near it.
    """
    here = point(problem, q)
    found, computed = None, 0
    for _ in range(STEPS):
        if here.imbalance <= ROUNDING:
            return here
        if found is None:
            if computed == STIFFNESSES:
                break
            found, computed = principal(problem, here, slopes), computed + 1
            slopes = None
        step = _step(problem, here, found)
        if step is None:
            break
        try:
            there = point(problem, problem.moved(here.q, step, 1.0))
        except DynamicsError:
            return None
        if apart(problem.system, q, there.q) > farthest:
            return None
        if here.balanced and there.imbalance > 0.5 * here.imbalance:  # rounding is all that is left
            return here
        if there.imbalance > SLOW * here.imbalance:
            found = None
        here = there
    return here if here.balanced else None


def _step(problem: Statics, here: Point, found: Directions) -> Array | None:
    """Newton's step (nv,), or None if a force acts in a direction without stiffness."""
    free, stiff = problem.free, found.stiff
    force = found.vectors.T @ (found.units * here.residual)[free]
    size = problem.sizes(here.q, here.multipliers)
    sizes = np.abs(found.vectors).T @ (found.units * size)[free]
    if (np.abs(force) > BALANCED * sizes)[~stiff].any():
        return None
    V = found.vectors[:, stiff]
    amount = np.linalg.solve(V.T @ found.stiffness @ V, -force[stiff])
    step = np.zeros(problem.system.nv)
    step[free] = found.units[free] * (V @ amount)
    return step if np.isfinite(step).all() else None
