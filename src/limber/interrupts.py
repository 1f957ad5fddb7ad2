"""Ctrl-C where compiled code calls back into Python."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def keep_interrupts(errors: list[BaseException]) -> Iterator[None]:
    """Append a Ctrl-C to `errors` that comes as a callback begins or ends, where ctypes would swallow it.

    Compiled simulations call back into Python, and so does the compiler behind Numba.
    """
    if (
        threading.current_thread() is not threading.main_thread()
    ):  # only the main thread gets interrupts
        yield
        return
    before = sys.unraisablehook

    def hook(swallowed: sys.UnraisableHookArgs) -> None:
        if issubclass(swallowed.exc_type, KeyboardInterrupt):
            errors.append(KeyboardInterrupt())
        else:
            before(swallowed)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
