"""The rows of a campaign in memory."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from limber.campaigns.rows import STATUS, Row, Shapes, UnitRows
from limber.checks import Array


class Table:
    """The rows of all cases: status, messages, quantities (nan where there are none), and histories if they are kept in
    memory.
    """

    def __init__(self, count: int, histories: bool):
        self.count, self.histories = count, histories
        self.status = np.zeros(count, dtype=np.int8)
        self.messages = np.array([""] * count, dtype=object)
        self.shapes: Shapes | None = None
        self.values: dict[str, Array] = {}
        self.history: dict[str, Array] = {}

    def take_shapes(self, shapes: Shapes) -> None:
        """Allocate arrays for quantities and histories of these shapes."""
        self.shapes = shapes
        self.values = {n: np.full((self.count, *s), np.nan) for n, s in shapes.values.items()}
        kept = shapes.history if self.histories else {}
        self.history = {n: np.full((self.count, *s), np.nan) for n, s in kept.items()}

    def put(self, done: UnitRows) -> UnitRows:
        """Add the rows of a work unit; rows whose shapes differ from those of the first case become failures."""
        rows = []
        for row in done.rows:
            if self.shapes is None and row.values is not None:
                self.take_shapes(Shapes.of(row))
            rows.append(row if self.shapes is None else self.shapes.checked(row))
        for row in rows:
            self._put(row)
        return UnitRows(done.unit, rows, done.warnings)

    def _put(self, row: Row) -> None:
        self.status[row.case] = STATUS.index(row.status)
        self.messages[row.case] = row.message
        for name, x in (row.values or {}).items():
            self.values[name][row.case] = x
        for name, whole in self.history.items():
            if row.history is not None:
                whole[row.case] = row.history[name]

    def put_stored(
        self,
        cases: np.ndarray,
        status: np.ndarray,
        messages: np.ndarray,
        values: Mapping[str, Array],
    ) -> None:
        """Add rows from a store; their histories stay there."""
        self.status[cases], self.messages[cases] = status, messages
        for name, x in values.items():
            self.values[name][cases] = x
