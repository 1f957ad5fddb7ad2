"""Inverse dynamics, bias and mass matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.evaluate import External, check_system, externals, run, vectors
from limber.dynamics.forward import refuse_infinite


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
    check_system(system)
    packed = system.dynamics
    index, wrenches = externals(system, packed, external)
    batch, (q, v, vdot, *forces) = vectors(
        system, q=(q, system.nq), v=(v, system.nv), vdot=(vdot, system.nv), **wrenches
    )
    out = np.empty((len(q), system.nv))
    ext = np.hstack(forces) if forces else np.empty((len(q), 0))
    refuse_infinite(ext, wrenches)
    run(
        system,
        packed,
        "newton_euler_batch",
        (q, v, vdot),
        out,
        options=(index, ext),
        names=("q", "v", "vdot"),
    )
    return out.reshape(*batch, system.nv)


def bias(system: System, q: ArrayLike, v: ArrayLike) -> Array:
    """The forces that vdot = 0 needs: Coriolis, elastic (K eta), damping (D eta_dot) and gravity.

    M(q) vdot + bias(q, v) = tau.  q (..., nq), v (..., nv) -> (..., nv); O(N).
    """
    check_system(system)
    return inverse_dynamics(system, q, v, np.zeros(system.nv))


def mass_matrix(system: System, q: ArrayLike) -> Array:
    """The mass matrix M(q) by composite bodies (Jain & Rodriguez, Eq. (50)).

    q (..., nq) -> (..., nv, nv), symmetric positive definite; O(N^2) for a chain.
    """
    check_system(system)
    batch, (q,) = vectors(system, q=(q, system.nq))
    nv = system.nv
    out = np.empty((len(q), nv * nv))
    run(system, system.dynamics, "mass_matrix_batch", (q, np.zeros((len(q), nv))), out)
    return out.reshape(*batch, nv, nv)
