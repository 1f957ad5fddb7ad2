r"""Readings of sensors as filters expect them, with their derivatives and their noise.

A reading is h(q, v, tau). Its derivatives H with respect to x, [dq, dv] = T x, are those of the coordinates and speeds
that it reads, or central differences. Accelerometers and force-torque sensors also depend on the generalized forces tau,
by the derivatives J; readings are linear in tau. A star tracker differs from what is expected by a rotation.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from limber.assembly.system import System
from limber.checks import Array, listed, numbers, shown, suggestion
from limber.control.filter_noise import reading_deviation, spread
from limber.control.joints import not_plain
from limber.control.sensors import (
    Accelerometer,
    Encoder,
    ForceTorque,
    Gyro,
    StarTracker,
    StrainGauge,
    Tachometer,
)
from limber.control.sensors.base import Instant
from limber.dynamics import forward_dynamics, integrate
from limber.dynamics.difference import rotation_between
from limber.errors import ArgumentTypeError, ArgumentValueError

#: Sensors whose readings depend on q and v alone, and those whose readings also depend on the generalized forces.
BY_STATE = (Encoder, Tachometer, Gyro, StrainGauge, StarTracker)
BY_FORCES = (Accelerometer, ForceTorque)
#: Derivatives of readings are central differences with this step.
STEP = 1e-6


class Expected(Instant):
    """A state of the model, with the generalized forces tau, that sensors can read."""

    def __init__(self, system: System, q: Array, v: Array, tau: Array):
        super().__init__(0.0, q, v, None)
        self._model, self._tau = system, tau

    @cached_property
    def vdot(self) -> Array:
        """The rates of the speeds."""
        return forward_dynamics(self._model, self.q, self.v, self._tau)

    @property
    def system(self) -> System:
        """The model."""
        return self._model

    @property
    def tau(self) -> Array:  # type: ignore[override]
        """The generalized forces."""
        return self._tau

    @property
    def wrenches(self) -> dict[tuple, Array]:  # type: ignore[override]
        """The external wrenches: none."""
        return {}


class FilterSensor:
    """A sensor that a filter takes.

    deviation : (errors,) of the noise of a reading.
    forced : whether its readings depend on the generalized forces.
    bias, walk : (errors,) deviation of the unknown bias, and its random walk; None if no bias is estimated.
    """

    def __init__(
        self, system: System, sensor: Any, noise: Mapping[str, Any], biases: Mapping[str, Any]
    ):
        self._system, self.sensor, self.name = system, sensor, sensor.name
        self.reader = sensor.reader(system)
        errors = self.reader.errors
        self.deviation = reading_deviation(sensor, errors, noise)
        self.forced = not isinstance(sensor, BY_STATE)
        self.bias: Array | None = None
        if sensor.name in biases:
            given = numbers(f"bias[{sensor.name!r}]", biases[sensor.name], "() or (width,)")
            if not (given >= 0.0).all():
                raise ArgumentValueError(
                    f"Kalman: bias[{sensor.name!r}] must be a standard deviation that is not negative, got {shown(given)}."
                )
            self.bias = spread(f"bias[{sensor.name!r}]", given, errors)
            self.walk = spread(f"bias_walk of sensor {sensor.name!r}", sensor.bias_walk, errors)

    def __getstate__(self) -> dict[str, Any]:
        # The reader is a function of the system, which is made again.
        return {key: value for key, value in vars(self).items() if key != "reader"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.reader = self.sensor.reader(self._system)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the errors of a reading."""
        found = tuple(self.reader.labels)
        return found if len(found) == self.reader.errors else ("x", "y", "z")

    def difference(self, reading: Array, expected: Array, far: bool = False) -> Array:
        """The error (errors,) that makes one reading of another.

        far : whether these are readings in states that may be far apart; rotations are then rotation vectors, for
            joints with quaternions.
        """
        if far and isinstance(self.sensor, StarTracker) and not_plain(self._system):
            return rotation_between(expected, reading)
        return self.sensor.difference(reading, expected)

    def slopes(self, q: Array, v: Array, tau: Array, T: Array) -> tuple[Array, Array]:
        """H, where [dq, dv] = T x, and the expected reading."""
        s, reader, nv = self._system, self.reader, self._system.nv
        h = np.asarray(reader.read(Expected(s, q, v, tau)))
        if reader.rates is not None:
            return T[reader.rates], h
        if reader.v is not None:
            return T[nv + reader.v], h
        H = np.zeros((reader.errors, T.shape[1]))
        for i, direction in enumerate(T.T):
            dq, dv = STEP * direction[:nv], STEP * direction[nv:]
            up, down = (
                reader.read(Expected(s, integrate(s, q, sign * dq, 1.0), v + sign * dv, tau))
                for sign in (1.0, -1.0)
            )
            H[:, i] = self.difference(up, down) / (2.0 * STEP)
        return H, h

    def by_torques(self, q: Array, v: Array, tau: Array) -> Array:
        """J (errors, nv)."""
        s, nv = self._system, self._system.nv
        J = np.zeros((self.reader.errors, nv))
        if self.forced:
            for i, unit in enumerate(np.eye(nv)):
                up, down = (self.reader.read(Expected(s, q, v, tau + e)) for e in (unit, -unit))
                J[:, i] = 0.5 * self.difference(up, down)
        return J


