"""Tests whether residuals are white noise: autocorrelation, and the test of Ljung and Box (1978).

    Q = n (n + 2) sum_k r_k^2 / (n - k),    k = 1 .. m

is approximately chi^2 distributed with m degrees of freedom if the residuals are white; with few residuals, large
values are more frequent.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from limber.checks import Array

#: The largest lag of the test, and the smallest number of readings for each lag.
LAGS, EACH = 10, 10


def autocorrelation(x: Array, lags: int) -> Array:
    """(lags + 1,): the autocorrelation of x, normalized to 1 at lag 0."""
    x = x - x.mean()
    power = float(x @ x)
    if power == 0.0:
        return np.eye(1, lags + 1)[0]
    return np.array([float(x[: len(x) - k] @ x[k:]) for k in range(lags + 1)]) / power


def probability_of_white(x: Array) -> float:
    """The probability that white noise is at least as correlated as x; 1 if there are too few numbers."""
    n = len(x)
    m = min(LAGS, n // EACH)
    if m < 1:
        return 1.0
    r = autocorrelation(x, m)[1:]
    Q = n * (n + 2.0) * np.sum(r**2 / (n - np.arange(1, m + 1)))
    return float(chi2.sf(Q, m))
