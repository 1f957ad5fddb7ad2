"""The interface of a controller, and what it receives at every sample.

A controller is any object with

    sample_time               s
    start(t, measured)        called once, at the first sample: reset the controller
    command(t, measured)      called at every sample, including the first one: return the command from now on

The command is an array. Without actuators it has the generalized forces (nv,), or only those of the joints; with
actuators it has one number for each of their channels, in the order of the list. The following are
optional. The base class `Controller` has all of them except `safe_command`.

    prepare(loop)             called when the loop is made: find the places in q and v, check that what is needed is
                              measured
    safe_command(t, measured) the command of a safe stop; zeros without this method
    outputs()                 {name: numbers} to be recorded at every sample
    output_labels             {name: labels} of the numbers of an output, in tables and figures; counted without it
    output_units              {name: unit} of an output; none without it
    idle()                    called in real time when a command is out: work for the next sample that needs no
                              measurement
    finish()                  called when the motion has ended, before the result is assembled and checked
    linear()                  the controller as a `LinearModel` with its sample time: from readings to commands, with
                              the sign of negative feedback; inputs "coordinate <body>", "speed <body>", outputs
                              "torque <body>"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array, listed, number, shown, suggestion
from limber.errors import ArgumentTypeError, ArgumentValueError

if TYPE_CHECKING:
    from limber.control.linear_model import LinearModel
    from limber.control.loop import Loop

#: The methods that a controller may have.
OPTIONAL = ("prepare", "safe_command", "outputs", "idle", "finish", "linear")


class Measured:
    """The measurements at a sample: for every sensor, by name, the last reading that has arrived.

    t : the time of the sample, s.
    q, v : the state, in the layout of the system. Without sensors it is exact. With sensors, the joints that an encoder
        or a tachometer reads have their last readings here, and all other entries are nan.
    applied : the last command as the actuators could follow it, for controllers that must know about saturation; None
        before the first one.

    `measured["gyro"]` is the last reading of that sensor, nan before the first one has arrived.
    `measured.taken("gyro")` is the time at which it was taken. Do not write to readings.
    """

    __slots__ = ("_readings", "_taken", "applied", "q", "t", "v")

    def __init__(
        self,
        t: float,
        q: Array,
        v: Array,
        readings: Mapping[str, Array] | None = None,
        taken: Mapping[str, float] | None = None,
        applied: Array | None = None,
    ):
        self.t, self.q, self.v, self.applied = t, q, v, applied
        self._readings = {} if readings is None else readings
        self._taken = {} if taken is None else taken

    def __getitem__(self, sensor: str) -> Array:
        try:
            return self._readings[sensor]
        except KeyError:
            raise self._unknown(sensor) from None

    def __contains__(self, sensor: object) -> bool:
        return sensor in self._readings

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the sensors."""
        return tuple(self._readings)

    def taken(self, sensor: str) -> float:
        """The time at which the last reading of a sensor was taken, s; -inf before the first one."""
        if sensor not in self._readings:
            raise self._unknown(sensor)
        return self._taken.get(sensor, -np.inf)

    def _unknown(self, sensor: Any) -> ArgumentValueError:
        known = ", ".join(map(repr, self._readings)) or "none"
        return ArgumentValueError(
            f"sensor={shown(sensor)} is not in the loop; its sensors are: {known}.{suggestion(str(sensor), self._readings)}"
        )

    def __repr__(self) -> str:
        return f"Measured(t={self.t:g}, sensors: {', '.join(self._readings) or 'none'})"


class Controller:
    """The base class of controllers; the head of this file describes the methods."""

    sample_time: float
    #: The labels and the unit of outputs, by the name of the output.
    output_labels: Mapping[str, Sequence[str]] = MappingProxyType({})
    output_units: Mapping[str, str] = MappingProxyType({})
    #: What estimates the state, where the controller has such an object.
    observer: Any = None

    def prepare(self, loop: Loop) -> None:
        """Look up what is needed in the system, the sensors and the actuators. The base class does nothing."""

    def start(self, t: float, measured: Measured) -> None:
        """Reset the controller. The base class does nothing."""

    def command(self, t: float, measured: Measured) -> ArrayLike | None:
        """Return the command from now on, real numbers; nan where there is none."""
        raise NotImplementedError(f"{type(self).__name__} has no method `command`.")

    def outputs(self) -> Mapping[str, ArrayLike]:
        """Return numbers to record at this sample: those of the observer, if there is one."""
        outputs = getattr(self.observer, "outputs", None)
        return {} if outputs is None else outputs()

    def idle(self) -> None:
        """Do work for the next sample in advance. The base class does nothing."""

    def finish(self) -> None:
        """Take note that the motion has ended. The base class does nothing."""

    def _observe_about(self, q: Array) -> None:
        """Pass the operating point of the controller to the observer, if it accepts one."""
        work_about = getattr(self.observer, "work_about", None)
        if work_about is not None:
            work_about(q)

    def _load(self, places: np.ndarray) -> Any:
        """The loads of the speeds at these places that the observer estimates, if it does."""
        load = getattr(self.observer, "load", None)
        return 0.0 if load is None else load[places]

    def _with_observer(self, feedback: LinearModel, places: np.ndarray) -> LinearModel:
        """The linear model of feedback of the whole state, by torques at these places of v, with the observer if there is one."""
        if self.observer is None:
            return feedback
        return observed_feedback(self, self.observer, "Kalman")(feedback, places)

    def linear(self) -> LinearModel:
        """Return the controller as a discrete linear model."""
        raise ArgumentTypeError(
            f"{type(self).__name__} has no linear model: margins are for linear controllers such as PD and PID."
        )


def observed_feedback(
    controller: Controller, observer: Any, known: str
) -> Callable[..., LinearModel]:
    """The function of an observer that turns linear feedback of the estimate into linear feedback of the measurements.

    known : the observer of `lb.control` that has this function.
    """
    with_feedback = getattr(observer, "with_feedback", None)
    if with_feedback is None:
        raise ArgumentTypeError(
            f"{type(controller).__name__} has no linear model with the observer {type(observer).__name__}, which is part "
            f"of the loop: the observer would have to be an lb.control.{known}."
        )
    return with_feedback


def check_observer(observer: Any) -> None:
    """Check that an object is an observer; None is fine."""
    missing = [
        name
        for name in ("prepare", "start", "update")
        if not callable(getattr(observer, name, None))
    ]
    if observer is not None and missing:
        raise ArgumentTypeError(
            f"observer must have prepare, start and update, as lb.control.Kalman has; {shown(observer)} has no {listed(missing)}."
        )


def check_controller(controller: Any) -> float:
    """Check that an object is a controller, and return its sample time."""
    name = type(controller).__name__
    for method in ("start", "command"):
        if not callable(getattr(controller, method, None)):
            raise ArgumentTypeError(
                f"controller must have sample_time, start(t, measured) and command(t, measured), as lb.control.PD has; {name} "
                f"has no method {method!r}."
            )
    for method in OPTIONAL:
        given = getattr(controller, method, None)
        if given is not None and not callable(given):
            raise ArgumentTypeError(
                f"controller: {name}.{method} must be a method, which a loop calls, got {shown(given)}: give the attribute "
                "another name."
            )
    if getattr(controller, "sample_time", None) is None:
        raise ArgumentTypeError(
            f"controller: {name} has no attribute sample_time: give it one, in seconds."
        )
    return number("controller.sample_time", controller.sample_time, above=0.0)
