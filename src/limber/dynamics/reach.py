"""How far each coordinate can move: its unit where coordinates of all kinds are compared."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from limber.assembly.extent import extent
from limber.assembly.system import System
from limber.checks import Array


def reach(system: System) -> Array:
    """The change of each coordinate that turns a body by about a radian or moves it by about the size of the system."""
    if system not in _reach:
        _reach[system] = _reached(system)
    return _reach[system]


_reach: WeakKeyDictionary[System, Array] = WeakKeyDictionary()


def _reached(system: System) -> Array:
    length = extent(system)
    result = np.ones(system.nv)
    for name, where in system.layout.items():
        columns = [column for group in system.joints[name].groups for column in group.H.T]
        for i, h in zip(range(where.v_joint.start, where.v_joint.stop), columns):
            result[i] = 1.0 / max(np.linalg.norm(h[:3]), np.linalg.norm(h[3:]) / length)
        turn, move = system.bodies[name].largest_motion()
        largest = np.maximum(turn, move / length)
        result[where.v_modes] = 1.0 / np.where(largest > 0.0, largest, 1.0)
    result.setflags(write=False)
    return result
