"""Where work units run: in this process, in a pool of processes, or on a Dask cluster.

All of them run the same function with the same arguments, so their rows are the same to the bit.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from limber.campaigns.rows import Row, UnitRows
from limber.campaigns.runs import Runs
from limber.campaigns.study import unit_rows
from limber.dynamics.cores import at_most_cores
from limber.errors import ArgumentTypeError, LimberError, MissingExtraError
from limber.interrupts import completed

#: A work unit: its number and its cases.
Unit = tuple[int, Sequence[int]]
#: Seconds between two looks of a worker at whether the campaign still runs.
LOOK = 0.5
KILLED = (
    "the process that ran this case ended each time it was tried: it may have been killed, perhaps for lack of memory, "
    "or compiled code may have crashed."
)


class ClusterError(LimberError, RuntimeError):
    """The Dask cluster cannot be reached, or is gone; stored results are kept."""


def here(runs: Runs, units: Sequence[Unit]) -> Iterator[UnitRows]:
    """Rows from this process, which uses all cores for batches."""
    for number, cases in units:
        yield unit_rows(runs, number, cases)


def in_processes(runs: Runs, units: Sequence[Unit], processes: int) -> Iterator[UnitRows]:
    """Rows from other processes, as they finish.

    If a process is killed, the units that were running are tried again one at a time; a case that kills its process
    again when it runs alone becomes a failed row.
    """
    left = dict(units)
    while left:
        suspects: list[int] = []
        for number, rows in _from_pool(runs, list(left.items()), processes):
            if rows is None:
                suspects.append(number)
            else:
                del left[number]
                yield rows
        for number in suspects:
            yield _carefully(number, left.pop(number), lambda u: _alone(runs, u))


def _from_pool(
    runs: Runs, units: Sequence[Unit], processes: int
) -> Iterator[tuple[int, UnitRows | None]]:
    """Numbers and rows of units; None for those that were running when a process of the pool was killed."""
    # On Linux the processes are forks, which have all functions of this process.
    start = "fork" if sys.platform == "linux" else "spawn"
    count = min(processes, len(units))
    pool = ProcessPoolExecutor(
        count, multiprocessing.get_context(start), _begin, (runs, os.getpid())
    )
    complete = False
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "This process .* is multi-threaded")
            try:
                futures: dict[Future, int] = {}
                for unit in units:
                    futures[pool.submit(_in_worker, unit)] = unit[0]
            except (TypeError, AttributeError, ValueError, ImportError) as error:
                raise ArgumentTypeError(
                    f"the campaign cannot be sent to another process ({error}). Define functions and classes in a module, or "
                    "give processes=1."
                ) from error
            except BrokenProcessPool:
                pass
        broken: list[int] = []
        for future in completed(futures):
            try:
                rows = future.result()
            except BrokenProcessPool:
                broken.append(futures[future])
                continue
            yield futures[future], rows
        # Units run in order, so those that were running are the first that did not come back.
        yield from ((number, None) for number in sorted(broken)[:count])
        complete = True
    finally:
        if not complete:  # interrupted: cases that run are not waited for, since they may never end
            for process in list((pool._processes or {}).values()):
                process.kill()
        pool.shutdown(cancel_futures=True)


def _alone(runs: Runs, unit: Unit) -> UnitRows | None:
    """The rows of a unit from a separate process; None if it was killed."""
    ((_, rows),) = _from_pool(runs, [unit], 1)
    return rows


def _carefully(
    number: int, cases: Sequence[int], attempt: Callable[[Unit], UnitRows | None]
) -> UnitRows:
    """The rows of a unit during which a process was killed."""
    whole = attempt((number, cases))
    if whole is not None:
        return whole
    rows: list[Row] = []
    told: list[Warning] = []
    for case in cases:
        one = attempt((number, [case]))
        rows += [Row(case, "failed", KILLED)] if one is None else one.rows
        told += [] if one is None else one.warnings
    return UnitRows(number, rows, told)


_runs: Runs | None = None


def _begin(runs: Runs, parent: int) -> None:
    """Prepare a process; Ctrl-C is handled by its parent, and it ends with its parent."""
    global _runs  # noqa: PLW0603 (one for each process)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _runs = runs

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _in_worker(unit: Unit) -> UnitRows:
    assert _runs is not None
    with at_most_cores(1):  # the other cores have processes of their own
        return unit_rows(_runs, *unit)


def on_dask(runs: Runs, units: Sequence[Unit], client: Any) -> Iterator[UnitRows]:
    """Rows from the workers of a Dask cluster, as they finish."""
    from distributed import CancelledError, KilledWorker, as_completed  # noqa: PLC0415

    try:
        there = client.scatter(runs, broadcast=True, hash=False)

        def submitted(unit: Unit) -> Any:
            return client.submit(_on_cluster, there, unit, pure=False)

        def attempt(unit: Unit) -> UnitRows | None:
            try:
                return submitted(unit).result()
            except KilledWorker:
                return None

        futures = {submitted(unit): unit for unit in units}
        for future in as_completed(list(futures)):
            number, cases = futures.pop(future)
            try:
                rows = future.result()
            except KilledWorker:
                rows = _carefully(number, cases, attempt)
            future.release()
            yield rows
    except (CancelledError, OSError, TimeoutError) as error:
        raise ClusterError(
            f"the Dask cluster no longer answers ({type(error).__name__}: {error}). Run the campaign again when it does: "
            "stored cases are not repeated."
        ) from error


def _on_cluster(runs: Runs, unit: Unit) -> UnitRows:
    with at_most_cores(1):
        return unit_rows(runs, *unit)


def dask_client(scheduler: Any) -> tuple[Any, bool]:
    """The client of a cluster, and whether it was created here.

    scheduler : the address of a Dask scheduler, a client, a cluster, or True for a cluster on this machine.
    """
    try:
        from distributed import Client  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            'scheduler= needs Dask: pip install "limber-dynamics[distributed]".'
        ) from error
    if isinstance(scheduler, Client):
        return scheduler, False
    try:
        if scheduler is True:
            return Client(threads_per_worker=1, dashboard_address=None), True
        return Client(scheduler, timeout="10s"), True
    except (OSError, ValueError, TimeoutError) as error:
        raise ClusterError(
            f"there is no Dask scheduler at {scheduler!r} ({error}). Start one with `dask scheduler`, or leave scheduler "
            "out to use the processes of this machine."
        ) from error
