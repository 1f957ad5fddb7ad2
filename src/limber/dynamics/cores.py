"""Work that is divided among cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar

#: A thread gets at least this many states.
STATES_PER_THREAD = 64


def split(part: Callable[[int, int], int], states: int) -> list[int]:
    """Call part(start, stop) for parts of the states, in as many threads as there are cores and enough states."""
    worthwhile = states // STATES_PER_THREAD
    threads = min(cores(), worthwhile) if worthwhile > 1 else 1
    if threads == 1:
        return [part(0, states)]
    edges = [states * i // threads for i in range(threads + 1)]
    with ThreadPoolExecutor(threads) as executor:
        return list(executor.map(part, edges[:-1], edges[1:]))


_most_cores: ContextVar[int | None] = ContextVar("the most cores to use", default=None)


@contextmanager
def at_most_cores(count: int) -> Iterator[None]:
    """Use no more than `count` cores within the block, in this thread, for work that is divided among processes."""
    token = _most_cores.set(count)
    try:
        yield
    finally:
        _most_cores.reset(token)


def cores() -> int:
    """The number of cores that this process may use."""
    most = _most_cores.get()
    return _all_cores() if most is None else min(most, _all_cores())


def _all_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
