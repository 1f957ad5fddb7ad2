"""Poses and Jacobians of nodes; coordinates and speeds."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, number
from limber.dynamics.evaluate import check_system, run, vectors
from limber.kernels import layout as L


def pose(
    system: System, q: ArrayLike, body: str, node: str | int | None = None
) -> tuple[Array, Array]:
    """(R, p) of a node in the world: R (..., 3, 3) turns its components into world ones, p (..., 3).

    Without `node`, of the body frame.  The deformed geometry, at either fidelity.
    """
    check_system(system)
    where = _node(system, body, node)
    batch, (q,) = vectors(system, q=(q, system.nq))
    out = np.empty((len(q), 12))
    zero = np.zeros((len(q), system.nv))
    run(system, system.geometry, "pose", (q, zero), out, options=where)
    return out[:, :9].reshape(*batch, 3, 3), out[:, 9:].reshape(*batch, 3)


def jacobian(system: System, q: ArrayLike, body: str, node: str | int | None = None) -> Array:
    """The Jacobian (..., 6, nv) of a node: its velocity [angular; linear], world axes, is J v.

    Without `node`, of the body frame.  The derivative of `pose`: deformed geometry, at either
    fidelity.
    """
    check_system(system)
    where = _node(system, body, node)
    batch, (q,) = vectors(system, q=(q, system.nq))
    out = np.empty((len(q), 6 * system.nv))
    zero = np.zeros((len(q), system.nv))
    run(system, system.geometry, "jacobian", (q, zero), out, options=where)
    return out.reshape(*batch, 6, system.nv)


def qdot(system: System, q: ArrayLike, v: ArrayLike) -> Array:
    """The time derivative of q at speeds v: v itself but for quaternions and simple joints of several
    columns, where theta_dot = Gamma(theta) beta."""
    check_system(system)
    batch, (q, v) = vectors(system, q=(q, system.nq), v=(v, system.nv))
    out = np.empty((len(q), system.nq))
    run(system, system.geometry, "qdot", (q, v), out)
    return out.reshape(*batch, system.nq)


def integrate(system: System, q: ArrayLike, v: ArrayLike, dt: float) -> Array:
    """q after moving with constant speeds v for the time dt, on the configuration manifold.

    Exact on quaternions (exponential maps of SO(3) and SE(3)) and wherever theta_dot = beta.
    """
    check_system(system)
    dt = number("dt", dt)
    batch, (q, v) = vectors(system, q=(q, system.nq), v=(v, system.nv))
    out = np.empty((len(q), system.nq))
    run(system, system.geometry, "integrate", (q, v), out, options=(dt,))
    return out.reshape(*batch, system.nq)


def _node(system: System, body: str, node: str | int | None) -> tuple[int, int]:
    """(body, node record) as the kernels want them."""
    k = system.number(body)
    return k * L.COLUMNS, system.geometry.records[k][system.node_number(body, node)]
