r"""`difference`: the constant speeds that lead from one configuration to another in a unit of time.

It is the inverse of `integrate`. With the relative rotation exp(w~) = R_from^T R_to, |w| <= pi, of a quaternion, and the
relative position p of a free joint in the axes of `q_from`,

    beta = [w, J(w)^-1 p],    J(w)^-1 = 1 - w~ / 2 + (1 - (|w| / 2) cot(|w| / 2)) / |w|^2 w~^2

Speeds that are rates of coordinates are differences of these; a `SimpleJoint` of several columns has
beta = Gamma(q_from)^-1 (q_to - q_from).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, finite_numbers, unit_quaternion
from limber.dynamics.evaluate import check_system
from limber.dynamics.refusals import quaternions
from limber.errors import ArgumentValueError
from limber.kernels import layout

#: Below this angle, rad, series replace the closed forms.
SMALL = 1e-4


def difference(system: System, q_from: ArrayLike, q_to: ArrayLike) -> Array:
    """Return the displacement (..., nv) with lb.integrate(system, q_from, displacement, 1.0) = q_to.

    It is the error of one configuration with respect to another, in the layout of v: x = [dq, dv] of `lb.linearize` has
    dq = lb.difference(system, q_nominal, q). Rotations are rotation vectors in the axes of the body, rad, of at most
    half a turn; the sign of a quaternion makes no difference.

    Parameters
    ----------
    q_from, q_to : (..., nq).
    """
    check_system(system)
    pair = [
        finite_numbers(name, x, "(..., nq)") for name, x in (("q_from", q_from), ("q_to", q_to))
    ]
    for name, x in zip(("q_from", "q_to"), pair):
        if x.ndim == 0 or x.shape[-1] != system.nq:
            raise ArgumentValueError(f"{name} must have shape (..., {system.nq}), got {x.shape}.")
        for body, at in quaternions(system):
            if x.size:
                given = x[..., at].reshape(-1, 4)
                worst = np.abs(np.linalg.norm(given, axis=1) - 1.0).argmax()
                where = f"{name}[..., {at.start}:{at.stop}], the quaternion of body {body!r},"
                unit_quaternion(where, given[worst])
    try:
        one, other = np.broadcast_arrays(*pair)
    except ValueError:
        raise ArgumentValueError(
            f"the batch dimensions of q_from {pair[0].shape} and q_to {pair[1].shape} do not match."
        ) from None
    return displacement(system, one, other)


def displacement(system: System, q_from: Array, q_to: Array) -> Array:
    """`difference` of arrays (..., nq) of equal shape, without checks; coordinates that are nan give nan."""
    if system.nq == system.nv and all(all(j.has_coordinate) for j in system.joints.values()):
        return q_to - q_from
    found = np.empty((*q_from.shape[:-1], system.nv))
    for body, where in system.layout.items():
        joint = system.joints[body]
        found[..., where.v_modes] = q_to[..., where.q_modes] - q_from[..., where.q_modes]
        i, j = where.q_joint.start, where.v_joint.start
        for group in joint.groups:
            a, b = q_from[..., i : i + group.nq], q_to[..., i : i + group.nq]
            if group.kind != layout.SCREWS:
                found[..., j : j + group.dofs] = _of_quaternion(a, b)
            elif group.has_rates:
                found[..., j : j + group.dofs] = b - a
            else:
                start = i - where.q_joint.start, j - where.v_joint.start
                theta = q_from[..., where.q_joint]
                found[..., j : j + group.dofs] = _of_screws(joint, group, start, theta, b - a)
            i, j = i + group.nq, j + group.dofs
    return found


def rotation_between(a: Array, b: Array) -> Array:
    """The rotation vectors (..., 3) from the orientations of quaternions a to those of b, in the axes of a."""
    w = (a * b).sum(axis=-1)
    u = a[..., :1] * b[..., 1:] - b[..., :1] * a[..., 1:] - np.cross(a[..., 1:], b[..., 1:])
    half = np.linalg.norm(u, axis=-1)
    angle = 2.0 * np.arctan2(half, np.abs(w))
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(half > 0.0, angle / half, 2.0)
    return np.where(w < 0.0, -scale, scale)[..., None] * u


def _of_quaternion(a: Array, b: Array) -> Array:
    """The displacement of a spherical or a free joint."""
    w = rotation_between(a[..., :4], b[..., :4])
    if a.shape[-1] == 4:
        return w
    e, u, d = a[..., :1], a[..., 1:4], b[..., 4:] - a[..., 4:]
    p = d - 2.0 * e * np.cross(u, d) + 2.0 * np.cross(u, np.cross(u, d))
    angle = np.linalg.norm(w, axis=-1, keepdims=True)
    safe = np.where(angle < SMALL, 1.0, angle)
    half = 0.5 * safe
    c = np.where(
        angle < SMALL, 1.0 / 12.0 + angle**2 / 720.0, (1.0 - half / np.tan(half)) / safe**2
    )
    turned = np.cross(w, p)
    return np.concatenate([w, p - 0.5 * turned + c * np.cross(w, turned)], axis=-1)


def _of_screws(joint, group, start: tuple[int, int], theta: Array, step: Array) -> Array:
    """The displacement of several screws that turn each other."""
    i, j = start
    found = np.full(step.shape, np.nan)
    for at in np.ndindex(step.shape[:-1]):
        if np.isfinite(theta[at]).all() and np.isfinite(step[at]).all():
            Gamma = joint.Gamma(theta[at])[i : i + group.nq, j : j + group.dofs]
            found[at] = np.linalg.solve(Gamma, step[at])
    return found
