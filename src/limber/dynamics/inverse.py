"""Inverse dynamics, bias and mass matrix."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.evaluate import NOT_READY, External, evaluated, force_key
from limber.dynamics.forward import ready_answer
from limber.dynamics.refusals import truncated_bodies


def inverse_dynamics(
    system: System,
    q: ArrayLike,
    v: ArrayLike,
    vdot: ArrayLike,
    *,
    external: External | None = None,
    actuated: Iterable[str] | None = None,
    weights: ArrayLike | None = None,
) -> Array:
    """Compute tau = M(q) vdot + bias(q, v) - J^T external by the Newton-Euler recursion, in O(N).

    Arguments as in `forward_dynamics` (Jain & Rodriguez, Eq. (45)).  For a closed system, tau is that of the open tree:
    the closures exert no force.

    actuated : bodies whose joints have motors; all other entries of tau are zero, and the closures carry the rest.  If
        several tau do that, the one with the least sum of weights * tau^2 is returned.  vdot must satisfy the closures.
        O(N^3).
    weights : one for each speed, or one for all, not negative; 1 by default.
    """
    if actuated is not None or weights is not None:
        from limber.dynamics.actuated import (  # noqa: PLC0415 (it imports this module)
            refuse_broken_accelerations,
            shared_torques,
        )

        tau = inverse_dynamics(system, q, v, vdot, external=external)
        tau = shared_torques(system, q, tau, actuated, weights)
        if system.closures:
            refuse_broken_accelerations(system, q, v, vdot, tau, external)
        return tau
    answer = ready_answer(system, "inverse_dynamics", external, q, v, vdot)
    if answer is None:
        key = force_key("inverse_dynamics", external)
        answer = evaluated(system, "inverse_dynamics", (q, v, vdot), external=external, key=key)
    return answer


def forces_at_rest(
    system: System, q: ArrayLike, v: ArrayLike, external: External | None = None
) -> Array:
    """`inverse_dynamics` at zero vdot, even if the mass matrix is not positive definite."""
    zero = np.zeros(system.nv)
    if truncated_bodies(system):
        given = (q, v, zero)
        return evaluated(system, "inverse_dynamics", given, external=external, anyhow=True)
    return inverse_dynamics(system, q, v, zero, external=external)


def bias(system: System, q: ArrayLike, v: ArrayLike) -> Array:
    """The forces that keep vdot at zero: Coriolis, elastic, damping, gravity and joint forces.

    M(q) vdot + bias(q, v) = tau.  q (..., nq), v (..., nv) -> (..., nv); O(N).  For a closed system, this is the bias
    of the tree.
    """
    try:
        answer = system._ready["bias"](q, v)
    except NOT_READY:
        answer = None
    return evaluated(system, "bias", (q, v), key="bias") if answer is None else answer


def mass_matrix(system: System, q: ArrayLike) -> Array:
    """The mass matrix M(q) by composite bodies (Jain & Rodriguez, Eq. (50)).

    q (..., nq) -> (..., nv, nv), symmetric, and positive definite for small deformation; O(N^2) for a chain.  For a
    closed system, this is the mass matrix of the tree.  If truncated second-order shapes make it indefinite, the
    configuration is rejected.
    """
    try:
        answer = system._ready["mass_matrix"](q)
    except NOT_READY:
        answer = None
    return evaluated(system, "mass_matrix", (q,), key="mass_matrix") if answer is None else answer
