"""By how much closures are violated."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.evaluate import check_system, evaluated
from limber.dynamics.forward import forward_dynamics
from limber.dynamics.rows import closure_jacobian
from limber.errors import ArgumentTypeError, ArgumentValueError


def check_closed(system: System, function: str) -> None:
    """Refuse a system without closures."""
    check_system(system)
    if not system.closures:
        raise ArgumentValueError(
            f"{function}: the system {system.name!r} has no closures. Close a loop with Assembly.close(...) before build()."
        )


def constraint_residual(
    system: System, q: ArrayLike, v: ArrayLike | None = None, vdot: ArrayLike | None = None
) -> Array | tuple[Array, ...]:
    """By how much the closures are violated: (..., rows) of positions, and of velocities and accelerations if given.

    Each closure has one row for each motion that its joint does not allow; `system.closure_rows[name]` says which.
    Rows of positions are in rad and m, to first order in the error: a relative twist from where the joint allows
    end b to be to where it is, in the axes of end b.  Those of a relation are in its own units.  With v, the result
    is (position, velocity), with vdot as well, (position, velocity, acceleration).  O(N) but for accelerations.
    """
    check_closed(system, "constraint_residual")
    position = evaluated(system, "violations", (q,))
    if v is None:
        if vdot is not None:
            raise ArgumentTypeError(
                "vdot is given without v: accelerations of closures depend on both."
            )
        return position
    velocity = evaluated(system, "row_rates", (q, v))
    if vdot is None:
        return position, velocity
    q, v, vdot = (np.asarray(x, dtype=float) for x in (q, v, vdot))
    met = forward_dynamics(system, q, v, np.zeros(system.nv))
    excess = np.broadcast_to(vdot, met.shape) - met
    batch = met.shape[:-1]
    states = np.broadcast_to(q, (*batch, system.nq)).reshape(-1, system.nq)
    rows = [
        closure_jacobian(system, state) @ x
        for state, x in zip(states, excess.reshape(-1, system.nv))
    ]
    return position, velocity, np.array(rows).reshape(*batch, system.rows)


def worst(system: System, violations: Array, units: str = "(rad or m)") -> str:
    """The closure that is violated most, and by how much, in words."""
    name = max(system.closure_rows, key=lambda n: np.abs(violations[system.closure_rows[n]]).max())
    rows = violations[system.closure_rows[name]]
    return f"{name!r} is off by {np.abs(rows).max():.3g} {units}"
