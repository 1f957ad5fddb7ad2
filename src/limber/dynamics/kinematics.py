"""Poses and Jacobians of nodes; coordinates and speeds."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, number
from limber.dynamics.evaluate import (
    check_system,
    node_key,
    of_motion,
    of_position,
    run,
    short,
    vectors,
    workspaces,
)
from limber.kernels import layout as L


def pose(
    system: System, q: ArrayLike, body: str, node: str | int | None = None
) -> tuple[Array, Array]:
    """(R, p) of a node in the world: R (..., 3, 3) turns its components into world ones, p (..., 3).

    Without `node`, of the body frame.  The deformed geometry, at either fidelity.
    """
    key = node_key("pose", body, node)
    answer = short(system, key, q)
    if answer is None:
        check_system(system)
        where = _node(system, body, node)
        answer = of_position(system, system.geometry, "pose", q, (4, 3), where, key)
    return answer[..., :3, :], answer[..., 3, :]


def jacobian(system: System, q: ArrayLike, body: str, node: str | int | None = None) -> Array:
    """The Jacobian (..., 6, nv) of a node: its velocity [angular; linear], world axes, is J v.

    Without `node`, of the body frame.  The derivative of `pose`: deformed geometry, at either
    fidelity.
    """
    key = node_key("jacobian", body, node)
    answer = short(system, key, q)
    if answer is not None:
        return answer
    check_system(system)
    where = _node(system, body, node)
    return of_position(system, system.geometry, "jacobian", q, (6, system.nv), where, key)


def acceleration(
    system: System,
    q: ArrayLike,
    v: ArrayLike,
    vdot: ArrayLike,
    body: str,
    node: str | int | None = None,
) -> Array:
    """The acceleration (..., 6) [angular; linear] of a node, world axes: J vdot + (dJ/dt) v.

    Without `node`, of the body frame.  What an accelerometer there shows is the linear part less gravity.  The
    deformed geometry, at either fidelity.  O(N).
    """
    check_system(system)
    packed = system.geometry
    batch, arrays = vectors(system, q=(q, system.nq), v=(v, system.nv), vdot=(vdot, system.nv))
    out = np.empty((len(arrays[0]), 6))
    model = (packed.topo, packed.const, *_node(system, body, node))
    inputs = dict(zip(("q", "v", "vdot"), arrays))
    run(system, "acceleration", "node_accelerations", model, inputs, out, workspaces(packed))
    return out.reshape((*batch, 6))


def qdot(system: System, q: ArrayLike, v: ArrayLike) -> Array:
    """The time derivative of q at speeds v: v itself but for quaternions and simple joints of several
    columns, where theta_dot = Gamma(theta) beta."""
    answer = short(system, "qdot", q, v)
    if answer is not None:
        return answer
    check_system(system)
    return of_motion(system, system.geometry, "qdot", q, v, (system.nq,))


def integrate(system: System, q: ArrayLike, v: ArrayLike, dt: float) -> Array:
    """q after moving with constant speeds v for the time dt, on the configuration manifold.

    Exact on quaternions (exponential maps of SO(3) and SE(3)) and wherever theta_dot = beta; a
    `SimpleJoint` of several columns makes the first-order step theta + Gamma(theta) beta dt.
    """
    answer = short(system, "integrate", dt, q, v) if isinstance(dt, float) else None
    if answer is not None:
        return answer
    check_system(system)
    dt = number("dt", dt)
    return of_motion(system, system.geometry, "integrate", q, v, (system.nq,), dt)


def _node(system: System, body: str, node: str | int | None) -> tuple[int, int]:
    """(body, node record) as the kernels want them."""
    k = system.number(body)
    return k * L.COLUMNS, system.geometry.records[k][system.node_number(body, node)]
