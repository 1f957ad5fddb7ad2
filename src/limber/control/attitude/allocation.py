r"""Allocation of the torque of an attitude controller to wheels, moment gyros and thrusters.

    wheels        t = -A^+ u, with the axes of the wheels in the columns of A: motor torques t turn the hub by -A t
    moment gyros  rates = -A^T (A A^T + r E)^-1 u, A = dh/d(gimbal angles); r grows near singular configurations, and
                  E has time-varying parts, so that the gyros leave them (Wie, Bailey & Heiberg, Singularity robust
                  steering logic for redundant single-gimbal control moment gyros, 2001)
    thrusters     forces f >= 0 that minimize |B f - u|, with as little net force as possible

At a limit, all wheels or gyros are scaled by the same factor, so that the torque keeps its direction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import nnls

from limber.assembly.system import System
from limber.checks import Array
from limber.control.actuators import MomentGyro, ReactionWheel, Thruster
from limber.control.attitude.rigid import turning_axis
from limber.control.controller import Measured
from limber.errors import ArgumentValueError

#: The singularity measure below which gyros are steered away, the largest r, and the parts of E off its diagonal.
NEAR, LARGEST, MIXED = 0.1, 0.05, 0.1
#: Net forces of thrusters count as this many times the moments that they would have at one metre.
FORCE_WEIGHT = 0.1
#: The part of their torque that wheels give to unloading; the rest is left for the attitude.
FOR_UNLOADING = 0.5


class TorqueOnHub:
    """A loop without actuators: the torque acts on the hub itself."""

    turning: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()
    placement: Array = np.zeros((3, 0))  # the axes that were found in a configuration
    reads: tuple[int, ...] = ()  # places in v of wheels, or in q of gimbals, that must be measured
    stores = False

    def momentum(self, measured: Measured) -> Array:
        """No wheels store momentum."""
        return np.zeros(3)


class Wheels:
    """Reaction wheels on the hub."""

    stores = True

    def __init__(self, system: System, hub: str, wheels: Sequence[ReactionWheel], q: Array):
        self.labels = tuple(wheel.name for wheel in wheels)
        self.axes = np.column_stack([turning_axis(system, hub, name, q) for name in self.labels])
        self.placement = self.axes
        _refuse_plane(self.axes, "wheels", self.labels)
        self.inverse = np.linalg.pinv(self.axes)
        self.limits = np.array([wheel.torque for wheel in wheels])
        self.capacity = np.array([wheel.momentum for wheel in wheels])
        self.inertia = np.array([wheel.inertia for wheel in wheels])
        self.turning = tuple(system.layout[name].v_joint.start for name in self.labels)
        self.reads = np.array(self.turning)

    def momentum(self, measured: Measured) -> Array:
        """(3,) momentum of the wheels relative to the hub, in hub axes; nan if no sensor reads them."""
        return self.axes @ (self.inertia * measured.v[self.reads])

    def bearable(self, torque: Array) -> Array:
        """The thruster torque, in the same direction, that the wheels can counteract while they control the
        attitude."""
        return _within(self.inverse @ torque, FOR_UNLOADING * self.limits) * torque

    def commands(self, t: float, torque: Array, measured: Measured) -> tuple[Array, float]:
        """Motor torques, and the part of the torque that they produce."""
        asked = -self.inverse @ torque
        part = _within(asked, self.limits)
        return part * asked, part


class MomentGyros:
    """Control moment gyros on the hub."""

    stores = True

    def __init__(self, system: System, hub: str, gyros: Sequence[MomentGyro], q: Array):
        self.labels = tuple(gyro.name for gyro in gyros)
        at = np.array(q)
        for gyro in gyros:  # the spin axes are those at gimbal angles of zero
            at[system.layout[gyro.gimbal].q_joint] = 0.0
        axes = [[turning_axis(system, hub, x, at) for x in (g.gimbal, g.name)] for g in gyros]
        self.gimbals, self.spins = np.transpose(axes, (1, 2, 0))
        self.placement = np.hstack([self.gimbals, self.spins])
        self.across = np.cross(self.gimbals.T, self.spins.T).T
        self.stored = np.array([gyro.momentum for gyro in gyros])
        self.limits = np.array([gyro.gimbal_rate for gyro in gyros])
        places = [system.layout[gyro.gimbal] for gyro in gyros]
        self.reads = np.array([place.q_joint.start for place in places])
        self.turning = tuple(
            system.layout[name].v_joint.start for gyro in gyros for name in (gyro.gimbal, gyro.name)
        )

    def momentum(self, measured: Measured) -> Array:
        """(3,) momentum of the rotors in hub axes."""
        angles = measured.q[self.reads]
        return (self.spins * np.cos(angles) + self.across * np.sin(angles)) @ self.stored

    def bearable(self, torque: Array) -> Array:
        """The thruster torque that the gyros can counteract: any that thrusters produce."""
        return torque

    def commands(self, t: float, torque: Array, measured: Measured) -> tuple[Array, float]:
        """Gimbal rates, and the part of the torque that they produce."""
        angles = measured.q[self.reads]
        A = self.across * np.cos(angles) - self.spins * np.sin(angles)
        measure = math.sqrt(max(float(np.linalg.det(A @ A.T)), 0.0))
        r = LARGEST * math.exp(-measure / NEAR)
        mixed = MIXED * np.sin(0.5 * math.pi * t + np.array([0.0, 0.5 * math.pi, math.pi]))
        E = np.array(
            [[1.0, mixed[2], mixed[1]], [mixed[2], 1.0, mixed[0]], [mixed[1], mixed[0], 1.0]]
        )
        # one gyro of the mean momentum is the unit
        scale = float(self.stored.mean())
        weighted = A * (self.stored / scale)
        rates = -weighted.T @ np.linalg.solve(weighted @ weighted.T + r * E, torque / scale)
        part = _within(rates, self.limits)
        return part * rates, part


class Thrusters:
    """Thrusters on the hub; they produce torques about the centre of mass."""

    def __init__(self, thrusters: Sequence[Thruster], centre: Array):
        self.labels = tuple(thruster.name for thruster in thrusters)
        self.limits = np.array([thruster.force for thruster in thrusters])
        wrenches = np.column_stack([x.nominal_wrench / x.force for x in thrusters])
        self.moments = wrenches[:3] - np.cross(centre, wrenches[3:].T).T
        _refuse_plane(self.moments, "thrusters", self.labels)
        self._rows = np.vstack([self.moments, FORCE_WEIGHT * wrenches[3:]])

    def forces(self, torque: Array) -> tuple[Array, Array]:
        """Thruster forces, and the torque that they produce."""
        found, _ = nnls(self._rows, np.concatenate([torque, np.zeros(3)]))
        found = _within(found, self.limits) * found
        return found, self.moments @ found


def allocation(system: System, hub: str, actuators: Sequence[Any], q: Array) -> Any:
    """The source of torques in a loop: its wheels, its moment gyros, or a torque on the hub itself.

    q : (nq,) the configuration in which wheels and gyros are placed.
    """
    wheels = [x for x in actuators if isinstance(x, ReactionWheel)]
    gyros = [x for x in actuators if isinstance(x, MomentGyro)]
    if wheels and gyros:
        raise ArgumentValueError(
            "AttitudeController: the loop has both wheels and moment gyros, but the controller can steer only one kind. "
            "Leave the other out of actuators."
        )
    if wheels:
        return Wheels(system, hub, wheels, q)
    if gyros:
        return MomentGyros(system, hub, gyros, q)
    return TorqueOnHub()


def _within(asked: Array, limits: Array) -> float:
    """The fraction of the requested values that is within all limits."""
    return float(1.0 / max(1.0, np.max(np.abs(asked) / limits, initial=0.0)))


def _refuse_plane(columns: Array, what: str, labels: tuple[str, ...]) -> None:
    if columns.shape[1] < 3 or np.linalg.matrix_rank(columns) < 3:
        raise ArgumentValueError(
            f"AttitudeController: the {what} {', '.join(map(repr, labels))} cannot turn the hub about all three axes: add "
            f"{what} whose axes do not lie in one plane."
        )
