"""Torques that are computed at sample times, and what `simulate` requires of them.

A torque with a method `session(system, t0)` is such a torque (`lb.control.Loop` is one).  The session represents it
during one run:

    plan            numbers that the integrator reads (`integrators.context`): the time of the next sample, and closed forms
                    of torques that change until then
    period          s, the shortest time between samples
    stateful        whether those closed forms depend on speeds
    before(t, v)    the torque (nv,) just before the first sample
    sample(t, q, v) the torque (nv,) from now on; `plan` is up to date afterwards
    bind(plant)     called once, before the first sample; the `Plant` answers questions about accelerations and wrenches
    signals()       what was measured and commanded so far, {name: Samples}
    finish()        called when the motion has ended, before the result is assembled and checked
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.integrators.context import P_NEXT, PLAN_HEAD
from limber.simulation.samples import Samples

if TYPE_CHECKING:
    from limber.orbit.field import Field


class Plant(Protocol):
    """What a session may use of its run.

    system : the running system, with its present closures.
    field : the environment of the run, or None.
    """

    system: System

    @property
    def field(self) -> Field | None:
        """The forces of the environment, or None if there is none."""

    def rates(self, t: float, y: Array) -> Array:
        """The rates of [q; v] under the torques and wrenches at this time."""

    def torque(self) -> Array:
        """The generalized forces (nv,) of torques that were last evaluated, including prescribed motions."""

    def wrenches(self) -> Mapping[tuple, Array]:
        """The external wrenches that were last evaluated, by node."""


class Session(Protocol):
    """A sampled torque during one run; the module docstring describes its parts."""

    plan: Array
    period: float
    stateful: bool

    def before(self, t: float, v: Array) -> Array | float:
        """The torque just before the first sample."""

    def sample(self, t: float, q: Array, v: Array) -> Array:
        """The torque from now on."""

    def bind(self, plant: Plant) -> None:
        """Store the run."""

    def signals(self) -> Mapping[str, Samples]:
        """What was measured and commanded so far."""

    def finish(self) -> None:
        """The motion has ended."""


class Called:
    """The session of a function (t, q, v) -> tau with a `sample_time`: it is called at its times, and held."""

    stateful = False

    def __init__(self, function: Callable[[float, Array, Array], Any], sample_time: float):
        self._function, self.period = function, sample_time
        self._samples = 0
        self.plan = np.zeros(PLAN_HEAD)

    def before(self, t: float, v: Array) -> float:
        """The torque just before the first sample: none."""
        return 0.0

    def sample(self, t: float, q: Array, v: Array) -> Array:
        """The torque from now on."""
        self._samples += 1
        self.plan[P_NEXT] = self._samples * self.period
        return self._function(t, q, v)

    def bind(self, plant: Plant) -> None:
        """A function needs nothing of the run."""

    def signals(self) -> Mapping[str, Samples]:
        """A function keeps no record."""
        return {}

    def finish(self) -> None:
        """A function need not know of the end."""
