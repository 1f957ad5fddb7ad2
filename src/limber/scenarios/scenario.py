"""Scenario files: a model, its initial state, torques, duration and outputs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from limber import models
from limber.assembly import Assembly, System
from limber.bodies.flexible import MOST_MODES
from limber.checks import Array, did_you_mean
from limber.control import Loop
from limber.control.actuators import Actuator, MomentGyro, SeriesElastic
from limber.integrators.methods import method_names
from limber.io.closures import ClosureSection
from limber.io.document import Document, Where
from limber.io.fields import (
    Check,
    FileName,
    Flag,
    Name,
    Text,
    choice,
    named,
    number,
    numbers,
    whole,
)
from limber.io.files import file_path, load
from limber.io.model import FORMAT, ModelSection, check_format
from limber.io.section import Section, validated
from limber.orbit import Environment
from limber.scenarios.controllers import ControllerSection
from limber.scenarios.environment import EnvironmentSection, SloshSection
from limber.scenarios.events import EventSection, scenario_events, waiting_closures, warn_of_passed
from limber.scenarios.external import WrenchSection, external_forces
from limber.scenarios.initial import InitialSection
from limber.scenarios.joint_paths import PathsSection
from limber.scenarios.motion import motions
from limber.scenarios.torques import TorqueSection
from limber.simulation import Event
from limber.simulation.peers import PEERS
from limber.simulation.table import Table
from limber.trajectories import Trajectory

#: Models by name, for `model: {builtin: ...}`.
BUILTIN: Mapping[str, Callable[..., Assembly]] = {
    "canadarm": models.canadarm,
    "scissor_boom": models.scissor_boom,
    "spacecraft": models.spacecraft,
}
MAX_OUTPUTS = 10_000_000
Positive = Annotated[float, number(above=0.0)]


def _method(value: Any) -> str:
    """A method of `simulate`."""
    return choice("auto", *method_names(), *PEERS).check(value)


Method = Annotated[str, Check(_method, {"type": "string"})]


@dataclass(frozen=True, eq=False)
class Scenario:
    """Everything that a simulation needs.

    name, description : text.
    assembly, system : the model, and the system built from it at the scenario's fidelity.
    q0, v0 : the state at t = 0.
    torque : None, one (nv,) array, a `Table` over time, or the `Loop` of a controller.
    external : {("body", node): wrench}, each one (6,) array or a `Table`.
    motion : {"body": trajectory}, the joints with prescribed motion.
    environment : the forces on a free-flyer in orbit, or None.
    in_equilibrium : whether q0 is a requested equilibrium.
    duration : s.
    times, every : output times, or their interval, like t_eval and every of `simulate`; None if the file does not say.
    method, rtol, atol, step : for the integrator; None if the file does not say.
    paths : by body, the joint paths for which the torques were computed; empty for other torques.
    events : changes of topology at times or under conditions, in the form that `simulate` accepts.
    file : the file that it was read from.
    """

    name: str
    description: str
    assembly: Assembly
    system: System
    q0: Array
    v0: Array
    torque: Array | Table | Loop | None
    external: Mapping[tuple[str, str | int | None], Array | Table]
    motion: Mapping[str, Trajectory]
    environment: Environment | None
    in_equilibrium: bool
    duration: float
    times: Array | None
    every: float | None
    method: str
    rtol: float | None
    atol: float | None
    step: float | None
    paths: Mapping[str, Trajectory]
    events: tuple[Event, ...]
    file: Path

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments for `simulate`: lb.simulate(case.system, case.duration, **case.settings)."""
        said = {
            "t_eval": self.times,
            "torque": self.torque,
            "external": self.external or None,
            "motion": self.motion or None,
            "events": self.events or None,
        } | {
            name: getattr(self, name)
            for name in ("q0", "v0", "environment", "every", "method", "rtol", "atol", "step")
        }
        return {name: value for name, value in said.items() if value is not None}

    @property
    def fidelity(self) -> str:
        """The fidelity of the system."""
        return self.system.fidelity


class BuiltModel(NamedTuple):
    """The model of a scenario, with the actuators of its controller."""

    assembly: Assembly
    actuators: tuple[Actuator, ...]
    system: System


class InlineSection(ModelSection):
    """A model inside a scenario."""

    limber: Annotated[int, whole(FORMAT, FORMAT)] = FORMAT


