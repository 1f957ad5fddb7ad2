"""The number of threads for the dense products of a reduction."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext


def one_thread() -> AbstractContextManager:
    """A context in which BLAS runs in the calling thread.

    The blocks of a factor are small.  A second thread gains little, and if other programs keep the cores busy, the
    threads of OpenBLAS wait for each other: the reduction of a solid of 100,000 degrees of freedom took 376 s instead
    of 16 s.  BLAS keeps its threads if `threadpoolctl` is not installed.
    """
    try:
        from threadpoolctl import threadpool_limits  # noqa: PLC0415 (looks at all loaded libraries)
    except ImportError:
        return nullcontext()
    return threadpool_limits(limits=1, user_api="blas")
