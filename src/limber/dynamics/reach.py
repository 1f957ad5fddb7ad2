"""How far each coordinate can move, used as its unit where coordinates of all kinds are compared."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from limber.assembly.extent import extent
from limber.assembly.system import System
from limber.checks import Array
from limber.joints import Joint
from limber.kernels import layout as L


def reach(system: System) -> Array:
    """The change of each coordinate that rotates a body by about a radian or moves it by about the system's size."""
    if system not in _reach:
        _reach[system] = _reached(system)
    return _reach[system]


_reach: WeakKeyDictionary[System, Array] = WeakKeyDictionary()


def _reached(system: System) -> Array:
    length = extent(system)
    result = np.ones(system.nv)
    for name, where in system.layout.items():
        result[where.v_joint] = joint_reach(system.joints[name], length)
        turn, move = system.bodies[name].largest_motion()
        largest = np.maximum(turn, move / length)
        result[where.v_modes] = 1.0 / np.where(largest > 0.0, largest, 1.0)
    result.setflags(write=False)
    return result


def turning(system: System) -> Array:
    """How fast each speed of 1 turns a body at most, (nv,)."""
    if system not in _turning:
        result = np.zeros(system.nv)
        for name, where in system.layout.items():
            columns = [h for group in system.joints[name].groups for h in group.H.T]
            result[where.v_joint] = [np.linalg.norm(h[:3]) for h in columns]
            result[where.v_modes] = system.bodies[name].largest_motion()[0]
        result.setflags(write=False)
        _turning[system] = result
    return _turning[system]


_turning: WeakKeyDictionary[System, Array] = WeakKeyDictionary()


def coordinate_reach(system: System) -> Array:
    """The same of each of the coordinates q, (nq,), which may be quaternions: a component of one counts as a radian."""
    if system not in _coordinates:
        length, lengths = extent(system), reach(system)
        result = np.ones(system.nq)
        for name, where in system.layout.items():
            result[where.q_modes] = lengths[where.v_modes]
            q, v = where.q_joint.start, where.v_joint.start
            for group in system.joints[name].groups:
                if group.kind == L.SCREWS:
                    result[q : q + group.nq] = lengths[v : v + group.dofs]
                else:
                    result[q + 4 : q + group.nq] = length
                q, v = q + group.nq, v + group.dofs
        result.setflags(write=False)
        _coordinates[system] = result
    return _coordinates[system]


_coordinates: WeakKeyDictionary[System, Array] = WeakKeyDictionary()


def joint_reach(joint: Joint, length: float) -> Array:
    """The change of each coordinate of a joint that rotates its body by a radian or moves it by a length."""
    columns = [column for group in joint.groups for column in group.H.T]
    sizes = [max(np.linalg.norm(h[:3]), np.linalg.norm(h[3:]) / length) for h in columns]
    return 1.0 / np.array(sizes, dtype=float)
