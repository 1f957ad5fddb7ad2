"""A batch in progress, and the outcome of its cases so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from limber.assembly.family import Family
from limber.assembly.system import System
from limber.checks import Array
from limber.errors import LimberError, collected_warnings, warn
from limber.simulation.batch_result import BatchResult
from limber.simulation.case_results import CaseResults, Later
from limber.simulation.cases import Cases
from limber.simulation.result import Result, Statistics


class RunningBatch:
    """A batch that is running: its results so far, its errors, and the first warning of each case."""

    def __init__(self, system: System, cases: Cases, times: Array):
        self.system, self.cases = system, cases
        self._made = _not_run(system, times, cases)
        self.family = Family(system, self._made.parameters, cases.count)
        self._told: dict[int, Warning] = {}
        self._errors: list[Exception] = []

    @property
    def left(self) -> int:
        """The number of cases that have not run yet."""
        return int((self._made.status == "not run").sum())

    def own_system(self, case: int) -> System:
        """The system with the numbers of a case."""
        return self.family.member(case)

    def attempt(self, case: int, run: Callable[[int], Result | None]) -> int:
        """Carry out work for a case; its result, if any, or its error becomes the outcome of the case.

        Returns the number of evaluations that this took; 0 without a result.
        """
        result = None
        with collected_warnings() as found:
            try:
                result = run(case)
                if result is not None:
                    cut = result.message.startswith(("stopped", "interrupted"))
                    self._put(case, result, "stopped" if cut else "finished", result.message)
                    if result.message.startswith("interrupted"):  # Ctrl-C is for the batch
                        found.clear()
                        raise KeyboardInterrupt
            except Exception as error:
                self._errors.append(error)
                kind = "" if isinstance(error, LimberError) else f"{type(error).__name__}: "
                result = getattr(error, "result", None)
                self._put(case, result, "failed", f"{kind}{error}")
        if found and case not in self._told:
            self._told[case] = max(found, key=lambda warning: getattr(warning, "degree", np.inf))
        return 0 if result is None else result.statistics.evaluations

    def _put(self, case: int, result: Result | None, status: str, message: str) -> None:
        """Record how a case ended, with its outcome; its rows are stored here and shared with its result."""
        made = self._made
        made.status[case], made.messages[case] = status, message
        if result is None:
            return
        n = min(len(result), len(made.t))
        differ = np.flatnonzero(result.t[:n] != made.t[:n])
        rows = int(differ[0]) if differ.size else n
        for name in ("q", "v", "tau"):
            getattr(made, name)[case, :rows] = getattr(result, name)[:rows]
        if rows == len(result):
            own = {name: getattr(made, name)[case, :rows] for name in ("q", "v", "tau")}
            result = replace(result, t=made.t[:rows], **own)
        made.results.entries[case] = result

    def put_later(
        self, cases: np.ndarray, q: Array, v: Array, tau: Array, statistics: Statistics
    ) -> None:
        """Record cases that reached their end, with their rows; their results are made when they are first used."""
        made = self._made
        made.q[cases], made.v[cases], made.tau[cases] = q, v, tau
        made.status[cases] = "finished"
        for case in cases.tolist():
            made.messages[case] = "reached t_end"
            own = made.q[case], made.v[case], made.tau[case]
            made.results.entries[case] = Later(self.family, case, made.t, *own, statistics)

    def finished(self) -> BatchResult:
        """The result of the batch, once no case is running; an error that does not concern a case is raised."""
        made, told, count = self._made, self._told, self.cases.count
        none = all(x is None for x in made.results.entries)
        if len(self._errors) == count > 0 and none and len(set(made.messages)) == 1:
            raise self._errors[0]
        for x in (made.t, made.q, made.v, made.tau, made.status, *made.parameters.values()):
            x.setflags(write=False)
        if told:
            gravest = max(told, key=lambda case: (getattr(told[case], "degree", np.inf), -case))
            warn(
                f"{len(told)} of {count} cases of the batch gave a warning. The most serious one is that of case "
                f"{gravest}: {told[gravest]}",
                type(told[gravest]),
            )
        return made


def _not_run(system: System, t: Array, cases: Cases) -> BatchResult:
    """The result of a batch before any case has run."""
    count = cases.count
    q, v, tau = (
        np.full((count, len(t), width), np.nan) for width in (system.nq, system.nv, system.nv)
    )
    status = np.full(count, "not run", dtype="<U8")
    waiting = ["not run"] * count
    return BatchResult(
        system, t, q, v, tau, status, waiting, cases.every(), CaseResults([None] * count)
    )
