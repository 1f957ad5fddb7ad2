"""Inverse dynamics, bias and mass matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.evaluate import External, check_system, of_position, short
from limber.dynamics.forward import force_key, short_forced, with_external


def inverse_dynamics(
    system: System,
    q: ArrayLike,
    v: ArrayLike,
    vdot: ArrayLike,
    *,
    external: External | None = None,
) -> Array:
    """tau = M(q) vdot + bias(q, v) - J^T external, by the Newton-Euler recursion in O(N).

    Arguments as in `forward_dynamics` (Jain & Rodriguez, Eq. (45)).
    """
    answer = short_forced(system, "inverse_dynamics", external, q, v, vdot)
    if answer is not None:
        return answer
    check_system(system)
    return with_external(
        system,
        "newton_euler_sweep",
        external,
        key=force_key("inverse_dynamics", external),
        q=(q, system.nq),
        v=(v, system.nv),
        vdot=(vdot, system.nv),
    )


def bias(system: System, q: ArrayLike, v: ArrayLike) -> Array:
    """The forces that vdot = 0 needs: Coriolis, elastic (K eta), damping (D eta_dot) and gravity.

    M(q) vdot + bias(q, v) = tau.  q (..., nq), v (..., nv) -> (..., nv); O(N).
    """
    check_system(system)
    return inverse_dynamics(system, q, v, np.zeros(system.nv))


def mass_matrix(system: System, q: ArrayLike) -> Array:
    """The mass matrix M(q) by composite bodies (Jain & Rodriguez, Eq. (50)).

    q (..., nq) -> (..., nv, nv), symmetric, and positive definite within small deformation; O(N^2) for a
    chain.
    """
    answer = short(system, "mass_matrix", q)
    if answer is not None:
        return answer
    check_system(system)
    return of_position(system, system.dynamics, "mass_matrix", q, (system.nv, system.nv))
