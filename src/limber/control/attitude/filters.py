r"""Filters that keep an attitude loop from exciting the modes of a spacecraft.

    notch       (s^2 + 2 depth width w s + w^2) / (s^2 + 2 width w s + w^2)
    low pass    w^2 / (s^2 + 2 damping w s + w^2)

A notch removes the loop gain at one mode, over a band of 2 width w; a low pass attenuates all modes above w (gain
stabilization). Both cost phase below w: about 2 width W / w and 2 damping W / w radians at a frequency W well below w.
They are discretized by the trapezoidal rule with s = w / tan(w T / 2) (z - 1) / (z + 1), which preserves w.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, number, numbers, whole
from limber.dynamics.evaluate import check_system
from limber.dynamics.modes import modes
from limber.errors import ArgumentValueError


@dataclass(frozen=True)
class SecondOrder:
    """A filter (b2 s^2 + b1 s + b0) / (s^2 + a1 s + a0); made by `notch` and `low_pass`.

    omega : the frequency at which the response is preserved when the filter is sampled, rad/s.
    """

    b2: float
    b1: float
    b0: float
    a1: float
    a0: float
    omega: float

    def response(self, omega: ArrayLike) -> np.ndarray:
        """The complex gain at frequencies, rad/s."""
        s = 1j * numbers("omega", omega, "(...)")
        return (self.b2 * s * s + self.b1 * s + self.b0) / (s * s + self.a1 * s + self.a0)

    def sampled(self, sample_time: float) -> tuple[Array, Array, Array, float]:
        """A (2, 2), B (2,), C (2,), D of x <- A x + B u, y = C x + D u, by the trapezoidal rule."""
        half = 0.5 * self.omega * sample_time
        if half >= 0.5 * math.pi:
            raise ArgumentValueError(
                f"a filter at {self.omega:g} rad/s cannot run every {sample_time:g} s: its frequency must be below "
                f"{math.pi / sample_time:.4g} rad/s, half the sample rate. Sample faster, or leave the filter out."
            )
        k = self.omega / math.tan(half)
        scale = k * k + self.a1 * k + self.a0
        a1, a2 = 2.0 * (self.a0 - k * k) / scale, (k * k - self.a1 * k + self.a0) / scale
        b0 = (self.b2 * k * k + self.b1 * k + self.b0) / scale
        b1 = 2.0 * (self.b0 - self.b2 * k * k) / scale
        b2 = (self.b2 * k * k - self.b1 * k + self.b0) / scale
        A = np.array([[-a1, -a2], [1.0, 0.0]])
        return A, np.array([1.0, 0.0]), np.array([b1 - b0 * a1, b2 - b0 * a2]), b0


def notch(omega: float, width: float = 0.5, depth: float = 0.05) -> SecondOrder:
    """Make a notch filter at omega, rad/s.

    width : damping ratio of the denominator; the gain is below 0.7 over about 2 width omega.
    depth : the gain at omega.
    """
    w = number("omega", omega, above=0.0)
    z, d = number("width", width, above=0.0), number("depth", depth, minimum=0.0)
    return SecondOrder(1.0, 2.0 * d * z * w, w * w, 2.0 * z * w, w * w, w)


def low_pass(omega: float, damping: float = 0.7) -> SecondOrder:
    """Make a second-order low-pass filter with the cutoff omega, rad/s."""
    w, z = number("omega", omega, above=0.0), number("damping", damping, above=0.0)
    return SecondOrder(0.0, 0.0, w * w, 2.0 * z * w, w * w, w)


def notches(
    system: System, hub: str, count: int = 1, *, q: ArrayLike | None = None, width: float = 0.5, depth: float = 0.05
) -> tuple[SecondOrder, ...]:  # fmt: skip
    """Make notches at the modes of a floating system that hub torques excite most, by their peaks in the hub rate.

    Parameters
    ----------
    hub : the body on which torques act and whose rate is measured.
    count : the number of notches.
    q : the configuration; neutral by default.
    width, depth : of each notch.

    With the mode shape scaled to v^T M v = 1, a mode has the peak |rotation of the hub|^2 / (2 damping omega); an
    undamped mode is given the damping ratio 0.001.
    """
    count = whole("count", count, minimum=1)
    found = hub_modes(system, hub, q)
    if len(found) < count:
        raise ArgumentValueError(
            f"count={count}: {system.name!r} has {len(found)} modes with a frequency above zero."
        )
    return tuple(notch(omega, width, depth) for omega, _ in found[:count])


def hub_modes(system: System, hub: str, q: ArrayLike | None = None) -> list[tuple[float, float]]:
    """(omega, peak) of the modes of a floating system, with the largest peak in the hub rate first."""
    check_system(system)
    system.number(hub, "hub")
    found = modes(system, system.neutral() if q is None else q)
    turn = found.shapes[system.layout[hub].v_joint][:3]
    listed = []
    for i, omega in enumerate(found.omega):
        if omega > 0.0:
            damping = max(float(found.damping[i]), 1e-3)
            peak = float(np.sum(np.abs(turn[:, i]) ** 2)) / (2.0 * damping * omega)
            listed.append((float(omega), peak))
    return sorted(listed, key=lambda mode: -mode[1])


class FilterBank:
    """Filters in series on each of three axes, as a program runs them."""

    def __init__(self, filters: tuple[SecondOrder, ...], sample_time: float):
        self._parts = [each.sampled(sample_time) for each in filters]
        self.reset()

    def reset(self) -> None:
        """Reset the filters to rest."""
        self._states = [np.zeros((2, 3)) for _ in self._parts]

    def step(self, u: Array) -> Array:
        """Filter the numbers of one sample."""
        for i, (A, B, C, D) in enumerate(self._parts):
            x = self._states[i]
            y = C @ x + D * u
            self._states[i] = A @ x + np.outer(B, u)
            u = y
        return u

    def matrices(self) -> tuple[Array, Array, Array, Array]:
        """A, B, C, D of all filters on three axes."""
        A, B, C, D = np.zeros((0, 0)), np.zeros((0, 1)), np.zeros((1, 0)), np.ones((1, 1))
        for A2, B2, C2, D2 in self._parts:
            n = len(A)
            A = np.block([[A, np.zeros((n, 2))], [np.outer(B2, C), A2]])
            B = np.vstack([B, np.outer(B2, D)])
            C = np.hstack([D2 * C, C2[None]])
            D = D2 * D
        return tuple(np.kron(x, np.eye(3)) for x in (A, B, C, D))  # type: ignore[return-value]
