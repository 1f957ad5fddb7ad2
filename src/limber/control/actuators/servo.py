r"""Servos: a motor with its current loop and its gear on a joint with one speed.

The command is the torque at the joint. It is clipped to the limit, and changes no faster than `torque_rate`. The
current loop follows it with a first-order lag, in closed form between samples. At the joint speed v the torque is then
limited by

    the voltage,     |torque + N^2 k^2 eta / R v| <= N k eta U / R,      N the ratio, k the torque constant, R the
                                                                         resistance, U the voltage, eta the efficiency,
    the power,       |torque v| <= power

which the integrator applies at every evaluation.

The rotor and the friction are physics of the joint, where they enter the equations of motion: `fitted(joint)` returns
the joint with armature = N^2 J, damping and friction, and a servo with a rotor is rejected on a joint with a different
armature. A run of the loop may have other values there (parameters of `simulate`), to represent a plant that is not
known exactly.
"""

from __future__ import annotations

import math

from limber.assembly.system import System
from limber.checks import Array, number, shown
from limber.control.actuators.base import Actuator, Drive, Spans, limit_of
from limber.control.joints import joint_places, joint_unit
from limber.control.sensors.base import intervals
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.integrators.context import L_DROP, L_FADING, L_HELD, L_LIMIT, L_POWER, L_RATE, L_STALL
from limber.joints import Joint

#: The armature of a joint may differ from that of its servo by this fraction.
ARMATURE_AGREES = 1e-6


class Servo(Actuator):
    """A motor with current loop and gear on the joint of a body; the head of this file has the equations.

    Parameters
    ----------
    body : the body whose joint is driven; the joint has one speed.
    name : of the servo; by default that of the body.
    ratio : gear ratio, motor turns per turn of the joint.
    rotor_inertia : of the motor and the fast side of the gear, kg m^2, on the motor side.
    friction, damping : of motor and gear together, at the joint, N m and N m s/rad.
    limit : the largest torque at the joint, N m.
    torque_rate : the fastest change of the torque, N m/s, from command to command; before the first command the torque
        is 0, or `initial` of the loop.
    current_time : time constant of the current loop, s.
    torque_constant, resistance, voltage : of the motor, N m/A, Ohm, V; all three, or none for an unlimited supply. The
        back-EMF constant in V s/rad equals the torque constant.
    efficiency : of the gear.
    power : the largest mechanical power at the joint, W.
    stuck : ((from, until), ...), intervals of simulation time, s, during which the servo keeps its last command.
    dead : ((from, until), ...), intervals of simulation time, s, during which the servo gives no torque.
    """

    def __init__(
        self,
        body: str,
        name: str | None = None,
        *,
        ratio: float = 1.0,
        rotor_inertia: float = 0.0,
        friction: float = 0.0,
        damping: float = 0.0,
        limit: float = math.inf,
        torque_rate: float = math.inf,
        current_time: float = 0.0,
        torque_constant: float | None = None,
        resistance: float | None = None,
        voltage: float | None = None,
        efficiency: float = 1.0,
        power: float = math.inf,
        stuck: Spans = (),
        dead: Spans = (),
    ):
        if not isinstance(body, str):
            raise ArgumentTypeError(f"body must be the name of a body, got {shown(body)}.")
        self.body, self.name = body, body if name is None else name
        who = f"of servo {self.name!r}"
        self.ratio = number(f"ratio {who}", ratio, above=0.0)
        self.rotor_inertia = number(f"rotor_inertia {who}", rotor_inertia, minimum=0.0)
        self.friction = number(f"friction {who}", friction, minimum=0.0)
        self.damping = number(f"damping {who}", damping, minimum=0.0)
        self.limit = limit_of(f"limit {who}", limit)
        self.torque_rate = limit_of(f"torque_rate {who}", torque_rate)
        self.power = limit_of(f"power {who}", power)
        self.current_time = number(f"current_time {who}", current_time, minimum=0.0)
        self.efficiency = number(f"efficiency {who}", efficiency, above=0.0)
        if self.efficiency > 1.0:
            raise ArgumentValueError(f"efficiency {who} must be at most 1, got {efficiency:g}.")
        motor = (torque_constant, resistance, voltage)
        if any(x is None for x in motor) and not all(x is None for x in motor):
            raise ArgumentTypeError(
                f"torque_constant, resistance and voltage {who} belong together: give all three, or none."
            )
        self.stall, self.drop = math.inf, 0.0
        if torque_constant is not None and resistance is not None and voltage is not None:
            k = number(f"torque_constant {who}", torque_constant, above=0.0)
            R = number(f"resistance {who}", resistance, above=0.0)
            U = number(f"voltage {who}", voltage, above=0.0)
            self.stall = self.ratio * k * self.efficiency * U / R
            self.drop = self.ratio**2 * k**2 * self.efficiency / R
        self.stuck = intervals(f"stuck {who}", stuck)
        self.dead = intervals(f"dead {who}", dead)
        self._freeze()

    @property
    def armature(self) -> float:
        """The rotor inertia reflected to the joint, ratio^2 J, kg m^2."""
        return self.ratio**2 * self.rotor_inertia

    def fitted(self, joint: Joint) -> Joint:
        """Return the joint with the rotor and the friction of this servo; a joint that already has an armature is
        rejected.
        """
        physics = joint.physics
        if joint.dofs != 1:
            raise ArgumentValueError(
                f"servo {self.name!r} drives one speed, but {type(joint).__name__} has {joint.dofs}."
            )
        if physics.armature.any() and self.rotor_inertia:
            raise ArgumentValueError(
                f"the joint of {self.body!r} already has the armature {physics.armature[0]:g} kg m^2; with that of the "
                f"servo, {self.armature:g}, the rotor would be counted twice. Leave armature out of the joint, or "
                "rotor_inertia out of the "
                "servo."
            )
        options: dict[str, float] = {}
        if self.rotor_inertia:
            options["armature"] = self.armature
        if self.damping:
            options["damping"] = float(physics.damping[0]) + self.damping
        if self.friction:
            options["friction"] = float(physics.friction[0]) + self.friction
        return joint.with_options(**options) if options else joint  # type: ignore[arg-type]

    def drive(self, system: System) -> ServoDrive:
        """The servo on a system."""
        place = joint_places(system, self.body, f"servo {self.name!r}")
        if len(place) != 1:
            raise ArgumentValueError(
                f"servo {self.name!r} drives one speed, but the joint of body {self.body!r} has {len(place)}."
            )
        joint = system.joints[self.body]
        mine = {"armature": self.armature, "friction": self.friction, "damping": self.damping}
        if any(x and name not in joint.physics.options for name, x in mine.items()):
            self._refuse_other_physics(joint)
        unit = joint_unit(system, place.v.tolist(), "N m", "N")
        return ServoDrive(self, int(place.v[0]), unit)

    def check_system(self, system: System) -> None:
        """Reject a joint whose rotor or friction is not that of the servo."""
        self._refuse_other_physics(system.joints[system.body_of(self.body)])

    def _refuse_other_physics(self, joint: Joint) -> None:
        """Reject a joint without this rotor or friction, or with a different one."""
        physics = joint.physics
        found = float(physics.armature[0])
        advice = f"Attach body {self.body!r} by servo.fitted(joint), or with lb.control.fit(assembly, servo)"
        if self.rotor_inertia and abs(found - self.armature) > ARMATURE_AGREES * self.armature:
            raise ArgumentValueError(
                f"servo {self.name!r} has a rotor that the joint of {self.body!r} feels as {self.armature:g} kg m^2 (ratio^2 times "
                f"rotor_inertia), but the joint has armature={found:g}. {advice}; or leave rotor_inertia out of the servo "
                "if "
                "the joint has it already."
            )
        for what, mine, its in (
            ("friction", self.friction, float(physics.friction[0])),
            ("damping", self.damping, float(physics.damping[0])),
        ):
            if its < mine * (1.0 - ARMATURE_AGREES):
                raise ArgumentValueError(
                    f"servo {self.name!r} has {what}={mine:g}, but the joint of {self.body!r} has only {what}={its:g}. "
                    f"{advice}."
                )


