"""The robot control computer 120 of Fig. 6, as a controller that can be stepped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, shown
from limber.control.controller import Controller, Measured
from limber.control.joint_controller import driven_channels
from limber.control.joints import bodies_of, joint_places
from limber.control.patent.desired import DesiredMotion, plain_speeds
from limber.control.patent.gains import Impedance, Noise, Optimal, Schedule, one_each
from limber.control.patent.processors import (
    AccelerationProcessor,
    ArticulatedBodyProcessor,
    ComparisonProcessor,
    CompiledAccelerationProcessor,
    CoriolisProcessor,
    HingesFromSensors,
    JointSensors,
    ModelOnly,
    ModelState,
    Observer,
    ServoProcessor,
    Sweep,
    TimeUpdateProcessor,
)
from limber.errors import ArgumentTypeError, ArgumentValueError

#: Friction is fully compensated at speeds well above this one, rad/s or m/s.
SLOW = 2e-3
#: Where the state of the model comes from.
STATES = {"observer": Observer, "sensors": HingesFromSensors, "model": ModelOnly}


class FlexibleArmController(Controller):
    """The control loop of Figs. 4 and 6 of US 5,546,508.

    Parameters
    ----------
    model : the controller's model of the arm: without friction, with one-degree-of-freedom hinges that have the same
        names as in the controlled system, and with any modes.
    motion : the desired motion, from `rest_to_rest` with this model; its sample time is that of the controller.
    law : of the corrections, an `Impedance` of the hinges or an `Optimal` feedback of the whole state.
    state : the source of the state: "sensors", measured hinges and deformations of the model; "model", the model alone;
        "observer", the model corrected by the sensors.
    noise : for the observer.
    friction : N m, the friction of the hinges as far as it is known; one number or one for each hinge. The model itself
        has none; the servos compensate it at the desired speeds.
    compensation : N m, the largest torque that compensates unexplained torques at the hinges; one number or one for
        each hinge.
    compiled : True to run processors 125, 130 and 135 in machine code; their quantities are then computed only on
        request.
    processors : replacements for the standard processors, by name: sensors, articulated, coriolis, accelerations,
        state, comparison, servos, time_update.

    After a step, `results` has the output of each processor.
    """

    def __init__(
        self,
        model: System,
        motion: DesiredMotion,
        *,
        law: Impedance | Optimal,
        state: str = "sensors",
        noise: Noise | None = None,
        friction: float | tuple[float, ...] = 0.0,
        compensation: float | tuple[float, ...] = np.inf,
        compiled: bool = False,
        processors: Mapping[str, Any] | None = None,
    ):
        if state not in STATES:
            raise ArgumentValueError(
                f"state must be one of {', '.join(map(repr, STATES))}, got {shown(state)}."
            )
        if not isinstance(motion, DesiredMotion):
            raise ArgumentTypeError(
                f"motion must be a DesiredMotion, as lb.control.rest_to_rest returns, got {shown(motion)}."
            )
        self.model, self.motion = model, motion
        self.law = law
        self.noise = (noise or Noise()) if state == "observer" else None
        self.sample_time = motion.sample_time
        self.places = plain_speeds(model)
        self.friction = one_each("friction", friction, len(self.places))
        self.compensation = one_each("compensation", compensation, len(self.places))
        accelerations = CompiledAccelerationProcessor if compiled else AccelerationProcessor
        self.articulated: Any = ArticulatedBodyProcessor()
        self.coriolis: Any = CoriolisProcessor()
        self.accelerations: Any = accelerations()
        self.comparison: Any = ComparisonProcessor(self.places, model.nv)
        self.time_update: Any = TimeUpdateProcessor()
        self.state: Any = STATES[state]()
        self.sensors: Any = None
        self.servos: Any = None
        self.compiled, self.processors = compiled, dict(processors or {})
        known = ("sensors", "articulated", "coriolis", "accelerations", "state", "comparison", "servos", "time_update")  # fmt: skip
        for name, processor in self.processors.items():
            if name not in known:
                raise ArgumentValueError(f"processors: {name!r} is not one of {', '.join(known)}.")
            setattr(self, name, processor)
        self.results: dict[str, Any] = {}

    def prepare(self, loop: Any) -> None:
        """Find the hinges of the model in the system, with their sensors and servos."""
        names = bodies_of(self.model, self.places)
        there = joint_places(loop.system, names, type(self).__name__)
        if there.labels != self.places.labels:
            raise ArgumentValueError(
                f"the model has the hinges {', '.join(self.places.labels)}, but the system has {', '.join(there.labels)}."
            )
        speeds = True
        if loop.sensors:
            self.uses = tuple(
                sensor.name
                for sensor, reader in zip(loop.sensors, loop.readers)
                if reader.q is not None or reader.v is not None
            )
            read_q, read_v = (
                {int(i) for reader in loop.readers if (x := getattr(reader, key)) is not None for i in x}
                for key in ("q", "v")
            )  # fmt: skip
            missing = [a for a, i in zip(there.labels, there.q.tolist()) if i not in read_q]
            if missing:
                raise ArgumentValueError(
                    f"{type(self).__name__}: no sensor reads the position of {', '.join(map(repr, missing))}. Add an Encoder."
                )
            speeds = set(there.v.tolist()) <= read_v
        limit, out, width = np.full(len(there), np.inf), there.v, loop.system.nv
        if loop.actuators:
            out = driven_channels(self, loop, there.labels)
            limit, width = loop.limits[out], len(loop.channels)
        if "sensors" not in self.processors:
            self.sensors = JointSensors(there, speeds)
        if "servos" not in self.processors:
            self.servos = ServoProcessor(limit, out, width, self.compensation)
        self.schedule = Schedule(self.model, self.places, self.motion, self.law, self.noise, speeds)
        desired = self.motion.v[:, self.places.v]
        #: at each row of the motion, the friction that resists the desired speeds
        self._friction = self.friction * desired / np.sqrt(desired**2 + SLOW**2)

    def start(self, t: float, measured: Measured) -> None:
        """Reset the controller to the desired state with the measured hinges."""
        row = self.motion.index(t)
        at_rest = np.zeros(len(self.places))
        self._state = ModelState(self.motion.q[row].copy(), self.motion.v[row].copy(), at_rest)
        self._state = HingesFromSensors()(
            self._state, self.sensors(measured), self.places, self.schedule.at(row)
        )

    def step(self, t: float, measured: Measured) -> Array:
        """Do one pass through Fig. 6: from readings to the command of the servos."""
        row = self.motion.index(t)
        gains = self.schedule.at(row)
        readings = self.sensors(measured)  # 142
        state = self.state(self._state, readings, self.places, gains)
        sweep = Sweep(self.model, state)
        bodies = self.articulated(sweep)  # 125
        terms = self.coriolis(sweep)  # 130
        specified = self._full(self.motion.force[row])
        vdot = self.accelerations(bodies, terms, specified)  # 135
        comparison = self.comparison(state, vdot, self.motion, row, gains)  # 144
        friction = self._friction[row]
        command, torque = self.servos(comparison.force, state.load, friction)  # 146
        acting = torque + state.load - friction
        corrected = self.accelerations(bodies, terms, self._full(acting))
        self._state = self.time_update(state, corrected, gains)  # 140
        self.results = {
            "sensors": readings,
            "state": state,
            "articulated": bodies,
            "coriolis": terms,
            "accelerations": vdot,
            "comparison": comparison,
            "servos": command,
            "time_update": self._state,
        }
        return command

    def command(self, t: float, measured: Measured) -> Array:
        """The command of a sample: `step`."""
        return self.step(t, measured)

    def safe_command(self, t: float, measured: Measured) -> Array:
        """Zero torque."""
        return np.zeros(self.servos.width)

    def outputs(self) -> Mapping[str, ArrayLike]:
        """Outputs of the processors, by their names and numerals in Fig. 6."""
        if not self.results:
            return {}
        comparison, state = self.results["comparison"], self.results["state"]
        modes = self.comparison.modes
        return {
            "135 accelerations": self.results["accelerations"],
            "140 deformations": state.q[modes],
            "140 unexplained torque": state.load,
            "144 hinge deviation": comparison.hinges,
            "144 deformation deviation": comparison.deformations,
            "144 corrected force": comparison.force,
        }

    def _full(self, force: Array) -> Array:
        tau = np.zeros(self.model.nv)
        tau[self.places.v] = force
        return tau

    def __repr__(self) -> str:
        return f"FlexibleArmController({self.model.name!r}, {self.sample_time:g} s)"
