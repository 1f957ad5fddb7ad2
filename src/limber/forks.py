"""Locks that a fork waits for.

Without them, a child process could inherit a lock that no thread is left to release, and half of the work that was
done under it.
"""

from __future__ import annotations

import os
import sys
import threading

_locks: list[threading.RLock] = []  # type: ignore[valid-type]
_held: list = []
_COMPILERS = ("numba.core.compiler_lock", "llvmlite.binding.ffi")


def lock():
    """A new lock; os.fork waits until no other thread holds it.  A thread may hold only one such lock at a time."""
    made = threading.RLock()
    _locks.append(made)
    return made


def _of_compilers() -> list:
    """The locks of Numba and of LLVM, if these are loaded, because other code may be using them to compile."""
    numba, llvm = (sys.modules.get(name) for name in _COMPILERS)
    found = [
        getattr(numba, "global_compiler_lock", None),
        getattr(getattr(getattr(llvm, "lib", None), "_lock", None), "_lock", None),
    ]
    return [each for each in found if each is not None]


def _before() -> None:
    for each in (*_locks, *_of_compilers()):
        each.acquire()
        _held.append(each)


def _after() -> None:
    held = _held[::-1]
    _held.clear()  # this comes before the first release, after which another thread may fork
    for each in held:
        each.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
