"""Ctrl-C, and other exceptions of signal handlers, where they would be lost or do harm."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, as_completed
from contextlib import contextmanager

#: The signals whose handlers raise exceptions: Ctrl-C, timeouts, requests to end.
_RAISING = [
    getattr(signal, name) for name in ("SIGINT", "SIGALRM", "SIGTERM") if hasattr(signal, name)
]

#: The longest wait, s: a Ctrl-C that comes just before a wait begins does not end it.
LONGEST_WAIT = 0.5


def completed(futures: Iterable[Future]) -> Iterator[Future]:
    """Futures as they complete, waited for in short turns so that no Ctrl-C is missed."""
    left = set(futures)
    while left:
        try:
            for future in as_completed(left, LONGEST_WAIT):
                left.discard(future)
                yield future
        except TimeoutError:
            continue


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Delay signals until the end of something short that must not be interrupted.

    An interrupted import leaves only some modules of a large package loaded, and no later import of
    the package repairs that.
    """
    if (
        threading.current_thread() is not threading.main_thread()
    ):  # only the main thread gets signals
        yield
        return
    handlers: dict = {}
    came: list[int] = []
    try:
        for number in _RAISING:
            if callable(handler := signal.getsignal(number)):
                handlers[number] = handler
                signal.signal(number, lambda number, frame: came.append(number))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)


@contextmanager
def keep_interrupts(errors: list[BaseException]) -> Iterator[None]:
    """Append an exception to `errors` that comes as a callback begins or ends, where ctypes would swallow it.

    Functions behind callbacks keep their own errors, so this is one that a signal handler raised: a Ctrl-C, a timeout, a
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
