"""On which side of zero the functions of events are, above all just after an event."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from limber.assembly.system import System
from limber.checks import Array, shown
from limber.dynamics.evaluate import quaternions
from limber.errors import ArgumentTypeError, ArgumentValueError, ModelWarning, warn
from limber.simulation.events import Event

#: The motion just after a state is probed by moves of these multiples of the smallest, which is this part of the state.
PROBES, NUDGE = (1.0, 1e2, 1e4), 1e-8
#: The part by which a state is changed to see how large the terms of an event function are, the signs with which
#: its elements are (so that terms do not cancel, and quaternions turn), and the rounding of each term.
CHANGE, PATTERNS, ROUNDING = 2.0**-20, 3, 16.0 * np.finfo(float).eps
#: A function that an action leaves this much nearer to zero than it was is at zero.
AT_ZERO = 1e-12


class Crossings:
    """The sides of event functions: the sign of each since its last crossing, 0 while it stays at zero.

    `sides` holds them, behind them the directions that count, and which are known by the curvature of their functions
    alone, for `integrators.event_search`.
    rates : (t, y) -> dy/dt.
    longest : a time that is short for the motion, s; it is probed no further ahead.
    """

    def __init__(
        self, system: System, events: Sequence[Event], sides: Array, rates: Callable, longest: float
    ):
        self.events, self.count = events, len(events)
        self._longest = longest
        self._rates, self._nq, self._n = rates, system.nq, system.nq + system.nv
        self._quaternions = [at for _, at in quaternions(system)] if events else []
        self.sides, self.directions, self._curved = sides.reshape(3, self.count)
        self.directions[:] = [e.direction for e in events]
        self._slopes, self._blur = np.zeros((2, self.count))
        self._fired: tuple[int | None, float] = (None, 0.0)
        self.pace = 0.0

    def function(self, t: float, q: Array, v: Array) -> list[float]:
        """The values of all event functions."""
        return [_value(e, t, q, v) for e in self.events]

    def values(self, t: float, y: Array) -> Array:
        """The same of a state [q; v]."""
        y = y[: self._n].copy()
        for at in self._quaternions:
            y[at] /= np.linalg.norm(y[at])
        return np.array(self.function(t, y[: self._nq], y[self._nq :]))

    def start(self, t: float, y: Array) -> int | None:
        """The sides at the start of a run, and the first event that happens there.

        A side is the sign of the function, or, at zero, where the motion goes.  But where the motion goes in the one
        direction that counts, the event happens now: its function comes from the other side.
        """
        if not self.count:
            return None
        values = self.values(t, y)
        rounding = self._rounding(t, y, values)
        at_zero = np.abs(values) <= rounding
        self.sides[:] = np.where(at_zero, 0.0, np.sign(values))
        if not at_zero.any():
            return None
        motion = self._motion(t, y, values, rounding)
        now = at_zero & (self.directions * motion > 0.0)
        self._take(at_zero & ~now, motion)
        self.sides[now] = -motion[now]
        return int(np.argmax(now)) if now.any() else None

    def settle(self, fired: int | None, before: Array, t: float, y: Array) -> int | None:
        """The sides after event `fired` (None: one at a time), and the next event that happens right now.

        before : the values of the functions as the event came, before its action.

        A function that the action left at zero has the side to which the motion goes just after it.  So has the one
        that fired.  Another one at zero that goes on beyond it happens now: events at the same time are not lost.
        """
        if not self.count:
            return None
        self._pace(t, y)
        after = self.values(t, y)
        rounding = self._rounding(t, y, after)
        moved = np.abs(after - before) > rounding
        beyond = before * self.sides <= 0.0
        at_zero = np.where(
            moved, np.abs(after) <= np.maximum(rounding, AT_ZERO * np.abs(before)), beyond
        )
        if fired is not None:
            near = max(10.0 * abs(before[fired]), rounding[fired])
            at_zero[fired] = not moved[fired] or abs(after[fired]) <= near
        self._fired = (fired, t) if fired is not None and at_zero[fired] else (None, t)
        jumped = moved & ~at_zero
        self.sides[jumped] = np.sign(after[jumped])
        if not at_zero.any():
            return None
        motion = self._motion(t, y, after, rounding)
        # the event itself was found to rounding, or to as much as its function is off zero
        self._blur = np.maximum(rounding, 4.0 * np.abs(after))
        now = None
        if fired is not None and self._slopes[fired] == 0.0:
            self._warn_of_rest(fired, motion[fired], t)
        for i in np.flatnonzero(at_zero):
            through = motion[i] * self.sides[i] < 0.0
            if i == fired or moved[i] or (through and self.directions[i] * motion[i] < 0.0):
                self._take(i, motion)
            elif through and now is None:
                now = int(i)
        return now

    def _pace(self, t: float, y: Array) -> None:
        """Keep how fast the motion is just after an event: by which part of its state a second."""
        rate = np.abs(self._rates(t, y)).max(initial=0.0)
        self.pace = float(rate / max(1.0, np.abs(y).max(initial=0.0)))

    def _take(self, which, motion: Array) -> None:
        """Let functions at zero have the side to which the motion goes."""
        self.sides[which] = motion[which]
        self._curved[which] = (self._slopes == 0.0)[which]

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

    def blurred(self, fired: int, t: float, y: Array) -> bool:
        """Whether an event comes again before its function has left zero by more than the run resolves.

        Between two crossings a function that leaves zero with a slope goes as far as the slope times a quarter of the
        time, if its curvature brings it back: that must be more than rounding.  And it must come back: where the state
        says that it still goes away from zero, the crossing is one of the error of the integration.
        """
        last, at = self._fired
        if fired != last or self._slopes[fired] == 0.0:
            return False
        if 0.25 * self._slopes[fired] * (t - at) <= self._blur[fired]:
            return True
        values = self.values(t, y)
        motion = self._motion(t, y, values, self._rounding(t, y, values))
        return self._slopes[fired] > 0.0 and motion[fired] * self.sides[fired] > 0.0

    def _rounding(self, t: float, y: Array, values: Array) -> Array:
        """What rounding may change in the functions: by how they change with every element of the state, and with
        the last digits of the time."""
        found = np.zeros(self.count)
        for i in range(PATTERNS):
            # all alike, in turn, and in turn by pairs
            signs = np.where((np.arange(len(y)) // max(i, 1)) % 2, -1.0, 1.0) if i else 1.0
            near = self.values(t, y * (1.0 + CHANGE * signs))
            found = np.maximum(found, np.abs(near - values))
        by_time = np.abs(self.values(t - 4.0 * np.spacing(abs(t)), y) - values)
        return ROUNDING * found / CHANGE + by_time

    def _motion(self, t: float, y: Array, values: Array, rounding: Array) -> Array:
        """The signs that the functions take just after a state: by their slopes along the motion, else by their curvature.

        The slopes are those by time, by q along its rate and by v along its rate, each probed by a move of its own
        size: where v changes fast, the slope by q is seen all the same.
        """
        rate, nq = self._rates(t, y), self._nq
        parts = [(1.0, np.zeros_like(y)), (0.0, np.append(rate[:nq], np.zeros(len(y) - nq)))]
        parts.append((0.0, np.append(np.zeros(nq), rate[nq:])))
        sizes = [1.0, *(np.abs(x).max(initial=0.0) for x in (rate[:nq], rate[nq:]))]
        scales = [1.0, *(max(1.0, np.abs(x).max(initial=0.0)) for x in (y[:nq], y[nq:]))]
        signs, self._slopes = np.zeros((2, self.count))
        for probe in PROBES:
            slope, error = np.zeros((2, self.count))
            for (by_time, along), size, scale in zip(parts, sizes, scales):
                if size > 0.0:
                    dt = min(probe * NUDGE * scale / size, self._longest)
                    dt = max(dt, by_time * 1024.0 * np.spacing(abs(t)))  # that moves the time
                    ahead = self.values(t + by_time * dt, y + dt * along)
                    behind = self.values(t - by_time * dt, y - dt * along)
                    slope += (ahead - behind) / (2.0 * dt)
                    error += np.where(ahead == behind, 0.0, rounding / dt)
            clear = (signs == 0.0) & (np.abs(slope) > error)
            signs[clear], self._slopes[clear] = np.sign(slope[clear]), np.abs(slope[clear])
        largest = max(size / scale for size, scale in zip(sizes[1:], scales[1:]))
        for dt in (
            np.array(PROBES)
            / PROBES[-1]
            * min(PROBES[-1] * NUDGE / max(largest, 1e-30), self._longest)
        ):
            if signs.all():
                break
            middle = self._rates(t + 0.5 * dt, y + 0.5 * dt * rate)
            change = self.values(t + dt, y + dt * middle) - values
            clear = (signs == 0.0) & (np.abs(change) > rounding)
            signs[clear] = np.sign(change[clear])
        return signs


def _value(event: Event, t: float, q: Array, v: Array) -> float:
    """The value of an event function, which must be one finite number."""
    value = np.asarray(event.function(t, q, v))  # type: ignore[operator]
    if value.dtype.kind == "b":
        raise ArgumentTypeError(
            f"the function of event {event.name!r} must return a number that crosses zero where the event happens; at "
            f"t = {t:.6g} s it returned {shown(value)}, a truth value."
        )
    if value.dtype.kind not in "iuf" or value.size != 1 or not np.isfinite(value).all():
        raise ArgumentValueError(
            f"the function of event {event.name!r} must return one finite number; at t = {t:.6g} s it returned "
            f"{shown(value)}."
        )
    return float(value.reshape(()))