class ModelChoiceSection(Section):
    """A model: the name of a file, {builtin: name, arguments: {...}}, or the model itself."""

    one_of: ClassVar[tuple[str, ...]] = ("file", "builtin", "inline")
    short: ClassVar[str] = "the name of a model file, a model"
    file: FileName | None = None
    lenient: Flag = False
    builtin: Annotated[str, choice(*BUILTIN)] | None = None
    arguments: dict[str, Any] | None = None
    inline: InlineSection | None = None

    @classmethod
    def shorthand(cls, data: Any) -> Any:
        """Accept a file name, or the model itself."""
        if isinstance(data, str):
            return {"file": data}
        if isinstance(data, dict) and data.keys() & {"bodies", "dh", "urdf"}:
            return {"inline": data}
        return data

    def build(self, where: Where, name: str) -> Assembly:
        """The assembly."""
        if self.arguments is not None and self.builtin is None:
            raise where.error("arguments can only be used with builtin.", "arguments")
        if self.lenient and self.file is None:
            raise where.error("lenient can only be used with file.", "lenient")
        if self.inline is not None:
            return self.inline.build(where, name)
        if self.builtin is not None:
            return self._builtin(where)
        with where.checked():
            return load(where.folder / str(self.file), lenient=self.lenient)

    def _builtin(self, where: Where) -> Assembly:
        make = BUILTIN[str(self.builtin)]
        known = list(inspect.signature(make).parameters)
        arguments = self.arguments or {}
        here = where / "arguments"
        for key, value in arguments.items():
            if key not in known:
                raise here.error(f"is not an argument. {did_you_mean(key, known)}", key)
            counts = value.values() if isinstance(value, dict) else [value]
            for count in counts:
                if isinstance(count, bool) or not isinstance(count, (int, float)):
                    raise here.error(f"must be a number, got {named(count)}.", key)
                if key == "modes" and not 0 <= count <= MOST_MODES:
                    raise here.error(f"must be from 0 to {MOST_MODES}, got {named(count)}.", key)
        with here.checked():
            return make(**arguments)


class OutputSection(Section):
    """Output times: one `every` so many seconds and one at the end, or a list of `times`."""

    one_of: ClassVar[tuple[str, ...]] = ("every", "times")
    every: Positive | None = None
    times: Annotated[Any, numbers(("n",))] | None = None

    def check(self, duration: float, where: Where) -> None:
        """Reject too many times, and times outside the duration."""
        if self.every is not None:
            if duration / self.every > MAX_OUTPUTS:
                raise where.error(f"requires more than {MAX_OUTPUTS} output times.", "every")
            return
        times = self.times
        if times is None or not times.size or times[0] < 0.0 or times[-1] > duration:
            raise where.error(f"must be times from 0 to the duration, {duration:g} s.", "times")
        if not (np.diff(times) > 0.0).all():
            raise where.error("must be strictly increasing.", "times")


