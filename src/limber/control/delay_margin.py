"""How much later commands may come.

A delay by whole samples turns the phase of a sampled loop and leaves its gain; one by a part of a sample changes what a command does
until the next sample, and with it the gain.  So the phase alone tells the margin of a continuous loop, and in a sampled one which
delays to try.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from limber.control.feedback import Feedback

#: Delays are tried at so many parts of a sample, but no more of them than this, up to so many samples beyond what the phase tells.
PARTS, TRIED, BEYOND = 6, 96, 3
#: Where the phase tells that no delay matters, this many samples are looked at.
SAMPLES = 4
#: Delays of more samples are left at what the phase tells: each is a further state, and parts of a sample matter less.
MOST = 40


def delay_margin(loop: Feedback, i: int, by_phase: tuple[float, float]) -> tuple[float, float]:
    """The further delay, s, that loop i of a stable loop bears, and the frequency, rad/s, of the motion that then does not decay.

    by_phase : what unit gains and their phases tell.
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
