"""What a sampled controller measured and commanded, each signal at its own sample times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from limber.checks import Array
from limber.short_repr import short_repr

#: The rows that a log makes room for at once.
BLOCK = 1024


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
    """A signal that grows by a row at every sample; rows are never moved, so no sample takes longer than another."""

    __slots__ = ("_blocks", "_count", "_rows", "labels", "unit")

    def __init__(self, labels: tuple[str, ...], unit: str = ""):
        self.labels, self.unit = labels, unit
        self._blocks: list[Array] = []  # the full ones
        self._rows = np.empty((BLOCK, 1 + len(labels)))
        self._count = 0  # rows in the last block

    def add(self, t: float, y: Array) -> None:
        """Add a row."""
        i = self._count
        if i == BLOCK:
            self._blocks.append(self._rows)
            self._rows = np.empty_like(self._rows)
            i = 0
        row = self._rows[i]
        row[0] = t
        row[1:] = y
        self._count = i + 1

    def samples(self) -> Samples:
        """The rows so far.  They do not change when the log grows."""
        rows = np.concatenate([*self._blocks, self._rows[: self._count]])
        return Samples(rows[:, 0], rows[:, 1:], self.labels, self.unit)


def samples_of(logs: Mapping[str, Log]) -> dict[str, Samples]:
    """The rows so far of several logs."""
    return {name: log.samples() for name, log in logs.items()}
