"""Times as the best of many short repeats, and the table of results."""

from __future__ import annotations

import time

import numpy as np

REPEATS = 25
RESULTS: list[dict] = []


def best(*functions, seconds=0.004):
    """Best time per call of each function, repeats interleaved."""
    counts = []
    for f in functions:
        f()
        start = time.perf_counter()
        f()
        once = max(time.perf_counter() - start, 1e-7)
        counts.append(max(1, int(seconds / once)))
    times = [np.inf] * len(functions)
    for _ in range(REPEATS):
        for i, (f, n) in enumerate(zip(functions, counts)):
            start = time.perf_counter()
            for _ in range(n):
                f()
            times[i] = min(times[i], (time.perf_counter() - start) / n)
    return times


def record(group, what, value, unit, target=None, ok=None):
    ok = None if ok is None else bool(ok)
    RESULTS.append(
        {"group": group, "what": what, "value": value, "unit": unit, "target": target, "ok": ok}
    )
