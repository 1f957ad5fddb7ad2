"""The side of zero on which each event function is, and how it is found just after an event."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from limber.assembly.system import System
from limber.checks import Array, shown
from limber.dynamics.refusals import quaternions
from limber.errors import ArgumentTypeError, ArgumentValueError, ModelWarning, warn
from limber.simulation.events import Event
from limber.simulation.topology import called

#: The motion just after a state is probed by small moves along it.  The smallest move changes the state by NUDGE of
#: itself; PROBES are the multiples of it that are tried.
PROBES, NUDGE = (1.0, 1e2, 1e4), 1e-8
#: The state is changed by the part CHANGE to see how large the terms of an event function are, with several patterns of
#: signs, so that terms do not cancel and quaternions turn.  ROUNDING is the relative rounding of each term.
CHANGE, PATTERNS, ROUNDING = 2.0**-20, 3, 16.0 * np.finfo(float).eps
#: A function is at zero if an action brings it nearer to zero by this factor.
AT_ZERO = 1e-12
#: The band of a function that closures hold at zero, as a multiple of its rounding: they hold it to 1e-10 and better.
HELD = 1e5
#: The move that shows how the functions change with the error of the time is longer than this error by this factor.
LONGER = 1024.0


Mask = NDArray[np.bool_]


class Crossings:
    """The sides of event functions: the sign of each since its last crossing, or 0 while it stays at zero.

    At an instant of events, `start` or `arrive` finds which of them occur due to the incoming motion.  `acted` follows
    each of their actions.  `settle` then sets the sides for the motion after all of them, and finds which further
    events they cause at the same instant; these are carried out and settled in the same way.

    sides : an array that `integrators.event_search` reads.  It holds the sides, then the directions that count, then
        the bands around zero within which a value does not contradict a side.
    rates : (t, y) -> dy/dt.
    projection : y -> y on the closures; None if there are none.  The motion is probed along the closures, so that a
        function that they hold at zero is seen to stay there.
    longest : a time that is short for the motion, s; the motion is probed no further ahead.
    """

    def __init__(
        self, system: System, events: Sequence[Event], sides: Array, rates: Callable, longest: float
    ):
        self.events, self.count = events, len(events)
        self._longest = longest
        self.projection: Callable[[Array], Array] | None = None
        self._rates, self._nq, self._n = rates, system.nq, system.nq + system.nv
        self._quaternions = [at for _, at in quaternions(system)] if events else []
        self.sides, self.directions, self._bands = sides.reshape(3, self.count)
        self.directions[:] = [e.direction for e in events]
        self.pace = 0.0
        # The instant in progress: its state; the values of the functions there, the rounding in them, how far from zero
        # they may be at zero; which of them are at zero, the signs to which these go and their slopes.
        self._t, self._resolution, self._y = 0.0, 0.0, np.zeros(0)
        self._values, self._rounding, self._near = np.zeros((3, self.count))
        self._at_zero = np.zeros(self.count, dtype=bool)
        self._motion, self._slopes = np.zeros((2, self.count))
        # The events that happen, less those that may do so again; whether an action has changed the state.
        self._happening, self._changed = np.zeros(self.count, dtype=bool), False
        # The last instant: its time; which functions were at zero there; how those of its events left it (slope, band).
        self._last, self._was_at_zero = 0.0, np.zeros(self.count, dtype=bool)
        self._left: dict[int, tuple[float, float]] = {}
        # The events whose functions are at zero again before they have left it.
        self._blurred: set[int] = set()

    def function(self, t: float, q: Array, v: Array) -> list[float]:
        """The values of all event functions."""
        return [_value(e, t, q, v) for e in self.events]

    def values(self, t: float, y: Array) -> Array:
        """The values of all event functions at a state [q; v]."""
        y = y[: self._n].copy()
        for at in self._quaternions:
            y[at] /= np.linalg.norm(y[at])
        return np.array(self.function(t, y[: self._nq], y[self._nq :]))

    def start(self, t: float, y: Array) -> list[int]:
        """Set the sides at the start of a run, and return the numbers of the events that occur there.

        A side is the sign of the function or, for a function at zero, the side to which the motion goes.  But if the
        motion goes in the one direction that counts, the event occurs now, because its function comes from the other
        side.
        """
        if not self.count:
            return []
        self._look(t, y, 0.0)
        self._probe(np.abs(self._values) <= self._near)
        now = self._at_zero & (self.directions * self._motion > 0.0)
        self.sides[:] = np.where(self._at_zero, self._motion, np.sign(self._values))
        self.sides[now] = -self._motion[now]
        return self._happen(now) if now.any() else self.settle()

    def arrive(self, found: int | None, t: float, y: Array, resolution: float) -> list[int]:
        """Return the numbers of the events that occur at an instant due to the incoming motion, before any action.

        found : the number of the event whose crossing was found; None at a given time.
        resolution : the error of the time of the crossing, s.

        Functions that are at zero to within rounding and the error of the time cross there together.  The slope of such
        a function shows from which side it comes, unless the function is still leaving the zero of the last instant.
        """
        if not self.count:
            return []
        self._look(t, y, resolution)
        at_zero = np.abs(self._values) <= self._near
        if found is not None:
            at_zero[found] = True
        self._probe(at_zero)
        leaves = self._was_at_zero & (self._slopes * (t - self._last) <= 4.0 * self._near)
        comes = at_zero & (self._slopes > 0.0) & ~leaves
        if found is not None:
            comes[found] = False
        self.sides[comes] = -self._motion[comes]
        now = at_zero & self._goes_through()
        if found is not None:
            now[found] = True
        self._blurred = {i for i in self._left if now[i] and self._hardly_left(i)}
        self._left = {}
        return self._happen(now)

    def acted(self, number: int | None, t: float, y: Array, reclosed: bool = False) -> None:
        """Follow the action of an event to the state after it; the number of an event at a given time is None.

        reclosed : whether it changed the closures, so that the motion differs even from the same state.

        An action may move a function off zero, or onto it.  Such a function takes the side on which it is, or to which
        it goes.  A function that rests at zero when the closures change takes the side to which it is released; it has
        not crossed zero, and its event does not occur.
        """
        if not self.count or (np.array_equal(y, self._y) and not reclosed):
            return
        if reclosed:
            self._happening |= self._at_zero & (self.sides == 0.0)
        before, near = self._values, np.maximum(10.0 * np.abs(self._values), self._near)
        self._look(t, y, self._resolution)
        self._changed = True
        moved = np.abs(self._values - before) > self._rounding
        onto = np.maximum(self._rounding, AT_ZERO * np.abs(before))
        stays = np.abs(self._values) <= np.where(self._at_zero, near, onto)
        landed, jumped = moved & stays & ~self._at_zero, moved & ~stays
        self._probe((self._at_zero & ~jumped) | landed)
        self.sides[landed] = self._motion[landed]
        self.sides[jumped], self._bands[jumped] = np.sign(self._values[jumped]), 0.0
        if number is not None and self._motion[number] * self.sides[number] > 0.0:
            # Its own action turned the function back, so that the action of another event may send it through again.
            self._happening[number] = False

    def settle(self) -> list[int]:
        """Set the sides after all actions of an instant, and return the numbers of the events that result.

        A function at zero takes the side to which the motion goes.  Its event occurs if the actions, and not the
        incoming motion, send it through zero.  A function that rests at zero is assumed to come from the side from
        which its event counts.
        """
        if not self.count:
            return []
        at_zero = self._at_zero
        rests = (self.sides == 0.0) & (self.directions * self._motion > 0.0)
        caused = at_zero & ~self._happening & (self._goes_through() | rests)
        caused &= self._changed
        self._warn_of_rest(at_zero & self._happening)
        settled = at_zero & ~caused
        self.sides[settled] = self._motion[settled]
        band = np.maximum(self._near, 4.0 * np.abs(self._values))
        curved = (self._slopes == 0.0) & (self._motion != 0.0)
        self._bands[at_zero] = np.where(curved, np.inf, band)[at_zero]
        if self.projection is not None:
            held = at_zero & (self.sides == 0.0)
            self._bands[held] = np.maximum(band, HELD * self._rounding)[held]
        for i in self._left:
            self._left[i] = (self._slopes[i] if at_zero[i] else 0.0, band[i])
        self._last, self._was_at_zero = self._t, at_zero
        rate = np.abs(self._rates(self._t, self._y)).max(initial=0.0)
        self.pace = float(rate / max(1.0, np.abs(self._y).max(initial=0.0)))
        return self._happen(caused)

    def too_soon(self, number: int) -> bool:
        """Whether an event repeats before its function has left zero by more than the run resolves."""
        return number in self._blurred

    def _look(self, t: float, y: Array, resolution: float) -> None:
        """Use a state as that of the instant."""
        self._t, self._y, self._resolution = t, y.copy(), resolution
        self._values = self.values(t, y)
        self._rounding = self._rounding_at(t, y, self._values)
        # The error of the time moves the state by too little to be seen, so that a longer move is scaled.
        earlier = LONGER * resolution
        moved = self.values(t - earlier, y - earlier * self._rates(t, y))
        self._near = self._rounding + np.abs(moved - self._values) / LONGER

    def _probe(self, at_zero: Mask) -> None:
        """Find where the functions at zero go."""
        self._at_zero = at_zero
        self._motion, self._slopes = np.zeros((2, self.count))
        if at_zero.any():
            self._motion, self._slopes = self._motion_at(
                self._t, self._y, self._values, self._rounding
            )

    def _goes_through(self) -> Mask:
        """Which functions at zero continue to the other side, in a direction that counts."""
        return (self._motion * self.sides < 0.0) & (self.directions * self._motion >= 0.0)

    def _happen(self, now: Mask) -> list[int]:
        """Record the events that occur, and return their numbers."""
        self._happening, self._changed = now.copy(), False
        numbers = np.flatnonzero(now).tolist()
        self._left.update(dict.fromkeys(numbers, (0.0, 0.0)))
        return numbers

    def _hardly_left(self, number: int) -> bool:
        """Whether a function comes back to zero without having left it by more than the run resolves.

        A function that leaves zero with some slope and is brought back by its curvature moves away by a quarter of the
        slope times the time between the crossings.  This distance must be more than the band around zero.  The function
        must also be on its way back: if it still moves away from zero, its crossing is an error of the integration.
        """
        slope, band = self._left[number]
        if slope == 0.0:
            return False
        if 0.25 * slope * (self._t - self._last) <= band:
            return True
        return bool(self._slopes[number] * self._motion[number] * self.sides[number] > 0.0)

    def _warn_of_rest(self, happening: Mask) -> None:
        """Warn if an action stops the motion at the zero of its function while forces push it on."""
        pushed = happening & (self._slopes == 0.0) & (self._motion * self.sides < 0.0)
        for i in np.flatnonzero(pushed).tolist():
            event = self.events[i]
            if event.action is not None:
                warn(
                    f"the action of {called(event.name)} at t = {self._t:.6g} s leaves the function of the event at rest "
                    "at zero, and the forces then move it to the other side, where the event does not occur again. If it "
                    "should stay at zero, stop the run there (terminal=True) or hold the motion with a force.",
                    ModelWarning,
                )

    def _ahead(self, t: float, y: Array) -> Array:
        """The functions at a state that the motion may lead to."""
        return self.values(t, y if self.projection is None else self.projection(y))

    def _rounding_at(self, t: float, y: Array, values: Array) -> Array:
        """How much rounding may change the functions.

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

    def _motion_at(self, t: float, y: Array, values: Array, rounding: Array) -> tuple[Array, Array]:
        """The signs that the functions take just after a state, and their slopes, which are 0 if negligible.

        The signs follow from the slopes along the motion or, where these are negligible, from the curvature.

        A slope has three parts: by time, by q along its rate and by v along its rate.  Each is probed by a move of its
        own size, so that a fast change of v does not hide the part of q.
        """
        rate, nq = self._rates(t, y), self._nq
        parts = [(1.0, np.zeros_like(y)), (0.0, np.append(rate[:nq], np.zeros(len(y) - nq)))]
        parts.append((0.0, np.append(np.zeros(nq), rate[nq:])))
        sizes = [1.0, *(np.abs(x).max(initial=0.0) for x in (rate[:nq], rate[nq:]))]
        scales = [1.0, *(max(1.0, np.abs(x).max(initial=0.0)) for x in (y[:nq], y[nq:]))]
        signs, slopes = np.zeros((2, self.count))

        def probed(probe: float) -> tuple[Array, Array]:
            slope, error = np.zeros((2, self.count))
            for (by_time, along), size, scale in zip(parts, sizes, scales):
                if size > 0.0:
                    dt = min(probe * NUDGE * scale / size, self._longest)
                    dt = max(dt, by_time * 1024.0 * np.spacing(abs(t)))  # it must change the time
                    ahead = self._ahead(t + by_time * dt, y + dt * along)
                    behind = self._ahead(t - by_time * dt, y - dt * along)
                    slope += (ahead - behind) / (2.0 * dt)
                    error += np.where(ahead == behind, 0.0, rounding / dt)
            return slope, error

        for probe in PROBES:
            slope, error = probed(probe)
            clear = (signs == 0.0) & (np.abs(slope) > error)
            if probe == PROBES[-1] and clear.any():
                # Of so long a move, the third derivative of a function may be more than its slope; half of it shows.
                halved, _ = probed(0.5 * probe)
                clear &= np.abs(slope) > error + 2.0 * np.abs(slope - halved)
            signs[clear], slopes[clear] = np.sign(slope[clear]), np.abs(slope[clear])
        largest = max(size / scale for size, scale in zip(sizes[1:], scales[1:]))
        for dt in (
            np.array(PROBES)
            / PROBES[-1]
            * min(PROBES[-1] * NUDGE / max(largest, 1e-30), self._longest)
        ):
            if signs.all():
                break
            middle = self._rates(t + 0.5 * dt, y + 0.5 * dt * rate)
            change = self._ahead(t + dt, y + dt * middle) - values
            clear = (signs == 0.0) & (np.abs(change) > rounding)
            signs[clear] = np.sign(change[clear])
        return signs, slopes


def _value(event: Event, t: float, q: Array, v: Array) -> float:
    """The value of an event function, which must be one finite number."""
    value = np.asarray(event.function(t, q, v))  # type: ignore[operator]
    if value.dtype.kind == "b":
        raise ArgumentTypeError(
            f"the function of {called(event.name)} must return a number that crosses zero where the event occurs; at "
            f"t = {t:.6g} s it returned {shown(value)}, a truth value."
        )
    if value.dtype.kind not in "iuf" or value.size != 1 or not np.isfinite(value).all():
        raise ArgumentValueError(
            f"the function of {called(event.name)} must return one finite number; at t = {t:.6g} s it returned "
            f"{shown(value)}."
        )
    return float(value.reshape(()))
