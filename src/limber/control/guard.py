"""Supervision of a controller: what happens if its readings are unusable or its commands too large.

`Guard` stands between a loop and a controller, in a simulation as on a machine. It has these states:

    OK         the command of the controller is used
    WAIT       not all sensors have sent a first reading: the command is zero, and the controller is started later
    LIMIT      the command exceeded `limit` and was clipped
    HOLD       a reading is nan or too old, or the command is not finite: the last valid command is held
    STOP       that lasted longer than `hold`, or an actuator did not follow its commands for longer than `follow`: safe
               stop, with `safe_command` of the controller, or zero

A stop is permanent, unless `recover` gives the number of consecutive valid samples after which the controller is
started again.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array, listed, number, numbers, shown, suggestion
from limber.control.controller import Controller, Measured, check_controller
from limber.control.schedule import SAME
from limber.errors import ArgumentTypeError, ArgumentValueError, ModelWarning, warn

OK, WAIT, LIMIT, HOLD, STOP = range(5)
#: The states by number, for messages and reports.
STATES = ("ok", "wait", "limit", "hold", "stop")
#: By default the last valid command is held for this many samples.
HELD_SAMPLES = 10
#: An actuator follows if it is within the range of this many of the last commands, and those under way, up to this
#: fraction.
SAMPLES_TO_FOLLOW, FOLLOWS = 3, 1e-6


class Guard(Controller):
    """A controller with supervision of its readings and commands; the head of this file describes the states.

    Parameters
    ----------
    controller : the controller to supervise.
    limit : the largest command, one number or one for each channel.
    hold : how long the last valid command is held before the safe stop, s; by default 10 samples.
    oldest : the age beyond which a reading is too old, s: one number, or {sensor: number}. By default readings never
        get too old.
    uses : the names of the sensors that matter; by default those in `controller.uses`, or all if it has none.
    recover : the number of consecutive valid samples that end a safe stop; by default a stop is permanent.
    follow : how long an actuator may be outside the range of its recent commands, because it is stuck or at a limit, s.
        By default this is not checked.

    `state` is the state at the last sample, one of `STATES`.
    """

    def __init__(
        self,
        controller: Any,
        *,
        limit: ArrayLike | None = None,
        hold: float | None = None,
        oldest: Any = None,
        uses: Any = None,
        recover: int | None = None,
        follow: float | None = None,
    ):
        self.sample_time = check_controller(controller)
        self.controller = controller
        self.limit = None if limit is None else numbers("limit", limit, "() or (channels,)")
        if self.limit is not None and not (self.limit >= 0.0).all():
            raise ArgumentValueError(f"limit must not be negative, got {shown(limit)}.")
        self.hold = HELD_SAMPLES * self.sample_time
        if hold is not None:
            self.hold = number("hold", hold, minimum=0.0)
        if isinstance(oldest, dict):
            oldest = {
                name: number(f"oldest[{name!r}]", age, above=0.0) for name, age in oldest.items()
            }
        elif oldest is not None:
            oldest = number("oldest", oldest, above=0.0)
        self.oldest = oldest
        if uses is None:
            uses = getattr(controller, "uses", None)
        self.uses = None if uses is None else tuple(uses)
        if recover is not None and (
            isinstance(recover, bool) or not isinstance(recover, int) or recover < 1
        ):
            raise ArgumentTypeError(
                f"recover must be a whole number of samples or None, got {shown(recover)}."
            )
        self.recover = recover
        self.follow = None if follow is None else number("follow", follow, minimum=0.0)
        self._delay = 0.0
        self._width: int | None = None  # of a command, known in a loop
        self._reset()

    def _reset(self) -> None:
        self.state = WAIT
        self._running = self._started = False
        self._last: Array | None = None
        self._sound_at = math.nan
        self._sound_samples = 0
        samples = SAMPLES_TO_FOLLOW + math.ceil(self._delay / self.sample_time)
        self._asked_last: deque[Array] = deque(maxlen=samples)
        self._followed_at: Array | None = None

    def prepare(self, loop: Any) -> None:
        """Prepare the controller for the loop."""
        prepare = getattr(self.controller, "prepare", None)
        if prepare is not None:
            prepare(loop)
        if self.uses is None:
            self.uses = getattr(self.controller, "uses", None)
        self._delay = loop.delay
        self._width = len(loop.channels) if loop.actuators else loop.system.nv
        known = [sensor.name for sensor in loop.sensors]
        for what, names in (("oldest", self.oldest), ("uses", self.uses)):
            for name in names if isinstance(names, dict | tuple) and known else ():
                if name not in known:
                    raise ArgumentValueError(
                        f"{what} has {shown(name)}, which is not a sensor of the loop.{suggestion(str(name), known)} Its sensors are: "
                        f"{listed(known)}."
                    )

    def start(self, t: float, measured: Measured) -> None:
        """Reset the guard. The controller is started at its first valid readings."""
        self._reset()
        self._sound_at = t

    def command(self, t: float, measured: Measured) -> Array | None:
        """Return the command of the controller, or its replacement; None before there is any."""
        if self.state == STOP:
            return self._stopped(t, measured)
        if self.follow is not None and self._running and not self._followed(t, measured):
            return self._stop(
                t,
                measured,
                f"{self._unfollowed(t)} not followed its commands for {self.follow:g} s",
            )
        if not self._sound(t, measured):
            return self._without(t, measured)
        command = self._asked(t, measured)
        if command is None:
            return self._without(t, measured)
        return command

    def _asked(self, t: float, measured: Measured) -> Array | None:
        """The command of the controller, within the limit; None if it is not finite."""
        if not self._running:
            self.controller.start(t, measured)
            self._running = self._started = True
        command = self._as_numbers(self.controller.command(t, measured), "command", t)
        if not math.isfinite(command.sum()) and not np.isfinite(command).all():
            return None
        self.state = OK
        if self.limit is not None:
            if self.limit.shape not in ((), (1,), command.shape):
                raise ArgumentValueError(
                    f"limit of the guard must be one number or {len(command)}, as many as a command has; got "
                    f"{shown(self.limit)}."
                )
            cut = np.minimum(np.maximum(command, -self.limit), self.limit)
            if (cut != command).any():
                self.state, command = LIMIT, cut
        self._last, self._sound_at = command, t
        if self.follow is not None:
            self._asked_last.append(command)
        return command

    def _as_numbers(self, given: Any, method: str, t: float) -> Array:
        """The return value of a method of the controller, as real numbers."""
        if isinstance(given, np.ndarray) and given.dtype == np.float64:
            return given
        name = f"{type(self.controller).__name__}.{method}"
        if given is None:
            raise ArgumentTypeError(
                f"{name} returned None at t = {t:.6g} s: it must return the command as real numbers, with nan where there "
                "is none."
            )
        return numbers(f"what {name} returned at t = {t:.6g} s", given, "(channels,)")

    def _followed(self, t: float, measured: Measured) -> bool:
        """Whether all actuators have recently been within the range of their last commands."""
        applied, asked = measured.applied, self._asked_last
        if self._followed_at is None and applied is not None:
            self._followed_at = np.full(len(applied), t)
        if applied is None or len(asked) < (asked.maxlen or 0) or len(applied) != len(asked[-1]):
            return True
        assert self._followed_at is not None and self.follow is not None
        lowest, highest = np.min(asked, axis=0), np.max(asked, axis=0)
        room = FOLLOWS * np.maximum(np.abs(lowest), np.abs(highest))
        good = (applied >= lowest - room) & (applied <= highest + room)
        self._followed_at[good] = t
        return not self._longer(t - self._followed_at, self.follow).any()

    def _unfollowed(self, t: float) -> str:
        """The channels that do not follow, as the subject of a sentence."""
        assert self._followed_at is not None and self.follow is not None
        channels = np.flatnonzero(self._longer(t - self._followed_at, self.follow))
        if len(channels) == 1:
            return f"channel {channels[0]} of the actuators has"
        return f"channels {', '.join(map(str, channels))} of the actuators have"

    def _sound(self, t: float, measured: Measured) -> bool:
        """Whether all relevant readings are finite and recent."""
        names = measured.names if self.uses is None else self.uses
        if not measured.names:
            return math.isfinite(measured.q.sum()) and math.isfinite(measured.v.sum())
        for name in names:
            if not math.isfinite(measured[name].sum()):
                return False
            oldest = self.oldest.get(name) if isinstance(self.oldest, dict) else self.oldest
            if oldest is not None and self._longer(t - measured.taken(name), oldest):
                return False
        return True

    def _longer(self, time: Any, limit: float) -> Any:
        """Whether a time is longer than a limit, and not only by rounding."""
        return time > limit + SAME * self.sample_time

    def _without(self, t: float, measured: Measured) -> Array | None:
        """The command of a sample without valid readings or command."""
        if not self._longer(t - self._sound_at, self.hold):
            self.state = HOLD if self._running else WAIT
            return self._last
        since = "since its start" if not self._running else f"since t = {self._sound_at:.6g} s"
        name = type(self.controller).__name__
        return self._stop(
            t, measured, f"{name} has had no valid readings or no finite command {since}"
        )

    def _stop(self, t: float, measured: Measured, why: str) -> Array | None:
        """Stop safely, and say why."""
        self.state, self._sound_samples = STOP, 0
        warn(f"safe stop at t = {t:.6g} s: {why}.", ModelWarning)
        return self._stopped(t, measured)

    def _stopped(self, t: float, measured: Measured) -> Array | None:
        """The command of a safe stop, or the first one after it."""
        if self.recover is not None and self._sound(t, measured):
            self._sound_samples += 1
            if self._sound_samples >= self.recover:
                self._running = False
                self._asked_last.clear()
                self._followed_at = None
                command = self._asked(t, measured)
                if command is not None:
                    return command
        else:
            self._sound_samples = 0
        safe = getattr(self.controller, "safe_command", None)
        if safe is not None:
            command = self._as_numbers(safe(t, measured), "safe_command", t)
            if np.isfinite(command).all():
                return command
        width = self._width if self._last is None else len(self._last)
        return None if width is None else np.zeros(width)

    def idle(self) -> None:
        """Call `idle` of the controller, if its last command was used."""
        idle = getattr(self.controller, "idle", None)
        if idle is not None and self.state in (OK, LIMIT):
            idle()

    def finish(self) -> None:
        """Call `finish` of the controller."""
        finish = getattr(self.controller, "finish", None)
        if finish is not None:
            finish()

    def outputs(self) -> dict[str, Any]:
        """Return the outputs of the controller, once it has started, and the state of the guard."""
        outputs = getattr(self.controller, "outputs", None) if self._started else None
        return {**(outputs() if outputs is not None else {}), "guard": self.state}

    def linear(self) -> Any:
        """Return the linear model of the controller."""
        return self.controller.linear()
