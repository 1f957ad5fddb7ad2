"""Residuals of closures."""

from __future__ import annotations

from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.evaluate import check_system, evaluated
from limber.errors import ArgumentTypeError, ArgumentValueError


def check_closed(system: System, function: str) -> None:
    """Reject a system without closures."""
    check_system(system)
    if not system.closures:
        raise ArgumentValueError(
            f"{function}: the system {system.name!r} has no closures. Close a loop with Assembly.close(...) before build()."
        )


def constraint_residual(
    system: System, q: ArrayLike, v: ArrayLike | None = None, vdot: ArrayLike | None = None
) -> Array | tuple[Array, ...]:
    """The residuals of the closures: (..., rows) of positions and, with v and vdot, of velocities and accelerations.

    Each closure has one row for each motion that its joint does not allow; `system.closure_rows[name]` gives the rows.
    Rows of positions are in rad and m, to first order in the error: the relative twist from where the joint allows
    end b to be to where it is, in the axes of end b.  The row of a relation is in its own units.  With v, the result
    is (position, velocity); with vdot as well, it is (position, velocity, acceleration).  O(N).
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
    return position, velocity, evaluated(system, "row_accelerations", (q, v, vdot))
