"""Forward dynamics: accelerations from forces."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
from numpy.typing import ArrayLike

from limber import native
from limber.assembly.system import System
from limber.checks import Array, shown
from limber.dynamics.evaluate import (
    External,
    check_system,
    externals,
    node_key,
    of_batch,
    of_position,
    run,
    short,
    vectors,
    workspaces,
)
from limber.errors import ArgumentValueError, ModelWarning, warn

METHODS = ("articulated", "composite")

#: The sweeps that leave pivots to be judged.
WITH_PIVOTS = ("articulated_sweep", "precomputed_sweep")

#: Further methods, f(system, q, v, tau, external) -> vdot of one state; `limber.algebra` adds its own.
MORE_METHODS: dict[str, Callable[[System, Array, Array, Array, External], Array]] = {}

#: Modes per body from which a ruthless system is faster with D_f inverted beforehand (`make bench`).
INDIRECT_FROM = 8
#: The inverse made beforehand loses digits as the square of Omega Gamma: not used beyond this (1e-16 times
#: its square is 2e-11, and the bound is a generous one).
INDIRECT_LOAD = 400.0
#: A method whose answer differs from that of the articulated sweep by more has lost half of its digits.
LOSS = 1e-8


def forward_dynamics(
    system: System,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    *,
    external: External | None = None,
    method: str = "articulated",
) -> Array:
    """vdot from M(q) vdot + bias(q, v) = tau + J^T external (ruthless: J of the undeformed geometry).

    Parameters
    ----------
    q, v, tau : (..., nq), (..., nv), (..., nv); leading dimensions are a batch, run on all cores.
    external : {("body", node): (..., 6)} wrench [moment, force] at the node, world axes.
    method : "articulated", O(N): modes and joints eliminated body by body (Jain & Rodriguez, Eqs. (63),
        (64); in a ruthless system of many modes D_f is inverted beforehand, (77), (78)); or "composite",
        O(N^3): the mass matrix (50) solved by L D L^T (46).  The algorithms of the sources over the spatial
        operators, for study: "fd1" to "fd4" (Rodriguez & Kreutz), "coupled" and "split" (Jain & Rodriguez,
        (51), (58) and (61), (62)), "denoc" (Mohan & Saha), "cg" (conjugate gradients).

    All methods give the same answer, and refuse the same states.  Those that form the mass matrix or add up the
    bias forces of the whole tree first ("composite", "fd1", "fd2", "denoc", "cg") lose as many digits as the
    condition number of the mass matrix has, seven where a screw of a pitch of 1000 m takes a body far away, and
    "articulated" does not.  A ModelWarning says so where half of the digits are lost.
    """
    if method == "articulated":
        answer = short_forced(system, method, external, q, v, tau)
        if answer is not None:
            return answer
    check_system(system)
    if not isinstance(method, str) or method not in (*METHODS, *MORE_METHODS):
        known = ", ".join(map(repr, [*METHODS, *MORE_METHODS]))
        raise ArgumentValueError(f"method must be one of {known}, got {shown(method)}.")
    if method != "articulated":
        return _compared(system, q, v, tau, external, method)
    return _swept(system, q, v, tau, external, method)


def _swept(system: System, q, v, tau, external: External | None, method: str) -> Array:
    """By one of the compiled METHODS, the careful way."""
    return with_external(
        system,
        sweep_of(system, method),
        external,
        key=force_key(method, external),
        extra=system.nv**2 if method == "composite" else 0,
        q=(q, system.nq),
        v=(v, system.nv),
        tau=(tau, system.nv),
    )


def _compared(system: System, q, v, tau, external: External | None, method: str) -> Array:
    """By another method than the articulated sweep, which refuses states that are wrong or have no answer, and
    has the digits that the other one may lose."""
    exact = forward_dynamics(system, q, v, tau, external=external)
    if method in MORE_METHODS:
        answer = _one_by_one(system, q, v, tau, external, MORE_METHODS[method])
    else:
        found = short_forced(system, method, external, q, v, tau)
        answer = _swept(system, q, v, tau, external, method) if found is None else found
    off = np.abs(answer - exact) > LOSS * np.abs(exact)
    if off.any():
        _warn_of_loss(system, q, v, tau, external, method, answer - exact, exact)
    return answer


def _warn_of_loss(system: System, q, v, tau, external, method: str, error, exact) -> None:
    """Warn of an answer that differs from the exact one by more than LOSS, each freedom in the unit in which
    its inertia is 1, against the accelerations and the forces on it."""
    M = of_position(system, system.dynamics, "mass_matrix", q, (system.nv, system.nv))
    size = np.sqrt(np.diagonal(M, axis1=-2, axis2=-1))
    bias = with_external(
        system,
        "newton_euler_sweep",
        external,
        q=(q, system.nq),
        v=(v, system.nv),
        vdot=(np.zeros(system.nv), system.nv),
    )
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


def sweep_of(system: System, method: str) -> str:
    """The compiled sweep behind a method."""
    if method == "articulated" and system.fidelity == "ruthless":
        most = max(body.modes for body in system.bodies.values())
        indirect = most >= INDIRECT_FROM and system.dynamics.load <= INDIRECT_LOAD
        return "precomputed_sweep" if indirect else "articulated_sweep"
    return f"{method}_sweep"


def force_key(name: str, external: External | None) -> Hashable:
    """What `short` finds a call by, with no external force or one; None for more."""
    if external is None:
        return name
    if type(external) is dict and len(external) == 1:
        (where,) = external
        if type(where) is tuple and len(where) == 2:
            return node_key(name, *where)
    return None


def short_forced(
    system: System,
    name: str,
    external: External | None,
    q: ArrayLike,
    v: ArrayLike,
    x: ArrayLike,
) -> Array | None:
    """`short` for forward or inverse dynamics, with an external force or none."""
    if external is None:
        return short(system, name, q, v, x)
    key = force_key(name, external)
    return None if key is None else short(system, key, *external.values(), q, v, x)


def with_external(
    system: System,
    sweep: str,
    external: External | None,
    *,
    key: Hashable = None,
    extra: int = 0,
    **named: tuple[ArrayLike, int],
) -> Array:
    """Run a sweep of forward or inverse dynamics on (q, v, x), with or without external forces."""
    packed = system.dynamics
    index, wrenches = externals(system, packed, external)
    batch, arrays = vectors(system, **named, **wrenches)
    inputs = dict(zip(named, arrays))
    pivots = int(sweep in WITH_PIVOTS)
    model: tuple = (native.address(sweep), pivots, packed.topo, packed.const, index)
    if wrenches:
        forces = np.hstack(arrays[3:])
        refuse_infinite(forces, list(wrenches))
        inputs = {"external": forces, **inputs}
    else:
        model = (*model, np.empty(0))
    out = np.empty((len(arrays[0]), system.nv))
    workspace = workspaces(packed, extra)
    run(system, sweep, "dynamics", model, inputs, out, workspace, key=key, sweep=sweep)
    return out.reshape(*batch, system.nv)


def _one_by_one(system, q, v, tau, external, method) -> Array:
    """A method that takes one state at a time, over a batch that has been checked."""
    _, wrenches = externals(system, system.dynamics, external)
    batch, arrays = vectors(
        system, q=(q, system.nq), v=(v, system.nv), tau=(tau, system.nv), **wrenches
    )
    keys = list(external or {})
    out = np.empty((len(arrays[0]), system.nv))
    for i, (q_i, v_i, tau_i, *forces) in enumerate(zip(*arrays)):
        out[i] = method(system, q_i, v_i, tau_i, dict(zip(keys, forces)))
    return out.reshape(*batch, system.nv)


def refuse_infinite(ext: Array, names: list[str]) -> None:
    """Refuse external wrenches that are not finite."""
    if not np.isfinite(ext).all():
        state, i = np.argwhere(~np.isfinite(ext))[0]
        which = of_batch(state, len(ext))
        raise ArgumentValueError(
            f"{names[i // 6]}[{i % 6}] is {ext[state, i]}{which}: a wrench [moment, force] must be finite."
        )
