"""Control moment gyros: a rotor at constant speed in a gimbal that is turned."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly import Assembly
from limber.assembly.system import System
from limber.bodies import RigidBody
from limber.checks import Array, number
from limber.checks import axis as unit_axis
from limber.control.actuators.base import Actuator, Drive, limit_of
from limber.control.joints import joint_places
from limber.errors import ArgumentValueError
from limber.integrators.context import L_DROP, L_HELD, L_LIMIT, L_STALL
from limber.joints import Revolute


class MomentGyro(Actuator):
    """A control moment gyro. The command is the gimbal rate, rad/s, which its drive maintains.

    `attach(assembly, to=...)` adds two bodies: the gimbal, named "<name> gimbal", and the rotor in it, named "<name>".
    The rotor must spin from the start: `spun_up(system, v0)` returns the speeds.

    The drives of gimbal and rotor control their speeds by torque = gain (desired - speed), clipped to the largest
    torque.

    Parameters
    ----------
    name : of the gyro and of its rotor.
    gimbal_axis, spin_axis : the gimbal axis on the body that carries the gyro, and the rotor axis at gimbal angle zero;
        they are perpendicular.
    momentum : of the rotor, N m s.
    speed : of the rotor, rad/s.
    mass : of the rotor, kg.
    gimbal_inertia, gimbal_mass : inertia of the gimbal about its axis, kg m^2, and its mass, kg.
    gimbal_rate : the largest gimbal rate, rad/s.
    gimbal_torque, rotor_torque : the largest torques of the drives, N m.
    bandwidth : of the drives, rad/s; their gain is bandwidth times inertia. A load torque, such as momentum times the
        rate of the body, makes the gimbal rate fall short by load / gain.
    """

    def __init__(
        self,
        name: str,
        gimbal_axis: ArrayLike | str,
        spin_axis: ArrayLike | str,
        *,
        momentum: float,
        speed: float,
        mass: float,
        gimbal_inertia: float,
        gimbal_mass: float,
        gimbal_rate: float = math.inf,
        gimbal_torque: float = math.inf,
        rotor_torque: float = math.inf,
        bandwidth: float = 1000.0,
    ):
        self.name = name
        who = f"of gyro {name!r}"
        self.gimbal_axis = unit_axis(f"gimbal_axis {who}", gimbal_axis)
        self.spin_axis = unit_axis(f"spin_axis {who}", spin_axis)
        if abs(self.gimbal_axis @ self.spin_axis) > 1e-9:
            raise ArgumentValueError(f"gimbal_axis and spin_axis {who} must be perpendicular.")
        self.momentum = number(f"momentum {who}", momentum, above=0.0)
        self.speed = number(f"speed {who}", speed, above=0.0)
        self.mass = number(f"mass {who}", mass, above=0.0)
        self.gimbal_inertia = number(f"gimbal_inertia {who}", gimbal_inertia, above=0.0)
        self.gimbal_mass = number(f"gimbal_mass {who}", gimbal_mass, above=0.0)
        for what, given in (
            ("gimbal_rate", gimbal_rate),
            ("gimbal_torque", gimbal_torque),
            ("rotor_torque", rotor_torque),
        ):
            setattr(self, what, limit_of(f"{what} {who}", given))
        self.bandwidth = number(f"bandwidth {who}", bandwidth, above=0.0)
        self._freeze()

    gimbal_rate: float
    gimbal_torque: float
    rotor_torque: float

    @property
    def rotor_inertia(self) -> float:
        """Inertia of the rotor about its axis, kg m^2."""
        return self.momentum / self.speed

    def attach(self, assembly: Assembly, to: str, **where: Any) -> Assembly:
        """Add gimbal and rotor to an assembly, on the body `to`; `where` is as in `Assembly.attach`."""
        gimbal = RigidBody(self.gimbal_mass, inertia=self.gimbal_inertia * np.eye(3))
        along = np.outer(self.spin_axis, self.spin_axis)
        rotor = RigidBody(self.mass, inertia=self.rotor_inertia * (0.5 * np.eye(3) + 0.5 * along))
        assembly.attach(self.gimbal, gimbal, Revolute(self.gimbal_axis), to, **where)
        return assembly.attach(self.name, rotor, Revolute(self.spin_axis), to=self.gimbal)

    @property
    def gimbal(self) -> str:
        """The name of the gimbal's body."""
        return f"{self.name} gimbal"

    def spun_up(self, system: System, v: ArrayLike | None = None) -> Array:
        """The speeds v, by default at rest, with the rotor at its nominal speed."""
        speeds = np.zeros(system.nv) if v is None else np.array(v, dtype=float)
        speeds[system.layout[self.name].v_joint] = self.speed
        return speeds

    def drive(self, system: System) -> Drive:
        """The gyro in a system."""
        if self.name not in system.layout or self.gimbal not in system.layout:
            raise ArgumentValueError(
                f"gyro {self.name!r} is not in {system.name!r}: add it with gyro.attach(assembly, to=...) before build()."
            )
        places = joint_places(system, (self.gimbal, self.name), f"gyro {self.name!r}")
        return GyroDrive(self, (int(places.v[0]), int(places.v[1])))


class GyroDrive(Drive):
    """The drives of gimbal and rotor during one run."""

    unit = "rad/s"
    stateful = True

    def __init__(self, gyro: MomentGyro, speeds: tuple[int, int]):
        self._gyro = gyro
        self.labels, self.limits, self.speeds = (gyro.name,), (gyro.gimbal_rate,), speeds
        self._rate = 0.0

    def command(self, t: float, command: list[float]) -> list[float]:
        """Accept a new gimbal rate."""
        most = self._gyro.gimbal_rate
        self._rate = max(-most, min(most, command[0]))
        return [self._rate]

    def begin_laws(self, laws: Array) -> None:
        """Write the laws of both drives: each holds a speed with the torque gain (desired - speed), within its
        limit."""
        gyro = self._gyro
        across = gyro.gimbal_inertia + 0.5 * gyro.rotor_inertia
        for law, inertia, wanted, most in (
            (laws[0], across, 0.0, gyro.gimbal_torque),
            (laws[1], gyro.rotor_inertia, gyro.speed, gyro.rotor_torque),
        ):
            gain = gyro.bandwidth * inertia
            law[L_HELD], law[L_LIMIT] = math.inf, most
            law[L_STALL], law[L_DROP] = gain * wanted, gain

    def write_laws(self, laws: Array) -> None:
        """Write the gimbal rate from now on."""
        laws[0, L_STALL] = laws[0, L_DROP] * self._rate
