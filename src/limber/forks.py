"""Locks that a fork waits for: a child inherits no lock that nobody is left to release, nor half of the work
that was done under it."""

from __future__ import annotations

import os
import sys
import threading

_locks: list[threading.RLock] = []  # type: ignore[valid-type]
_held: list = []


def lock():
    """A new lock; os.fork waits until no other thread holds it.  Hold one of them at a time."""
    made = threading.RLock()
    _locks.append(made)
    return made


def _numba_lock() -> list:
    """Numba's own lock, once Numba is there: other code may be compiling with it."""
    found = getattr(sys.modules.get("numba.core.compiler_lock"), "global_compiler_lock", None)
    return [] if found is None else [found]


def _before() -> None:
    for each in (*_locks, *_numba_lock()):
        each.acquire()
        _held.append(each)


def _after() -> None:
    held = _held[::-1]
    _held.clear()  # before the first release, which lets another thread fork
    for each in held:
        each.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
