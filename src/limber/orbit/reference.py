"""The reference orbit over time: the motion of the point that the world frame is fixed to."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from limber.checks import Array
from limber.errors import SimulationError
from limber.integrators.context import PIECE
from limber.orbit.orbits import Orbit

#: The angle about the planet that a piece of the reference orbit covers at most, rad; that of a low orbit is 1e-8 m off then.
ANGLE = 0.02
#: Tolerance of the integration of the reference orbit.
RTOL = 1e-13


def gravity(mu: float, oblate: float, r: Array) -> Array:
    """The acceleration (..., 3) of gravity at places r (..., 3); `oblate` is `Planet.oblateness`."""
    i2 = 1.0 / np.sum(r * r, axis=-1, keepdims=True)
    i3 = i2 * np.sqrt(i2)
    z = r[..., 2:]
    factor = -mu * i3 + oblate * i3 * i2 * (15.0 * z * z * i2 - 3.0)
    return factor * r - 6.0 * oblate * i3 * i2 * z * np.array([0.0, 0.0, 1.0])


class Reference:
    """The reference orbit from one time to another; states of the same orbit at the same time are the same."""

    def __init__(self, orbit: Orbit, gravity: str, start: float, end: float):
        self._mu, self._oblate = orbit.planet.mu, orbit.planet.oblateness(gravity)
        self._epoch = orbit.epoch
        y = np.array([*orbit.position, *orbit.velocity])
        self._after = self._integrated(y, orbit.epoch, max(end, orbit.epoch), orbit.perigee_rate)
        self._before = self._integrated(y, orbit.epoch, min(start, orbit.epoch), orbit.perigee_rate)

    def _integrated(self, y: Array, epoch: float, until: float, rate: float) -> Any:
        """The solution from the epoch on to a time; its steps do not depend on that time."""
        from scipy.integrate import DOP853, OdeSolution  # noqa: PLC0415

        far = np.copysign(np.inf, until - epoch)
        size = np.concatenate(
            [np.full(3, np.linalg.norm(y[:3])), np.full(3, np.linalg.norm(y[3:]))]
        )
        solver = DOP853(
            self._rates,
            epoch,
            y,
            far,
            rtol=RTOL,
            atol=RTOL * size,
            first_step=1e-3 / rate,
            max_step=0.2 / rate,
        )
        times: list[float] = [epoch]
        parts: list[Any] = []
        while not parts or abs(times[-1] - epoch) < abs(until - epoch):
            message = solver.step()
            if solver.status == "failed":
                raise SimulationError(
                    f"the reference orbit cannot be followed beyond t = {solver.t:g} s: {message}. Does it hit the centre of the planet?"
                )
            times.append(solver.t)
            parts.append(solver.dense_output())
        return OdeSolution(times, parts)

    def _rates(self, t: float, y: Array) -> Array:
        return np.concatenate([y[3:], gravity(self._mu, self._oblate, y[:3])])

    def at(self, t: Array) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration (n, 3) at times (n,)."""
        y = np.where(t >= self._epoch, self._after(t), self._before(t)).T
        return y[:, :3], y[:, 3:], gravity(self._mu, self._oblate, y[:, :3])

    def pieces(self, start: float, end: float, rate: float) -> tuple[Array, float]:
        """The orbit in pieces of polynomials over times from `start` on, as the engine has it, and the length of a piece."""
        count = max(1, int(np.ceil((end - start) * rate / ANGLE)))
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


@lru_cache(maxsize=16)
def reference(orbit: Orbit, gravity: str, start: float, end: float) -> Reference:
    """The reference orbit between two times; runs of a batch share it."""
    return Reference(orbit, gravity, start, end)
