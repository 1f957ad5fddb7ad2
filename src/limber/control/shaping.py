r"""Input shaping: commands that do not excite the vibration of a flexible system.

A shaper is a sequence of impulses of amplitudes A_i at times t_i, sum A_i = 1. The shaped command is the convolution

    y(t) = sum_i A_i x(t - t_i)

After the last impulse, the vibration of a mode (omega, zeta) relative to that of a single impulse is

    V = exp(-zeta omega t_n) |sum_i A_i exp((zeta omega + i omega_d) t_i)|,    omega_d = omega sqrt(1 - zeta^2)

(Singer & Seering, Preshaping command inputs to reduce system vibration, 1990). With K = exp(-zeta pi / sqrt(1 -
zeta^2)) and the half period pi / omega_d between the impulses, the amplitudes are proportional to

    ZV     1,  K                            V = 0
    ZVD    1,  2 K,  K^2                    V = 0 and dV/domega = 0
    EI     (1 + a),  2 (1 - a) K,  (1 + a) K^2        V = tolerance at omega, and zero on both sides of it

where a is the tolerance for an undamped mode, and a little more for a damped one (Singhose, Seering & Singer, Residual
vibration reduction using vector diagrams to generate shaped inputs, 1994). With damping, the zeros on both sides of
omega are those of modes with the same zeta omega.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline

from limber.assembly.system import System
from limber.checks import Array, array, listed, number, numbers, shown
from limber.constraints import assemble
from limber.control.joints import bodies_of, joint_places
from limber.dynamics.modes import modes
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.frozen import read_only
from limber.trajectories import Motion, Trajectory

#: Impulses whose delays differ by less than this fraction of the longest one are one.
TOGETHER = 1e-12
#: Newton steps that find when something was commanded which arrives now; they converge quadratically from a table.
STEPS, TABLE = 4, 2000


@dataclass(frozen=True, eq=False)
class Shaper:
    """A sequence of impulses. `zv`, `zvd` and `ei` make shapers, and a * b combines two of them, for several modes.

    times : (n,) s, increasing from 0.
    amplitudes : (n,), with the sum 1.
    """

    times: Array
    amplitudes: Array

    def __post_init__(self) -> None:
        times = array("times", self.times, ("n",))
        amplitudes = array("amplitudes", self.amplitudes, (len(times),))
        if not len(times) or times[0] != 0.0 or (np.diff(times) <= 0.0).any():
            raise ArgumentValueError(
                f"times must start at 0 and increase, got {shown(self.times)}."
            )
        if abs(amplitudes.sum() - 1.0) > 1e-9:
            raise ArgumentValueError(
                f"amplitudes must add up to 1, so that the command ends where it should; got {shown(self.amplitudes)}."
            )
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "amplitudes", amplitudes)
        read_only(self)

    @property
    def duration(self) -> float:
        """The time by which a shaped command is longer, s."""
        return float(self.times[-1])

    def __mul__(self, other: Any) -> Shaper:
        """Both shapers in series: the product suppresses what either of them suppresses."""
        if not isinstance(other, Shaper):
            return NotImplemented
        times = np.add.outer(self.times, other.times).ravel()
        amplitudes = np.multiply.outer(self.amplitudes, other.amplitudes).ravel()
        order = np.argsort(times, kind="stable")
        times, amplitudes = times[order], amplitudes[order]
        first = np.append(True, np.diff(times) > TOGETHER * max(times[-1], 1e-300))
        return Shaper(times[first], np.add.reduceat(amplitudes, np.flatnonzero(first)))

    def residual(self, omega: ArrayLike, damping: ArrayLike = 0.0) -> Array:
        """V of modes: the residual vibration, as a fraction of that of a single impulse.

        omega, damping : natural frequencies, rad/s, and damping ratios, of shapes that broadcast.
        """
        w, z = np.broadcast_arrays(
            numbers("omega", omega, "(...)"), numbers("damping", damping, "(...)")
        )
        pole = w[..., None] * (z[..., None] + 1j * np.sqrt(1.0 - z[..., None] ** 2))
        turned = np.exp(pole * self.times - (w * z)[..., None] * self.times[-1])
        return np.abs((self.amplitudes * turned).sum(axis=-1))

    def shaped(self, reference: Any) -> Shaped:
        """Apply this shaper to a trajectory, or to a function t -> (position, velocity, acceleration)."""
        late = [_Constant(float(t)) for t in self.times]
        return Shaped(reference, self.amplitudes, late)


def zv(omega: float, damping: float = 0.0) -> Shaper:
    """A shaper with zero vibration at a natural frequency omega, rad/s; it lasts half a period."""
    half, K = _half_period(omega, damping)
    return Shaper(np.array([0.0, half]), np.array([1.0, K]) / (1.0 + K))


def zvd(omega: float, damping: float = 0.0) -> Shaper:
    """A shaper with zero vibration, and zero derivative of it, at a natural frequency omega, rad/s; it lasts one
    period.
    """
    half, K = _half_period(omega, damping)
    return Shaper(half * np.arange(3.0), np.array([1.0, 2.0 * K, K * K]) / (1.0 + K) ** 2)


def ei(omega: float, damping: float = 0.0, tolerance: float = 0.05) -> Shaper:
    """An extra-insensitive shaper: the vibration is `tolerance` at omega, rad/s, and not much more than that in a wide
    band around it.
    """
    half, K = _half_period(omega, damping)
    V = _below_one("tolerance", tolerance)
    room = K * K - 0.25 * V * (1.0 - K) ** 2
    a = 0.25 * V * (1.0 + K) ** 2 / room if room > 0.0 else math.inf
    if a >= 1.0:
        raise ArgumentValueError(
            f"tolerance={V:g}: a mode with the damping ratio {damping:g} loses more than that in one period. Use a "
            "smaller tolerance, or zv."
        )
    amplitudes = np.array([1.0 + a, 2.0 * (1.0 - a) * K, (1.0 + a) * K * K])
    return Shaper(half * np.arange(3.0), amplitudes / amplitudes.sum())


KINDS = {"zv": zv, "zvd": zvd, "ei": ei}


def scheduled(
    kind: str, reference: Trajectory, times: ArrayLike, omega: ArrayLike, damping: ArrayLike = 0.0, **options: Any
) -> Shaped:  # fmt: skip
    """Shape a trajectory for natural frequencies that change along it, for one mode or several.

    Parameters
    ----------
    kind : "zv", "zvd" or "ei".
    reference : the trajectory.
    times : (n,) times along it, s, increasing.
    omega : (n,) or (n, modes), rad/s, the natural frequencies at these times, as `frequencies_along` returns them.
    damping : damping ratios, one number or one for each mode.
    options : of the shaper (`tolerance` for "ei").

    The command at a time s arrives in parts A_i at s + t_i(s), where the times t_i are those for the frequencies at s.
    The amplitudes depend only on the damping, so y(t) = sum_i A_i x(s_i) with s_i + t_i(s_i) = t. Half periods between
    the given times are interpolated by a cubic spline. This leaves little vibration if the frequencies change little
    within one period; for one quick motion through very different configurations, a shaper with one frequency may leave
    less.
    """
    if kind not in KINDS:
        raise ArgumentValueError(f"kind must be one of {', '.join(KINDS)}, got {shown(kind)}.")
    at = array("times", times, ("n",))
    rows = numbers("omega", omega, "(n,) or (n, modes)")
    rows = rows[:, None] if rows.ndim == 1 else rows
    if len(at) < 2 or rows.ndim != 2 or len(rows) != len(at) or (np.diff(at) <= 0.0).any():
        raise ArgumentValueError(
            f"times must be two or more increasing numbers, and omega must have a row for each; got shapes {at.shape} and "
            f"{rows.shape}."
        )
    if rows.min() <= 0.0:
        raise ArgumentValueError(f"omega must be greater than 0, got {shown(omega)}.")
    ratios = np.broadcast_to(numbers("damping", damping, "() or (modes,)"), rows.shape[1:])
    # impulses of each mode at multiples of its half period, then all combinations
    counts, amplitudes = np.zeros((1, 0)), np.ones(1)
    for ratio in ratios:
        one = KINDS[kind](math.pi, float(ratio), **options)
        halves = np.rint(one.times / one.times[1])
        counts = np.hstack(
            [np.repeat(counts, len(halves), axis=0), np.tile(halves, len(counts))[:, None]]
        )
        amplitudes = np.multiply.outer(amplitudes, one.amplitudes).ravel()
    half_periods = math.pi / (rows * np.sqrt(1.0 - ratios**2))
    return Shaped(reference, amplitudes, [_Varying(at, half_periods @ row) for row in counts])


def frequencies_along(
    system: System,
    reference: Trajectory,
    times: ArrayLike,
    count: int = 1,
    *,
    bodies: Any = None,
    locked: Any = None,
    q: ArrayLike | None = None,
) -> Array:
    """Return natural frequencies (n, count), rad/s, the lowest first, at times along a joint trajectory, for use with
    `scheduled`.

    Parameters
    ----------
    reference : the trajectory of the joints of `bodies`; bodies=None stands for all joints whose speeds are the rates
        of their coordinates.
    times : (n,) s.
    count : the number of frequencies.
    locked : bodies whose joints are held by their servos; by default those of `bodies`.
    q : (nq,) a configuration near the first one, of whose joints those of `bodies` are replaced; neutral by default. The other
        joints of a closed system follow from time to time, as `lb.assemble` finds them.
    """
    places = joint_places(system, bodies, "frequencies_along")
    names = bodies_of(system, places)
    q = system.neutral() if q is None else array("q", q, (system.nq,)).copy()
    found = []
    for t in array("times", times, ("n",)):
        position = np.ravel(reference(float(t))[0])
        if position.shape != q[places.q].shape:
            raise ArgumentValueError(
                f"reference gives {position.size} coordinates, but the joints of {listed(names)} have {q[places.q].size}. "
                "Give bodies=[...], the bodies whose joints the reference moves."
            )
        q[places.q] = position
        if system.closures:
            q = assemble(system, q, locked=names)
        omega = modes(system, q, locked=names if locked is None else locked).omega
        omega = omega[omega > 0.0]
        if len(omega) < count:
            raise ArgumentValueError(
                f"count={count}: at t = {t:g} s the system has {len(omega)} natural frequencies above zero."
            )
        found.append(omega[:count])
    return np.array(found)


class Shaped:
    """A shaped motion. Called with a time t, it returns a `Motion`, for `reference` of controllers and `motion` of
    `simulate`.

    duration : of the motion, s; None if that of the reference is not known.
    breaks : times at which the acceleration or its rate may jump.
    """

    def __init__(self, reference: Any, amplitudes: Array, delays: list):
        if not callable(reference):
            raise ArgumentTypeError(
                f"reference must be a trajectory or a function t -> (position, velocity, acceleration), got {shown(reference)}."
            )
        self.reference, self.amplitudes, self.delays = reference, amplitudes, delays
        self._parts = list(zip(amplitudes.tolist(), delays, strict=True))
        length = getattr(reference, "duration", None)
        self.duration = None
        if length is not None:
            self.duration = max(float(length) + delay.at(float(length)) for delay in delays)
        sent = np.asarray(getattr(reference, "breaks", ()), dtype=float)
        self.breaks = np.unique(
            [s + delay.at(s) for delay in delays for s in (*sent, *delay.breaks)]
        )

    def __call__(self, t: float) -> Motion:
        """Position, velocity and acceleration."""
        total: list[Any] = [0.0, 0.0, 0.0]
        for amplitude, delay in self._parts:
            s, ds, dds = delay.sent(float(t))
            x, v, a = self.reference(s)
            moved = (x, np.multiply(v, ds), np.multiply(a, ds * ds) + np.multiply(v, dds))
            total = [sum_ + amplitude * np.asarray(y) for sum_, y in zip(total, moved)]
        return Motion(*total)


class _Constant:
    """A constant delay."""

    breaks = ()

    def __init__(self, delay: float):
        self._delay = delay

    def at(self, s: float) -> float:
        return self._delay

    def sent(self, t: float) -> tuple[float, float, float]:
        """The time at which the command arriving at t was sent, and its first two derivatives with respect to t."""
        return t - self._delay, 1.0, 0.0


class _Varying:
    """A delay that is a spline in the time of the command, constant before and after."""

    def __init__(self, times: Array, delays: Array):
        self.times, self.delays = times, delays
        self._first, self._last = float(times[0]), float(times[-1])
        self.breaks = times.tolist()
        spline = CubicSpline(times, delays, bc_type="clamped")
        self._spline, self._slope, self._curve = spline, spline.derivative(1), spline.derivative(2)
        self._sent = np.linspace(self._first, self._last, TABLE)
        self._arrives = self._sent + spline(self._sent)
        if (np.diff(self._arrives) <= 0.0).any():
            raise ArgumentValueError(
                "omega rises so fast along the motion that later commands would overtake earlier ones: slow the motion "
                "down, or use a shaper for a single frequency."
            )

    def at(self, s: float) -> float:
        return float(self._spline(min(max(s, self._first), self._last)))

    def sent(self, t: float) -> tuple[float, float, float]:
        """The time at which the command arriving at t was sent, and its first two derivatives with respect to t."""
        if t <= self._arrives[0] or t >= self._arrives[-1]:
            return t - self.at(self._first if t <= self._arrives[0] else self._last), 1.0, 0.0
        s = float(np.interp(t, self._arrives, self._sent))
        for _ in range(STEPS):
            s -= (s + float(self._spline(s)) - t) / (1.0 + float(self._slope(s)))
            s = min(max(s, self._first), self._last)
        ds = 1.0 / (1.0 + float(self._slope(s)))
        return s, ds, -float(self._curve(s)) * ds**3


def _half_period(omega: float, damping: float) -> tuple[float, float]:
    """pi / omega_d, and K."""
    w = number("omega", omega, above=0.0)
    z = _below_one("damping", damping)
    root = math.sqrt(1.0 - z * z)
    return math.pi / (w * root), math.exp(-z * math.pi / root)


def _below_one(name: str, given: float) -> float:
    value = number(name, given, minimum=0.0)
    if value >= 1.0:
        raise ArgumentValueError(f"{name} must be below 1, got {value:g}.")
    return value
