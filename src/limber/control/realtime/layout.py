"""The meaning of the numbers in samples and commands of a loop.

SAMPLE    with sensors: for each sensor, in order, the time at which its last reading was taken (s) and the reading, all
          nan before the first one; without sensors q and v.  Then the last command as the actuators could follow it,
          nan before the first one.
COMMAND   one number for each channel of the actuators; without actuators the generalized forces (nv,).
"""

from __future__ import annotations

import math

import numpy as np

from limber.checks import Array
from limber.control.channels import speed_names
from limber.control.controller import Measured
from limber.control.loop import Loop
from limber.control.realtime.wire import MOST_NUMBERS
from limber.errors import ArgumentValueError


class Layout:
    """The layout of the numbers in samples and commands of a loop.

    sample_labels, command_labels : the meaning of each number.
    sample, command : how many there are.
    """

    def __init__(self, loop: Loop):
        s = loop.system
        self._system, self._sensors = s, bool(loop.sensors)
        speeds = tuple(speed_names(s))
        self.command_labels: tuple[str, ...] = loop.channels if loop.actuators else speeds
        labels: list[str] = []
        self._parts = []
        for sensor, reader in zip(loop.sensors, loop.readers):
            first = len(labels)
            labels += [
                f"{sensor.name}: time taken",
                *(f"{sensor.name}: {x}" for x in reader.labels),
            ]
            self._parts.append((sensor.name, first, slice(first + 1, len(labels)), reader))
        if not loop.sensors:
            labels += [f"q[{i}]" for i in range(s.nq)] + [f"v {name}" for name in speeds]
        self._applied = slice(len(labels), len(labels) + len(self.command_labels))
        self.sample_labels = (*labels, *(f"applied: {x}" for x in self.command_labels))
        self.sample, self.command = len(self.sample_labels), len(self.command_labels)
        if self.sample > MOST_NUMBERS:
            raise ArgumentValueError(
                f"a sample of this loop has {self.sample} numbers, but a packet holds {MOST_NUMBERS}: use sensors with "
                "fewer readings."
            )
        #: The content of a HELLO packet.
        self.numbers = (loop.sample_time, float(self.sample), float(self.command))

    def write(self, measured: Measured, out: Array) -> None:
        """Write a sample."""
        if self._sensors:
            for name, first, place, _ in self._parts:
                taken = measured.taken(name)
                out[first] = taken if math.isfinite(taken) else math.nan
                out[place] = measured[name]
        else:
            nq = self._system.nq
            out[:nq] = measured.q
            out[nq : self._applied.start] = measured.v
        out[self._applied] = math.nan if measured.applied is None else measured.applied

    def read(self, t: float, sample: Array) -> Measured:
        """Convert a sample to the form that controllers receive."""
        s, values = self._system, sample.copy()
        applied = values[self._applied]
        known = applied if math.isfinite(applied.sum()) else None
        if not self._sensors:
            return Measured(t, values[: s.nq], values[s.nq : self._applied.start], applied=known)
        q, v = np.full(s.nq, math.nan), np.full(s.nv, math.nan)
        readings, taken = {}, {}
        for name, first, place, reader in self._parts:
            readings[name] = reading = values[place]
            if not math.isnan(values[first]):
                taken[name] = float(values[first])
            if reader.q is not None:
                q[reader.q] = reading
            if reader.v is not None:
                v[reader.v] = reading
        return Measured(t, q, v, readings, taken, known)
