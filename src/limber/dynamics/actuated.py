"""Inverse dynamics with some joints actuated: torques and closure forces share the load."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, repeated
from limber.dynamics.freedoms import locked_speeds
from limber.dynamics.rows import row_space
from limber.errors import ArgumentValueError, DynamicsError

#: What may be left of forces that neither motors nor closures carry, relative to the largest force.
LEFT = 1e-8


def shared_torques(
    system: System,
    q: ArrayLike,
    tau: Array,
    actuated: Iterable[str] | None,
    weights: ArrayLike | None,
) -> Array:
    """tau - A^T lambda with zeros wherever there is no motor, of least weighted norm.

    tau : (..., nv), what the motion takes without forces of the closures.
    """
    motors = np.ones(system.nv, dtype=bool)
    if actuated is not None:
        motors = _motors(system, actuated)
    w = np.ones(system.nv) if weights is None else repeated("weights", weights, system.nv)
    if (w < 0.0).any():
        raise ArgumentValueError(f"weights must not be negative, got {w.min():.6g}.")
    batch = tau.shape[:-1]
    states = np.broadcast_to(np.asarray(q, dtype=float), (*batch, system.nq)).reshape(-1, system.nq)
    out = np.array(
        [_shared(system, *each, motors, w) for each in zip(states, tau.reshape(-1, system.nv))]
    )
    return out.reshape(*batch, system.nv)


def _motors(system: System, actuated: Iterable[str]) -> np.ndarray:
    motors = locked_speeds(system, actuated, "actuated")
    if not motors.any():
        raise ArgumentValueError(
            "actuated names no joint with a speed: name the bodies whose joints have motors."
        )
    return motors


def _shared(system: System, q: Array, tau: Array, motors: np.ndarray, weights: Array) -> Array:
    A = row_space(system, q).A if system.closures else np.zeros((0, system.nv))
    # lambda = lambda_0 + N x with A_u^T lambda = tau_u, where u has no motor
    passive = A[:, ~motors].T
    size = np.linalg.norm(A, axis=1)
    scale = 1.0 / np.where(size > 0.0, size, 1.0)
    U, s, Vt = np.linalg.svd(passive * scale, full_matrices=True)
    rank = int((s > 1e-9 * s.max(initial=0.0)).sum()) if s.size else 0
    lam = Vt[:rank].T @ ((U[:, :rank].T @ tau[~motors]) / s[:rank])
    left = np.abs(tau[~motors] - passive @ (scale * lam))
    if left.size and left.max() > LEFT * max(np.abs(tau).max(), 1e-300):
        i = int(np.flatnonzero(~motors)[left.argmax()])
        raise DynamicsError(
            f"inverse_dynamics: no torques of the actuated joints make this motion: {left.max():.3g} of the force on "
            f"{system.describe_v(i)} would have to come from a motor there. Actuate more joints, or give a vdot that they can "
            "cause, such as one of forward_dynamics."
        )
    free = Vt[rank:].T
    root = np.sqrt(weights[motors])
    active = (A[:, motors].T * scale) * root[:, None]
    x = np.linalg.lstsq(active @ free, root * tau[motors] - active @ lam, rcond=1e-12)[0]
    out = tau - A.T @ (scale * (lam + free @ x))
    out[~motors] = 0.0
    return out
