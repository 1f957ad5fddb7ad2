"""Thrusters on a free base: on or off, in pulses."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, array, number, numbers
from limber.checks import axis as unit_axis
from limber.control.actuators.base import Actuator, Drive, Spans
from limber.control.joints import floats
from limber.control.rotations import quaternion_of_vector
from limber.control.sensors.base import intervals
from limber.errors import ArgumentValueError
from limber.joints import Free

#: The period may differ from the sample time of the controller by this fraction.
PERIOD_AGREES = 1e-9


class Thruster(Actuator):
    """A thruster fixed to a rigid body with a Free joint. The command is the mean force over the next `period`, N.

    The thruster fires at the beginning of the period, for the fraction command / force of it. A pulse shorter than
    `minimum_pulse` is not fired but added to the next command, and so is the error from rounding to `resolution`.
    Negative commands count as zero, and those above `force` as `force`.

    Parameters
    ----------
    name : of the thruster.
    body : the body that carries it.
    position, direction : in body axes: its position, m, and the direction of the force on the body.
    force : N.
    period : s; it must equal the sample time of the controller.
    minimum_pulse : the shortest pulse, s.
    resolution : pulses last a whole number of these intervals, s; 0 for any length.
    misalignment : a small rotation vector in body axes, rad, from the nominal to the actual direction of the force;
        controllers know the nominal one.
    stuck_off : ((from, until), ...), intervals of simulation time, s, during which it does not fire.
    """

    def __init__(
        self,
        name: str,
        body: str,
        position: ArrayLike,
        direction: ArrayLike | str,
        *,
        force: float,
        period: float,
        minimum_pulse: float = 0.0,
        resolution: float = 0.0,
        misalignment: ArrayLike = (0.0, 0.0, 0.0),
        stuck_off: Spans = (),
    ):
        self.name, self.body = name, body
        who = f"of thruster {name!r}"
        self.position = array(f"position {who}", position, (3,))
        self.direction = unit_axis(f"direction {who}", direction)
        self.force = number(f"force {who}", force, above=0.0)
        self.period = number(f"period {who}", period, above=0.0)
        self.minimum_pulse = number(f"minimum_pulse {who}", minimum_pulse, minimum=0.0)
        self.resolution = number(f"resolution {who}", resolution, minimum=0.0)
        if self.minimum_pulse > self.period:
            raise ArgumentValueError(
                f"minimum_pulse {who} is {minimum_pulse:g} s, longer than its period of {period:g} s: it could not fire at all."
            )
        self.misalignment = array(
            f"misalignment {who}", numbers("misalignment", misalignment, "(3,)"), (3,)
        )
        self.stuck_off = intervals(f"stuck_off {who}", stuck_off)
        self._freeze()

    @property
    def wrench(self) -> Array:
        """[moment, force] on the body while it fires, in body axes at the body origin."""
        w, x, y, z = quaternion_of_vector(self.misalignment)
        u = np.array([x, y, z])
        turned = self.direction + 2.0 * np.cross(
            u, np.cross(u, self.direction) + w * self.direction
        )
        return self._at_origin(self.force * turned)

    @property
    def nominal_wrench(self) -> Array:
        """The same without misalignment, as controllers know it."""
        return self._at_origin(self.force * self.direction)

    def _at_origin(self, force: Array) -> Array:
        return np.concatenate([np.cross(self.position, force), force])

    def check_sample_time(self, sample_time: float) -> None:
        """Reject a controller whose sample time differs from `period`."""
        if abs(self.period - sample_time) > PERIOD_AGREES * sample_time:
            raise ArgumentValueError(
                f"thruster {self.name!r} has period={self.period:g} s, but the controller samples every {sample_time:g} "
                f"s: its impulse would be {self.period / sample_time:.3g} times what is commanded. Give "
                f"period={sample_time:g}."
            )

    def drive(self, system: System) -> Drive:
        """The thruster in a system."""
        system.number(self.body, f"thruster {self.name!r}: body")
        joint = system.joints[self.body]
        item = system.attachments[self.body]
        rigid = not system.layout[self.body].v_modes.stop - system.layout[self.body].v_modes.start
        if not isinstance(joint, Free) or not rigid or item.inboard is not None:
            raise ArgumentValueError(
                f"thruster {self.name!r}: body {self.body!r} must be rigid and have a Free joint at its body frame, where the force in "
                "body axes is a constant generalized force. For others, give simulate(external=...) a function."
            )
        if not floats(system, self.body):
            raise ArgumentValueError(
                f"thruster {self.name!r}: the Free joint of body {self.body!r} is attached to {item.to!r}, which moves "
                f"and would be pushed back. Attach {self.body!r} to the world, or give simulate(external=...) a function."
            )
        return ThrusterDrive(self, system.layout[self.body].v_joint)


class ThrusterDrive(Drive):
    """A thruster during one run."""

    unit = "N"

    def __init__(self, thruster: Thruster, place: slice):
        self._thruster, self._place = thruster, place
        self.labels, self.limits = (thruster.name,), (thruster.force,)
        self._wrench = thruster.wrench
        self._kept = 0.0  # firing time that is still owed, s
        self._until = -math.inf  # the end of the pulse that was commanded last
        self._fires = False

    def advance(self, t: float) -> None:
        """End a pulse, or an interval during which it cannot fire."""
        commanded = t < self._until - 1e-9 * self._thruster.period
        off = self._thruster.stuck_off
        self._fires = commanded and not self.fails(off, t)
        self.next = min(self._until, self.next_failure(off, t)) if commanded else math.inf

    def command(self, t: float, command: list[float]) -> list[float]:
        """Fire for the time that the command requires."""
        thruster = self._thruster
        wanted = max(command[0], 0.0) / thruster.force * thruster.period + self._kept
        time = wanted = min(wanted, thruster.period)  # what it cannot give is not owed
        if thruster.resolution > 0.0:
            time = thruster.resolution * math.floor(time / thruster.resolution + 0.5)
            time = min(time, thruster.period)
        if time < thruster.minimum_pulse:
            time = 0.0
        self._kept = wanted - time
        self._until = t + time
        self.advance(t)
        first, last = self.origin + t, self.origin + t + time
        lost = sum(max(min(b, last) - max(a, first), 0.0) for a, b in thruster.stuck_off)
        return [thruster.force * max(time - lost, 0.0) / thruster.period]

    def add_torques(self, tau: Array) -> None:
        """Add the wrench while it fires."""
        if self._fires:
            tau[self._place] += self._wrench
