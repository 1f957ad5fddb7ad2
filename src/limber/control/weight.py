"""The torques that hold a system without deformation at rest, and their slopes along its motions."""

from __future__ import annotations

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.derivatives import derivatives
from limber.dynamics.inverse import inverse_dynamics
from limber.dynamics.kinematics import integrate
from limber.dynamics.rows import carried, closure_jacobian
from limber.simulation.table import joint_speeds

#: Central differences of five points with this step, rad or m, are exact to about 1e-12 of the torques.
STEP = 1e-3
OFFSETS, SHARES = (-2.0, -1.0, 1.0, 2.0), (1.0 / 12.0, -2.0 / 3.0, 2.0 / 3.0, -1.0 / 12.0)


def shared_weight(system: System, places: np.ndarray) -> bool:
    """Whether closures carry part of the weight, because some joints have no torque; `places` in v have one."""
    return bool(system.closures) and len(np.setdiff1d(joint_speeds(system), places)) > 0


def weight_torques(system: System, straight: Array, places: np.ndarray) -> Array:
    """The torques at `places`, in v, that hold a configuration without deformation at rest.

    Where some joints of a closed system have no torque, the closures carry their part.
    """
    rest = np.zeros(system.nv)
    needed = inverse_dynamics(system, straight, rest, rest)
    if not shared_weight(system, places):
        return needed[places]
    joints = joint_speeds(system)
    rows = closure_jacobian(system, straight)[:, joints]
    _, torque = carried(rows, needed[joints], ~np.isin(joints, places), np.ones(len(joints)))
    return torque[np.searchsorted(joints, places)]


def weight_slopes(system: System, straight: Array, places: np.ndarray, T: Array) -> Array:
    """(places, n) the slopes of these torques along motions T (nv, n), of which only the joints count."""
    rest, joints = np.zeros(system.nv), np.array(joint_speeds(system))
    if not shared_weight(system, places):
        by = derivatives(system, straight, rest, rest, "inverse_dynamics", by="q")
        return by.q[np.ix_(places, joints)] @ T[joints]
    found = np.zeros((len(places), T.shape[1]))
    for k in range(T.shape[1]):
        along = np.zeros(system.nv)
        along[joints] = T[joints, k]
        size = np.abs(along).max()
        if size == 0.0:
            continue
        for offset, share in zip(OFFSETS, SHARES):
            there = integrate(system, straight, along / size, offset * STEP)
            found[:, k] += share * size / STEP * weight_torques(system, there, places)
    return found
