"""On which side of zero the functions of events are, above all just after an event."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from limber.assembly.system import System
from limber.checks import Array, shown
from limber.dynamics.evaluate import quaternions
from limber.errors import ArgumentValueError, ModelWarning, warn
from limber.simulation.events import Event

#: The motion just after a state is probed over times of these multiples of the shortest, which moves the state by
#: this part of its size.
PROBES, NUDGE = (1.0, 1e2, 1e4), 1e-8
#: The part by which a state is stretched to see how large the terms of an event function are.
STRETCH = 2.0**-20
#: A function that an action leaves this much nearer to zero than it was is at zero.
AT_ZERO = 1e-12


class Crossings:
    """The sides of event functions: the sign of each since its last crossing, 0 while it stays at zero.

    `sides` holds them, and the directions that count behind them, for `kernels.crossings`.
    rates : (t, y) -> dy/dt.
    """

    def __init__(self, system: System, events: Sequence[Event], sides: Array, rates: Callable):
        self.events, self.count = events, len(events)
        self._rates, self._nq, self._n = rates, system.nq, system.nq + system.nv
        self._quaternions = [at for _, at in quaternions(system)]
        self.sides, self.directions = sides[: self.count], sides[self.count :]
        self.directions[:] = [e.direction for e in events]
        self._slopes, self._rounding_errors = np.zeros((2, self.count))
        self._fired: tuple[int | None, float] = (None, 0.0)

    def function(self, t: float, q: Array, v: Array) -> list[float]:
        """The values of all event functions."""
        return [_value(e, t, q, v) for e in self.events]

    def values(self, t: float, y: Array) -> Array:
        """The same of a state [q; v]."""
        y = y[: self._n].copy()
        for at in self._quaternions:
            y[at] /= np.linalg.norm(y[at])
        return np.array(self.function(t, y[: self._nq], y[self._nq :]))

    def start(self, t: float, y: Array) -> None:
        """The sides at the start of a run: signs, or, at zero, where the motion goes."""
        if not self.count:
            return
        values = self.values(t, y)
        at_zero = np.abs(values) <= self._rounding(t, y, values)
        self.sides[:] = np.where(at_zero, 0.0, np.sign(values))
        if at_zero.any():
            self.sides[at_zero] = self._motion(t, y, values)[at_zero]

    def settle(self, fired: int | None, before: Array, t: float, y: Array) -> int | None:
        """The sides after event `fired` (None: one at a time), and the next event that happens right now.

        before : the values of the functions as the event came, before its action.

        A function that the action left at zero has the side to which the motion goes just after it.  So has the one
        that fired.  Another one at zero that goes on beyond it happens now: events at the same time are not lost.
        """
        if not self.count:
            return None
        after = self.values(t, y)
        moved = after != before
        beyond = before * self.sides <= 0.0
        at_zero = np.where(moved, np.abs(after) <= AT_ZERO * np.abs(before), beyond)
        if fired is not None:
            at_zero[fired] = not moved[fired] or abs(after[fired]) <= 10.0 * abs(before[fired])
        self._fired = (fired, t) if fired is not None and at_zero[fired] else (None, t)
        jumped = moved & ~at_zero
        self.sides[jumped] = np.sign(after[jumped])
        if not at_zero.any():
            return None
        motion = self._motion(t, y, after)
        now = None
        if fired is not None and self._slopes[fired] == 0.0:
            self._warn_of_rest(fired, motion[fired], t)
        for i in np.flatnonzero(at_zero):
            through = motion[i] * self.sides[i] < 0.0
            if i == fired or moved[i] or (through and self.directions[i] * motion[i] < 0.0):
                self.sides[i] = motion[i]
            elif through and now is None:
                now = int(i)
        return now

    def _warn_of_rest(self, fired: int, motion: float, t: float) -> None:
        """Warn where an action stops the motion at the zero of its function, and forces push it on."""
        event = self.events[fired]
        if event.action is not None and motion * self.sides[fired] < 0.0:
            warn(
                f"the action of event {event.name!r} at t = {t:.6g} s leaves its function at rest at zero, and the forces "
                "carry it on to the other side, where the event does not happen again. If it should stay, stop the run "
                "there (terminal=True), or hold the motion by a force.",
                ModelWarning,
            )

    def blurred(self, fired: int, t: float) -> bool:
        """Whether an event comes again before its function has left zero by more than rounding.

        Between two crossings a function that leaves zero with a slope goes as far as the slope times a quarter of the
        time, if its curvature brings it back.
        """
        last, at = self._fired
        far = 0.25 * self._slopes[fired] * (t - at)
        return fired == last and self._slopes[fired] > 0.0 and far <= self._rounding_errors[fired]

    def _rounding(self, t: float, y: Array, values: Array) -> Array:
        """What rounding of the state may change in the functions: by how they change when it is stretched."""
        stretched = self.values(t * (1.0 + STRETCH), y * (1.0 + STRETCH))
        return 4.0 * np.finfo(float).eps * np.abs(stretched - values) / STRETCH

    def _motion(self, t: float, y: Array, values: Array) -> Array:
        """The signs that the functions take just after a state: by their slopes along the motion, then their curvature."""
        rounding = self._rounding_errors = self._rounding(t, y, values)
        rate = self._rates(t, y)
        scale = (
            NUDGE * max(1.0, np.abs(y).max(initial=0.0)) / max(np.abs(rate).max(initial=0.0), 1e-30)
        )
        signs, self._slopes = np.zeros((2, self.count))
        for straight in (True, False):
            for dt in scale * np.array(PROBES):
                direction = rate if straight else self._rates(t + 0.5 * dt, y + 0.5 * dt * rate)
                change = self.values(t + dt, y + dt * direction) - values
                clear = (signs == 0.0) & (np.abs(change) > rounding)
                signs[clear] = np.sign(change[clear])
                if straight:
                    self._slopes[clear] = np.abs(change[clear]) / dt
                if signs.all():
                    return signs
        return signs


def _value(event: Event, t: float, q: Array, v: Array) -> float:
    """The value of an event function, which must be one finite number."""
    value = np.asarray(event.function(t, q, v))  # type: ignore[operator]
    if value.dtype.kind not in "iufb" or value.size != 1 or not np.isfinite(value).all():
        raise ArgumentValueError(
            f"the function of event {event.name!r} must return one finite number; at t = {t:.6g} s it returned "
            f"{shown(value)}."
        )
    return float(value.reshape(()))
