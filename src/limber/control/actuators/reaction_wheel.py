"""Reaction wheels: bodies that spin against the body that carries them."""

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

#: The torque fades to zero over this last part of the speed range.
FADING_PART = 0.02


class ReactionWheel(Actuator):
    """A reaction wheel. The command is the motor torque on the wheel; its reaction turns the body the other way.

    `attach(assembly, to=...)` adds the wheel as a body of this name, before the assembly is built.

    Parameters
    ----------
    name : of the wheel and of its body.
    axis : of the wheel, in the axes of the node that carries it: three numbers, or a name such as "z".
    inertia : of the wheel about its axis, kg m^2.
    mass : kg.
    torque : the largest motor torque, N m.
    momentum : the largest angular momentum, N m s; near it, a torque that would increase it fades to zero.
    friction, damping : of the bearing, N m and N m s/rad.
    cross_inertia : about the other two axes, kg m^2; by default half of `inertia`, as for a disk.
    """

    def __init__(
        self,
        name: str,
        axis: ArrayLike | str,
        *,
        inertia: float,
        mass: float,
        torque: float = math.inf,
        momentum: float = math.inf,
        friction: float = 0.0,
        damping: float = 0.0,
        cross_inertia: float | None = None,
    ):
        self.name = name
        who = f"of wheel {name!r}"
        self.axis = unit_axis(f"axis {who}", axis)
        self.inertia = number(f"inertia {who}", inertia, above=0.0)
        self.mass = number(f"mass {who}", mass, above=0.0)
        self.torque = limit_of(f"torque {who}", torque)
        self.momentum = limit_of(f"momentum {who}", momentum)
        if math.isfinite(self.momentum) and not math.isfinite(self.torque):
            raise ArgumentValueError(
                f"momentum {who} needs a torque limit, which decreases to zero at that momentum."
            )
        self.friction = number(f"friction {who}", friction, minimum=0.0)
        self.damping = number(f"damping {who}", damping, minimum=0.0)
        self.cross_inertia = (
            0.5 * self.inertia
            if cross_inertia is None
            else number(f"cross_inertia {who}", cross_inertia, above=0.0)
        )
        self._freeze()

    @property
    def speed_limit(self) -> float:
        """The speed at the largest momentum, rad/s."""
        return self.momentum / self.inertia

    def body(self) -> RigidBody:
        """The wheel as a body, with its centre of mass at its origin."""
        along = np.outer(self.axis, self.axis)
        I = self.inertia * along + self.cross_inertia * (np.eye(3) - along)
        return RigidBody(self.mass, inertia=I)

    def attach(self, assembly: Assembly, to: str, **where: Any) -> Assembly:
        """Add the wheel to an assembly, on the body `to`; `where` is as in `Assembly.attach`."""
        options: dict[str, Any] = {"damping": self.damping} if self.damping else {}
        if self.friction:
            options["friction"] = self.friction
        return assembly.attach(self.name, self.body(), Revolute(self.axis, **options), to, **where)

    def drive(self, system: System) -> Drive:
        """The wheel in a system."""
        if self.name not in system.layout:
            raise ArgumentValueError(
                f"wheel {self.name!r} is not a body of {system.name!r}: add it with wheel.attach(assembly, to=...) before build()."
            )
        place = joint_places(system, self.name, f"wheel {self.name!r}")
        return WheelDrive(self, int(place.v[0]))


class WheelDrive(Drive):
    """The motor of a wheel during one run."""

    unit = "N m"

    def __init__(self, wheel: ReactionWheel, speed: int):
        self._wheel = wheel
        self.labels, self.limits = (wheel.name,), (wheel.torque,)
        self.speeds = self.driven = (speed,)
        self._limited = math.isfinite(wheel.momentum)
        self.stateful = self._limited
        self._torque = 0.0

    def command(self, t: float, command: list[float]) -> list[float]:
        """Accept a new torque."""
        most = self._wheel.torque
        self._torque = max(-most, min(most, command[0]))
        return [self._torque]

    def begin_laws(self, laws: Array) -> None:
        """Write the largest torque, which fades to zero towards the largest speed."""
        wheel, law = self._wheel, laws[0]
        law[L_LIMIT] = wheel.torque
        if self._limited:
            law[L_DROP] = wheel.torque / (FADING_PART * wheel.speed_limit)
            law[L_STALL] = law[L_DROP] * wheel.speed_limit

    def write_laws(self, laws: Array) -> None:
        """Write the torque from now on."""
        laws[0, L_HELD] = self._torque
