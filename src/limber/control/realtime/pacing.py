"""Deadlines on the monotonic clock, and a process that meets them.

Deadlines are absolute, so errors do not accumulate. A wait sleeps, and busy-waits for the last part, because sleeping
ends late by some ten microseconds.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from limber.checks import number, shown
from limber.errors import ArgumentTypeError, ArgumentValueError

_PR_SET_TIMERSLACK, _PR_GET_TIMERSLACK = 29, 30
_MCL_CURRENT, _MCL_FUTURE = 1, 2


@dataclass(frozen=True)
class Pacing:
    """How a process meets its deadlines.

    spin : the last part of a wait, s, during which the process busy-waits instead of sleeping.
    priority : of the scheduler SCHED_FIFO, 1 to 99; None for the normal scheduler. It needs permission (root,
        CAP_SYS_NICE or a limit `ulimit -r`).
    cores : the processor cores of the plant and of the controller, two numbers; None to let the system choose.
    lock_memory : prevent the memory of the process from being paged out; this needs permission too.

    Settings that are not permitted are skipped, and `RealTimeRun.notes` says so.
    """

    spin: float = 2e-4
    priority: int | None = None
    cores: tuple[int, int] | None = None
    lock_memory: bool = False

    def __post_init__(self) -> None:
        number("spin", self.spin, minimum=0.0)
        if self.priority is not None and (
            isinstance(self.priority, bool) or self.priority not in range(1, 100)
        ):
            raise ArgumentValueError(
                f"priority must be a whole number from 1 to 99 or None, got {shown(self.priority)}."
            )
        if self.cores is not None:
            good = isinstance(self.cores, list | tuple) and len(self.cores) == 2
            if not good or not all(type(x) is int and x >= 0 for x in self.cores):
                raise ArgumentTypeError(
                    f"cores must be two numbers, the core of the plant and that of the controller, got {shown(self.cores)}."
                )


def wait_until(deadline: int, spin: int) -> int:
    """Wait until a time of the monotonic clock, ns; return the time at which the wait ended."""
    clock = time.monotonic_ns
    now = clock()
    left = deadline - now - spin
    if left > 0:
        time.sleep(left * 1e-9)
        now = clock()
    while now < deadline:
        now = clock()
    return now


@contextmanager
def undisturbed(pacing: Pacing, side: str) -> Iterator[list[str]]:
    """Protect this process from disturbances, as far as permitted; yields what was not permitted, in sentences.

    The garbage collector is off, timers are as precise as the system allows, and the settings of `pacing` apply.
    Everything is restored afterwards.
    """
    notes: list[str] = []
    with ExitStack() as after:
        _stop_collector(after)
        for what, act in (
            (f"the timer slack of the {side} cannot be changed", _exact_timers),
            (f"cores: the {side} runs on any core", _on_core(pacing, side)),
            (f"priority: the {side} runs without SCHED_FIFO", _with_priority(pacing)),
            (f"lock_memory: the memory of the {side} may be paged out", _in_memory(pacing)),
        ):
            try:
                act(after)
            except (OSError, AttributeError) as error:
                notes.append(f"{what}: {error}.")
        yield notes


def _stop_collector(after: ExitStack) -> None:
    running = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    after.callback(gc.unfreeze)
    if running:
        after.callback(gc.enable)


def _library() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _exact_timers(after: ExitStack) -> None:
    if sys.platform != "linux":
        return
    before = _library().prctl(_PR_GET_TIMERSLACK, 0, 0, 0, 0)
    _refuse_failure(_library().prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0))
    after.callback(_library().prctl, _PR_SET_TIMERSLACK, max(before, 1), 0, 0, 0)


def _on_core(pacing: Pacing, side: str) -> Callable[[ExitStack], None]:
    def act(after: ExitStack) -> None:
        if pacing.cores is None:
            return
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {pacing.cores[0 if side == "plant" else 1]})
        after.callback(os.sched_setaffinity, 0, before)

    return act


def _with_priority(pacing: Pacing) -> Callable[[ExitStack], None]:
    def act(after: ExitStack) -> None:
        if pacing.priority is None:
            return
        before = os.sched_getscheduler(0), os.sched_getparam(0)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(pacing.priority))
        after.callback(os.sched_setscheduler, 0, *before)

    return act


def _in_memory(pacing: Pacing) -> Callable[[ExitStack], None]:
    def act(after: ExitStack) -> None:
        if not pacing.lock_memory:
            return
        _refuse_failure(_library().mlockall(_MCL_CURRENT | _MCL_FUTURE))
        after.callback(_library().munlockall)

    return act


def _refuse_failure(status: int) -> None:
    if status != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
