"""Ctrl-C where compiled code calls back into Python."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def keeping_interrupts(failure: list[BaseException]) -> Iterator[None]:
    """Keep a Ctrl-C that comes as a callback begins or ends, where ctypes would pass over it, in `failure`.

    So do callbacks of a simulation, and those of the compiler behind Numba.
    """
    if threading.current_thread() is not threading.main_thread():  # others get none
        yield
        return
    before = sys.unraisablehook

    def hook(passed_over: sys.UnraisableHookArgs) -> None:
        if issubclass(passed_over.exc_type, KeyboardInterrupt):
            failure.append(KeyboardInterrupt())
        else:
            before(passed_over)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
