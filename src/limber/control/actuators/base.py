"""What all actuators have in common: they turn commands into generalized forces.

An actuator is a description.  `drive(system)` makes what it is during one run, a `Drive`.  Times of drives count from the
start of the run.
"""

from __future__ import annotations

import math

from limber.assembly.system import System
from limber.checks import Array
from limber.frozen import Frozen


class Drive:
    """An actuator during one run.

    labels, unit : of its commands, one for each channel.
    limits : the largest command of each channel; infinite where there is none.
    speeds : the places in v of the torques that follow a closed form between samples (`integrators.sampled`).
    stateful : whether those depend on the speeds.
    next : the time at which the actuator itself changes its forces, such as the end of a pulse; infinite if it does not.
    """

    labels: tuple[str, ...] = ()
    limits: tuple[float, ...] = ()
    unit: str = ""
    speeds: tuple[int, ...] = ()
    stateful: bool = False
    next: float = math.inf

    def advance(self, t: float) -> None:
        """Bring what changes between samples up to a time."""

    def command(self, t: float, command: list[float]) -> list[float]:
        """Take a new command, from now on; returns the command as far as it can be followed."""
        raise NotImplementedError

    def add_torques(self, tau: Array) -> None:
        """Add the torques that are held until the next sample."""

    def begin_laws(self, laws: Array) -> None:
        """Write what stays the same in the closed forms, a row for each of `speeds`."""

    def write_laws(self, laws: Array) -> None:
        """Write the closed forms from now on; their times count from now."""


class Actuator(Frozen):
    """The base of actuators."""

    name: str

    def drive(self, system: System) -> Drive:
        """The actuator on a system, for one run; names are checked here."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"