def sensors_of(
    loop: Any, taken: Any, noise: Mapping[str, Any], biases: Mapping[str, Any]
) -> list[FilterSensor]:
    """The sensors of a loop that a filter takes: those with the names `taken`, or all that it knows."""
    everything = [sensor.name for sensor in loop.sensors]
    if taken is None:
        found = [x for x in loop.sensors if isinstance(x, BY_STATE + BY_FORCES)]
    else:
        if isinstance(taken, str) or not all(isinstance(name, str) for name in taken):
            raise ArgumentTypeError(
                f"Kalman: sensors must be names such as ['encoder', 'gyro'], got {shown(taken)}."
            )
        for name in taken:
            if name not in everything:
                raise ArgumentValueError(
                    f"Kalman: sensors has {shown(name)}, which is not in the loop.{suggestion(name, everything)} Its sensors are: "
                    f"{listed(everything)}."
                )
        found = [x for x in loop.sensors if x.name in set(taken)]
        if not found:
            raise ArgumentValueError(
                f"Kalman: sensors is empty: name some of {listed(everything)}, or leave it out."
            )
    if not found:
        raise ArgumentValueError(
            "Kalman: it takes readings of Encoder, Tachometer, Gyro, Accelerometer, StrainGauge, ForceTorque and StarTracker, and "
            "the loop has none of these."
        )
    names = [sensor.name for sensor in found]
    for argument, given in (("noise", noise), ("bias", biases)):
        for name in given:
            if name not in names:
                raise ArgumentValueError(
                    f"Kalman: {argument} has {shown(name)}, which is not a sensor that the filter takes.{suggestion(str(name), names)} "
                    f"These are: {listed(names)}."
                )
    return [FilterSensor(loop.system, sensor, noise, biases) for sensor in found]


def loads_of(system: System, given: Mapping[str, Any]) -> tuple[np.ndarray, Array]:
    """The places in v of loads that a filter estimates, and the densities of their random walks."""
    places: list[int] = []
    densities: list[float] = []
    for body, density in given.items():
        system.number(body, "Kalman: load: body")
        where = system.layout[body].v_joint
        here = range(where.start, where.stop)
        walk = numbers(f"load[{body!r}]", density, "() or (speeds,)")
        if not (walk > 0.0).all() or not here:
            raise ArgumentValueError(
                f"Kalman: load[{body!r}] must be the density of a random walk above zero, for a body on a joint that moves; got {shown(density)}."
            )
        places += here
        densities += spread(f"load[{body!r}]", walk, len(here)).tolist()
    return np.array(places, dtype=int), np.array(densities)


def bias_places(sensors: list[FilterSensor]) -> tuple[dict[str, np.ndarray], Array, Array]:
    """The places of the biases of sensors among all of them, with their first deviations and random walks."""
    places, deviations, walks = {}, [np.zeros(0)], [np.zeros(0)]
    for sensor in sensors:
        if sensor.bias is not None:
            begin = sum(map(len, deviations))
            places[sensor.name] = np.arange(begin, begin + len(sensor.bias))
            deviations.append(sensor.bias)
            walks.append(sensor.walk)
    return places, np.concatenate(deviations), np.concatenate(walks)
