"""What a sampled controller measured and commanded, each signal at its own sample times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from limber.checks import Array
from limber.short_repr import short_repr


@dataclass(frozen=True, eq=False)
class Samples:
    """A signal at its sample times: t (n,), y (n, width), a name for each column, and the unit."""

    __repr__ = short_repr

    t: Array
    y: Array
    labels: tuple[str, ...]
    unit: str = ""

    def __len__(self) -> int:
        return len(self.t)


class Log:
    """A signal that grows by a row at every sample."""

    __slots__ = ("_count", "_rows", "_times", "labels", "unit")

    def __init__(self, labels: tuple[str, ...], unit: str = ""):
        self.labels, self.unit = labels, unit
        self._times, self._rows = np.empty(256), np.empty((256, len(labels)))
        self._count = 0

    def add(self, t: float, y: Array) -> None:
        """Add a row."""
        i = self._count
        if i == len(self._rows):
            self._times = np.concatenate([self._times, np.empty_like(self._times)])
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        self._times[i] = t
        self._rows[i] = y
        self._count = i + 1

    def samples(self) -> Samples:
        """The rows so far.  They stay as they are when the log grows."""
        count = self._count
        return Samples(self._times[:count], self._rows[:count], self.labels, self.unit)


def samples_of(logs: Mapping[str, Log]) -> dict[str, Samples]:
    """The rows so far of several logs."""
    return {name: log.samples() for name, log in logs.items()}
