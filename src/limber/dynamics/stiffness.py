"""Stiffness and damping of small motion about a configuration at rest, and how exact they are.

The stiffness is the slope of the bias along `integrate`, K_ij = X_j(b_i) with X_j the derivative along speed j.  The
bias has a potential, b_i = X_i(V), so K_ij - K_ji = -[X_i, X_j](V).  K is symmetric if the speeds are rates of
coordinates.  Those of a spherical or free joint are not: [X_i, X_j] = c_ij^k X_k with the structure constants of the
joint's map, so that K - K^T = -c_ij^k b_k.  A force b that holds such a joint follows the body.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from limber.assembly.extent import extent
from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.evaluate import evaluated
from limber.dynamics.inverse import bias
from limber.dynamics.kinematics import integrate
from limber.joints import Joint
from limber.joints.simple import bracket

#: The step of the differences that give the stiffness of gravity, in radians and parts of the system's size, and
#: their weights at 1, 2, 3 and 4 steps.  They have order eight, so that rounding and truncation errors are both
#: about 1e-14 of the slope.
STEP = 0.02
WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
#: The error of those differences where the slope is zero, relative to the largest effect of gravity.
DIFFERENCES = 1e-12
#: A force below this part of the largest effect of gravity is rounding error.
HELD = 1e-10


def own_stiffness_and_damping(system: System, q: Array) -> tuple[Array, Array]:
    """The matrices (nv, nv) of bodies and joints at q: elastic stiffness, and damping with friction's slope."""
    stiffness, damping = modal_stiffness(system), _modal(system, "damping")
    by_q, by_v = evaluated(system, "joint_slopes", (q, np.zeros(system.nv)))
    return stiffness + np.diag(by_q), damping + np.diag(by_v)


def modal_stiffness(system: System) -> Array:
    """The elastic stiffness matrix (nv, nv) of the modes."""
    return _modal(system, "stiffness")


def _modal(system: System, what: str) -> Array:
    matrix = np.zeros((system.nv, system.nv))
    for name, where in system.layout.items():
        matrix[where.v_modes, where.v_modes] = getattr(system.bodies[name], what)
    return matrix


def reach(system: System) -> Array:
    """The change of each coordinate that turns a body by about a radian or moves it by about the size of the system."""
    length = extent(system)
    result = np.ones(system.nv)
    for name, where in system.layout.items():
        columns = [column for group in system.joints[name].groups for column in group.H.T]
        for i, h in zip(range(where.v_joint.start, where.v_joint.stop), columns):
            result[i] = 1.0 / max(np.linalg.norm(h[:3]), np.linalg.norm(h[3:]) / length)
        turn, move = system.bodies[name].largest_motion()
        largest = np.maximum(turn, move / length)
        result[where.v_modes] = 1.0 / np.where(largest > 0.0, largest, 1.0)
    return result


def gravity_stiffness(system: System, q: Array) -> Array:
    """The stiffness (nv, nv) of gravity at q, by differences."""
    nv = system.nv
    slope = np.zeros((nv, nv))
    if not np.any(system.gravity):
        return slope
    size = STEP * reach(system)
    zero = np.zeros(nv)
    for step, weight in enumerate(WEIGHTS, start=1):
        ahead, behind = (integrate(system, q, np.diag(size), sign * step) for sign in (1.0, -1.0))
        change = _gravity_and_modes(system, ahead, zero) - _gravity_and_modes(system, behind, zero)
        slope += weight * change.T / size
    return slope - modal_stiffness(system)


def _gravity_and_modes(system: System, q: Array, zero: Array) -> Array:
    """The bias at rest without the forces of the joints themselves."""
    own = evaluated(system, "joint_forces", (q, zero))
    return bias(system, q, zero) - own


def gravity_forces(system: System, M: Array) -> Array:
    """The largest effect of gravity on each freedom: |g| sqrt(m M_ii), with m the mass that it moves."""
    carried = dict.fromkeys(("world", *system.layout), 0.0)
    for name in reversed(list(system.layout)):
        carried[name] += system.bodies[name].mass
        carried[system.parents[name]] += carried[name]
    mass = np.zeros(system.nv)
    for name, where in system.layout.items():
        mass[where.v_modes.start : where.v_joint.stop] = carried[name]
    return np.linalg.norm(system.gravity) * np.sqrt(mass * np.diag(M))


def uncertainty(system: System, M: Array) -> Array:
    """A bound of the errors of zeros in `gravity_stiffness`, from rounding and differences, (nv, nv)."""
    each = np.outer(gravity_forces(system, M), 1.0 / reach(system))
    return DIFFERENCES * 0.5 * (each + each.T)


def asymmetry(system: System, q: Array, M: Array) -> Array:
    """K - K^T at q, exactly; it is zero unless a force holds a joint whose speeds are not rates of coordinates."""
    held = bias(system, q, np.zeros(system.nv))
    held[np.abs(held) <= HELD * gravity_forces(system, M)] = 0.0
    result = np.zeros((system.nv, system.nv))
    for name, where in system.layout.items():
        at = where.v_joint
        result[at, at] = -np.einsum("ijk,k->ij", structure(system.joints[name]), held[at])
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
