"""Closure forces as external wrenches, A^T lambda = sum of J^T wrench over the ends, and their derivative by q."""

from __future__ import annotations

import numpy as np

from limber.assembly.closures import Closure, End, Relation
from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.evaluate import External, evaluated, with_starts_at
from limber.dynamics.freedoms import undeformed
from limber.dynamics.inverse import inverse_dynamics
from limber.dynamics.kinematics import pose
from limber.dynamics.rows import row_space
from limber.dynamics.stiffness import slope_along, slope_by_q

#: The step of differences of forces of cut joints whose coordinates are searched for.  They change fast next to where the joint map is
#: singular, and off the closures.
SHORT = 1e-3


def closure_loads(
    system: System, q: Array, lam: Array, external: External | None = None
) -> External:
    """External wrenches, and those that the multipliers exert on the ends of all closures at q (..., nq).

    Relations are not included (`relation_forces`).
    """
    where = undeformed(system, q) if system.fidelity == "ruthless" else q
    wrenches = evaluated(system, "wrenches", (where, lam))
    found: dict[tuple[str, str | int | None], Array] = {}
    none = np.zeros(6)
    for (body, node), wrench in (external or {}).items():
        at = body, system.node_number(body, node)
        found[at] = found.get(at, none) + np.asarray(wrench, dtype=float)
    for i, name in enumerate(system.closure_rows):
        closure = system.closures[name]
        if not isinstance(closure, Closure):
            continue
        on_b = wrenches[..., i, :]
        force, (_, place) = on_b[..., 3:], _end(system, where, closure.b)
        for end, sign in ((closure.b, 1.0), (closure.a, -1.0)):
            if end.body == "world":
                continue
            arm = place - _end(system, where, end)[0]
            wrench = np.concatenate([on_b[..., :3] + np.cross(arm, force), force], axis=-1)
            at = end.body, system.node_number(end.body, end.node)
            found[at] = found.get(at, none) + sign * wrench
    return dict(found)


def loads_in_motion(
    system: System, q: Array, v: Array, vdot: Array, tau: Array, external: External | None = None
) -> External:
    """External wrenches, and those that closures exert on their ends in motions (n, ...) with the torques tau.

    If closures are redundant, their forces are those of least norm.  O(N^3) in each row.
    """
    force = inverse_dynamics(system, q, v, vdot, external=external) - tau
    states = undeformed(system, q) if system.fidelity == "ruthless" else q
    lam = np.array([row_space(system, x).multipliers(f) for x, f in zip(states, force)])
    return closure_loads(system, q, lam, external)


def _end(system: System, q: Array, end: End) -> tuple[Array, Array]:
    """The node of an end and the origin of its frame, in the world."""
    if end.body == "world":
        return end.offset, end.offset
    R, p = pose(system, q, end.body, end.node)
    return p, p + R @ end.offset


def relation_forces(system: System, lam: Array) -> Array:
    """The generalized forces (nv,) of the multipliers of relations."""
    force = np.zeros(system.nv)
    for name, rows in system.closure_rows.items():
        closure = system.closures[name]
        if isinstance(closure, Relation):
            for (body, i), coefficient in closure.terms.items():
                force[system.layout[body].v_joint.start + i] += coefficient * lam[rows.start]
    return force


def closure_forces(system: System, q: Array, lam: Array) -> Array:
    """A^T lambda, (..., nv), the generalized forces of multipliers at q (..., nq); O(N)."""
    loads = closure_loads(system, q, lam)
    return evaluated(system, "wrench_sweep", (q,), external=loads) + relation_forces(system, lam)


def closure_stiffness(system: System, q: Array, lam: Array) -> Array:
    """The stiffness (nv, nv) of constant multipliers, -d(A^T lambda)/dq along `integrate`, by differences.

    With cut joints whose coordinates are searched for, only directions that the closures allow count: elsewhere the
    coordinates that fit best need not change continuously.
    """
    near = with_starts_at(system, q, "the stiffness of closures")
    if near is not system:  # its rows change steadily about q
        where = undeformed(system, q) if system.fidelity == "ruthless" else q
        wrenches = evaluated(system, "wrenches", (where, lam)).ravel()
        each = evaluated(near, "wrenches", (where, np.eye(system.rows))).reshape(system.rows, -1)
        own = np.linalg.lstsq(each.T, wrenches, rcond=None)[0]
        T = row_space(near, q).basis
        return -slope_along(near, q, T, lambda p: closure_forces(near, p, own), SHORT)
    return -slope_by_q(system, q, lambda p: closure_forces(system, p, lam))