class ScenarioSection(Section):
    """A complete scenario file."""

    limber: Annotated[int, whole(FORMAT, FORMAT)]
    name: Text | None = None
    description: Text = ""
    model: ModelChoiceSection
    fidelity: Annotated[str, choice("full", "ruthless")] | None = None
    initial: InitialSection | None = None
    torque: TorqueSection | None = None
    controller: ControllerSection | None = None
    external: list[WrenchSection] = []
    motion: dict[Name, PathsSection] = {}
    environment: EnvironmentSection | None = None
    slosh: list[SloshSection] = []
    closures: list[ClosureSection] = []
    events: list[EventSection] = []
    duration: Positive
    output: OutputSection | None = None
    method: Method = "auto"
    rtol: Positive | None = None
    atol: Positive | None = None
    step: Positive | None = None

    @classmethod
    def shorthand(cls, data: Any) -> Any:
        """Accept `torque: none`, `external: none`, `motion: none`."""
        if isinstance(data, dict):
            none = [key for key in ("torque", "external", "motion") if data.get(key) == "none"]
            return {key: value for key, value in data.items() if key not in none}
        return data

    def built_model(self, where: Where, file: Path) -> BuiltModel:
        """The model of the scenario."""
        assembly = self.model.build(where / "model", file.stem if self.name is None else self.name)
        for i, liquid in enumerate(self.slosh):
            liquid.attach(assembly, where / "slosh" / i)
        actuators: tuple[Actuator, ...] = ()
        if self.controller is not None:
            if self.torque is not None:
                raise where.error(
                    "a controller produces the torques: give only one of the two.", "torque"
                )
            assembly, actuators = self.controller.mounted(assembly, where / "controller")
        with (where / "model").checked():
            return BuiltModel(
                assembly, actuators, assembly.build(self.fidelity or assembly.fidelity)
            )

    def build(self, where: Where, file: Path, model: BuiltModel | None = None) -> Scenario:
        """The scenario; `model` is the model of a scenario that differs only in other entries, or None to build it."""
        assembly, actuators, system = self.built_model(where, file) if model is None else model
        initial, here = self.initial or InitialSection(), where / "initial"
        q0, v0 = initial.given(system, here)
        environment = None
        if self.environment is not None:
            environment = self.environment.build(system, where / "environment")
            if self.method in PEERS:
                raise where.error(
                    f"{self.method} is a method of another library, which does not support an environment. Use a method "
                    "of Limber.",
                    "method",
                )
        if initial.orbital is not None:
            initial.refuse_two_starts(system, here)
            q0, v0 = initial.orbital.build(system, environment, q0, v0, here / "orbital")
        external = external_forces(system, self.external, where / "external")
        for actuator in actuators:
            if isinstance(actuator, MomentGyro):
                v0 = actuator.spun_up(system, v0)
        torque: Array | Table | Loop | None = None
        paths: Mapping[str, Trajectory] = {}
        motion = motions(system, self.motion, q0, v0, self.duration, where / "motion")
        if motion and system.closures:
            v0 = initial.following(system, q0, v0, list(motion), where / "motion")
        follows = self.torque is not None and self.torque.follow is not None
        controlled = self.controller is not None or (
            self.torque is not None and self.torque.controls
        )
        if follows and motion:
            raise where.error(
                "`torque: follow` and `motion` both move the arm along paths: give only one of the two.",
                "motion",
            )
        if follows or controlled:  # the joints are held where they start, except for springs
            springs = [x.driven for x in actuators if isinstance(x, SeriesElastic)]
            held = [body for body in system.layout if body not in springs]
            q0 = initial.settled(system, q0, v0, None, external, here, held=held)
        if self.torque is not None:
            there = where / "torque"
            torque, paths = self.torque.build(assembly, system, q0, v0, self.duration, there)
        if self.controller is not None:
            there = where / "controller"
            holding = initial.holding(system, q0, v0, actuators, external, here)
            torque, paths = self.controller.build(system, actuators, q0, holding, there)
        if not isinstance(torque, Loop) and not follows:
            q0 = initial.settled(system, q0, v0, torque, external, here, held=list(motion))
        known = waiting_closures(system, self.closures, where / "closures")
        events = scenario_events(system, self.events, known, self.duration, where / "events")
        warn_of_passed(events, q0)
        if events and self.method in PEERS:
            raise where.error(
                f"{self.method} is a method of another library, which does not support events. Use a method of Limber, or "
                "leave out `events`.",
                "method",
            )
        times, every = None, None
        if self.output is not None:
            self.output.check(self.duration, where / "output")
            times, every = self.output.times, self.output.every
        if self.method == "rk4" and self.step is None:
            raise where.error("rk4 has fixed steps: give `step`, in seconds.", "method")
        for x in (q0, v0, times):
            if x is not None:
                x.setflags(write=False)
        return Scenario(
            file.stem if self.name is None else self.name,
            self.description,
            assembly,
            system,
            q0,
            v0,
            torque,
            external,
            motion,
            environment,
            initial.equilibrium is not None,
            self.duration,
            times,
            every,
            self.method,
            self.rtol,
            self.atol,
            self.step,
            paths,
            events,
            file,
        )


def load_scenario(path: str | PathLike) -> Scenario:
    """Load a scenario file: a model, its initial state, torques, duration and outputs.

    path : of the file; files that it names are relative to its folder.
    """
    document = scenario_document(path)
    section = validated(ScenarioSection, document.data, document.root)
    return section.build(document.root, document.path)


def scenario_document(path: str | PathLike) -> Document:
    """The content of a scenario file; only its format and the presence of a model are checked."""
    document = Document(file_path(path))
    check_format(document)
    if "model" not in document.data:
        raise document.root.error(
            "this is not a scenario: it has no `model`. Read a model file with limber.load."
        )
    return document
