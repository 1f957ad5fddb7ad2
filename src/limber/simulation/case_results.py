"""The results of the cases of a batch, some of which are made when somebody asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np

from limber.assembly.family import Family
from limber.checks import Array
from limber.simulation.result import Result, Statistics


@dataclass(frozen=True, eq=False)
class Later:
    """A case that reached its end: all that its result needs; its system, too, is made with the result."""

    family: Family
    case: int
    t: Array
    q: Array
    v: Array
    tau: Array
    statistics: Statistics

    @cached_property
    def result(self) -> Result:
        """The result."""
        system = self.family.member(self.case)
        arrays = self.t, self.q, self.v, self.tau
        return Result(system, *arrays, (), self.statistics, "reached t_end")


class CaseResults(Sequence):
    """The results of cases, None where there is none."""

    def __init__(self, entries: list[Result | Later | None]):
        self.entries = entries

    def __len__(self) -> int:
        return len(self.entries)

    @overload
    def __getitem__(self, case: int | np.integer) -> Result | None: ...
    @overload
    def __getitem__(self, case: slice) -> CaseResults: ...
    def __getitem__(self, case: Any) -> Any:
        entry = self.entries[case]
        if isinstance(entry, list):
            return CaseResults(entry)
        return entry.result if isinstance(entry, Later) else entry

    def __iter__(self) -> Iterator[Result | None]:
        return (self[case] for case in range(len(self)))

    def chosen(self, cases: np.ndarray) -> CaseResults:
        """Return the results of cases with these numbers, which are the same objects."""
        return CaseResults([self.entries[case] for case in cases.tolist()])
