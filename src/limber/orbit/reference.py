"""The reference orbit over time: the motion of the point to which the world frame is fixed."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from limber import forks
from limber.checks import Array
from limber.errors import ArgumentValueError, SimulationError
from limber.integrators.context import PIECE
from limber.orbit.orbits import Orbit

#: The angle about the planet that a piece of the reference orbit covers at most, rad; that of a low orbit is 1e-8 m off then.
ANGLE = 0.02
#: Tolerance of the integration of the reference orbit, and the angle that one of its steps covers at most, rad.
RTOL, STEP = 1e-13, 0.2
#: The orbit is followed for so many revolutions from its epoch on, which takes about a minute.
MOST_REVOLUTIONS = 10_000
#: A run has so many pieces of the orbit at most, about half a gigabyte.
MOST_PIECES = 4_000_000

_extending = forks.lock()


def gravity(mu: float, oblate: float, r: Array) -> Array:
    """The acceleration (..., 3) of gravity at places r (..., 3); `oblate` is `Planet.oblateness`."""
    i2 = 1.0 / np.sum(r * r, axis=-1, keepdims=True)
    i3 = i2 * np.sqrt(i2)
    z = r[..., 2:]
    factor = -mu * i3 + oblate * i3 * i2 * (15.0 * z * z * i2 - 3.0)
    return factor * r - 6.0 * oblate * i3 * i2 * z * np.array([0.0, 0.0, 1.0])


class Way:
    """The reference orbit from its epoch on in one direction of time, as far as it has been needed.

    Its steps do not depend on how far that is, so states at the same time are always the same.
    """

    def __init__(self, mu: float, oblate: float, epoch: float, y: Array, direction: float):
        from scipy.integrate import DOP853, OdeSolution  # noqa: PLC0415

        self._mu, self._oblate, self._solution = mu, oblate, OdeSolution
        sizes = [np.linalg.norm(y[:3])] * 3 + [np.linalg.norm(y[3:])] * 3
        far, first = np.copysign(np.inf, direction), 1e-3 / self.rate(y)
        self._solver = DOP853(
            self._rates, epoch, y, far, rtol=RTOL, atol=RTOL * np.array(sizes), first_step=first
        )
        #: the ends of the steps, the states there, and the polynomials between them
        self._times: list[float] = [epoch]
        self._states: list[Array] = [y]
        self._parts: list[Any] = []
        self._whole: Any = None

    def rate(self, state: Array) -> float:
        """An estimate of how fast the orbit turns or falls at a state, rad/s."""
        x, y, z, u, v, w = state.tolist()
        r2 = x * x + y * y + z * z
        h = math.hypot(y * w - z * v, z * u - x * w, x * v - y * u)
        return max(h / r2, math.sqrt(self._mu / r2**1.5))

    def until(self, t: float) -> Any:
        """The solution up to the time t at least."""
        epoch, solver = self._times[0], self._solver
        with _extending:
            while not self._parts or abs(self._times[-1] - epoch) < abs(t - epoch):
                solver.max_step = STEP / self.rate(solver.y)
                message = solver.step()
                if solver.status == "failed":
                    raise SimulationError(
                        f"the reference orbit cannot be followed beyond t = {solver.t:g} s: {message}. Does it hit the centre of the planet?"
                    )
                self._times.append(solver.t)
                self._states.append(solver.y)
                self._parts.append(solver.dense_output())
                self._whole = None
            if self._whole is None:
                self._whole = self._solution(self._times, self._parts)
            return self._whole

    def fastest(self, start: float, end: float) -> float:
        """The largest rate between two times, rad/s; `until` must have reached them."""
        times = np.abs(np.array(self._times) - self._times[0])
        near, far = sorted(abs(t - self._times[0]) for t in (start, end))
        # with a step more on both sides, as the largest rate may be between two steps
        first = max(int(np.searchsorted(times, near, "right")) - 2, 0)
        last = int(np.searchsorted(times, far, "left")) + 2
        return max(map(self.rate, self._states[first:last]))

    def _rates(self, t: float, state: Array) -> Array:
        """The rates of position and velocity: `gravity` in single numbers, which is several times as fast for one place."""
        x, y, z, u, v, w = state.tolist()
        i2 = 1.0 / (x * x + y * y + z * z)
        i3 = i2 * math.sqrt(i2)
        flat = self._oblate * i3 * i2
        factor = -self._mu * i3 + flat * (15.0 * z * z * i2 - 3.0)
        return np.array([u, v, w, factor * x, factor * y, (factor - 6.0 * flat) * z])


class Reference:
    """The reference orbit; states of the same orbit at the same time are the same."""

    def __init__(self, orbit: Orbit, gravity: str):
        self._mu, self._oblate = orbit.planet.mu, orbit.planet.oblateness(gravity)
        self._epoch, self._period = orbit.epoch, orbit.period
        y = np.array([*orbit.position, *orbit.velocity])
        given = self._mu, self._oblate, self._epoch, y
        self._before, self._after = Way(*given, -1.0), Way(*given, 1.0)

    def at(self, t: Array) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration (n, 3) at times (n,)."""
        y = np.empty((len(t), 6))
        for way, here in ((self._after, t >= self._epoch), (self._before, t < self._epoch)):
            if here.any():
                times = t[here]
                furthest = times[np.argmax(np.abs(times - self._epoch))]
                self._refuse_far(float(furthest))
                y[here] = way.until(float(furthest))(times).T
        return y[:, :3], y[:, 3:], gravity(self._mu, self._oblate, y[:, :3])

    def pieces(self, start: float, end: float) -> tuple[Array, float]:
        """The orbit in pieces of polynomials over times from `start` on, for the engine, and their length."""
        self.at(np.array([start, end]))  # the orbit is known over the run from here on
        rates = []
        if end >= self._epoch:
            rates.append(self._after.fastest(max(start, self._epoch), end))
        if start < self._epoch:
            rates.append(self._before.fastest(start, min(end, self._epoch)))
        needed = (end - start) * max(rates) / ANGLE
        if not needed <= MOST_PIECES:
            raise ArgumentValueError(
                f"environment: the reference orbit from t = {start:g} to {end:g} s turns by as much as {max(rates):.3g} "
                f"rad/s, and would need {needed:.1e} pieces of {ANGLE} rad; the maximum is {MOST_PIECES:.0e}. Use a "
                "shorter run, or an orbit that stays farther from the centre of the planet."
            )
        count = max(1, int(np.ceil(needed)))
        length = (end - start) / count
        r, v, a = self.at(np.linspace(start, end, count + 1))
        v, a = v * length, a * length**2
        r0, v0, a0, r1, v1, a1 = r[:-1], v[:-1], a[:-1], r[1:], v[1:], a[1:]
        # The polynomials of degree 5 that have these values, slopes and second derivatives at both ends.
        d = r1 - r0 - v0 - 0.5 * a0
        e = v1 - v0 - a0
        f = a1 - a0
        parts = [
            r0, v0, 0.5 * a0, 10.0 * d - 4.0 * e + 0.5 * f, -15.0 * d + 7.0 * e - f, 6.0 * d - 3.0 * e + 0.5 * f
        ]  # fmt: skip
        return np.ascontiguousarray(np.stack(parts, axis=-1).reshape(count, PIECE)), length

    def _refuse_far(self, t: float) -> None:
        """Reject times so far from the epoch that computing the orbit would take hours."""
        revolutions = abs(t - self._epoch) / self._period
        if revolutions > MOST_REVOLUTIONS:
            raise ArgumentValueError(
                f"environment: t = {t:g} s is {revolutions:.3g} revolutions away from the epoch of the orbit, "
                f"{self._epoch:g} s; it can be followed over at most {MOST_REVOLUTIONS}. Give the orbit at an epoch near "
                "the run, as in "
                f"lb.orbit.circular(..., epoch={t:g})."
            )


@lru_cache(maxsize=16)
def reference(orbit: Orbit, gravity: str) -> Reference:
    """The reference orbit; all users share what has been computed."""
    return Reference(orbit, gravity)