class ServoDrive(Drive):
    """A servo during one run."""

    def __init__(self, servo: Servo, speed: int, unit: str):
        self.servo, self.unit = servo, unit
        self.labels, self.limits = (servo.name,), (servo.limit,)
        self.speeds = self.driven = (speed,)
        self.stateful = servo.drop > 0.0 or math.isfinite(servo.power)
        self._rate = 1.0 / servo.current_time if servo.current_time > 0.0 else 0.0
        self._target = self._torque = 0.0
        self._time = 0.0
        self._commanded_at: float | None = None

    def advance(self, t: float) -> None:
        """Advance the current loop."""
        if self._rate:
            fading = (self._torque - self._target) * math.exp(-self._rate * (t - self._time))
            self._torque = self._target + fading
        else:
            self._torque = self._target
        self._time = t

    def command(self, t: float, command: list[float]) -> list[float]:
        """Accept a new torque."""
        since = 0.0 if self._commanded_at is None else t - self._commanded_at
        return self._take(t, command[0], self.servo.torque_rate * since if since else 0.0)

    def begin(self, command: list[float]) -> list[float]:
        """Accept the initial torque, from which later ones change no faster than the rate limit."""
        return self._take(0.0, command[0], math.inf)

    def _take(self, t: float, asked: float, most: float) -> list[float]:
        """Accept a torque that differs from the last one by at most `most`, if its rate is limited."""
        servo = self.servo
        self._commanded_at = t
        if self.fails(servo.stuck, t):
            return [self._target]
        asked = max(-servo.limit, min(servo.limit, asked))
        if math.isfinite(servo.torque_rate):
            asked = max(self._target - most, min(self._target + most, asked))
        self._target = asked
        if not self._rate:
            self._torque = asked
        return [asked]

    def begin_laws(self, laws: Array) -> None:
        """Write the limits of the torque."""
        servo, law = self.servo, laws[0]
        law[L_RATE], law[L_LIMIT] = self._rate, servo.limit
        law[L_STALL], law[L_DROP], law[L_POWER] = servo.stall, servo.drop, servo.power

    def write_laws(self, laws: Array) -> None:
        """Write the torque from now on."""
        dead = self.servo.dead
        alive = not self.fails(dead, self._time)
        laws[0, L_HELD] = self._target if alive else 0.0
        laws[0, L_FADING] = self._torque - self._target if alive else 0.0
        self.next = self.next_failure(dead, self._time)
