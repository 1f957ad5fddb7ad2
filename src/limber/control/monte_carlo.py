"""A control loop over many cases: plants with parameters that the controller does not know, and different noise.

Every case is a separate run with a copy of the controller, in one of several processes, because controllers are Python
code and a process runs only one at a time. A case depends only on its parameters and its seed, so it can be repeated
alone.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array, number, shown, takes
from limber.control.loop import Loop
from limber.control.monte_carlo_result import MonteCarlo
from limber.control.sensors.base import checked_seed
from limber.dynamics.cores import cores
from limber.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    LimberError,
    collected_warnings,
    warn,
)
from limber.interrupts import completed
from limber.simulation import Result, simulate
from limber.simulation.cases import Cases, cases_of
from limber.simulation.progress import CaseProgress

#: Arguments of `simulate` that a case has already, or that make no sense for many cases.
TAKEN = ("torque", "save", "progress")

Measure = Callable[[Result], ArrayLike]


def monte_carlo(
    loop: Loop,
    t_end: float,
    *,
    measures: Mapping[str, Measure],
    parameters: Mapping[str, ArrayLike] | None = None,
    seeds: ArrayLike | None = None,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    processes: int | None = None,
    progress: bool | None = None,
    **options: Any,
) -> MonteCarlo:
    """Run a loop in many cases, on all cores, and return the measures of each case; the motions are not kept.

    Parameters
    ----------
    loop : its controller is prepared for `loop.system` and does not know the other parameters.
    t_end : s.
    measures : {name: function of the `Result` of a case}, which returns numbers, or arrays of the same shape in all
        cases.
    parameters : {name: (cases, ...)}, parameters of the plant that differ from case to case, or one value for all.
    seeds : (cases,), for the noise of the sensors; 0, 1, 2, ... by default.
    q0, v0 : the initial state of all cases, or (cases, nq) and (cases, nv).
    processes : how many run at once; by default as many as there are cores. With 1, all cases run in this process.
    progress : whether to show a progress bar; by default only in a terminal.
    options : further arguments of `simulate`, the same for all cases.

    A case that fails, for instance because its motion diverges, becomes a row that says why, and the others continue.
    """
    if not isinstance(loop, Loop):
        raise ArgumentTypeError(f"loop must be an lb.control.Loop, got {shown(loop)}.")
    end = number("t_end", t_end)
    for name in TAKEN:
        if name in options:
            raise ArgumentTypeError(
                f"{name}= is not an argument of monte_carlo: the loop provides the torque, and motions are not stored. "
                "Repeat a case with MonteCarlo.result(case)."
            )
    if not isinstance(measures, Mapping) or not measures:
        raise ArgumentTypeError(
            f"measures must map names to functions of a Result, got {shown(measures)}."
        )
    for name, measure in measures.items():
        takes(f"measures[{name!r}]", measure, "result")
    cases, given_seeds = _cases(loop, parameters, seeds, q0, v0)
    job = _Job(loop, end, dict(measures), cases, given_seeds, {"q0": q0, "v0": v0}, options)
    workers = _whole("processes", cores() if processes is None else processes)
    collected = _Collected(cases.count)
    began = time.perf_counter()
    with CaseProgress(cases.count, progress) as bar:
        try:
            for row in _rows(job, workers):
                collected.put(row)
                bar.show(1)
        except KeyboardInterrupt:
            left = collected.status.count("not run")
            warn(f"monte_carlo was interrupted: {left} of its {cases.count} cases did not run.")
    collected.tell()
    return MonteCarlo(
        loop=loop,
        t_end=end,
        parameters=cases.every(),
        seeds=given_seeds,
        status=np.array(collected.status, dtype="<U8"),
        messages=tuple(collected.messages),
        measures=collected.table(tuple(measures)),
        seconds=time.perf_counter() - began,
        run=job.run,
        arguments=job.arguments,
    )


def _whole(name: str, given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 1:
        raise ArgumentTypeError(f"{name} must be a whole number of at least 1, got {shown(given)}.")
    return int(given)


def _cases(loop: Loop, parameters: Any, seeds: Any, q0: Any, v0: Any) -> tuple[Cases, np.ndarray]:
    """The cases, and a seed for each."""
    found = cases_of(loop.system, q0, v0, None, parameters)
    if seeds is None:
        if found is None:
            raise ArgumentValueError(
                "nothing differs from case to case: give parameters={name: array}, seeds=[...], or q0 of several cases."
            )
        return found, np.arange(found.count)
    listed = np.asarray(seeds)
    if listed.ndim != 1 or listed.dtype.kind not in "iu":
        raise ArgumentTypeError(
            f"seeds must be whole numbers, one for each case, such as range(100); got {shown(seeds)}."
        )
    for seed in listed.tolist():
        checked_seed("seeds", seed)
    if found is None:
        shared = {} if parameters is None else dict(parameters)
        return Cases(len(listed), None, None, None, {}, shared), listed
    if len(listed) != found.count:
        raise ArgumentValueError(
            f"seeds has {len(listed)} numbers, and the other arguments have {found.count} cases."
        )
    return found, listed


@dataclass(frozen=True)
class _Row:
    """The outcome of one case."""

    case: int
    status: str
    message: str
    values: dict[str, Array] | None
    error: Exception | None = None
    warning: Warning | None = None


@dataclass(frozen=True, eq=False)
class _Job:
    """Everything that a process needs to run cases."""

    loop: Loop
    t_end: float
    measures: dict[str, Measure]
    cases: Cases
    seeds: np.ndarray
    start: dict[str, Any]
    options: dict[str, Any]

    def arguments(self, case: int) -> dict[str, Any]:
        """The arguments of `simulate` for one case, except for the loop."""
        state = self.cases.arguments(case, {**self.start, "torque": None})
        given = {name: state[name] for name in ("q0", "v0") if state[name] is not None}
        numbers = self.cases.numbers(case)
        return {**given, **({"parameters": numbers} if numbers else {}), **self.options}

    def run(self, case: int) -> Result:
        """The motion of one case."""
        own = self.loop.with_seed(int(self.seeds[case]))
        return simulate(
            self.loop.system, self.t_end, torque=own, progress=False, **self.arguments(case)
        )

    def row(self, case: int) -> _Row:
        """Run one case and measure it; an error becomes its outcome."""
        with collected_warnings() as found:
            try:
                result = self.run(case)
                if result.message.startswith("interrupted"):
                    raise KeyboardInterrupt
                values = {
                    name: np.array(measure(result), dtype=float)
                    for name, measure in self.measures.items()
                }
            except Exception as error:
                kind = "" if isinstance(error, LimberError) else f"{type(error).__name__}: "
                return _Row(case, "failed", f"{kind}{error}", None, error)
        status = "stopped" if result.message.startswith("stopped") else "finished"
        return _Row(case, status, result.message, values, None, found[0] if found else None)


class _Collected:
    """The rows so far."""

    def __init__(self, count: int):
        self.status, self.messages = ["not run"] * count, ["not run"] * count
        self.values: dict[int, dict[str, Array]] = {}
        self.errors: list[Exception] = []
        self.told: dict[int, Warning] = {}

    def put(self, row: _Row) -> None:
        """Add a row."""
        self.status[row.case], self.messages[row.case] = row.status, row.message
        if row.values is not None:
            self.values[row.case] = row.values
        if row.error is not None:
            self.errors.append(row.error)
        if row.warning is not None:
            self.told[row.case] = row.warning

    def tell(self) -> None:
        """Raise an error that is not about a case, and issue warnings."""
        count = len(self.status)
        if len(self.errors) == count > 0 and len(set(self.messages)) == 1:
            raise self.errors[0]
        if self.told:
            first = min(self.told)
            warn(
                f"{len(self.told)} of {count} cases gave a warning, the first of them case {first}: {self.told[first]}",
                type(self.told[first]),
            )

    def table(self, names: tuple[str, ...]) -> dict[str, Array]:
        """The measures, {name: (cases, ...)}; nan in cases that failed."""
        found = {}
        for name in names:
            shapes = {row[name].shape for row in self.values.values()}
            if len(shapes) > 1:
                raise ArgumentValueError(
                    f"measures[{name!r}] must have the same shape in all cases, got {', '.join(map(str, sorted(shapes)))}."
                )
            whole = np.full((len(self.status), *(shapes.pop() if shapes else ())), np.nan)
            for case, row in self.values.items():
                whole[case] = row[name]
            found[name] = whole
        return found


def _rows(job: _Job, workers: int) -> Iterator[_Row]:
    """The rows of all cases, as they finish.

    The first case runs here, so that code is compiled and loaded once, and the other processes find it.
    """
    count = job.cases.count
    if count:
        yield job.row(0)
    if workers == 1 or count < 3:
        for case in range(1, count):
            yield job.row(case)
        return
    yield from _in_processes(job, range(1, count), workers)


def _in_processes(job: _Job, cases: range, workers: int) -> Iterator[_Row]:
    """Rows from other processes. On Linux they are forks, which have all functions of this process."""
    start = "fork" if sys.platform == "linux" else "spawn"
    pool = ProcessPoolExecutor(
        min(workers, len(cases)), multiprocessing.get_context(start), _begin, (job,)
    )
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "This process .* is multi-threaded")
            try:
                futures = [pool.submit(_row, case) for case in cases]
            except (TypeError, AttributeError, ValueError, ImportError) as error:
                raise ArgumentTypeError(
                    f"the loop or a measure cannot be sent to another process ({error}). Define functions and classes in "
                    "a module, or give processes=1."
                ) from error
        for future in completed(futures):
            yield future.result()
    except BrokenProcessPool:
        warn(
            "a process that ran cases ended unexpectedly, perhaps for lack of memory; the cases that were not finished have "
            'the status "not run". Use fewer processes=.'
        )
    finally:
        pool.shutdown(cancel_futures=True)


_job: _Job | None = None


def _begin(job: _Job) -> None:
    """Prepare a process; Ctrl-C is handled by its parent."""
    global _job  # noqa: PLW0603 (one for each process)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _job = job


def _row(case: int) -> _Row:
    assert _job is not None
    return _job.row(case)
