"""Quintic polynomials between given positions, velocities and accelerations."""

from __future__ import annotations

from numpy.typing import ArrayLike

from limber.checks import Array, number
from limber.trajectories.base import Trajectory, alike
from limber.trajectories.pieces import piece


class Quintic(Trajectory):
    """The polynomial of degree five with given position, velocity and acceleration at both ends.

    Parameters
    ----------
    start, end : positions.
    duration : one for all joints.
    start_velocity, end_velocity, start_acceleration, end_acceleration : zero by default.

    With all of them zero, position, velocity and acceleration are continuous at all times.
    """

    def __init__(
        self,
        start: ArrayLike,
        end: ArrayLike,
        duration: float,
        *,
        start_velocity: ArrayLike = 0.0,
        end_velocity: ArrayLike = 0.0,
        start_acceleration: ArrayLike = 0.0,
        end_acceleration: ArrayLike = 0.0,
    ):
        T = self.duration = number("duration", duration, above=0.0)
        self.shape, x = alike(
            start=start,
            end=end,
            start_velocity=start_velocity,
            end_velocity=end_velocity,
            start_acceleration=start_acceleration,
            end_acceleration=end_acceleration,
        )
        start_at, end_at = (
            (x[name], x[f"{name}_velocity"], x[f"{name}_acceleration"]) for name in ("start", "end")
        )
        # from either end to the middle, so that both ends are exact
        pieces = [
            piece(0.0, start_at[:2]),
            piece(0.0, quintic_coefficients(start_at, end_at, T)),
            piece(T, quintic_coefficients(end_at, start_at, -T)),
            piece(T, end_at[:2]),
        ]
        self._finish([0.0, T], [0.0, 0.5 * T, T], pieces)


def quintic_coefficients(
    here: tuple[Array, ...], there: tuple[Array, ...], T: float
) -> list[Array]:
    """The polynomial in t with a given position, velocity and acceleration at t = 0 and at t = T."""
    (p0, v0, a0), (p1, v1, a1) = here, there
    d = p1 - p0
    return [
        p0,
        v0,
        0.5 * a0,
        (10.0 * d / T - 6.0 * v0 - 4.0 * v1 - (1.5 * a0 - 0.5 * a1) * T) / T**2,
        (-15.0 * d / T + 8.0 * v0 + 7.0 * v1 + (1.5 * a0 - a1) * T) / T**3,
        (6.0 * d / T - 3.0 * (v0 + v1) + 0.5 * (a1 - a0) * T) / T**4,
    ]
