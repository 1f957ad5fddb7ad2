"""Runge-Kutta integration of a whole simulation, compiled.

`advance` takes steps until something is to be done in Python: the end, an event, a failure, or a number
of steps after which to show progress.  Between, results are written at the output times by dense
output, and a sampled controller is called at its times.

Methods: RK4, fixed steps, cubic Hermite output; RK45, the pair of Dormand & Prince with Shampine's
interpolant; DOP853, of order 8(5,3) with output of order 7 (Hairer, Norsett & Wanner, II.5, II.6);
SDIRK, implicit, of order 4(3) with output of order 3 from its stages (`implicit`): stiff torques spoil the slopes
that Hermite's would take.
The tableau is an array that Python fills; see `limber.simulation.methods`.  Compiled only.
"""

from limber.kernels.layout import NQ, NV
from limber.kernels.scalar import kernel
from limber.kernels.step import normalize
from limber.native.pointers import call_forces, call_implicit, numbers_at, shifted, words_at
from limber.native.state_checks import finite

from .context import (
    ATOL,
    DONE,
    DOP853,
    END_TIME,
    EVALUATIONS,
    EVENT,
    EVENT_FUNCTION,
    EVENT_NUMBER,
    EVENTS,
    FAULT,
    FLOWS,
    FORCES,
    FRESH,
    IMPLICIT,
    KIND,
    LARGEST,
    LAST_ERROR,
    NEXT_SAMPLE,
    ORIGIN_TIME,
    OUTPUT,
    PAUSED,
    REJECTED,
    RK4,
    RTOL,
    SAMPLE,
    SAMPLED,
    SAMPLES,
    SDIRK,
    SHARED,
    SIGNALS,
    SPOILT,
    STEP,
    STEPS,
    STOP,
    STUCK,
    TAU,
    TIME,
    TOPO,
    WRENCH_DATA,
    WRENCHES,
)
from .dense_output import combine, dense, more_stages
from .event_search import first_crossing
from .rates import call_signal, evaluate, note_fault, tolerance

# tableau: stages s, order of the error estimate, A (s x s), B (s), C (s), then the method's own part
T_STAGES, T_ORDER, T_A = 0, 1, 2

# step control as in Hairer, Norsett & Wanner II.4 and, proportional and integral, Hairer & Wanner IV.2
SAFETY, SHRINK, GROW = 0.9, 0.2, 8.0
PROPORTIONAL, INTEGRAL = 0.7, -0.4


@kernel
def error_norm(method, n, h, own, s, k, y, y_new, rtol, atol):
    """Root mean square of the estimated error over the tolerance; `own` is the method's own part.

    The energy that came in follows from the state and is not controlled.
    """
    first, second = 0.0, 0.0
    size = n - FLOWS
    for i in range(size):
        a, b = 0.0, 0.0
        for j in range(s + 1):
            a += own[j] * k[j * n + i]
        if method == DOP853:
            for j in range(s + 1):
                b += own[s + 1 + j] * k[j * n + i]
        scale = tolerance(rtol, atol, y[i], y_new[i])
        first += (a / scale) ** 2
        second += (b / scale) ** 2
    if first == 0.0 and second == 0.0:
        return 0.0
    # DOP853 has estimates of orders 5 and 3: Hairer, Norsett & Wanner, (10.17)
    return abs(h) * first / ((first + 0.01 * second) * size) ** 0.5


@kernel
def write(context, clock, times, y, y_out, force_out):
    """The state y as the next row of the output, with its torque and wrenches; whether those were finite."""
    topo = words_at(context[TOPO])
    row = int(clock[OUTPUT])
    nv, wrenches = topo[NV], 6 * context[WRENCHES]
    n = topo[NQ] + nv + FLOWS
    out, force = shifted(y_out, row * n), shifted(force_out, row * (nv + wrenches))
    for i in range(n):
        out[i] = y[i]
    normalize(topo, out)
    call_forces(context[FORCES], context, times[row], out)
    if spoilt(context):
        return False
    tau, wrench = numbers_at(context[TAU]), numbers_at(context[WRENCH_DATA])
    for i in range(nv):
        force[i] = tau[i]
    for i in range(wrenches):
        force[nv + i] = wrench[i]
    clock[OUTPUT] += 1.0
    return True


@kernel
def write_rest(context, clock, times, count, y, y_out, force_out):
    """Write y as the output of all times up to the end of the run; whether all went well."""
    while int(clock[OUTPUT]) < count and times[int(clock[OUTPUT])] <= clock[END_TIME]:
        if not write(context, clock, times, y, y_out, force_out):
            return False
    return True


@kernel
def spoilt(context):
    """Whether a signal or an event function was not finite."""
    return numbers_at(context[SHARED])[FAULT] != 0.0


@kernel
def begin_step(context, clock, stops, y, k, tiny):
    """Before a step: a sampled controller's turn, and the rate at its start; returns the longest step allowed.

    Kinks and jumps of the torque are ends of steps: no step looks across them (the last stop is infinite).
    """
    torque = words_at(context[SIGNALS])
    t = clock[TIME]
    limit = clock[END_TIME] - t
    if torque[KIND] == SAMPLED:
        if t >= clock[NEXT_SAMPLE] - tiny:
            call_signal(context, torque, t, y)
            clock[SAMPLES] += 1.0
            clock[NEXT_SAMPLE] = clock[SAMPLES] * clock[SAMPLE]
            clock[FRESH] = 1.0
        limit = min(limit, clock[NEXT_SAMPLE] - t)
    stop = int(clock[STOP])
    while stops[stop] <= t + tiny:
        stop += 1
        clock[FRESH] = 1.0
    clock[STOP] = stop
    if clock[FRESH] != 0.0:
        evaluate(context, t, y, k)
        clock[EVALUATIONS] += 1.0
        clock[FRESH] = 0.0
    return min(limit, stops[stop] - t)


