"""The times at which a run writes rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from limber.checks import Array, array, number
from limber.errors import ArgumentValueError

#: Output rows unless the caller says otherwise.
ROWS = 501
#: The most rows that `every` may ask for.
MOST_ROWS = 100_000_000


def output_times(start: float, end: float, t_eval: Any, every: Any) -> Array:
    """The output times, from the start on."""
    if t_eval is not None and every is not None:
        raise ArgumentValueError("give either t_eval or every, not both.")
    if every is not None:
        return _ticks(end - start, number("every", every, above=0.0))
    if t_eval is None:
        return np.linspace(0.0, end - start, ROWS)
    times = np.array(array("t_eval", t_eval, ("n",)))
    if (times[1:] < times[:-1]).any() or (times.size and (times[0] < start or times[-1] > end)):
        raise ArgumentValueError(
            f"t_eval must increase and lie between t0={start:g} and t_end={end:g}."
        )
    return times - start


def _ticks(length: float, every: float) -> Array:
    """Times at a constant interval, and the end."""
    count = length / every
    if count > MOST_ROWS:
        raise ArgumentValueError(f"every={every:g} requires {count:,.0f} rows: use a larger one.")
    ticks = every * np.arange(int(count) + 1, dtype=float)
    return np.append(ticks[ticks <= length * (1.0 - 1e-12)], length)
