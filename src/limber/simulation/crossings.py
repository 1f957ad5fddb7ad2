"""The side of zero on which each event function is, and how it is found just after an event."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from limber.assembly.system import System
from limber.checks import Array, shown
from limber.dynamics.evaluate import quaternions
from limber.errors import ArgumentTypeError, ArgumentValueError, ModelWarning, warn
from limber.simulation.events import Event

#: The motion just after a state is probed by small moves along it.  The smallest move changes the state by NUDGE of
#: itself; PROBES are the multiples of it that are tried.
PROBES, NUDGE = (1.0, 1e2, 1e4), 1e-8
#: The state is changed by the part CHANGE to see how large the terms of an event function are, with several patterns of
#: signs, so that terms do not cancel and quaternions turn.  ROUNDING is the relative rounding of each term.
CHANGE, PATTERNS, ROUNDING = 2.0**-20, 3, 16.0 * np.finfo(float).eps
#: A function is at zero if an action brings it nearer to zero by this factor.
AT_ZERO = 1e-12


class Crossings:
    """The sides of event functions: the sign of each since its last crossing, or 0 while it stays at zero.

    sides : an array that `integrators.event_search` reads.  It holds the sides, then the directions that count, then
        flags of the sides that are known only from the curvature of their functions.
    rates : (t, y) -> dy/dt.
    longest : a time that is short for the motion, s; the motion is probed no further ahead.
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
        """The values of all event functions at a state [q; v]."""
        y = y[: self._n].copy()
        for at in self._quaternions:
            y[at] /= np.linalg.norm(y[at])
        return np.array(self.function(t, y[: self._nq], y[self._nq :]))

    def start(self, t: float, y: Array) -> int | None:
        """Set the sides at the start of a run, and return the number of the first event that happens there, or None.

        A side is the sign of the function or, for a function at zero, where the motion goes.  But where the motion goes
        in the one direction that counts, the event happens now, because its function comes from the other side.
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
        """Set the sides after event `fired`, and return the number of another event that happens now, or None.

        fired : the number of the event; None for an event at a given time.
        before : the values of the functions at the event, before its action.

        A function that the action left at zero takes the side to which the motion goes just after it, and so does the
        function that fired.  Any other function that is at zero and goes on beyond it is an event that happens now, so
        that no event is lost where several happen at the same time.
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
        # The event itself was found to within rounding, or to within the distance of its function from zero.
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
        """Set `pace`, the part of its state by which the motion changes in a second, just after an event."""
        rate = np.abs(self._rates(t, y)).max(initial=0.0)
        self.pace = float(rate / max(1.0, np.abs(y).max(initial=0.0)))

    def _take(self, which, motion: Array) -> None:
        """Give functions at zero the side to which the motion goes."""
        self.sides[which] = motion[which]
        self._curved[which] = (self._slopes == 0.0)[which]

    def _warn_of_rest(self, fired: int, motion: float, t: float) -> None:
        """Warn if an action stops the motion at the zero of its function while forces push it on."""
        event = self.events[fired]
        if event.action is not None and motion * self.sides[fired] < 0.0:
            warn(
                f"the action of event {event.name!r} at t = {t:.6g} s leaves its function at rest at zero, and the forces "
                "carry it on to the other side, where the event does not happen again. If it should stay, stop the run "
                "there (terminal=True), or hold the motion by a force.",
                ModelWarning,
            )

    def blurred(self, fired: int, t: float, y: Array) -> bool:
        """Whether an event repeats before its function has left zero by more than the run resolves.

        A function that leaves zero with some slope and is brought back by its curvature moves away by a quarter of the
        slope times the time between the crossings.  This distance must be more than rounding.  The function must also be
        on its way back: if it still moves away from zero, its crossing is an error of the integration.
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
        """By how much rounding may change the functions.

        It follows from how they change with the elements of the state, and with the last digits of the time.
        """
        found = np.zeros(self.count)
        for i in range(PATTERNS):
            # The signs are all equal, alternate, or alternate by pairs.
            signs = np.where((np.arange(len(y)) // max(i, 1)) % 2, -1.0, 1.0) if i else 1.0
            near = self.values(t, y * (1.0 + CHANGE * signs))
            found = np.maximum(found, np.abs(near - values))
        by_time = np.abs(self.values(t - 4.0 * np.spacing(abs(t)), y) - values)
        return ROUNDING * found / CHANGE + by_time

    def _motion(self, t: float, y: Array, values: Array, rounding: Array) -> Array:
        """The signs that the functions take just after a state, from their slopes along the motion or their curvature.

        A slope has three parts: by time, by q along its rate and by v along its rate.  Each is probed by a move of its
        own size, so that a fast change of v does not hide the part of q.
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
                    dt = max(dt, by_time * 1024.0 * np.spacing(abs(t)))  # it must change the time
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
