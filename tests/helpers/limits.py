"""Limits of time."""

import signal
from contextlib import contextmanager


@contextmanager
def within(seconds):
    """Fail instead of hanging."""

    def stop(*_):
        raise TimeoutError(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
