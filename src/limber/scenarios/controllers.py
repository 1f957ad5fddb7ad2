"""Controllers in scenario files: with sensors, actuators and delays (`controller`), or alone (`torque: {pd: ...}`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import numpy as np

from limber.assembly import Assembly, System
from limber.checks import Array
from limber.control import (
    PD,
    PID,
    FlexibleArmController,
    Guard,
    Impedance,
    Loop,
    Optimal,
    rest_to_rest,
    without_friction,
)
from limber.control.actuators import Actuator, Servo
from limber.control.controller import Controller
from limber.io.document import Where
from limber.io.fields import Flag, Name, whole
from limber.io.section import Section
from limber.scenarios.actuators import ActuatorChoiceSection
from limber.scenarios.attitude import AttitudeSection
from limber.scenarios.flexible_controllers import (
    ActiveDampingSection,
    CarriedObjectSection,
    ComputedTorqueSection,
    LQRSection,
    SingularPerturbationSection,
    StableInversionSection,
)
from limber.scenarios.nmpc import NMPCSection
from limber.scenarios.references import Paths, ReferenceSection, reference_of
from limber.scenarios.sensors import NotNegative, OneEach, Positive, SensorChoiceSection


class PDSection(Section):
    """Proportional and derivative control of joints. See `limber.control.PD`."""

    kp: OneEach
    kd: OneEach = 0.0
    sample_time: Positive
    bodies: list[Name] | None = None
    reference: dict[Name, ReferenceSection] | None = None
    filter_time: NotNegative = 0.0
    limit: OneEach | None = None
    gravity: Flag = False

    def build(self, system: System, q0: Array, where: Where) -> tuple[Controller, Paths]:
        """The controller, and the paths that it follows."""
        reference, paths = reference_of(system, self.reference or {}, q0, where / "reference")
        given = {key: getattr(self, key) for key in type(self).model_fields}
        with where.checked():
            return self._made(**(given | {"reference": reference or None})), paths

    def _made(self, **options: Any) -> Controller:
        return PD(**options)


class PIDSection(PDSection):
    """Proportional, integral and derivative control of joints. See `limber.control.PID`."""

    ki: OneEach = 0.0

    def _made(self, **options: Any) -> Controller:
        return PID(**options)


class ImpedanceSection(Section):
    """A spring and a damper at each hinge. See `limber.control.Impedance`."""

    stiffness: OneEach
    damping: OneEach


class OptimalSection(Section):
    """A linear-quadratic regulator. See `limber.control.Optimal`."""

    force: OneEach
    position: Positive = 0.02
    energy: Positive = 3.0


class FlexibleArmSection(Section):
    """The loop of US 5,546,508 along a motion from rest to rest. See `limber.control.FlexibleArmController`.

    The model of the controller is the system itself, without friction.
    """

    one_of: ClassVar[tuple[str, ...]] = ("impedance", "optimal")
    impedance: ImpedanceSection | None = None
    optimal: OptimalSection | None = None
    reference: dict[Name, ReferenceSection]
    duration: Positive
    tip: list[Name]
    sample_time: Positive = 0.002
    hold: Positive = 0.01
    tracking: Positive = 0.05
    change: Positive = 10.0
    friction: OneEach = 0.0
    state: Name = "sensors"

    def build(self, system: System, q0: Array, where: Where) -> tuple[Controller, Paths]:
        """The controller, and the paths that it follows."""
        reference, paths = reference_of(system, self.reference, q0, where / "reference")
        if len(self.tip) != 2:
            raise (where / "tip").error("must be a body and a node, as in [link3, tip].")
        model = without_friction(system)
        with where.checked():
            motion = rest_to_rest(
                model, reference, self.duration, tip=(self.tip[0], self.tip[1]),
                sample_time=self.sample_time, hold=self.hold, tracking=self.tracking, change=self.change,
                q0=q0,
            )  # fmt: skip
            law: Impedance | Optimal
            if self.impedance is not None:
                law = Impedance(**dict(self.impedance))
            else:
                assert self.optimal is not None
                law = Optimal(**dict(self.optimal))
            made = FlexibleArmController(
                model, motion, law=law, state=self.state, friction=self.friction, compiled=True
            )  # fmt: skip
        return made, paths


class GuardSection(Section):
    """When to hold and to stop. See `limber.control.Guard`."""

    limit: OneEach | None = None
    hold: NotNegative | None = None
    oldest: Positive | None = None
    recover: Annotated[int, whole(1, 10**9)] | None = None
    follow: NotNegative | None = None


class ControllerSection(Section):
    """A controller under the key of its kind, with its sensors, actuators and delay."""

    one_of: ClassVar[tuple[str, ...]] = (
        "pd",
        "pid",
        "flexible_arm",
        "attitude",
        "computed_torque",
        "lqr",
        "active_damping",
        "singular_perturbation",
        "stable_inversion",
        "carried_object",
        "nmpc",
    )
    pd: PDSection | None = None
    pid: PIDSection | None = None
    flexible_arm: FlexibleArmSection | None = None
    attitude: AttitudeSection | None = None
    computed_torque: ComputedTorqueSection | None = None
    lqr: LQRSection | None = None
    active_damping: ActiveDampingSection | None = None
    singular_perturbation: SingularPerturbationSection | None = None
    stable_inversion: StableInversionSection | None = None
    carried_object: CarriedObjectSection | None = None
    nmpc: NMPCSection | None = None
    sensors: list[SensorChoiceSection] = []
    actuators: list[ActuatorChoiceSection] = []
    delay: NotNegative = 0.0
    seed: Annotated[int, whole(0, 2**63 - 1)] | None = None
    guard: GuardSection | None = None

    def mounted(self, assembly: Assembly, where: Where) -> tuple[Assembly, tuple[Actuator, ...]]:
        """The assembly with the parts that the actuators add, and the actuators."""
        made = []
        for i, section in enumerate(self.actuators):
            assembly, actuator = section.mounted(assembly, where / "actuators" / i)
            made.append(actuator)
        return assembly, tuple(made)

    def build(
        self,
        system: System,
        actuators: Sequence[Actuator],
        q0: Array,
        held: Array | None,
        where: Where,
    ) -> tuple[Loop, Paths]:
        """The loop, and the paths that it follows.

        held : (nv,) the torques that hold the initial state until the first command arrives; None for zero.
        """
        sensors = [x.build(where / "sensors" / i) for i, x in enumerate(self.sensors)]
        kind = next(key for key in self.one_of if getattr(self, key) is not None)
        controller, paths = getattr(self, kind).build(system, q0, where / kind)
        with where.checked():
            if self.guard is not None:
                controller = Guard(controller, **dict(self.guard))
            loop = Loop(
                system, controller, sensors=sensors, actuators=actuators, delay=self.delay,
                seed=self.seed, initial=None if held is None else _command(system, actuators, held),
            )  # fmt: skip
        return loop, paths


def _command(system: System, actuators: Sequence[Actuator], torque: Array) -> Array:
    """The command with these torques (nv,), as far as there are servos for them."""
    if not actuators:
        return torque
    parts = []
    for actuator in actuators:
        if isinstance(actuator, Servo):
            parts.append(torque[system.layout[actuator.body].v_joint])
        else:
            parts.append(np.zeros(len(actuator.drive(system).labels)))
    return np.concatenate(parts)
