"""The stages of a run in progress: the system with its closures from one change of topology to the next."""

from __future__ import annotations

import numpy as np

from limber.assembly.system import System
from limber.simulation.topology import Known, TopologyChange


class Stages:
    """The system with its closures at the start of a run, and the changes of topology since.

    first : the system at the start.
    changes : the changes, in order.
    known : the closures that may be attached by name.
    """

    def __init__(self, system: System):
        self.first = system
        self.changes: list[TopologyChange] = []
        self.known: Known = dict(system.closures)
        self._rows: list[int] = []

    def add(self, change: TopologyChange, rows: int) -> None:
        """Record a change, with the number of rows written before it."""
        self.changes.append(change)
        self._rows.append(rows)

    def of_rows(self, count: int) -> np.ndarray:
        """(count,): how many changes had occurred at each of the first rows."""
        if not self.changes:
            return np.zeros(count, dtype=int)
        return np.searchsorted(self._rows, np.arange(count), side="right")
