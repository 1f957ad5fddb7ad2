"""Forward dynamics: accelerations from forces."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, shown
from limber.dynamics.evaluate import (
    NOT_READY,
    External,
    check_system,
    evaluated,
    force_key,
    named_wrenches,
    vectors,
)
from limber.dynamics.following import check_motion
from limber.dynamics.hybrid import Motion, prescribed, with_motion
from limber.dynamics.rows import row_space
from limber.dynamics.sought import evaluated_or_told
from limber.dynamics.sweep import fastest_sweep
from limber.errors import ArgumentValueError, ModelWarning, warn
from limber.registry import registered

METHODS = ("articulated", "composite")

#: A further method, f(system, q, v, tau, external) -> vdot of one state.
Method = Callable[[System, Array, Array, Array, External], Array]

#: A method whose result differs from that of the articulated sweep by more than this has lost half of its digits.
LOSS = 1e-8


def forward_dynamics(
    system: System,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    *,
    external: External | None = None,
    motion: Motion | None = None,
    method: str = "articulated",
) -> Array:
    """Solve M(q) vdot + bias(q, v) = tau + J^T external for vdot (ruthless: J of the undeformed geometry).

    Parameters
    ----------
    q, v, tau : (..., nq), (..., nv), (..., nv); leading dimensions are a batch, evaluated on all cores.
    external : {("body", node): (..., 6)} wrench [moment, force] at the node, world axes.
    motion : {"body": (..., r)}, the rates of the r speeds of joints whose motion is prescribed.  All other degrees of
        freedom follow their forces; the entries of tau for the prescribed joints have no effect.  `hybrid_dynamics`
        also gives the forces that the motion requires.  Rates that violate the closures are rejected.
    method : "articulated", O(N): modes and joints are eliminated body by body (Jain & Rodriguez, Eqs. (63),
        (64); in a ruthless system of many modes D_f is inverted beforehand, (77), (78)); or "composite",
        O(N^3): the mass matrix (50) is solved by L D L^T (46).  The algorithms of the sources over the spatial
        operators, for study: "fd1" to "fd4" (Rodriguez & Kreutz), "coupled" and "split" (Jain & Rodriguez,
        (51), (58) and (61), (62)), "denoc" (Mohan & Saha), "cg" (conjugate gradients).

    For a closed system, the operator-level methods give the accelerations of its tree, step (A) of the framework paper,
    which steps (B) to (F) correct for the closure forces; "composite" does the same with matrices.

    All methods give the same result and reject the same states.  Those that first form the mass matrix or add up
    the bias forces of the whole tree ("composite", "fd1", "fd2", "denoc", "cg") lose as many digits as the
    condition number of the mass matrix has; "articulated" does not.  For example, they lose seven digits if a screw
    with a pitch of 1000 m carries a body far away.  A ModelWarning says so if half of the digits are lost.
    """
    if method == "articulated" and motion is None:
        answer = ready_answer(system, method, external, q, v, tau)
        if answer is not None:
            return answer
    check_system(system)
    if not isinstance(method, str) or (method not in METHODS and method not in _more_methods()):
        known = ", ".join(map(repr, [*METHODS, *_more_methods()]))
        raise ArgumentValueError(f"method must be one of {known}, got {shown(method)}.")
    if motion is not None:
        if method != "articulated":
            raise ArgumentValueError(
                f'motion requires method="articulated", which handles driven joints; got method={method!r}.'
            )
        driven, x = prescribed(system, tau, motion)
        row = f"{fastest_sweep(system)}_sweep"
        vdot = with_motion(system, "forward_dynamics", row, q, v, x, external, driven)
        if system.closures:
            check_motion(system, q, v, vdot, driven, forces=False)
        return vdot
    if method != "articulated":
        return _compared(system, q, v, tau, external, method)
    return _swept(system, q, v, tau, external, method)


def _more_methods() -> dict[str, Method]:
    """Further methods by name, those of `limber.algebra`, which is imported when they are first used."""
    return registered("forward_dynamics.methods")


def _swept(system: System, q, v, tau, external: External | None, method: str) -> Array:
    """Evaluate one of the compiled METHODS with all checks."""
    sweep = fastest_sweep(system) if method == "articulated" else method
    key = force_key(method, external)
    return evaluated_or_told(
        system, "forward_dynamics", (q, v, tau), external=external, row=f"{sweep}_sweep", key=key
    )


def _compared(system: System, q, v, tau, external: External | None, method: str) -> Array:
    """Evaluate another method, and compare it with the articulated sweep.

    The articulated sweep rejects states that are wrong or have no solution, and keeps digits that the other method may
    lose.
    """
    exact = forward_dynamics(system, q, v, tau, external=external)
    if method not in METHODS:
        answer = _one_by_one(system, q, v, tau, external, _more_methods()[method])
    else:
        found = ready_answer(system, method, external, q, v, tau)
        answer = _swept(system, q, v, tau, external, method) if found is None else found
        if system.closures:
            answer = _closed(system, q, v, answer)
    off = np.abs(answer - exact) > LOSS * np.abs(exact)
    if off.any():
        _warn_of_loss(system, q, v, tau, external, method, answer - exact, exact)
    return answer


def _closed(system: System, q, v, free: Array) -> Array:
    """The accelerations of a closed system by matrices, given those of its tree: O(N^3)."""
    named = {"q": (q, system.nq), "v": (v, system.nv), "free": (free, system.nv)}
    batch, arrays = vectors(system, **named)
    excess = evaluated(system, "row_accelerations", tuple(arrays))
    states = zip(arrays[0], arrays[2], excess)
    out = [vdot - row_space(system, state).change(off) for state, vdot, off in states]
    return np.reshape(out, (*batch, system.nv))


def _warn_of_loss(system: System, q, v, tau, external, method: str, error, exact) -> None:
    """Warn if a result differs from the exact one by more than LOSS.

    Each degree of freedom is measured in the unit in which its inertia is 1, and the error is relative to the largest
    acceleration or force.
    """
    M = evaluated(system, "mass_matrix", (q,))
    size = np.sqrt(np.diagonal(M, axis1=-2, axis2=-1))
    at_rest = (q, v, np.zeros(system.nv))
    bias = evaluated(system, "inverse_dynamics", at_rest, external=external)
    parts = [np.abs(exact) * size, np.abs(np.asarray(tau)) / size, np.abs(bias) / size]
    scale = np.max([part.max() for part in parts])
    loss = (np.abs(error) * size).max() / scale if scale > 0.0 else 0.0
    if loss > LOSS:
        warn(
            f'method={method!r} has lost digits: it differs from "articulated" by {loss:.1g} of the largest '
            f"acceleration. The mass matrix of {system.name!r} is badly conditioned at this state. Use "
            'method="articulated".',
            ModelWarning,
        )


def ready_answer(system: System, name: str, external: External | None, q, v, x) -> Array | None:
    """Return the result of a function that is ready for one state, with at most one external force; otherwise None.

    Functions with several external forces are ready too, but take the wrenches in one array: they return None.
    """
    try:
        if external is None:
            return system._ready[name](q, v, x)
        ready = system._ready[force_key(name, external)]
    except NOT_READY:
        return None
    return ready(q, v, x, *external.values())


def _one_by_one(system, q, v, tau, external, method) -> Array:
    """Evaluate a method that takes one state at a time over a batch that has been checked."""
    named = {"q": (q, system.nq), "v": (v, system.nv), "tau": (tau, system.nv)}
    batch, arrays = vectors(system, **named, **named_wrenches(external))
    keys = list(external or {})
    out = np.empty((len(arrays[0]), system.nv))
    for i, (q_i, v_i, tau_i, *forces) in enumerate(zip(*arrays)):
        out[i] = method(system, q_i, v_i, tau_i, dict(zip(keys, forces)))
    return out.reshape(*batch, system.nv)
