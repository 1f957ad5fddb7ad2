"""The common part of sensors: rate, delay, noise, bias, quantization, range.

A reading is made in this order: exact value, bias, noise, range, quantization. It arrives `delay` later.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, array, finite_numbers, number, numbers, shown
from limber.control.noise import NormalNumbers
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.frozen import Frozen
from limber.simulation.sampled import Plant

if TYPE_CHECKING:
    from limber.orbit.field import Field


#: Times are equal if they differ by no more than this, s, or by this many units of their last digit.
SAME_TIME, ROUNDING = 1e-12, 8.0
#: Times (from, until), s.
Spans = Sequence[tuple[float, float]]


class Instant:
    """The exact state at a sample, which sensors read; accelerations are computed on request."""

    def __init__(self, t: float, q: Array, v: Array, plant: Plant | None):
        self.t, self.q, self.v, self._plant = t, q, v, plant

    @cached_property
    def vdot(self) -> Array:
        """The rates of the speeds under the torques just before this sample."""
        assert self._plant is not None
        return self._plant.rates(self.t, np.concatenate([self.q, self.v]))[len(self.q) :]

    @property
    def system(self) -> System:
        """The system with its present closures."""
        assert self._plant is not None
        return self._plant.system

    @property
    def field(self) -> Field | None:
        """The forces of the environment; None if there is none."""
        return None if self._plant is None else self._plant.field

    @cached_property
    def tau(self) -> Array:
        """The generalized forces of torques and prescribed motions just before this sample."""
        assert self._plant is not None
        _ = self.vdot  # this brings them up to date
        return np.array(self._plant.torque())

    @cached_property
    def wrenches(self) -> dict[tuple, Array]:
        """The external wrenches."""
        assert self._plant is not None
        _ = self.vdot  # this brings them up to date
        return {key: np.array(wrench) for key, wrench in self._plant.wrenches().items()}


@dataclass(frozen=True)
class Reader:
    """A sensor on a system: its exact reading, and the meaning of the numbers.

    read : the exact reading (width,) at an instant.
    labels, unit : of its numbers.
    errors : the number of independent errors of a reading; its width, except for attitudes.
    q, v : the places in the state that its numbers are readings of, or None.
    rates : the places in v of the rates of coordinates that it reads, or None.
    """

    read: Callable[[Instant], Array]
    labels: tuple[str, ...]
    unit: str
    errors: int
    q: np.ndarray | None = None
    v: np.ndarray | None = None
    rates: np.ndarray | None = None


class Sensor(Frozen):
    """The base class of sensors.

    Parameters
    ----------
    name : by which controllers find its readings.
    rate : sample rate, Hz.
    delay : from the sample to the arrival of the reading, s.
    noise_density : of white noise, unit/sqrt(Hz), such that the integral of the noise over a time T has the variance
        noise_density^2 T (the random walk of IEEE 952); a sample has the standard deviation noise_density sqrt(rate).
    noise : standard deviation of additional noise in a sample, independent of the rate.
    bias : constant error.
    bias_walk : random walk of the bias, unit/sqrt(s): its variance grows by bias_walk^2 per second.
    quantization : resolution of the readings.
    range : the largest reading; larger ones are clipped.
    seed : of the noise and of the random walk; a `Loop` may give one seed to all of its sensors instead.
    outages : ((from, until), ...), intervals in s during which readings are lost: the sensor sends nothing.
    failures : ((from, until), ...), intervals in s during which readings are nan.

    noise, bias and so on may be one number, or one for each number of the reading.
    """

    def __init__(
        self,
        name: str,
        *,
        rate: float,
        delay: float = 0.0,
        noise_density: ArrayLike = 0.0,
        noise: ArrayLike = 0.0,
        bias: ArrayLike = 0.0,
        bias_walk: ArrayLike = 0.0,
        quantization: ArrayLike = 0.0,
        range: ArrayLike = math.inf,
        seed: int | None = None,
        outages: Sequence[tuple[float, float]] = (),
        failures: Sequence[tuple[float, float]] = (),
    ):
        if not isinstance(name, str) or not name:
            raise ArgumentTypeError(
                f"name of a sensor must be a non-empty string, got {shown(name)}."
            )
        self.name = name
        self.rate = number(f"rate of sensor {name!r}", rate, above=0.0)
        self.delay = number(f"delay of sensor {name!r}", delay, minimum=0.0)
        for what, given in (
            ("noise_density", noise_density),
            ("noise", noise),
            ("bias_walk", bias_walk),
            ("quantization", quantization),
        ):
            setattr(self, what, _not_negative(f"{what} of sensor {name!r}", given))
        self.bias = finite_numbers(f"bias of sensor {name!r}", bias, "() or (width,)")
        limit = numbers(f"range of sensor {name!r}", range, "() or (width,)")
        if np.isnan(limit).any() or (limit <= 0.0).any():
            raise ArgumentValueError(
                f"range of sensor {name!r} must be greater than 0, got {shown(range)}."
            )
        self.range = limit
        self.seed = checked_seed(f"seed of sensor {name!r}", seed)
        self.outages = intervals(f"outages of sensor {name!r}", outages)
        self.failures = intervals(f"failures of sensor {name!r}", failures)

    noise_density: Array
    noise: Array
    bias_walk: Array
    quantization: Array

    @property
    def random(self) -> bool:
        """Whether its readings have a random part."""
        return bool(self.noise_density.any() or self.noise.any() or self.bias_walk.any())

    def reader(self, system: System) -> Reader:
        """The sensor on a system; names are checked here."""
        raise NotImplementedError

    def disturbed(self, exact: Array, error: Array) -> Array:
        """Add the error to the exact reading."""
        return exact + error

    def difference(self, reading: Array, exact: Array) -> Array:
        """The error that makes this reading of the exact one."""
        return reading - exact

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.rate:g} Hz)"


class Measurement:
    """A sensor during one run, which makes its readings with the noise of each sample."""

    def __init__(self, sensor: Sensor, reader: Reader, seed: int | None):
        self.sensor, self.reader = sensor, reader
        width, owner = reader.errors, f"of sensor {sensor.name!r}"

        def spread(what: str, given: Array) -> Array:
            if given.ndim > 1 or given.size not in (1, width):
                raise ArgumentValueError(
                    f"{what} {owner} must be one number or {width}, one for each of {', '.join(reader.labels[-width:])}; got "
                    f"{shown(given)}."
                )
            return np.broadcast_to(given, (width,)).astype(float)

        density, single = (
            spread("noise_density", sensor.noise_density),
            spread("noise", sensor.noise),
        )
        self._sigma = np.sqrt(density**2 * sensor.rate + single**2)
        self._walk = spread("bias_walk", sensor.bias_walk) / math.sqrt(sensor.rate)
        self._bias = spread("bias", sensor.bias).copy()
        self._step = spread("quantization", sensor.quantization)
        self._limit = spread("range", sensor.range)
        self._noisy, self._walks = bool(self._sigma.any()), bool(self._walk.any())
        self._erring = self._noisy or self._walks or bool(self._bias.any())
        self._cut, self._rounded = bool(np.isfinite(self._limit).any()), bool(self._step.any())
        self._all_rounded = bool(self._step.all())
        self._safe_step = np.where(self._step > 0.0, self._step, 1.0)
        seed = sensor.seed if sensor.seed is not None else seed
        if sensor.random and seed is None:
            raise ArgumentValueError(
                f"sensor {sensor.name!r} has noise but no seed: give the sensor or the Loop seed=..., so that the run can "
                "be repeated."
            )
        if sensor.random:
            assert seed is not None
            self._noise = NormalNumbers(seed, f"noise of {sensor.name}", width)
            self._steps = NormalNumbers(seed, f"walk of {sensor.name}", width)

    def sample(self, number: int, instant: Instant) -> Array | None:
        """The reading of a sample, counted from 0; None if it is lost."""
        sensor, t = self.sensor, instant.t
        if self._walks and number:
            self._bias = self._bias + self._walk * self._steps.at(number)
        if within(sensor.outages, t):
            return None
        value = self.reader.read(instant)
        if self._erring:
            error = self._bias
            if self._noisy:
                error = error + self._sigma * self._noise.at(number)
            value = sensor.disturbed(value, error)
        if self._cut:
            value = np.minimum(np.maximum(value, -self._limit), self._limit)
        if self._rounded:
            rounded = self._safe_step * np.rint(value / self._safe_step)
            value = rounded if self._all_rounded else np.where(self._step > 0.0, rounded, value)
        if within(sensor.failures, t):
            value = np.full_like(value, math.nan)
        return value


def several(bodies: Any) -> Any:
    """Names of bodies that can be read several times: a tuple, one name or None; anything else is rejected where it is used."""
    return tuple(bodies) if isinstance(bodies, Iterable) and not isinstance(bodies, str) else bodies


def checked_seed(name: str, seed: Any) -> int | None:
    """Check a seed: None, or a whole number."""
    if seed is None:
        return None
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ArgumentTypeError(f"{name} must be a whole number of at least 0, got {shown(seed)}.")
    return int(seed)


def _not_negative(name: str, given: ArrayLike) -> Array:
    values = finite_numbers(name, given, "() or (width,)")
    if values.min(initial=0.0) < 0.0:
        raise ArgumentValueError(f"{name} must not be negative, got {shown(given)}.")
    return values


def close_times(t: float) -> float:
    """The difference below which two times near t count as equal."""
    return max(SAME_TIME, ROUNDING * math.ulp(t))


def within(spans: Spans, t: float) -> bool:
    """Whether a time is within the given spans, each from its start until just before its end, up to rounding."""
    close = close_times(t) if spans else 0.0
    return any(first - close <= t < last - close for first, last in spans)


def intervals(name: str, given: Any) -> tuple[tuple[float, float], ...]:
    """Check intervals (from, until)."""
    if hasattr(given, "__len__") and not len(given):
        return ()
    rows = array(name, given, ("n", 2), "Each interval is (from, until), in s.")
    for first, last in rows:
        if last <= first:
            raise ArgumentValueError(
                f"{name} has the interval ({first:g}, {last:g}), which does not end after it begins: each interval is "
                "(from, until), in s."
            )
    return tuple((float(first), float(last)) for first, last in rows)
