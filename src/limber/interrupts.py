"""Ctrl-C, and other exceptions of signal handlers, where compiled code calls back into Python."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def keep_interrupts(errors: list[BaseException]) -> Iterator[None]:
    """Append an exception to `errors` that comes as a callback begins or ends, where ctypes would swallow it.

    Functions behind callbacks keep their own errors.  So it is one that a signal handler raised: a Ctrl-C, a timeout, a
    request to end.  Compiled simulations call back into Python, and so does the compiler behind Numba.
    """
    if (
        threading.current_thread() is not threading.main_thread()
    ):  # only the main thread gets signals
        yield
        return
    before = sys.unraisablehook

    def hook(swallowed: sys.UnraisableHookArgs) -> None:
        in_callback = "ctypes callback" in (swallowed.err_msg or "")
        if in_callback or issubclass(swallowed.exc_type, KeyboardInterrupt):
            errors.append(swallowed.exc_value or swallowed.exc_type())
        else:
            before(swallowed)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
