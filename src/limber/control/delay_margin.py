"""Delay margins.

In a sampled loop, a delay of whole samples changes the phase but not the gain. A delay of a fraction of a sample
changes the effect of a command until the next sample, and so also the gain. The phase alone therefore gives the margin
of a continuous loop; for a sampled loop it only says which delays to try.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from limber.control.feedback import Feedback

#: Delays are tried at this many fractions of a sample, but no more of them than this, up to this many samples beyond
#: what the phase gives.
PARTS, TRIED, BEYOND = 6, 96, 3
#: If according to the phase no delay matters, this many samples are examined.
SAMPLES = 4
#: Delays of more samples are left at what the phase gives: each is a further state, and parts of a sample matter less.
MOST = 40


def delay_margin(loop: Feedback, i: int, by_phase: tuple[float, float]) -> tuple[float, float]:
    """The additional delay, s, that loop i of a stable loop tolerates, and the frequency, rad/s, at which it then no
    longer decays.

    by_phase : the margin that follows from the phases at unit gain.
    """
    T = loop.dt
    if not T or loop.continuous is None:
        return by_phase

    def grows(delay: float) -> float:
        return loop.later(i, delay).growth()

    if MOST * T < by_phase[0] < math.inf:
        return by_phase
    told = by_phase[0] if math.isfinite(by_phase[0]) else SAMPLES * T
    last = told + BEYOND * T
    step = max(T / PARTS, last / TRIED)
    before = 0.0
    for k in range(1, math.ceil(last / step) + 1):
        if grows(k * step) >= 0.0:
            found = float(brentq(grows, before, k * step, xtol=1e-9 * T, rtol=1e-12))
            poles = loop.later(i, found).poles()
            return found, float(abs(np.angle(poles[np.argmax(np.abs(poles))])) / T)
        before = k * step
    return by_phase
