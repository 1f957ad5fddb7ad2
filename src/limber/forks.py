"""Locks that a fork waits for: a child inherits no lock that nobody is left to release, nor half of the work
that was done under it."""

from __future__ import annotations

import os
import sys
import threading

_locks: list[threading.RLock] = []  # type: ignore[valid-type]
_held: list = []
_COMPILERS = ("numba.core.compiler_lock", "llvmlite.binding.ffi")


def lock():
    """A new lock; os.fork waits until no other thread holds it.  Hold one of them at a time."""
    made = threading.RLock()
    _locks.append(made)
    return made


def _of_compilers() -> list:
    """The locks of Numba and of LLVM under it, once they are there: other code may be compiling with them."""
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
    _held.clear()  # before the first release, which lets another thread fork
    for each in held:
        each.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
