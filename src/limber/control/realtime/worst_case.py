"""Worst-case times of generated functions.

Generated code is straight-line: it does the same work for all numbers, so its time depends only on the machine, and
most of all on whether code and data are in the caches. A few lines of C call the function many times and record the
time of each call, once with warm caches and once with caches that are overwritten in between, as other work between two
samples would do. A measurement on a shared machine includes disturbances by others, so the largest time is an upper
bound for the code itself.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from limber.assembly.system import System
from limber.checks import Array, integer, shown
from limber.codegen import compile
from limber.control.realtime.pacing import Pacing, undisturbed
from limber.control.realtime.report import PERCENTILES, Spread, spread
from limber.errors import ArgumentTypeError, ArgumentValueError, warn
from limber.native import c_compiler
from limber.notebook import as_text

#: The functions that are measured unless others are named.
FUNCTIONS = ("step", "forward_dynamics", "inverse_dynamics")
#: The bytes that are written between two calls with cold caches.
COLD = 1 << 22

_SOURCE = r"""
#include <stddef.h>
#include <stdint.h>
#include <time.h>

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void nothing(void *inputs, void *outputs)
{
    (void)inputs;
    (void)outputs;
}

/* Times of `calls` calls in ns; before each, `size` bytes are written. The clock itself is measured with function = NULL. */
void limber_times(void (*function)(void *, void *), void **inputs, void *outputs, ptrdiff_t states, ptrdiff_t calls,
                  ptrdiff_t arguments, volatile unsigned char *memory, ptrdiff_t size, int64_t *times)
{
    void (*volatile called)(void *, void *) = function ? function : nothing;
    for (ptrdiff_t i = 0; i < calls; i++) {
        for (ptrdiff_t k = 0; k < size; k += 64)
            memory[k]++;
        int64_t begin = now();
        called(inputs + arguments * (i % states), outputs);
        times[i] = now() - begin;
    }
}
"""


@dataclass(frozen=True, eq=False)
class WorstCase:
    """Times of generated functions: {function: (with warm caches, with cold caches)}."""

    system: str
    times: dict[str, tuple[Spread, Spread]]

    _repr_html_ = as_text

    def __str__(self) -> str:
        heads = "".join(f"{'max' if p == 100 else f'{p:g} %':>10}" for p in PERCENTILES)
        lines = [f"{self.system}, microseconds  {'':14}{heads}"]
        width = len(lines[0]) - 10 * len(PERCENTILES)
        for name, both in self.times.items():
            for caches, x in zip(("warm", "cold"), both):
                cells = "".join(f"{1e6 * value:10.2f}" for value in x.percentiles)
                lines.append(f"{f'{name}, {caches} caches':{width}}{cells}")
        return "\n".join(lines)

    __repr__ = __str__

    def summary(self) -> dict[str, Any]:
        """The figures in microseconds, in a form suitable for JSON."""
        return {
            name: {
                caches: dict(zip(map(str, PERCENTILES), (1e6 * x.percentiles).tolist()))
                for caches, x in zip(("warm", "cold"), both)
            }
            for name, both in self.times.items()
        }


def worst_case_time(
    system: System,
    functions: Sequence[str] = FUNCTIONS,
    *,
    calls: int = 20_000,
    seed: int = 0,
    priority: int | None = None,
) -> WorstCase:
    """Measure the worst-case and typical times of generated C functions of a system.

    system : as for `lb.compile`.
    functions : names of functions that `lb.compile` accepts without options.
    calls : the number of timed calls of each function; a tenth of that with cold caches.
    seed : of the random states.
    priority : of the scheduler SCHED_FIFO, as in `Pacing`, so that other programs do not interfere; None for none.
    """
    if isinstance(functions, str) or not all(isinstance(x, str) for x in functions):
        raise ArgumentTypeError(f"functions must be a list of names, got {shown(functions)}.")
    count = integer(calls)
    if count is None or count < 10:
        raise ArgumentValueError(
            f"calls must be a whole number of at least 10, got {shown(calls)}."
        )
    timer = c_compiler.loaded(_SOURCE).limber_times
    rng = np.random.default_rng(seed)
    times = {}
    for name in functions:
        function = compile(system, name)
        inputs = [_states(system, a, rng) for a in function.program.inputs]
        outputs = [np.empty(a.shape) for a in function.program.outputs]
        call = c_compiler.loaded(function.source).limber_call
        with undisturbed(Pacing(priority=priority), "measurement") as notes:
            times[name] = (
                _spread(timer, call, inputs, outputs, count, 0),
                _spread(timer, call, inputs, outputs, max(count // 10, 10), COLD),
            )
        for text in notes:
            warn(text)
    return WorstCase(system.name, times)


#: States that are taken in turn.
_STATES = 64


def _states(system: System, argument: Any, rng: np.random.Generator) -> Array:
    """Random values of an input, one for each state."""
    if argument.name == "q":
        return np.array([_near(system, rng) for _ in range(_STATES)])
    if argument.name == "dt":
        return np.full(_STATES, 1e-3)
    return 0.1 * rng.standard_normal((_STATES, *argument.shape))


def _near(system: System, rng: np.random.Generator) -> Array:
    """A configuration near the neutral one, with unit quaternions."""
    from limber.dynamics import integrate  # noqa: PLC0415

    return integrate(system, system.neutral(), 0.1 * rng.standard_normal(system.nv), 1.0)


def _spread(timer: Any, function: Any, inputs: Any, outputs: Any, calls: int, cold: int) -> Spread:
    """The distribution of the call times, minus the time of the clock."""
    pointers = [x[i : i + 1].ctypes.data for i in range(_STATES) for x in inputs]
    given = (ctypes.c_void_p * len(pointers))(*pointers)
    results = (ctypes.c_void_p * len(outputs))(*[x.ctypes.data for x in outputs])
    memory = np.zeros(max(cold, 1), dtype=np.uint8)

    def measured(what: Any, n: int) -> np.ndarray:
        times = np.zeros(n, dtype=np.int64)
        timer(
            what, given, results, ctypes.c_ssize_t(_STATES), ctypes.c_ssize_t(n), ctypes.c_ssize_t(len(inputs)),
            ctypes.c_void_p(memory.ctypes.data), ctypes.c_ssize_t(cold), ctypes.c_void_p(times.ctypes.data),
        )  # fmt: skip
        return times * 1e-9

    clock = float(np.median(measured(None, calls)))
    address = ctypes.cast(function, ctypes.c_void_p)
    measured(address, min(calls, 100))
    return spread(np.maximum(measured(address, calls) - clock, 0.0))
