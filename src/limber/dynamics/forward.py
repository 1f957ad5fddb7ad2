"""Forward dynamics: accelerations from forces."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, shown
from limber.dynamics.evaluate import (
    External,
    check_system,
    externals,
    node_key,
    of_batch,
    run,
    short,
    vectors,
    workspaces,
)
from limber.errors import ArgumentValueError
from limber.kernels import compiled

METHODS = ("articulated", "composite")

#: The sweeps that leave pivots to be judged.
WITH_PIVOTS = ("articulated_sweep", "ruthless_sweep")

#: Further methods, f(system, q, v, tau, external) -> vdot of one state; `limber.algebra` adds its own.
MORE_METHODS: dict[str, Callable[[System, Array, Array, Array, External], Array]] = {}

#: Modes per body from which a ruthless system is faster with D_f inverted beforehand (`make bench`).
INDIRECT_FROM = 8
#: The inverse made beforehand loses digits as the square of Omega Gamma: not used beyond this (1e-16 times
#: its square is 2e-11, and the bound is a generous one).
INDIRECT_LOAD = 400.0


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
        O(N^3): the mass
        matrix (50) solved by L D L^T (46).  The algorithms of the sources over the spatial operators, for
        study: "fd1" to "fd4" (Rodriguez & Kreutz), "coupled" and "split" (Jain & Rodriguez, (51), (58) and
        (61), (62)), "denoc" (Mohan & Saha), "cg" (conjugate gradients).  All give the same answer.
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
        # refuses, for every method alike, states that are wrong or have no answer
        forward_dynamics(system, q, v, tau, external=external)
    if method in MORE_METHODS:
        return _one_by_one(system, q, v, tau, external, MORE_METHODS[method])
    if method == "composite":
        answer = short_forced(system, method, external, q, v, tau)
        if answer is not None:
            return answer
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


def sweep_of(system: System, method: str) -> str:
    """The compiled sweep behind a method."""
    if method == "articulated" and system.fidelity == "ruthless":
        most = max(body.modes for body in system.bodies.values())
        indirect = most >= INDIRECT_FROM and system.dynamics.load <= INDIRECT_LOAD
        return "ruthless_sweep" if indirect else "articulated_sweep"
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
    model: tuple = (compiled.address(sweep), pivots, packed.topo, packed.const, index)
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
