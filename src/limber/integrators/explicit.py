"""One step of an explicit method, and its error.  Compiled only."""

from limber.kernels.scalar import kernel
from limber.native.pointers import shifted

from .context import (
    CONDITION,
    EVALUATIONS,
    FLOWS,
    MOTIONS,
    PROJECTED_STEPS,
    WORST_CONDITION,
)
from .dense_output import block, combine
from .method_record import AT_A, AT_B, AT_C, AT_ERRORS, SECOND_WEIGHT, STAGES
from .projection import close, condition
from .rates import evaluate, independent, tolerance


@kernel
def explicit_step(context, clock, method, t, h, n, y, k, y_new, point):
    """The stages and the end of an explicit step, with the rate there; whether the closures are satisfied at the end."""
    s = int(method[STAGES])
    A, b, c = block(method, AT_A), block(method, AT_B), block(method, AT_C)
    met, worst = True, clock[CONDITION]
    for i in range(1, s):
        combine(n, h, shifted(A, i * s), i, k, y, point)
        if clock[PROJECTED_STEPS] > 0.0:
            met = close(context, method, t + c[i] * h, point) >= 0 and met
            worst = max(worst, condition(context))
        evaluate(context, t + c[i] * h, point, shifted(k, i * n))
    combine(n, h, b, s, k, y, y_new)
    met = close(context, method, t + h, y_new) >= 0 and met
    clock[WORST_CONDITION] = worst
    evaluate(context, t + h, y_new, shifted(k, s * n))
    clock[EVALUATIONS] += s
    return met


@kernel
def stability(method, n, h, k, y_new, point):
    """h times the largest eigenvalue, about: the rates at the end less those of the last stage, over the states.

    `point` is the state of the last stage, which is at the end of the step too (Hairer & Wanner II, IV.2).
    """
    s = int(method[STAGES])
    end, last = shifted(k, s * n), shifted(k, (s - 1) * n)
    rates, states = 0.0, 0.0
    for i in range(n - FLOWS):
        rates += (end[i] - last[i]) ** 2
        states += (y_new[i] - point[i]) ** 2
    if states == 0.0:
        return 0.0
    return abs(h) * (rates / states) ** 0.5


@kernel
def explicit_error(context, method, n, h, k, y, y_new, rtol, atol):
    """Root mean square of the estimated error over the tolerance.

    Two estimates are combined as in Hairer, Norsett & Wanner, (10.17).  The energy supplied follows from the
    state and is not controlled, except for the work of torques where joints are driven: a path may be exact in one long step,
    over which the power is not.  The mean is over the degrees of freedom: with closures it is no smaller than that of a system
    with fewer coordinates, which are some of these.
    """
    s, second_weight = int(method[STAGES]), method[SECOND_WEIGHT]
    weights = block(method, AT_ERRORS)
    first, second = 0.0, 0.0
    size = n - FLOWS + (1 if context[MOTIONS] > 0 else 0)
    for i in range(size):
        a, b = 0.0, 0.0
        for j in range(s + 1):
            a += weights[j] * k[j * n + i]
        if second_weight != 0.0:
            for j in range(s + 1):
                b += weights[s + 1 + j] * k[j * n + i]
        scale = tolerance(rtol, atol, y[i], y_new[i])
        first += (a / scale) ** 2
        second += (b / scale) ** 2
    if first == 0.0 and second == 0.0:
        return 0.0
    freedoms = independent(context, size)
    return abs(h) * first / ((first + second_weight * second) * freedoms) ** 0.5
