"""A control loop: a system, its sensors, a controller and its actuators."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import number, shown
from limber.control.actuators.base import Actuator
from limber.control.commands import checked_initial
from limber.control.controller import check_controller
from limber.control.guard import Guard
from limber.control.joints import same_layout
from limber.control.sensors.base import Sensor, checked_seed
from limber.control.session import LoopSession
from limber.dynamics.evaluate import check_system
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.simulation.laws import SampledLaw

#: By id, the loop for which a controller or an observer was prepared last; loops enter theirs when they are made.
_PREPARED_FOR: dict[int, weakref.ref[Loop]] = {}
#: Signals that every loop records.
RESERVED = ("command", "guard")


def _forget(part: int, loop: weakref.ref[Loop]) -> None:
    """Remove the entry of a loop that no longer exists."""
    if _PREPARED_FOR.get(part) is loop:
        del _PREPARED_FOR[part]


class Loop:
    """A controller with its sensors and actuators, for `lb.simulate(..., torque=loop)`.

    Parameters
    ----------
    system : the controlled system.
    controller : see `limber.control.controller`. A `Guard` supervises it; pass a `Guard` of your own for other limits.
    sensors : each is read at its own rate. Without sensors the controller gets the exact state.
    actuators : each takes one number of the command for each of its channels. Without actuators the command is the
        generalized force itself.
    delay : from the sample of the controller to the effect of its command, s; it may be longer than the sample time.
    seed : for the noise of sensors that have no seed of their own.
    initial : the command in effect until the first command of the controller arrives, after the delay; zero by default.
        To hold an arm that starts at rest, pass the joint part of lb.inverse_dynamics.

    A loop can be used for one run after another, and so can several loops with the same controller, which is prepared
    for the loop that runs. The controller is one object with a state, so simultaneous runs need a loop and a controller
    each, such as `copy.deepcopy(loop)`. `resumed()` continues where the last run ended.
    """

    def __init__(
        self,
        system: System,
        controller: Any,
        *,
        sensors: Iterable[Sensor] = (),
        actuators: Iterable[Actuator] = (),
        delay: float = 0.0,
        seed: int | None = None,
        initial: ArrayLike | None = None,
    ):
        check_system(system)
        self.system = system
        self.sample_time = check_controller(controller)
        self.controller = controller if isinstance(controller, Guard) else Guard(controller)
        self.sensors = _listed("sensors", sensors, Sensor)
        self.actuators = _listed("actuators", actuators, Actuator)
        self.delay = number("delay", delay, minimum=0.0)
        self.seed = checked_seed("seed", seed)
        #: What the sensors read in this system, in order.
        self.readers = tuple(sensor.reader(system) for sensor in self.sensors)
        #: The names of the numbers of a command, and the largest of each, where there are actuators.
        drives = [actuator.drive(system) for actuator in self.actuators]
        self.channels = tuple(label for drive in drives for label in drive.labels)
        self.limits = np.array([limit for drive in drives for limit in drive.limits])
        #: For each channel the place in v of the joint speed on which its torque acts; None where it is not the torque of a joint.
        self.driven = tuple(place for drive in drives for place in drive.driven)
        for actuator in self.actuators:
            actuator.check_system(system)
            actuator.check_sample_time(self.sample_time)
        self.initial = None if initial is None else checked_initial(self, initial)
        self._last: LoopSession | None = None
        self._prepare()
        LoopSession(self, 0.0, system)  # inconsistent parts are rejected now

    def session(self, system: System, t0: float) -> LoopSession:
        """The loop during one run; called by `simulate`."""
        self._refuse_other(system)
        if not self._prepared:  # the controller has been put in another loop since
            self._prepare()
        self._last = LoopSession(self, t0, system)
        return self._last

    def runs(self, session: LoopSession) -> bool:
        """Whether a session is the one that began last, and the controller is still that of this loop."""
        return self._last is session and self._prepared

    def sampled_law(self, system: System) -> SampledLaw | str:
        """The control law for batches of generated code, or a text that names the obstacle."""
        for has, what in (
            (self.sensors, "sensors"),
            (self.actuators, "actuators"),
            (self.delay, "a delay"),
            (self.controller.limit is not None, "a limit of its Guard"),
        ):
            if has:
                return f"a Loop with {what}"
        controller = self.controller.controller
        made = getattr(controller, "sampled_law", None)
        return type(controller).__name__ if made is None else made(self.system)

    def _prepare(self) -> None:
        """Prepare the controller for this loop."""
        self.controller.prepare(self)
        self._take_parts()

    def _take_parts(self) -> None:
        """Note that the controller and its observer are prepared for this loop."""
        for part in self._parts():
            _PREPARED_FOR[id(part)] = weakref.ref(self, partial(_forget, id(part)))

    @property
    def _prepared(self) -> bool:
        """Whether the controller and its observer are prepared for this loop, and for no other one since."""
        found = (_PREPARED_FOR.get(id(part)) for part in self._parts())
        return all(loop is not None and loop() is self for loop in found)

    def _parts(self) -> list[Any]:
        """The objects that `prepare` of the controller changes."""
        controller = self.controller.controller
        observer = getattr(controller, "observer", None)
        return [controller] if observer is None else [controller, observer]

    def resumed(self) -> Resumed:
        """The loop as the last run left it, for a run that continues from there.

        Sample times, noise, biases, pending commands and readings, and the controller continue as if the run had not
        ended.
        """
        if self._last is None:
            raise ArgumentValueError("there is nothing to resume: this loop has not been in a run.")
        return Resumed(self, self._last)

    def with_seed(self, seed: int) -> Loop:
        """A copy of this loop and its controller with other noise; sensors that have a seed of their own keep it."""
        made = copy.deepcopy(self)
        made.seed = checked_seed("seed", seed)
        return made

    def __getstate__(self) -> dict[str, Any]:
        # Copies are made for runs of their own: they do not continue where this one ended.
        return {**vars(self), "_last": None, "readers": (), "prepared": self._prepared}

    def __setstate__(self, state: dict[str, Any]) -> None:
        prepared = state.pop("prepared", False)
        vars(self).update(state)
        self.readers = tuple(sensor.reader(self.system) for sensor in self.sensors)
        if prepared:  # so is the copy of its controller
            self._take_parts()

    def _refuse_other(self, system: System) -> None:
        if not same_layout(system, self.system):
            raise ArgumentValueError(
                f"torque: this loop was made for {self.system.name!r}, but {system.name!r} has other bodies, joints or modes. Make a Loop "
                "for it."
            )

    def __repr__(self) -> str:
        parts = [repr(self.controller.controller), *map(repr, (*self.sensors, *self.actuators))]
        return f"Loop({self.system.name!r}, {', '.join(parts)})"


class Resumed:
    """A loop that continues where its last run ended; see `Loop.resumed`."""

    def __init__(self, loop: Loop, session: LoopSession):
        self._loop, self._session = loop, session

    def session(self, system: System, t0: float) -> LoopSession:
        """The loop during the next run."""
        self._loop._refuse_other(system)
        if not self._loop.runs(self._session):
            raise ArgumentValueError(
                "torque: this loop or its controller has been used in another run since; resume it directly after the run."
            )
        self._session.resume(t0)
        return self._session


def loop_of(system: System, controller: Any) -> Loop:
    """The loop for a controller that is passed directly to `simulate`: exact measurement, ideal actuators."""
    return Loop(system, controller)


def _listed(name: str, given: Any, kind: Any) -> tuple[Any, ...]:
    if isinstance(given, kind):
        given = (given,)
    try:
        items = tuple(given)
    except TypeError:
        items = (given,)
    names = set()
    for item in items:
        if not isinstance(item, kind):
            raise ArgumentTypeError(
                f"{name} must be objects such as those of lb.control.{name}, got {shown(item)}."
            )
        if not isinstance(item.name, str):
            raise ArgumentTypeError(
                f"the name of one of the {name} must be a string, got {shown(item.name)}."
            )
        if item.name in names:
            raise ArgumentValueError(
                f"two {name} have the name {item.name!r}: give each its own with name=..."
            )
        if kind is Sensor and item.name in RESERVED:
            raise ArgumentValueError(
                f"a sensor cannot be called {item.name!r}, which is a signal of every loop: give it another name=..."
            )
        names.add(item.name)
    return items
