"""Late readings in the linear models of controllers.

A reading that is taken at a sample and arrives d seconds later is used ceil(d / T) samples late, as an additional delay of
that input. Of a sensor that is read more often than the controller runs, or at other times, the last reading that has
arrived counts; its age is rounded up to whole samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from limber.control.linear_model import LinearModel
from limber.control.sampled import WHOLE
from limber.control.sensors.base import Sensor
from limber.errors import ArgumentValueError


def samples_late(owner: str, sensor: Sensor, sample_time: float) -> int:
    """By how many samples of a controller the readings of a sensor are late.

    owner : the controller, for the message if a sensor is slower than it, so that its loop has no fixed gains.
    """
    T, age, reads = sample_time, sensor.delay, sample_time * sensor.rate
    if reads < 1.0 - WHOLE:
        raise ArgumentValueError(
            f"{owner}: sensor {sensor.name!r} is not read at every sample of the controller ({sensor.rate:g} Hz and {1.0 / T:g} Hz), so "
            "that the loop has no linear model. Read it as often, or take the sample time of the sensor for the controller."
        )
    if abs(reads - round(reads)) > WHOLE * reads:  # at other times than the samples
        age += 1.0 / sensor.rate
    elif age:
        age = math.ceil(age * sensor.rate - WHOLE) / sensor.rate
    return math.ceil(age / T - WHOLE)


def with_late_inputs(model: LinearModel, late: Sequence[int]) -> LinearModel:
    """A sampled model whose inputs arrive this many samples late; those under way are additional states."""
    n, m = model.order, len(model.inputs)
    states = [(k, i) for k in range(m) for i in range(1, late[k] + 1)]
    if not states:
        return model
    place = {state: n + at for at, state in enumerate(states)}
    size = n + len(states)
    A, B = np.zeros((size, size)), np.zeros((size, m))
    C, D = np.zeros((len(model.C), size)), np.zeros((len(model.C), m))
    A[:n, :n], C[:, :n] = model.A, model.C
    for k in range(m):
        if not late[k]:
            B[:n, k], D[:, k] = model.B[:, k], model.D[:, k]
            continue
        oldest = place[k, late[k]]
        A[:n, oldest], C[:, oldest] = model.B[:, k], model.D[:, k]
        B[place[k, 1], k] = 1.0
        for i in range(2, late[k] + 1):
            A[place[k, i], place[k, i - 1]] = 1.0
    names = tuple(f"{model.inputs[k]}, {i} ago" for k, i in states)
    return replace(model, A=A, B=B, C=C, D=D, states=model.states + names)