@kernel
def explicit_step(context, clock, tableau, t, h, n, y, k, y_new, point):
    """The stages and the end of an explicit step, with the rate there."""
    s = int(tableau[T_STAGES])
    A = shifted(tableau, T_A)
    B = shifted(A, s * s)
    C = shifted(B, s)
    for i in range(1, s):
        combine(n, h, shifted(A, i * s), i, k, y, point)
        evaluate(context, t + C[i] * h, point, shifted(k, i * n))
    combine(n, h, B, s, k, y, y_new)
    evaluate(context, t + h, y_new, shifted(k, s * n))
    clock[EVALUATIONS] += s


@kernel
def next_step(clock, exponent, h, error, clipped):
    """The step after an accepted one, by proportional-integral control: steps limited by stability do not oscillate."""
    factor = GROW
    if error > 0.0:
        factor = SAFETY * error ** (PROPORTIONAL * exponent)
        if clock[LAST_ERROR] > 0.0:
            factor *= clock[LAST_ERROR] ** (INTEGRAL * exponent)
        factor = min(GROW, max(SHRINK, factor))
    clock[LAST_ERROR] = max(error, 1e-4)
    # a step cut short says nothing about a longer one
    if not clipped or factor < 1.0:
        clock[STEP] = h * factor


@kernel
def advance(
    context, method, y, k, scratch, clock, tableau, sides, stops, times, count, y_out, force_out, most
):  # fmt: skip
    """Integrate; see the head of this file.

    k: (s + 4) n, scratch: 2 n + s + 9 + 5 events numbers.  y ends at clock[TIME].
    """
    topo, events, shared = words_at(context[TOPO]), context[EVENTS], numbers_at(context[SHARED])
    n = topo[NQ] + topo[NV] + FLOWS
    s = int(tableau[T_STAGES])  # the rate at the end of a step is k_s
    A = shifted(tableau, T_A)
    own = shifted(A, s * s + 2 * s)
    y_new, point = scratch, shifted(scratch, n)
    w = shifted(scratch, 2 * n)
    step = shifted(w, s + 4)
    values = shifted(step, 5)
    exponent = -1.0 / (tableau[T_ORDER] + 1.0)
    rtol, atol = clock[RTOL], clock[ATOL]
    for _ in range(most):
        t = clock[TIME]
        tiny = 1e-14 * max(clock[END_TIME], 1e-300)
        if clock[END_TIME] - t <= tiny:
            clock[TIME] = clock[END_TIME]
            good = write_rest(context, clock, times, count, y, y_out, force_out)
            return DONE if good else SPOILT
        limit = begin_step(context, clock, stops, y, k, tiny)
        if spoilt(context):
            return SPOILT
        h = min(clock[STEP], clock[LARGEST])
        if method != RK4 and h < tiny:
            return STUCK
        clipped = h >= limit * (1.0 - 1e-9)
        if clipped:
            h = limit
        converged, error = True, 0.0
        if method == SDIRK:
            step[0], step[1], step[2], step[3] = t, h, rtol, atol
            used = call_implicit(context[IMPLICIT], context, step, y, A, k, y_new)
            converged, error = used > 0, step[4]
            clock[EVALUATIONS] += abs(used)
        else:
            explicit_step(context, clock, tableau, t, h, n, y, k, y_new, point)
            if method != RK4:
                error = error_norm(method, n, h, own, s, k, y, y_new, rtol, atol)
        if spoilt(context):
            return SPOILT
        usable = converged and finite(y_new, n) and finite(shifted(k, s * n), n)
        if not (usable and error <= 1.0):
            clock[REJECTED] += 1.0
            if method == RK4:
                return STUCK
            clock[STEP] = h * (max(SHRINK, SAFETY * error**exponent) if usable else SHRINK)
            continue
        # accepted: events, then the outputs before them
        which, reached = -1, 1.0
        end = t + limit if clipped else t + h
        if events > 0 or (int(clock[OUTPUT]) < count and times[int(clock[OUTPUT])] <= end):
            if method == DOP853:
                more_stages(context, clock, shifted(own, 2 * (s + 1)), t, h, n, s, y, k, point)
                if spoilt(context):
                    return SPOILT
            if events > 0:
                which, reached = first_crossing(
                    (topo, method, n, h, own, s, k, y, y_new, t + shared[ORIGIN_TIME], w, point,
                     context[EVENT_FUNCTION]), events, sides, values,
                )  # fmt: skip
                note_fault(context, context[WRENCHES] + 2, t, values, 5 * events, y)
                if spoilt(context):
                    return SPOILT
                if which >= 0:
                    end = t + reached * h
            while int(clock[OUTPUT]) < count and times[int(clock[OUTPUT])] <= end:
                x = min((times[int(clock[OUTPUT])] - t) / h, 1.0)
                dense(method, n, h, own, s, k, y, y_new, x, w, point)
                if not write(context, clock, times, point, y_out, force_out):
                    return SPOILT
        clock[STEPS] += 1.0
        if method != RK4:
            next_step(clock, exponent, h, error, clipped)
        clock[TIME] = end
        if which >= 0:
            dense(method, n, h, own, s, k, y, y_new, reached, w, point)
            for i in range(n):
                y[i] = point[i]
            normalize(topo, y)
            clock[EVENT_NUMBER] = which
            clock[FRESH] = 1.0
            return EVENT
        for i in range(n):
            y[i] = y_new[i]
            k[i] = k[s * n + i]
        normalize(topo, y)
    return PAUSED
