"""The state within a step: dense output.  Compiled only."""

from limber.kernels.scalar import kernel
from limber.native.pointers import shifted

from .context import DOP853, EVALUATIONS, RK45, SDIRK
from .rates import evaluate


@kernel
def combine(n, h, weights, stages, k, y, out):
    """out = y + h sum_j weights[j] k_j."""
    for i in range(n):
        out[i] = y[i]
    for j in range(stages):
        w = h * weights[j]
        if w != 0.0:
            kj = shifted(k, j * n)
            for i in range(n):
                out[i] += w * kj[i]


@kernel
def dense_weights(method, own, s, x, w):
    """Weights of dense output at the fraction x of a step: y + a (y_new - y) + h sum_j w_j k_j.

    Returns a.
    """
    z = 1.0 - x
    for j in range(s + 4):
        w[j] = 0.0
    if method == RK45:
        for j in range(s + 1):
            for p in range(3, -1, -1):
                w[j] = (w[j] + own[s + 1 + 4 * j + p]) * x
        return 0.0
    if method == DOP853:
        d = shifted(own, 2 * (s + 1) + 3 * (s + 4) + 3)
        c3 = x * x * z * z
        for j in range(s + 4):
            w[j] = c3 * (
                d[j] + x * (d[s + 4 + j] + z * (d[2 * (s + 4) + j] + x * d[3 * (s + 4) + j]))
            )
        w[0] += x * z - x * x * z
        w[s] -= x * x * z
        return x - x * z + 2.0 * x * x * z
    if method == SDIRK:
        for j in range(1, s):
            for p in range(2, -1, -1):
                w[j] = (w[j] + own[3 * (j - 1) + p]) * x
        return 0.0
    w[0] = x * z * z
    w[s] = -x * x * z
    return x * x * (3.0 - 2.0 * x)


@kernel
def dense(method, n, h, own, s, k, y, y_new, x, w, out):
    """The state at the fraction x of a step."""
    a = dense_weights(method, own, s, x, w)
    combine(n, h, w, s + 4 if method == DOP853 else s + 1, k, y, out)
    if a != 0.0:
        for i in range(n):
            out[i] += a * (y_new[i] - y[i])


@kernel
def more_stages(context, clock, extra, t, h, n, s, y, k, point):
    """The three more stages that dense output of DOP853 needs."""
    for j in range(3):
        combine(n, h, shifted(extra, j * (s + 4)), s + 1 + j, k, y, point)
        at = t + extra[3 * (s + 4) + j] * h
        evaluate(context, at, point, shifted(k, (s + 1 + j) * n))
    clock[EVALUATIONS] += 3.0
