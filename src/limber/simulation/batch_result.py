"""The results of a batch of simulations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.errors import ArgumentTypeError, SimulationError
from limber.notebook import table
from limber.simulation.case_results import CaseResults
from limber.simulation.data_frames import dataset_of_batch
from limber.simulation.result import Result

#: The possible outcomes of a case.
STATUS = ("finished", "stopped", "failed", "not run")


@dataclass(frozen=True, eq=False)
class BatchResult:
    """Many simulations at common times: t (n,), q (cases, n, nq), v (cases, n, nv), tau (cases, n, nv).

    system : the system with the numbers that it was built with; `batch[case].system` has those of a case.
    status : (cases,): "finished", "stopped" by an event or an interruption (Ctrl-C), "failed", or "not run" after an
        interruption.
    messages : how each case ended, in words.
    parameters : {name: (cases, ...)}, the parameters that were given.

    Rows that a case did not reach are NaN.  `batch[case]` is the `Result` of one case, as far as it ran, and `results` has
    those of all cases, None without a row; they, and their systems, may be made when they are first used.  A slice or an
    array of numbers selects cases.
    """

    system: System
    t: Array
    q: Array
    v: Array
    tau: Array
    status: np.ndarray
    messages: list[str]
    parameters: Mapping[str, Array]
    results: CaseResults = field(repr=False)

    def __repr__(self) -> str:
        return (
            f"BatchResult({self.system.name!r}, {len(self)} cases, {len(self.t)} rows, "
            f"{', '.join(f'{n} {name}' for name, n in self._counts())})"
        )

    def _counts(self) -> list[tuple[str, int]]:
        """How many cases ended in each way, without zeros."""
        return [(name, n) for name in STATUS if (n := int((self.status == name).sum()))]

    def _repr_html_(self) -> str:
        given = [f"{name}: {x.min():.5g} to {x.max():.5g}" for name, x in self.parameters.items()]
        failed = np.flatnonzero(self.status == "failed")[:5]
        notes = [*given, *(f"case {case}: {self.messages[case]}" for case in failed)]
        title = f"{len(self.status)} cases of {self.system.name!r}, t = {self.t[0]:g} .. {self.t[-1]:g} s"
        return table(title, ("status", "cases"), self._counts(), notes=notes)

    def __len__(self) -> int:
        return len(self.status)

    @overload
    def __getitem__(self, case: int) -> Result: ...
    @overload
    def __getitem__(self, case: slice | np.ndarray | list) -> BatchResult: ...
    def __getitem__(self, case: Any) -> Result | BatchResult:
        if isinstance(case, int | np.integer):
            result = self.results[case]
            if result is None:
                raise SimulationError(f"case {case} has no result: {self.messages[case]}")
            return result
        if not isinstance(case, slice | np.ndarray | list):
            raise ArgumentTypeError(
                f"cases are selected by a number, a slice or an array of numbers, got {case!r}."
            )
        chosen = np.arange(len(self))[case]
        return BatchResult(
            self.system,
            self.t,
            self.q[chosen],
            self.v[chosen],
            self.tau[chosen],
            self.status[chosen],
            [self.messages[i] for i in chosen],
            {name: x[chosen] for name, x in self.parameters.items()},
            self.results.chosen(chosen),
        )

    def __iter__(self) -> Iterator[Result]:
        return (self[case] for case in range(len(self)))

    @property
    def finished(self) -> np.ndarray:
        """(cases,): whether each case reached the end of its simulation."""
        return self.status == "finished"

    @property
    def failures(self) -> dict[int, str]:
        """The failed cases by number, each with the reason."""
        return {int(i): self.messages[i] for i in np.flatnonzero(self.status == "failed")}

    def to_xarray(self) -> Any:
        """Return a Dataset with q over (case, time, coordinate), and v and tau over (case, time, speed).

        The names of coordinates and speeds are those of `Result.names`.  Status, message and parameters are coordinates
        of the cases; array parameters have additional dimensions, <name>_0 and so on.
        """
        return dataset_of_batch(self)
