"""Runs of controllers on plants."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from limber.assembly.system import System
from limber.checks import did_you_mean
from limber.comparison.figures import Figures, figures
from limber.comparison.plant import Plant
from limber.control import Guard, Loop
from limber.control.controller import Controller, Measured
from limber.errors import ArgumentValueError, LimberError
from limber.simulation import simulate
from limber.simulation.result import Result
from limber.structures.threads import one_thread

#: The distance of the output times, as a fraction of the duration.
ROWS = 1500


@dataclass(frozen=True, eq=False)
class Outcome:
    """The outcome of a controller on a plant.

    controller : its name.
    figures, result : None if the run failed; `failure` then says why.
    changed : the run on the changed plant; None if it was not requested, or failed; `changed_failure` then says why.
    """

    controller: str
    figures: Figures | None
    result: Result | None
    failure: str = ""
    changed: Result | None = None
    changed_failure: str = ""


class Timed(Controller):
    """A controller with timed commands."""

    def __init__(self, controller: Any):
        self.controller, self.sample_time = controller, controller.sample_time
        self.times: list[float] = []

    @property
    def uses(self) -> Any:
        """The sensors that the controller uses."""
        return getattr(self.controller, "uses", None)

    def prepare(self, loop: Loop) -> None:
        """Do nothing: the controller has been prepared in its own loop."""

    def start(self, t: float, measured: Measured) -> None:
        """Start the controller."""
        self.times.clear()
        self.controller.start(t, measured)

    def command(self, t: float, measured: Measured) -> Any:
        """Compute the command, and record its time."""
        begin = time.thread_time()
        found = self.controller.command(t, measured)
        self.times.append(time.thread_time() - begin)
        return found

    def outputs(self) -> Any:
        """The outputs of the controller, if it has any."""
        outputs = getattr(self.controller, "outputs", None)
        return outputs() if outputs is not None else {}


def run(
    plant: Plant,
    name: str,
    *,
    until: float | None = None,
    changed: bool | Callable[[Figures], bool] = True,
    **settings: Any,
) -> Outcome:
    """Run one controller on a plant.

    Parameters
    ----------
    name : of the controller, one of plant.entries.
    until : s, to end the run before the duration of the plant.
    changed : whether it also runs on the changed plant, or a function that decides from the figures of the first run.
    settings : of the controller, to override the chosen ones.
    """
    if name not in plant.entries:
        raise ArgumentValueError(
            f"name: {plant.name!r} has no controller {name!r}. {did_you_mean(name, plant.entries)}"
        )
    end = plant.duration if until is None else until
    try:
        made = plant.entries[name](plant, **settings)
        timed = Timed(made.controller.controller)
        loop = Loop(
            plant.system, Guard(timed), sensors=made.sensors, actuators=made.actuators,
            delay=made.delay, seed=made.seed, initial=made.initial,
        )  # fmt: skip
        result = _simulated(plant, plant.system, loop, end)
    except LimberError as error:
        return Outcome(name, None, None, str(error))
    if result.t[-1] < end - 1e-9:
        return Outcome(name, None, None, f"the run ended at t = {result.t[-1]:.4g} s.")
    computing, other, failure = statistics.median(timed.times), None, ""
    found = figures(plant, result, None, computing, timed.sample_time)
    if changed(found) if callable(changed) else changed:
        try:
            other = _simulated(plant, plant.changed, loop, end)
        except LimberError as error:
            failure = str(error)
        found = figures(plant, result, other, computing, timed.sample_time)
    return Outcome(name, found, result, "", other, failure)


def _simulated(plant: Plant, system: System, loop: Loop, end: float) -> Result:
    every = plant.duration / ROWS
    with one_thread():
        return simulate(system, end, q0=plant.q0, torque=loop, every=every)


def compare(
    plant: Plant, names: Iterable[str] | None = None, *, until: float | None = None, told: Callable[[Outcome], Any] | None = None
) -> list[Outcome]:  # fmt: skip
    """Run several controllers on a plant, one after the other; all of them by default.

    names : the controllers to run.
    told : called with each outcome as it finishes.
    """
    found = []
    for name in plant.entries if names is None else names:
        found.append(run(plant, name, until=until))
        if told is not None:
            told(found[-1])
    return found
