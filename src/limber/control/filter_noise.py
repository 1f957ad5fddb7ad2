"""The noise of sensors as filters take it into account."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from limber.checks import Array, numbers, shown
from limber.control.sensors.base import Sensor
from limber.errors import ArgumentTypeError, ArgumentValueError


def reading_deviation(sensor: Sensor, width: int, given: Mapping[str, float]) -> Array:
    """The standard deviation of a reading's error."""
    if sensor.name in given:
        found = numbers(f"noise[{sensor.name!r}]", given[sensor.name], "() or (width,)")
    else:
        found = np.sqrt(
            sensor.noise_density**2 * sensor.rate + sensor.noise**2 + sensor.quantization**2 / 12.0
        )
    if not (np.asarray(found) > 0.0).all():
        raise ArgumentValueError(
            f"Kalman: sensor {sensor.name!r} has no noise, but the filter needs to know how far to trust it: give "
            f"noise={{{sensor.name!r}: ...}}, a standard deviation."
        )
    return spread(f"noise of sensor {sensor.name!r}", np.asarray(found), width)


def spread(name: str, given: Array, n: int) -> Array:
    """One number for each of n, given one or all of them."""
    if given.shape not in ((), (n,), (1,)):
        raise ArgumentTypeError(f"{name} must be one number or {n}, got {shown(given)}.")
    return np.broadcast_to(given, (n,)).astype(float)
