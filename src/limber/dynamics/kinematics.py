"""Poses and Jacobians of nodes; coordinates and speeds."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, number
from limber.dynamics.evaluate import check_system, of_position
from limber.kernels import layout as L


def pose(
    system: System, q: ArrayLike, body: str, node: str | int | None = None
) -> tuple[Array, Array]:
    """(R, p) of a node in the world: R (..., 3, 3) turns its components into world ones, p (..., 3).

    Without `node`, of the body frame.  The deformed geometry, at either fidelity.
    """
    check_system(system)
    k, record = _node(system, body, node)
    rest = np.zeros(system.nv)
    out = of_position(system, system.geometry, "pose", q, rest, (12,), body=k, node=record)
    return out[..., :9].reshape(*out.shape[:-1], 3, 3), out[..., 9:]


def jacobian(system: System, q: ArrayLike, body: str, node: str | int | None = None) -> Array:
    """The Jacobian (..., 6, nv) of a node: its velocity [angular; linear], world axes, is J v.

    Without `node`, of the body frame.  The derivative of `pose`: deformed geometry, at either
    fidelity.
    """
    check_system(system)
    k, record = _node(system, body, node)
    rest, shape = np.zeros(system.nv), (6, system.nv)
    return of_position(system, system.geometry, "jacobian", q, rest, shape, body=k, node=record)


def qdot(system: System, q: ArrayLike, v: ArrayLike) -> Array:
    """The time derivative of q at speeds v: v itself but for quaternions and simple joints of several
    columns, where theta_dot = Gamma(theta) beta."""
    check_system(system)
    return of_position(system, system.geometry, "qdot", q, v, (system.nq,))


def integrate(system: System, q: ArrayLike, v: ArrayLike, dt: float) -> Array:
    """q after moving with constant speeds v for the time dt, on the configuration manifold.

    Exact on quaternions (exponential maps of SO(3) and SE(3)) and wherever theta_dot = beta; a
    `SimpleJoint` of several columns makes the first-order step theta + Gamma(theta) beta dt.
    """
    check_system(system)
    dt = number("dt", dt)
    return of_position(system, system.geometry, "integrate", q, v, (system.nq,), dt=dt)


def _node(system: System, body: str, node: str | int | None) -> tuple[int, int]:
    """(body, node record) as the kernels want them."""
    k = system.number(body)
    return k * L.COLUMNS, system.geometry.records[k][system.node_number(body, node)]
