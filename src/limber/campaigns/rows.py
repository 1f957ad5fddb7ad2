"""The outcomes of cases: the rows that work units return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from limber.checks import Array, shown
from limber.errors import LimberError

#: What a case may come to, by the numbers that are stored.
STATUS = ("not run", "finished", "stopped", "failed")


@dataclass(frozen=True, eq=False)
class Row:
    """The outcome of one case. values: quantities by name, None if it failed; history: t, q, v if they are kept."""

    case: int
    status: str
    message: str
    values: Mapping[str, Array] | None = None
    history: Mapping[str, Array] | None = None


@dataclass(frozen=True, eq=False)
class UnitRows:
    """The rows of a work unit, and the warnings of its cases."""

    unit: int
    rows: Sequence[Row]
    warnings: Sequence[Warning] = field(default=())


@dataclass(frozen=True)
class Shapes:
    """The shapes of the quantities and histories of all cases: those of the first case that has any."""

    values: Mapping[str, tuple[int, ...]]
    history: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(cls, row: Row) -> Shapes:
        """The shapes of a row."""
        history = row.history or {}
        return cls(
            {name: x.shape for name, x in (row.values or {}).items()},
            {name: x.shape for name, x in history.items()},
        )

    def checked(self, row: Row) -> Row:
        """Return the row, or a failed row if its shapes differ."""
        if row.values is None:
            return row
        own = Shapes.of(row)
        for kind, have, want in (
            ("keep", own.values, self.values),
            ("the history of", own.history, self.history),
        ):
            if set(have) != set(want):
                text = (
                    f"has the quantities {', '.join(have)}, but other cases have {', '.join(want)}"
                )
                return Row(row.case, "failed", f"this case {text}.")
            for name, shape in have.items():
                if shape != want[name]:
                    text = f"{kind} {name!r} has shape {shape} in this case, but {want[name]} in the first one."
                    return Row(row.case, "failed", text)
        return row


def failed(case: int, error: BaseException) -> Row:
    """The row of a case that ended with an error."""
    kind = "" if isinstance(error, LimberError) else f"{type(error).__name__}: "
    text = f"{kind}{error}".encode(errors="backslashreplace").decode()  # stores have text of UTF-8
    return Row(case, "failed", text)


def measured(given: Mapping[str, Any]) -> dict[str, Array]:
    """Quantities as arrays of numbers."""
    found = {}
    for name, value in given.items():
        try:
            x = np.asarray(value)
            if x.dtype.kind not in "biufO" or (x.dtype == object and None in x.flat):
                raise TypeError(f"got {shown(value)}")
            found[name] = np.array(x, dtype=float)
        except (TypeError, ValueError) as error:
            raise type(error)(f"quantity {name!r} must be real numbers: {error}") from error
    return found
