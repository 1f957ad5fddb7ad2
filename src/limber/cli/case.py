"""The simulation that `limber simulate` runs: a scenario or model with the options of the command applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from limber.assembly import System
from limber.checks import Array
from limber.cli.output import note
from limber.cli.subject import Subject
from limber.errors import ArgumentValueError
from limber.simulation import Event, Table
from limber.simulation.output_times import ROWS
from limber.simulation.table import joint_speeds
from limber.trajectories import Trajectory

MAX_ROWS = 10_000_000


@dataclass(frozen=True)
class Options:
    """Options of the command, which override the file; None where they were not given."""

    duration: float | None = None
    every: float | None = None
    method: str | None = None
    rtol: float | None = None
    atol: float | None = None
    step: float | None = None
    engine: str = "general"
    rigid: bool = False
    numbers: Mapping[str, Any] = field(default_factory=dict)  # parameters by name


@dataclass(frozen=True, eq=False)
class Case:
    """A simulation to run."""

    name: str
    description: str
    system: System
    q0: Array
    v0: Array
    torque: Any
    external: Mapping[tuple, Any]
    motion: Mapping[str, Trajectory]
    duration: float
    times: Array
    paths: Mapping[str, Trajectory]
    events: Sequence[Event]
    settings: dict[str, Any]  # method, rtol, atol, step, engine of `simulate`
    environment: Any = None

    @property
    def reference(self) -> Any:
        """The joint paths as a function of time that returns the joint coordinates of all bodies; None if some bodies
        have no path.
        """
        joints = self.system.joints
        moving = [name for name in self.system.layout if joints[name].nq]
        if any(name not in self.paths or joints[name].nq != 1 for name in moving):
            return None
        return lambda t: np.array([np.ravel(self.paths[b](t).position)[0] for b in moving])


def prepared(subject: Subject, options: Options) -> Case:
    """Combine a file and the options into a case."""
    scenario, s = subject.scenario, subject.system
    if scenario is None:
        if options.duration is None:
            raise ArgumentValueError(
                f"{subject.file} is a model, which has no duration: give --duration SECONDS. It then moves freely "
                "from its neutral state, at rest."
            )
        case = Case(
            subject.name, "free motion from the neutral state", s, s.neutral(), np.zeros(s.nv), None, {}, {},
            options.duration, _times(options.duration, options.every), {}, (), {},
        )  # fmt: skip
        settings: dict[str, Any] = {"method": "auto"}
    else:
        duration = scenario.duration if options.duration is None else options.duration
        if duration > scenario.duration and isinstance(scenario.torque, Table):
            last = scenario.torque.t[-1]
            if duration > last:
                note(
                    f"the torques are known up to t = {last:g} s and keep their last values after that."
                )
        case = Case(
            scenario.name, scenario.description, s, scenario.q0, scenario.v0, scenario.torque, scenario.external,
            scenario.motion, duration, _scenario_times(scenario, duration, options.every), scenario.paths, scenario.events, {},
            scenario.environment,
        )  # fmt: skip
        settings = {key: getattr(scenario, key) for key in ("method", "rtol", "atol", "step")}
    given = {key: getattr(options, key) for key in ("method", "rtol", "atol", "step", "engine")}
    settings |= {key: value for key, value in given.items() if value is not None}
    settings = {key: value for key, value in settings.items() if value is not None}
    if options.method == "rk4" and "step" not in settings:
        raise ArgumentValueError("--method rk4 has fixed steps: give --step SECONDS.")
    case = replace(case, settings={"rtol": 1e-6, "atol": 1e-8} | settings)
    if options.rigid:
        case = _rigid(case, subject)
    return replace(case, system=case.system.with_parameters(options.numbers))


def numbers(given: Sequence[str]) -> dict[str, Any]:
    """Parse parameters by name from texts such as "link1.EI=1e4" and "gravity=0,0,-9.81"."""
    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        try:
            parts = [float(x) for x in value.split(",")]
        except ValueError:
            parts = []
        if not name or not equals or not parts:
            raise ArgumentValueError(
                f"--set {text} must be NAME=NUMBER, or NAME=X,Y,Z for an array, as in --set link1.EI=1e4."
            )
        if name in found:
            raise ArgumentValueError(f"--set names {name} twice: give it once.")
        found[name] = parts[0] if len(parts) == 1 else parts
    return found


def _times(duration: float, every: float | None) -> Array:
    """Output times, with the last at the end of the run."""
    if every is None:
        return np.linspace(0.0, duration, ROWS)
    if duration / every > MAX_ROWS:
        raise ArgumentValueError(
            f"--every {every:g} requires more than {MAX_ROWS:,} rows: use a larger one."
        )
    ticks = every * np.arange(int(duration / every * (1.0 + 1e-12)) + 1, dtype=float)
    return np.append(ticks[ticks <= duration * (1.0 - 1e-12)], duration)


def _scenario_times(scenario: Any, duration: float, every: float | None) -> Array:
    """Output times of a scenario, extended or cut off if the duration differs."""
    times = scenario.times
    if every is not None or times is None:
        return _times(duration, scenario.every if every is None else every)
    if duration < scenario.duration:
        return np.append(times[times < duration], duration)
    if duration > scenario.duration and len(times) > 1:
        return _times(duration, float(times[1] - times[0]))
    return times


def _rigid(case: Case, subject: Subject) -> Case:
    """Remove the modes from a case."""
    from limber.scenarios.events import on_system  # noqa: PLC0415 (keeps `limber --help` quick)

    flexible = case.system
    s = subject.assembly.rigid().build(flexible.fidelity)
    q0, v0 = s.neutral(), np.zeros(s.nv)
    for name, where in s.layout.items():
        q0[where.q_joint] = case.q0[flexible.layout[name].q_joint]
        v0[where.v_joint] = case.v0[flexible.layout[name].v_joint]
    torque, joints = case.torque, joint_speeds(flexible)
    if hasattr(torque, "controller"):
        raise ArgumentValueError(
            f"--rigid: the controller of {case.name!r} was made for the flexible system. Leave the modes out of the model instead."
        )
    if isinstance(torque, Table) and torque.tau.shape[1] == flexible.nv:
        torque = replace(torque, tau=torque.tau[:, joints])
    elif torque is not None and not isinstance(torque, Table):
        torque = torque[joints]
    events = [on_system(event, s) for event in case.events]
    return replace(
        case, name=f"{case.name}, rigid", system=s, q0=q0, v0=v0, torque=torque, events=events
    )
