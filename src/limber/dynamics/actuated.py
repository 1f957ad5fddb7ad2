"""Inverse dynamics with some joints actuated: torques and closure forces share the load."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, repeated, shown
from limber.dynamics.evaluate import External, vectors
from limber.dynamics.forward import forward_dynamics
from limber.dynamics.freedoms import locked_speeds
from limber.dynamics.reach import reach
from limber.dynamics.refusals import of_batch
from limber.dynamics.rows import NOTHING, carried, closure_jacobian, worst
from limber.errors import ArgumentValueError, DynamicsError

#: What may be left of forces that neither motors nor closures carry, relative to the largest force.
LEFT = 1e-8
#: Accelerations that break a closure by more than this fraction of those of its ends are rejected.
BROKEN = 1e-6


def shared_torques(
    system: System,
    q: ArrayLike,
    tau: Array,
    actuated: Iterable[str] | None,
    weights: ArrayLike | None,
) -> Array:
    """Return tau - A^T lambda of least weighted norm, with zeros wherever there is no motor.

    tau : (..., nv), what the motion requires without closure forces.
    """
    motors = np.ones(system.nv, dtype=bool)
    if actuated is not None:
        motors = _motors(system, actuated)
    w = np.ones(system.nv) if weights is None else repeated("weights", weights, system.nv)
    if not (np.isfinite(w) & (w >= 0.0)).all():
        raise ArgumentValueError(f"weights must be finite and not negative, got {shown(weights)}.")
    batch = tau.shape[:-1]
    states = np.broadcast_to(np.asarray(q, dtype=float), (*batch, system.nq)).reshape(-1, system.nq)
    out = [_shared(system, *each, motors, w) for each in zip(states, tau.reshape(-1, system.nv))]
    return np.reshape(out, (*batch, system.nv))


def refuse_broken_accelerations(
    system: System,
    q: ArrayLike,
    v: ArrayLike,
    vdot: ArrayLike,
    tau: Array,
    external: External | None,
) -> None:
    """Reject accelerations that violate closures, for which the torques of `shared_torques` would cause others."""
    caused = forward_dynamics(system, q, v, tau, external=external)
    released = forward_dynamics(system, q, v, np.zeros(system.nv), external=external)
    nv = system.nv
    named = {"vdot": (vdot, nv), "caused": (caused, nv), "released": (released, nv)}
    _, (states, *rates) = vectors(system, q=(q, system.nq), **named)
    unit = reach(system)
    for i, (state, wanted, found, free) in enumerate(zip(states, *rates)):
        A = closure_jacobian(system, state)
        total = np.abs([wanted, found, free]).sum(axis=0)
        off, size = A @ (wanted - found), np.abs(A) @ total
        rounding = NOTHING * (np.abs(A) * unit).max() * (total / unit).max()
        if np.abs(off).max() > max(BROKEN * size.max(), rounding):
            said = worst(system, off, "would have the acceleration {:.3g} (rad/s^2 or m/s^2)")
            raise ArgumentValueError(
                f"inverse_dynamics: vdot breaks a closure of {system.name!r}{of_batch(i, len(states))}: {said}, so no "
                "torques can produce it. Give a vdot that the closures allow, such as one from forward_dynamics."
            )


def _motors(system: System, actuated: Iterable[str]) -> np.ndarray:
    motors = locked_speeds(system, actuated, "actuated")
    if not motors.any():
        raise ArgumentValueError(
            "actuated names no joint with a speed: name the bodies whose joints have motors."
        )
    return motors


def _shared(system: System, q: Array, tau: Array, motors: np.ndarray, weights: Array) -> Array:
    A = closure_jacobian(system, q) if system.closures else np.zeros((0, system.nv))
    _, out = carried(A, tau, ~motors, weights)
    left = np.abs(out[~motors])
    if left.size and left.max() > LEFT * max(np.abs(tau).max(), 1e-300):
        i = int(np.flatnonzero(~motors)[left.argmax()])
        raise DynamicsError(
            f"inverse_dynamics: no torques of the actuated joints produce this motion: {left.max():.3g} of the "
            f"force on {system.describe_v(i)} would have to come from a motor there. Actuate more joints, or give "
            "a vdot that they can produce, such as one from forward_dynamics."
        )
    out[~motors] = 0.0
    return out
