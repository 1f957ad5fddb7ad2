"""Compile every entry point that the cache lacks, in one process for each core, four at most.

`make test` runs this first.  Its processes would compile the same entry points beside each other otherwise, since
each of them compiles what it needs when it needs it.
"""

import os
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from importlib import import_module
from multiprocessing import get_context

from limber.native.compilation import Library

MODULES = ("limber.native.slope_entries", "limber.native.entries", "limber.integrators.entries")
#: These take long.  They come first, so that no process waits for another at the end.
LONG = (
    "closed_slope_by_constants", "closed_slopes_by_steps", "flexible_forward_slopes", "closed_hybrid_dynamics",
    "articulated_sweep", "rigid_forward_slopes", "operational_responses", "closed_sweep", "operational_motion",
    "engine_implicit", "correction", "inverse_slopes", "inverse_slope_by_constants", "composite_sweep", "simulate",
)  # fmt: skip

library = cache(Library)


def load(entry):
    name, module = entry
    library(module).load(name)


def main():
    entries = {
        name: module
        for module in MODULES
        for name, function in vars(import_module(module)).items()
        if hasattr(function, "arguments")
    }
    names = [*LONG, *(entries.keys() - set(LONG))]
    processes = min(os.cpu_count() or 1, 4)
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as executor:
        for _ in executor.map(load, [(name, entries[name]) for name in names]):
            pass


if __name__ == "__main__":
    main()
