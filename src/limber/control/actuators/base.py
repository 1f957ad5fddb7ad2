"""The common part of actuators, which turn commands into generalized forces.

An actuator is a description. `drive(system)` makes the object that acts during one run, a `Drive`. Times of drives
count from the start of the run; failure times of actuators are simulation times, like those of sensors.
"""

from __future__ import annotations

import math
from typing import Any

from limber.assembly.system import System
from limber.checks import Array, number
from limber.control.sensors.base import Spans, close_times, within
from limber.frozen import Frozen


class Drive:
    """An actuator during one run.

    labels, unit : of its commands, one for each channel.
    limits : the largest command of each channel; infinite if there is none.
    driven : the place in v of the joint speed on which the torque of each channel acts; None for a channel whose
        command is not a joint torque.
    speeds : the places in v of the torques that follow a closed form between samples (`integrators.sampled`).
    stateful : whether these torques depend on the speeds.
    next : the time at which the actuator itself changes its forces, such as the end of a pulse; infinite if it does
        not.
    origin : the simulation time at the start of the run.
    """

    labels: tuple[str, ...] = ()
    limits: tuple[float, ...] = ()
    driven: tuple[int | None, ...] = (None,)
    unit: str = ""
    speeds: tuple[int, ...] = ()
    stateful: bool = False
    next: float = math.inf
    origin: float = 0.0

    def fails(self, spans: Spans, t: float) -> bool:
        """Whether a time is within the given spans of simulation time, each from its start until just before its
        end."""
        return within(spans, self.origin + t)

    def next_failure(self, spans: Spans, t: float) -> float:
        """The next time at which a span of simulation time begins or ends; infinite after the last one."""
        after = self.origin + t + close_times(self.origin + t)
        return min((x - self.origin for span in spans for x in span if x > after), default=math.inf)

    def advance(self, t: float) -> None:
        """Advance the internal state to a time."""

    def command(self, t: float, command: list[float]) -> list[float]:
        """Accept a new command, and return it as far as the actuator can follow it."""
        raise NotImplementedError

    def begin(self, command: list[float]) -> list[float]:
        """Accept the command in effect at the start of the run, and return it as far as the actuator can follow it."""
        return self.command(0.0, command)

    def add_torques(self, tau: Array) -> None:
        """Add the torques that are held until the next sample."""

    def begin_laws(self, laws: Array) -> None:
        """Write the constant parts of the closed forms, a row for each of `speeds`."""

    def write_laws(self, laws: Array) -> None:
        """Write the closed forms from now on; their time starts at zero now."""


def limit_of(name: str, given: Any) -> float:
    """A limit above zero, which may be infinite."""
    if isinstance(given, float) and given == math.inf:
        return given
    return number(name, given, above=0.0)


class Actuator(Frozen):
    """The base class of actuators."""

    name: str

    def drive(self, system: System) -> Drive:
        """The actuator on a system, for one run; names are checked here."""
        raise NotImplementedError

    def check_system(self, system: System) -> None:
        """Reject a system that lacks what the actuator adds to it. The base class accepts any."""

    def check_sample_time(self, sample_time: float) -> None:
        """Reject a controller whose sample time, s, does not suit the actuator. The base class accepts any."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"
