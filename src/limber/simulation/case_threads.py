"""The cases of a batch, one by one in threads.

Compiled integrators let other threads run.  Python functions, such as controllers, do not: threads that call them often
wait for each other, and sixteen may take three times as long as one.  How often is not known before, so cases with such
functions begin in one thread, and more are used as long as they make the batch faster: as long as all threads together
evaluate more states in a second.  Cases may take very different times, so their number says nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any

from limber.dynamics.cores import cores
from limber.errors import LimberError
from limber.interrupts import LONGEST_WAIT
from limber.simulation.progress import CaseProgress
from limber.simulation.signals import compiled_function
from limber.simulation.table import Table
from limber.trajectories import Trajectory

#: The evaluations of a case, 0 if they are not known, and the seconds that it took.
Cost = tuple[int, float]
#: More threads must make a batch faster by this factor to be worthwhile.
FASTER = 1.15
#: Cases of each thread for a measurement.
TRIAL = 2


def run_cases(
    run: Callable[[int], int], cases: Sequence[int], bar: CaseProgress, python: bool
) -> None:
    """Run cases on all cores; after an error or an interruption no further ones are started.

    run : returns the number of evaluations that the case took; 0 if it is not known.
    python : whether they may call functions of Python.
    """
    waiting, most = iter(cases), cores()

    def timed(case: int) -> Cost:
        began = time.perf_counter()
        evaluations = run(case)
        return evaluations, time.perf_counter() - began

    with ThreadPoolExecutor(most) as pool:
        threads = _worthwhile(pool, timed, waiting, bar, most) if python else most
        _run(pool, timed, waiting, bar, threads if python else 2 * most)


def _worthwhile(pool, run, waiting: Iterable[int], bar: CaseProgress, most: int) -> int:
    """How many threads are the fastest, by measurements with some of the cases."""
    best, fastest = 1, 0.0
    threads = 1
    while True:
        costs = _run(pool, run, islice(waiting, TRIAL * threads), bar, threads)
        if len(costs) < TRIAL * threads:
            return best
        known = [cost for cost in costs if cost[0]]
        if not known:
            continue  # these cases failed: measure others
        evaluations, seconds = (sum(x) for x in zip(*known))
        speed = threads * evaluations / seconds
        if speed < FASTER * fastest:
            return best
        best, fastest = threads, speed
        if threads == most:
            return best
        threads = min(2 * threads, most)


def _run(pool, run, waiting: Iterable[int], bar: CaseProgress, at_once: int) -> list[Cost]:
    """Run cases, some of them at the same time; return what they cost."""
    pending: set[Future] = set()
    costs: list[Cost] = []
    try:
        while True:
            for case in islice(waiting, at_once - len(pending)):
                pending.add(pool.submit(run, case))
            if not pending:
                return costs
            done, pending = wait(pending, LONGEST_WAIT, FIRST_COMPLETED)
            costs += [future.result() for future in done]
            bar.show(len(done))
    finally:
        for future in pending:
            future.cancel()


def calls_python(given: Mapping[str, Any], torques: Iterable[Any]) -> bool:
    """Whether a run with these arguments of `simulate`, or with one of the torques, may call functions of Python."""
    values = list(torques)
    for name in ("external", "motion"):
        if isinstance(given[name], Mapping):
            values += given[name].values()
    return bool(given["events"]) or any(_is_python(x) for x in values)


def _is_python(value: Any) -> bool:
    if isinstance(value, Table | Trajectory):
        return False
    if any(hasattr(value, name) for name in ("command", "session")):
        return True
    try:
        return callable(value) and not compiled_function("", value)
    except LimberError:  # the run itself refuses it
        return False
