"""Poses and Jacobians of nodes; coordinates and speeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, number, shown
from limber.dynamics.ends import End, checked_ends
from limber.dynamics.evaluate import NOT_READY, check_system, evaluated, node_key
from limber.errors import ArgumentTypeError


def pose(
    system: System, q: ArrayLike, body: str, node: str | int | None = None
) -> tuple[Array, Array]:
    """The pose (R, p) of a node in the world: R (..., 3, 3) transforms node components into world ones, p (..., 3).

    Without `node`, it is that of the body frame.  The deformed geometry is used at either fidelity.
    """
    try:
        answer = system._ready["pose", body, node, type(node)](q)
    except NOT_READY:
        answer = None
    return _of_node(system, "pose", (q,), body, node) if answer is None else answer


def jacobian(
    system: System, q: ArrayLike, body: str | Sequence[End], node: str | int | None = None
) -> Array:
    """The Jacobian (..., 6, nv) of a node: its velocity [angular; linear] in world axes is J v.

    Without `node`, it is that of the body frame.  With a list [("body", node), ...] instead of a body, the Jacobians of
    all these ends are stacked, (..., 6 ends, nv).  J is the derivative of `pose`, so the deformed geometry is used at
    either fidelity.
    """
    try:
        answer = system._ready["jacobian", body, node, type(node)](q)
    except NOT_READY:
        answer = None
    if answer is None and isinstance(body, list | tuple):
        return _stacked_jacobian(system, q, body, node)
    return _of_node(system, "jacobian", (q,), body, node) if answer is None else answer  # type: ignore[arg-type]


def _stacked_jacobian(system: System, q: ArrayLike, ends: Sequence[End], node) -> Array:
    """The Jacobian of several ends, one below the other."""
    check_system(system)
    if node is not None:
        raise ArgumentTypeError(
            f"node={shown(node)} is given together with a list of ends: put the nodes in that list, as in "
            '[("link", "tip")].'
        )
    parts = [jacobian(system, q, *end) for end in checked_ends(system, ends, "body")]
    return np.concatenate(parts, axis=-2)


def acceleration(
    system: System,
    q: ArrayLike,
    v: ArrayLike,
    vdot: ArrayLike,
    body: str,
    node: str | int | None = None,
) -> Array:
    """The acceleration (..., 6) [angular; linear] of a node in world axes: J vdot + (dJ/dt) v.

    Without `node`, it is that of the body frame.  An accelerometer there measures the linear part minus gravity.  The
    deformed geometry is used at either fidelity.  O(N).
    """
    try:
        answer = system._ready["acceleration", body, node, type(node)](q, v, vdot)
    except NOT_READY:
        answer = None
    if answer is None:
        answer = _of_node(system, "acceleration", (q, v, vdot), body, node)
    return answer


def qdot(system: System, q: ArrayLike, v: ArrayLike) -> Array:
    """The time derivative of q at speeds v.

    It is v itself, except for quaternions and simple joints of several columns, for which
    theta_dot = Gamma(theta) beta.
    """
    try:
        answer = system._ready["qdot"](q, v)
    except NOT_READY:
        answer = None
    return evaluated(system, "qdot", (q, v), key="qdot") if answer is None else answer


def integrate(system: System, q: ArrayLike, v: ArrayLike, dt: float) -> Array:
    """Return q after moving with constant speeds v for the time dt, on the configuration manifold.

    The step is exact for quaternions (exponential maps of SO(3) and SE(3)) and wherever theta_dot = beta.
    For a `SimpleJoint` of several columns it is the first-order step theta + Gamma(theta) beta dt.
    """
    try:
        answer = system._ready["integrate"](q, v, dt)
    except NOT_READY:
        answer = None
    if answer is None:
        check_system(system)
        time = (number("dt", dt),)
        answer = evaluated(system, "integrate", (q, v, time), key="integrate")
    return answer


def _of_node(system: System, name: str, given: tuple, body: str, node: str | int | None) -> Any:
    """Evaluate a function of a node with all checks."""
    key = node_key(name, body, node)
    return evaluated(system, name, given, node=(body, node), key=key)
