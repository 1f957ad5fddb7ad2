"""Forward dynamics: accelerations from forces."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.evaluate import External, check_system, externals, run, vectors, workspaces
from limber.errors import ArgumentValueError
from limber.kernels import compiled

METHODS = ("articulated", "composite")

#: Modes per body from which a ruthless system is faster with D_f inverted beforehand (`make bench`).
INDIRECT_FROM = 7


def forward_dynamics(
    system: System,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    *,
    external: External | None = None,
    method: str = "articulated",
) -> Array:
    """vdot from M(q) vdot + bias(q, v) = tau + J^T external.

    Parameters
    ----------
    q, v, tau : (..., nq), (..., nv), (..., nv); leading dimensions are a batch, run on all cores.
    external : {("body", node): (..., 6)} wrench [moment, force] at the node, world axes.
    method : "articulated", O(N): modes and joints eliminated body by body (Jain & Rodriguez, Eqs. (63),
        (64); a ruthless system with D_f inverted beforehand, (77), (78)); or "composite", O(N^3): the mass
        matrix (50) solved by L D L^T (46).  Both give the same answer.
    """
    if external is None and method == "articulated":
        # the short way, for one state in contiguous float64 vectors: all checks in one compiled pass
        try:
            function, topo, const, free, size = system._forward or _prepare(system)
        except AttributeError:
            check_system(system)
            raise
        try:
            work = free.pop()  # atomic, as append is: threads do not share scratch
        except IndexError:
            work = np.empty(size)
        out = np.empty(system.nv)
        try:
            status = function(topo, const, work, q, v, tau, out)
        except TypeError:
            status = -1
        free.append(work)
        if status == 0:
            return out
    check_system(system)
    if method not in METHODS:
        raise ArgumentValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
    return _general(system, q, v, tau, external, method)


def _entry(system: System, method: str) -> str:
    """The kernel behind a method."""
    if method == "articulated" and system.fidelity == "ruthless":
        most = max(body.modes for body in system.bodies.values())
        return "ruthless" if most >= INDIRECT_FROM else "articulated"
    return method


def _prepare(system: System) -> tuple:
    """What the short way needs, kept by the system: compiled function, model and scratch."""
    packed = system.dynamics
    pool = workspaces(packed)
    function = compiled.load(f"{_entry(system, 'articulated')}_one")
    ready = (function, packed.topo, packed.const, pool.free, pool.size)
    object.__setattr__(system, "_forward", ready)
    return ready


def _general(system, q, v, tau, external, method) -> Array:
    packed = system.dynamics
    index, wrenches = externals(system, packed, external)
    batch, (q, v, tau, *forces) = vectors(
        system, q=(q, system.nq), v=(v, system.nv), tau=(tau, system.nv), **wrenches
    )
    out = np.empty((len(q), system.nv))
    ext = np.hstack(forces) if forces else np.empty((len(q), 0))
    refuse_infinite(ext, wrenches)
    run(
        system,
        packed,
        f"{_entry(system, method)}_batch",
        (q, v, tau),
        out,
        options=(index, ext),
        extra=system.nv**2 if method == "composite" else 0,
        names=("q", "v", "tau"),
    )
    return out.reshape(*batch, system.nv)


def refuse_infinite(ext: Array, wrenches: dict) -> None:
    """Refuse external wrenches that are not finite."""
    if ext.size and not np.isfinite(ext).all():
        state, i = np.argwhere(~np.isfinite(ext))[0]
        name = list(wrenches)[i // 6]
        raise ArgumentValueError(f"{name}[{i % 6}] is {ext[state, i]}: wrenches must be finite.")
