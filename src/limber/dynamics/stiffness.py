"""Stiffness and damping of small motion about a configuration or a steady motion, and their accuracy.

The force that a state needs is b(q, v) = bias - J^T external.  Its stiffness is the derivative along `integrate`, K_ij
= X_j(b_i) with X_j the derivative along speed j, and its damping the derivative with respect to v.  The derivatives for
modes and joints are known as formulas.  Those of gravity, external forces and inertia forces are differences of order
eight in q, and of order two in v, in which b is quadratic.

At rest and without external moments b has a potential, b_i = X_i(V), so K_ij - K_ji = -[X_i, X_j](V).  K is symmetric
if the speeds are rates of coordinates.  Those of a spherical or free joint are not: [X_i, X_j] = c_ij^k X_k with the
structure constants of the joint's map, so K - K^T = -c_ij^k b_k.  A force b that holds such a joint follows the body.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.evaluate import External, evaluated
from limber.dynamics.inverse import forces_at_rest
from limber.dynamics.kinematics import integrate, jacobian
from limber.dynamics.reach import reach
from limber.joints import Joint
from limber.joints.simple import bracket

#: The step of the differences that give the stiffness of loads, in radians and fractions of the system's size, and
#: their weights at 1, 2, 3 and 4 steps.  They have order eight, so that rounding and truncation errors are both
#: about 1e-14 of the slope.
STEP = 0.02
WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
#: The error of those differences where the slope is zero, relative to the largest effect of the loads.
DIFFERENCES = 1e-12
#: A force below this fraction of the largest effect of the loads is rounding error.
HELD = 1e-10


def own_stiffness_and_damping(
    system: System, q: Array, v: Array | None = None
) -> tuple[Array, Array]:
    """The matrices (nv, nv) of bodies and joints: elastic stiffness, and damping with the derivative of friction."""
    stiffness, damping = modal_stiffness(system), _modal(system, "damping")
    speeds = np.zeros(system.nv) if v is None else v
    by_q, by_v = evaluated(system, "joint_slopes", (q, speeds))
    return stiffness + np.diag(by_q), damping + np.diag(by_v)


def modal_stiffness(system: System) -> Array:
    """The elastic stiffness matrix (nv, nv) of the modes."""
    return _modal(system, "stiffness")


def _modal(system: System, what: str) -> Array:
    matrix = np.zeros((system.nv, system.nv))
    for name, where in system.layout.items():
        matrix[where.v_modes, where.v_modes] = getattr(system.bodies[name], what)
    return matrix


def load_stiffness(
    system: System, q: Array, v: Array | None = None, external: External | None = None
) -> Array:
    """The stiffness (nv, nv) of gravity, external forces and the inertia forces of the speeds v, by differences."""
    if v is None and not external and not np.any(system.gravity):
        return np.zeros((system.nv, system.nv))
    speeds = np.zeros(system.nv) if v is None else v
    slope = slope_by_q(system, q, lambda p: _without_joints(system, p, speeds, external))
    return slope - modal_stiffness(system)


def slope_by_q(system: System, q: Array, force: Callable[[Array], Array]) -> Array:
    """The derivative (nv, nv) along `integrate` of forces that depend on q, (n, nq) -> (n, nv), by differences."""
    size = STEP * reach(system)
    return _differences(system, q, np.diag(size), force) / size


def slope_along(
    system: System, q: Array, T: Array, force: Callable[[Array], Array], step: float
) -> Array:
    """`slope_by_q` along the columns of T, (nv, n), and zero across them.

    Steps are in radians and fractions of the system's size.
    """
    size = step / np.abs(T / reach(system)[:, None]).max(axis=0, initial=1e-300)
    return _differences(system, q, (size * T).T, force) / size @ np.linalg.pinv(T)


def _differences(system: System, q: Array, steps: Array, force: Callable[[Array], Array]) -> Array:
    """The changes (nv, n) of forces along steps (n, nv) of q, extrapolated as if the derivatives at q were constant."""
    change = np.zeros((system.nv, len(steps)))
    for step, weight in enumerate(WEIGHTS, start=1):
        ahead, behind = (integrate(system, q, steps, sign * step) for sign in (1.0, -1.0))
        change += weight * (force(ahead) - force(behind)).T
    return change


def speed_slope(system: System, q: Array, v: Array) -> Array:
    """The derivative of the bias by v, (nv, nv), without that of the forces of the joints themselves."""
    size = reach(system)
    step = np.diag((np.abs(v) / size).max() * size)
    ahead, behind = (_without_joints(system, q, v + sign * step, None) for sign in (1.0, -1.0))
    return 0.5 * (ahead - behind).T / np.diag(step)


def _without_joints(system: System, q: Array, v: Array, external: External | None) -> Array:
    """The force that a state needs, without the forces of the joints themselves."""
    own = evaluated(system, "joint_forces", (q, v))
    return forces_at_rest(system, q, v, external) - own


def load_forces(
    system: System,
    q: Array,
    M: Array,
    v: Array | None = None,
    external: External | None = None,
) -> Array:
    """The largest effect on each degree of freedom, (nv,), of gravity, of external forces and of the speeds.

    Gravity has |g| sqrt(m M_ii), with the mass m that the degree of freedom moves, a wrench its size times that of the
    column of its Jacobian, and spins w have w^2 sqrt(J M_ii), with a bound J of the moment of inertia of what the
    degree of freedom moves.  What carries a degree of freedom, such as a heavy hub, is not included, and speeds without
    spin have no effect.
    """
    carried = dict.fromkeys(("world", *system.layout), 0.0)
    for name in reversed(list(system.layout)):
        carried[name] += system.bodies[name].mass
        carried[system.parents[name]] += carried[name]
    mass = np.zeros(system.nv)
    for name, where in system.layout.items():
        mass[where.v_modes.start : where.v_joint.stop] = carried[name]
    size = np.linalg.norm(system.gravity) * np.sqrt(mass * np.abs(np.diag(M)))
    for (body, node), wrench in (external or {}).items():
        J, w = jacobian(system, q, body, node), np.asarray(wrench, dtype=float)
        size += np.linalg.norm(J[:3], axis=0) * np.linalg.norm(w[:3])
        size += np.linalg.norm(J[3:], axis=0) * np.linalg.norm(w[3:])
    if v is not None:
        size += _spin_forces(system, q, M, v)
    return size


def _spin_forces(system: System, q: Array, M: Array, v: Array) -> Array:
    """The largest centrifugal and gyroscopic force on each degree of freedom, (nv,)."""
    names = list(system.layout)
    spins, _, _ = evaluated(system, "motions", (q, v, np.zeros(system.nv)))
    speeds = dict(zip(names, np.linalg.norm(spins, axis=1)))
    moment, fastest = dict.fromkeys(("world", *names), 0.0), dict.fromkeys(("world", *names), 0.0)
    path = {"world": 0.0}
    for name in names:
        item, parent = system.attachments[name], system.parents[name]
        place = np.array(item.offset, dtype=float)
        if item.at is not None and parent != "world":
            place = place + system.bodies[parent].node_set.position[item.at]
        path[name] = path[parent] + float(np.linalg.norm(place))
        moment[name] = system.bodies[name].mass * (path[name] + system.bodies[name].extent()) ** 2
        fastest[name] = float(speeds[name])
    size = np.zeros(system.nv)
    for name in reversed(names):
        parent, where = system.parents[name], system.layout[name]
        moment[parent] += moment[name]
        fastest[parent] = max(fastest[parent], fastest[name])
        own = slice(where.v_modes.start, where.v_joint.stop)
        size[own] = fastest[name] ** 2 * np.sqrt(moment[name] * np.abs(np.diag(M)[own]))
    return size


def uncertainty(system: System, loads: Array) -> Array:
    """A bound of the errors of zeros in `load_stiffness`, from rounding and differences, (nv, nv)."""
    each = np.outer(loads, 1.0 / reach(system))
    return DIFFERENCES * 0.5 * (each + each.T)


def asymmetry(system: System, held: Array, loads: Array) -> Array:
    """K - K^T at rest, exactly; it is zero unless a force `held` acts on a joint whose speeds are not rates."""
    held = np.where(np.abs(held) <= HELD * loads, 0.0, held)
    result = np.zeros((system.nv, system.nv))
    for name, where in system.layout.items():
        at = where.v_joint
        result[at, at] = -np.einsum("ijk,k->ij", structure(system.joints[name]), held[at])
    return result


def turned_with(system: System, v: Array) -> Array:
    """A (nv, nv): with x the displacement from a steady motion along `integrate`, dv = xdot + A x.

    A is zero for speeds that are rates of coordinates.  For a body that spins with w, dw = xdot + w x x.
    """
    result = np.zeros((system.nv, system.nv))
    for name, where in system.layout.items():
        at = where.v_joint
        result[at, at] = np.einsum("ijk,i->kj", structure(system.joints[name]), v[at])
    return result


def structure(joint: Joint) -> Array:
    """The structure constants c[i, j, k] of a joint's speeds, [X_i, X_j] = c_ij^k X_k."""
    result = np.zeros((joint.dofs,) * 3)
    at = 0
    for group in joint.groups:
        for i, j in combinations(range(group.dofs), 2):
            x = np.linalg.lstsq(group.H, bracket(group.H[:, i], group.H[:, j]), rcond=None)[0]
            x[np.abs(x) <= 1e-12 * np.abs(x).max()] = 0.0
            result[at + i, at + j, at : at + group.dofs] = x
            result[at + j, at + i, at : at + group.dofs] = -x
        at += group.dofs
    return result
