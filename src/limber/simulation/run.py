"""One simulation in progress: how far it has proceeded, and how Python continues it."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.errors import SimulationError
from limber.integrators import context as R
from limber.integrators.method_record import Method
from limber.interrupts import keep_interrupts
from limber.simulation.crossings import Crossings
from limber.simulation.engine import Engine, Outputs, Settings
from limber.simulation.events import Event
from limber.simulation.forces import Forces
from limber.simulation.signals import SIGNATURE, callback
from limber.simulation.stages import Stages
from limber.simulation.stuck import why_stuck

if TYPE_CHECKING:
    from limber.orbit.field import Field

#: What an evaluation costs in an implicit method compared with an explicit one, by the engine of the latter (`make
#: bench`), and what a torque in Python costs, as the number of speeds whose dynamics take as long.
IMPLICIT_COST, PYTHON_COST = {"general": 1.3, "generated": 4.0}, 50


class Run:
    """The state of a simulation in progress, with the present closures of the system.

    Times of the engine count from its start, `origin`; arguments and results of its functions are times of the
    simulation.
    """

    def __init__(
        self, system: System, forces: Forces, events: Sequence[Event], outputs: Outputs, y: Array,
        origin: float, end: float, settings: Settings,
    ):  # fmt: skip
        self.system, self.settings = system, settings
        self.stages = Stages(system)
        self.outputs = outputs
        self.forces = forces
        self.failure = forces.failure
        self.origin, self.end = origin, end
        self.engine = Engine(system, forces, settings, y, origin, end - origin, len(events))
        self.y, self.clock = self.engine.y, self.engine.clock
        self.crossings = Crossings(
            system, events, self.engine.sides, self.rates, self.engine.first_step
        )
        self.crossings.projection = self.projected if system.closures else None
        if events:
            values = callback(system, self.crossings.function, self.failure, len(events))
            self._event = SIGNATURE(values)
            self.engine.set_event_function(ctypes.cast(self._event, ctypes.c_void_p).value or 0)
        if forces.torque.session is not None:
            forces.torque.session.bind(self)

    @property
    def t(self) -> float:
        """The time reached."""
        return float(self.origin + self.clock[R.TIME])

    @property
    def state(self) -> Array:
        """The state reached, [q; v]."""
        return self.y[: -R.FLOWS]

    @property
    def rows(self) -> int:
        """The number of rows that were written."""
        return int(self.clock[R.OUTPUT])

    @property
    def field(self) -> Field | None:
        """The forces of the environment, or None if there is none."""
        return self.forces.field

    def torque(self) -> Array:
        """The generalized forces of torques that were last evaluated, including driven joints."""
        return self.engine.forces[0]

    def wrenches(self) -> dict[tuple, Array]:
        """The external wrenches that were last evaluated."""
        return dict(zip(self.forces.keys, self.engine.forces[1:]))

    def time_error(self, found: bool) -> float:
        """The error of the time of an event that was found within a step, or of one at a given time, s."""
        clock = self.clock
        length = clock[R.EVENT_STEP] if found else clock[R.TIME]
        return 4.0 * float(R.RESOLUTION * length + np.spacing(clock[R.TIME]))

    def rates(self, t: float, y: Array) -> Array:
        """dy/dt of [q; v] at a time."""
        rate = self.engine.rates(t - self.origin, np.ascontiguousarray(y[: len(self.state)]))
        self._raise_failure()
        return rate

    def projected(self, y: Array) -> Array:
        """The nearest state on the closures to the state y = [q; v]; y itself if there is none."""
        moved = np.ascontiguousarray(y[: len(self.state)]).copy()
        return moved if self.engine.projected(moved) else y

    def cost_of(self, method: Method) -> float:
        """The cost of an evaluation in a method; the unit is the dynamics of one speed in an explicit method."""
        dynamics = IMPLICIT_COST[self.settings.engine] if method.implicit else 1.0
        return dynamics * self.system.nv + PYTHON_COST * self.forces.python

    def start(self) -> None:
        """Evaluate the forces at the start and, if an output is due there, write its row."""
        s, y = self.system, self.state
        session = self.forces.torque.session
        for signal, value in zip(self.forces.signals, self.engine.forces):
            if signal is self.forces.torque and session is not None:
                value[:] = session.before(self.origin, y[s.nq :])  # the first readings are of this
            if signal.kind != R.CONSTANT:
                with keep_interrupts(self.failure):
                    value[:] = signal.at(self.origin, y[: s.nq], y[s.nq :])
                self._raise_failure()
                signal.refuse_not_finite(s, self.origin, value)
        if session is not None:  # the call above was its first sample
            self.clock[R.NEXT_SAMPLE] = session.plan[R.P_NEXT]
        if self.forces.driven or self.forces.field is not None:
            self.rates(self.origin, y)  # this finds the forces of driven joints and environment
        if self.outputs.t.size and self.outputs.t[0] == 0.0:
            self.outputs.y[0] = self.y
            self.outputs.forces[0] = self.engine.force_row
            self.clock[R.OUTPUT] = 1

    def advance(self, method: Method, until: float, steps: int) -> int:
        """Integrate for at most `steps` steps, or until a time; return why it stopped, see `integrators.context`."""
        self.engine.prepare(method)
        with keep_interrupts(self.failure):
            status = self.engine.advance(method, until - self.origin, self.outputs, steps)
        self._raise_failure()
        if status == R.STUCK:
            raise SimulationError(why_stuck(self, method))
        return int(status)

    def restart(self) -> None:
        """Restart after an event: the rate, the step and the step control forget the motion before it."""
        self.clock[R.NEEDS_RATE], self.clock[R.LAST_ERROR] = 1.0, 0.0
        self.clock[R.STEP] = min(self.clock[R.STEP], self.engine.first_step)

    def reclose(self, system: System) -> None:
        """Continue with another system of the same tree, from the state reached; only the model changes."""
        self.system = system
        self.engine.set_model(system)
        self.crossings.projection = self.projected if system.closures else None

    def _raise_failure(self) -> None:
        """Raise the error of a torque or event function, or an error if its value was not finite."""
        if self.failure:
            raise self.failure[0]
        shared = self.engine.shared
        number = int(shared[R.FAULT])
        if number:  # it is a compiled function; those in Python raise errors of their own
            t, element = shared[[R.FAULT_TIME, R.FAULT_PART]]
            named = [*self.forces.signals, None, *self.forces.driven]  # the events are the None
            source = named[number - 1]
            assert source is not None
            raise source.not_finite(self.system, float(self.origin + t), int(element))
