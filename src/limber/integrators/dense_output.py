"""The state within a step: dense output.  Compiled only."""

from limber.kernels.scalar import kernel
from limber.native.pointers import numbers_at, shifted

from .context import EVALUATIONS, MOTIONS, ORIGIN_TIME, PROJECTED_STEPS, SHARED
from .method_record import (
    ALL_RATES,
    AT_DENSE,
    AT_EXTRA_A,
    AT_EXTRA_C,
    DENSE_DEGREE,
    EXTRA_STAGES,
    STAGES,
)
from .motions import prescribe
from .projection import close
from .rates import evaluate


@kernel
def block(method, place):
    """The block of a method's record whose offset is in `place`."""
    return shifted(method, int(method[place]))


@kernel
def combine(n, h, weights, count, k, y, out):
    """out = y + h sum_j weights[j] k_j."""
    for i in range(n):
        out[i] = y[i]
    for j in range(count):
        w = h * weights[j]
        if w != 0.0:
            kj = shifted(k, j * n)
            for i in range(n):
                out[i] += w * kj[i]


@kernel
def dense(method, n, h, k, y, x, w, out):
    """The state at the fraction x of a step; `w` gets the weights of the rates, see `method_record`."""
    rates, degree = int(method[ALL_RATES]), int(method[DENSE_DEGREE])
    d = block(method, AT_DENSE)
    z = 1.0 - x
    for j in range(rates):
        value = 0.0
        for p in range(degree - 1, -1, -1):
            value = d[j * degree + p] + value * (x if p % 2 else z)
        w[j] = value * x
    combine(n, h, w, rates, k, y, out)


@kernel
def state_within(context, method, n, h, k, y, at, x, w, out):
    """The state at the fraction x of a step from the time `at` of the simulation.

    Driven joints are as prescribed, and the closures are satisfied.
    """
    dense(method, n, h, k, y, x, w, out)
    if context[MOTIONS] > 0:
        prescribe(context, at + x * h, out)
    close(context, method, at + x * h - numbers_at(context[SHARED])[ORIGIN_TIME], out)


@kernel
def extra_stages(context, clock, method, t, h, n, y, k, point):
    """The stages that only dense output needs."""
    s, rates = int(method[STAGES]), int(method[ALL_RATES])
    extra = int(method[EXTRA_STAGES])
    A, c = block(method, AT_EXTRA_A), block(method, AT_EXTRA_C)
    for i in range(extra):
        combine(n, h, shifted(A, i * rates), s + 1 + i, k, y, point)
        if clock[PROJECTED_STEPS] > 0.0:
            close(context, method, t + c[i] * h, point)
        evaluate(context, t + c[i] * h, point, shifted(k, (s + 1 + i) * n))
    clock[EVALUATIONS] += extra
