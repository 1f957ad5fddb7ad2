"""`step_info`: the usual figures of a step response."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array, array, number
from limber.errors import ArgumentValueError
from limber.notebook import as_text

#: The rise is counted between these fractions of the step.
RISE = (0.1, 0.9)


@dataclass(frozen=True)
class StepInfo:
    """Figures of a step response; it prints as text. Times count from the first one; nan where it never happens.

    rise : time from 10 % to 90 % of the step, s.
    peak : time of the largest value, s.
    overshoot : how far the largest value goes beyond the target, as a fraction of the step; 0 if it does not.
    settling : time after which the response stays within the band around the target, s.
    error : the last value minus the target, in the unit of the response.
    """

    rise: float
    peak: float
    overshoot: float
    settling: float
    error: float

    _repr_html_ = as_text

    def __str__(self) -> str:
        rise = "never reaches 90 %" if np.isnan(self.rise) else f"rise {self.rise:.4g} s"
        over = f"overshoot {100.0 * self.overshoot:.3g} % at {self.peak:.4g} s"
        settles = (
            "never settles" if np.isnan(self.settling) else f"settles in {self.settling:.4g} s"
        )
        over = over if self.overshoot > 0.0 else "no overshoot"
        return f"{rise}, {over}, {settles}, ends off by {self.error:.3g}"


def step_info(
    t: ArrayLike,
    y: ArrayLike,
    target: float | None = None,
    *,
    start: float | None = None,
    within: float = 0.02,
) -> StepInfo:
    """Return rise time, overshoot and settling time of a response, such as a joint of a Result.

    Parameters
    ----------
    t : (n,) times, s, increasing; the step is at the first one.
    y : (n,) or (n, 1), the response: step_info(result.t, result.joint("elbow"), 0.5).
    target : the value that it should reach; the last value by default.
    start : the value before the step; the first value by default.
    within : half the width of the settling band, as a fraction of the step.

    Between the given times the response is taken as linear.
    """
    times = array("t", t, ("n",))
    n = times.size
    if n < 2 or not (np.diff(times) > 0.0).all():
        raise ArgumentValueError("t must be two or more increasing times.")
    values = np.asarray(y)
    values = array("y", values[:, 0] if values.shape == (n, 1) else values, (n,), "One response.")
    begin = float(values[0]) if start is None else number("start", start)
    end = float(values[-1]) if target is None else number("target", target)
    band = number("within", within, above=0.0)
    if begin == end:
        raise ArgumentValueError(
            f"target and start are both {end:g}, so there is no step. Give target= or start=."
        )
    part = (values - begin) / (end - begin)
    since = times - times[0]
    low, high = (_first(since, part - level) for level in RISE)
    largest = int(np.argmax(part))
    return StepInfo(
        high - low,
        float(since[largest]),
        max(0.0, float(part[largest]) - 1.0),
        _last(since, np.abs(part - 1.0) - band),
        float(values[-1]) - end,
    )


def _first(t: Array, x: Array) -> float:
    """The first time at which x is not negative."""
    found = np.flatnonzero(x >= 0.0)
    if not found.size:
        return float("nan")
    i = int(found[0])
    return float(t[0]) if i == 0 else _crossing(t, x, i - 1)


def _last(t: Array, x: Array) -> float:
    """The time after which x is not positive."""
    found = np.flatnonzero(x > 0.0)
    if not found.size:
        return float(t[0])
    i = int(found[-1])
    return float("nan") if i == t.size - 1 else _crossing(t, x, i)


def _crossing(t: Array, x: Array, i: int) -> float:
    """Where the line from x[i] to x[i + 1] is zero."""
    return float(t[i] + (t[i + 1] - t[i]) * x[i] / (x[i] - x[i + 1]))
