"""Poses and Jacobians of nodes; coordinates and speeds."""

from __future__ import annotations

from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, number
from limber.dynamics.evaluate import check_system, node_key, of_state, short
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
        options = _node(system, body, node)
        answer = of_state(system, system.geometry, "pose", (4, 3), options=options, key=key, q=q)
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
    options, shape = _node(system, body, node), (6, system.nv)
    return of_state(system, system.geometry, "jacobian", shape, options=options, key=key, q=q)


def qdot(system: System, q: ArrayLike, v: ArrayLike) -> Array:
    """The time derivative of q at speeds v: v itself but for quaternions and simple joints of several
    columns, where theta_dot = Gamma(theta) beta."""
    answer = short(system, "qdot", q, v)
    if answer is not None:
        return answer
    check_system(system)
    return of_state(system, system.geometry, "qdot", (system.nq,), q=q, v=v)


def integrate(system: System, q: ArrayLike, v: ArrayLike, dt: float) -> Array:
    """q after moving with constant speeds v for the time dt, on the configuration manifold.

    Exact on quaternions (exponential maps of SO(3) and SE(3)) and wherever theta_dot = beta; a
    `SimpleJoint` of several columns makes the first-order step theta + Gamma(theta) beta dt.
    """
    answer = short(system, "integrate", q, v, dt) if isinstance(dt, float) else None
    if answer is not None:
        return answer
    check_system(system)
    more = (number("dt", dt),)
    return of_state(system, system.geometry, "integrate", (system.nq,), more=more, q=q, v=v)


def _node(system: System, body: str, node: str | int | None) -> tuple[int, int]:
    """(body, node record) as the kernels want them."""
    k = system.number(body)
    return k * L.COLUMNS, system.geometry.records[k][system.node_number(body, node)]
