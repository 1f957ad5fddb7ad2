"""Actuators in scenario files."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from limber.assembly import Assembly
from limber.control.actuators import (
    Actuator,
    MomentGyro,
    ReactionWheel,
    SeriesElastic,
    Servo,
    Thruster,
    fit,
)
from limber.io.document import Where
from limber.io.fields import Axis, Matrix, Name, NodeName, Text, Vector, number, numbers
from limber.io.section import Section
from limber.scenarios.sensors import NotNegative, Positive, Spans, options_of

Part = Annotated[float, number(above=0.0)]


class ServoSection(Section):
    """A servo on the joint of a body; the joint gets its rotor and friction. See `limber.control.Servo`."""

    body: Name
    name: Name | None = None
    datasheet: Text | None = None
    ratio: Positive | None = None
    rotor_inertia: NotNegative | None = None
    friction: NotNegative | None = None
    damping: NotNegative | None = None
    limit: Positive | None = None
    torque_rate: Positive | None = None
    current_time: NotNegative | None = None
    torque_constant: Positive | None = None
    resistance: Positive | None = None
    voltage: Positive | None = None
    efficiency: Part | None = None
    power: Positive | None = None
    stuck: Spans | None = None
    dead: Spans | None = None

    def mounted(self, assembly: Assembly, where: Where) -> tuple[Assembly, Actuator]:
        """The assembly with the rotor, and the servo."""
        servo = Servo(**options_of(self, "servo", where))
        return fit(assembly, servo), servo


class SeriesElasticSection(ServoSection):
    """A servo that drives a body through a spring; the motor is the body "<body> motor". See
    `limber.control.SeriesElastic`.
    """

    stiffness: Positive
    spring_damping: NotNegative | None = None

    def mounted(self, assembly: Assembly, where: Where) -> tuple[Assembly, Actuator]:
        """The assembly with motor and spring, and the joint."""
        given = options_of(self, "servo", where)
        if "rotor_inertia" not in given:
            raise where.error("'rotor_inertia' is missing.")
        joint = SeriesElastic(**given)
        return joint.inserted(assembly), joint


class PlacedSection(Section):
    """Where a device is mounted: on the body `to`, at a node, displaced by `offset` and rotated by `rotation`."""

    name: Name
    to: Name
    at: NodeName | None = None
    offset: Vector | None = None
    rotation: Matrix | None = None

    def place(self) -> dict[str, Any]:
        """The placement in the form that `Assembly.attach` accepts."""
        keys = ("to", "at", "offset", "rotation")
        given = {key: getattr(self, key) for key in keys}
        return {key: value for key, value in given.items() if value is not None}

    def device(self, kind: str, where: Where) -> dict[str, Any]:
        """The other keys."""
        found = options_of(self, kind, where)
        return {key: value for key, value in found.items() if key not in self.place()}


class WheelSection(PlacedSection):
    """A reaction wheel, added to the model as a body. See `limber.control.ReactionWheel`."""

    datasheet: Text | None = None
    axis: Axis
    inertia: Positive | None = None
    mass: Positive | None = None
    torque: Positive | None = None
    momentum: Positive | None = None
    friction: NotNegative | None = None
    damping: NotNegative | None = None
    cross_inertia: Positive | None = None

    def mounted(self, assembly: Assembly, where: Where) -> tuple[Assembly, Actuator]:
        """The assembly with the wheel, and the wheel."""
        options = self.device("wheel", where)
        for key in ("inertia", "mass"):
            if key not in options:
                raise where.error(f"{key!r} is missing.")
        wheel = ReactionWheel(**options)
        return wheel.attach(assembly, **self.place()), wheel


class MomentGyroSection(PlacedSection):
    """A control moment gyro, added to the model as two bodies. See `limber.control.MomentGyro`."""

    gimbal_axis: Axis
    spin_axis: Axis
    momentum: Positive
    speed: Positive
    mass: Positive
    gimbal_inertia: Positive
    gimbal_mass: Positive
    gimbal_rate: Positive | None = None
    gimbal_torque: Positive | None = None
    rotor_torque: Positive | None = None
    bandwidth: Positive | None = None

    def mounted(self, assembly: Assembly, where: Where) -> tuple[Assembly, Actuator]:
        """The assembly with the gyro, and the gyro."""
        gyro = MomentGyro(**self.device("moment_gyro", where))
        return gyro.attach(assembly, **self.place()), gyro


class ThrusterSection(Section):
    """A thruster on a rigid free body. See `limber.control.Thruster`."""

    name: Name
    body: Name
    position: Vector
    direction: Axis
    force: Positive
    period: Positive
    minimum_pulse: NotNegative | None = None
    resolution: NotNegative | None = None
    misalignment: Annotated[Any, numbers((3,))] | None = None
    stuck_off: Spans | None = None

    def mounted(self, assembly: Assembly, where: Where) -> tuple[Assembly, Actuator]:
        """The unchanged assembly, and the thruster."""
        return assembly, Thruster(**options_of(self, "thruster", where))


class ActuatorChoiceSection(Section):
    """An actuator under the key of its kind."""

    one_of: ClassVar[tuple[str, ...]] = (
        "servo",
        "series_elastic",
        "wheel",
        "moment_gyro",
        "thruster",
    )
    servo: ServoSection | None = None
    series_elastic: SeriesElasticSection | None = None
    wheel: WheelSection | None = None
    moment_gyro: MomentGyroSection | None = None
    thruster: ThrusterSection | None = None

    def mounted(self, assembly: Assembly, where: Where) -> tuple[Assembly, Actuator]:
        """The assembly with the parts that the actuator adds, and the actuator."""
        kind = next(kind for kind in self.one_of if getattr(self, kind) is not None)
        with (where / kind).checked():
            return getattr(self, kind).mounted(assembly, where / kind)
