"""Runge-Kutta integration of a whole simulation, compiled.

`advance` takes steps until Python has something to do: at the end, at an event, after a failure, or after a number
of steps, to show progress.  On the way it writes results at the output times by dense output and calls a sampled
controller at its times.

The method is a record of numbers, see `method_record`; the loop asks whether it is implicit and whether its steps
are adaptive, and knows no names.  Compiled only.
"""

from limber.kernels.layout import NQ, NV
from limber.kernels.scalar import kernel
from limber.kernels.step import normalize
from limber.native.pointers import (
    call_forces,
    call_implicit,
    call_rates,
    numbers_at,
    shifted,
    words_at,
)
from limber.native.state_checks import finite

from .context import (
    ATOL,
    AVOIDED_STEPS,
    BEST_CONDITION,
    CLOSURE_ROWS,
    CONDITION,
    CRAWL,
    CRAWL_STEPS,
    DONE,
    END_TIME,
    EVALUATIONS,
    EVENT,
    EVENT_FUNCTION,
    EVENT_NUMBER,
    EVENT_STEP,
    EVENTS,
    FAULT,
    FIELD,
    FLOWS,
    FORCES,
    IMPLICIT,
    KIND,
    LARGEST,
    LAST_ERROR,
    MOST_STIFF_STEPS,
    MOTIONS,
    NEEDS_RATE,
    NEW_CONDITION,
    NEXT_SAMPLE,
    NEXT_STOP,
    NOT_FINITE,
    ORIGIN_TIME,
    OUTPUT,
    P_NEXT,
    PAUSED,
    PLAN,
    PROJECTED_STEPS,
    RATES,
    REJECTED,
    RESOLUTION,
    RTOL,
    SAMPLE_STEPS,
    SAMPLED,
    SHARED,
    SIGNALS,
    SPARE_RATES,
    STEP,
    STEP_ATOL,
    STEP_BEST,
    STEP_CONDITION,
    STEP_ERROR,
    STEP_LENGTH,
    STEP_PROJECTED,
    STEP_RTOL,
    STEP_SIZE,
    STEP_TIME,
    STEPS,
    STIFF,
    STIFF_STEPS,
    STUCK,
    TAU,
    TIME,
    TOPO,
    WORST_CONDITION,
    WRENCHES,
)
from .dense_output import extra_stages, state_within
from .event_search import first_crossing
from .explicit import explicit_error, explicit_step, stability
from .faults import note_fault
from .method_record import (
    ALL_RATES,
    ERROR_EXPONENT,
    INTEGRAL_EXPONENT,
    IS_ADAPTIVE,
    IS_IMPLICIT,
    LARGEST_FACTOR,
    LEAST_FACTOR,
    PROPORTIONAL_EXPONENT,
    SAFETY,
    STAGES,
)
from .projection import (
    PROJECTED,
    SHORTER,
    avoidable,
    condition,
    follow_condition,
    follow_cut_joints,
    rounding,
)
from .rates import call_signal, evaluate

#: Errors below this count as this large when the step after the next is chosen.
LEAST_ERROR = 1e-4
#: The step h of an explicit method is taken to be limited by stability rather than by accuracy if h |lambda| of the
#: largest eigenvalue is beyond this.  On a motion that decays, dop853 stays at 6.4; accuracy asks for 1 and less.  The
#: estimate is lower with closures, because the projection of a step moves the state in directions that are not stiff.
STABLE, STABLE_CLOSED = 5.0, 3.0


@kernel
def count_stiff(context, clock, method, h, n, k, y_new, point):
    """Count an explicit step up if stability limits it, else down: whether there are too many of them now."""
    limit = STABLE_CLOSED if context[CLOSURE_ROWS] > 0 else STABLE
    if stability(method, n, h, k, y_new, point) > limit:
        clock[STIFF_STEPS] += 1.0
    else:
        clock[STIFF_STEPS] = max(clock[STIFF_STEPS] - 1.0, 0.0)
    return clock[STIFF_STEPS] >= clock[MOST_STIFF_STEPS]


@kernel
def write_row(context, clock, times, y, y_out, force_out):
    """Write the state y as the next row of the output, with its forces; whether those are finite."""
    topo = words_at(context[TOPO])
    row = int(clock[OUTPUT])
    nv = topo[NV]
    n, width = topo[NQ] + nv + FLOWS, nv + 6 * context[WRENCHES]
    if context[FIELD] != 0:
        width += nv
    out, force = shifted(y_out, row * n), shifted(force_out, row * width)
    for i in range(n):
        out[i] = y[i]
    normalize(topo, out)
    if context[MOTIONS] > 0:  # the forces of driven joints follow from the dynamics
        spare = numbers_at(context[SPARE_RATES])
        call_rates(context[RATES], context, times[row], out, spare)
    else:
        call_forces(context[FORCES], context, times[row], out)
    if fault_noted(context):
        return False
    tau = numbers_at(context[TAU])  # the wrenches and the forces of the environment lie behind it
    for i in range(width):
        force[i] = tau[i]
    clock[OUTPUT] += 1.0
    return True


@kernel
def row_due(clock, times, count, t):
    """Whether the next row of the output is due at the time t."""
    return int(clock[OUTPUT]) < count and times[int(clock[OUTPUT])] <= t


@kernel
def fault_noted(context):
    """Whether a signal or an event function was not finite."""
    return numbers_at(context[SHARED])[FAULT] != 0.0


@kernel
def begin_step(context, clock, stops, y, k, tiny):
    """Prepare a step: call a sampled controller that is due, and evaluate the rate at the start if it is not known.

    Returns the longest step allowed.  Steps end where the torque jumps or has a kink, so that none of them extends across
    such a place (the last of the stops is infinite).
    """
    torque = words_at(context[SIGNALS])
    t = clock[TIME]
    limit = clock[END_TIME] - t
    if torque[KIND] == SAMPLED:
        if t >= clock[NEXT_SAMPLE] - tiny:
            call_signal(context, torque, t, y)
            clock[NEXT_SAMPLE] = numbers_at(torque[PLAN])[P_NEXT]
            clock[SAMPLE_STEPS] = clock[STEPS]
            clock[NEEDS_RATE] = 1.0
        limit = min(limit, clock[NEXT_SAMPLE] - t)
    stop = int(clock[NEXT_STOP])
    while stops[stop] <= t + tiny:
        stop += 1
        clock[NEEDS_RATE] = 1.0
    clock[NEXT_STOP] = stop
    if clock[NEEDS_RATE] != 0.0:
        evaluate(context, t, y, k)
        clock[EVALUATIONS] += 1.0
        clock[NEEDS_RATE] = 0.0
    return min(limit, stops[stop] - t)


@kernel
def crawls(context, clock, h, limit):
    """Whether steps of a sampled loop are so short that the next sample is out of reach, see `context.CRAWL`."""
    sampled = words_at(context[SIGNALS])[KIND] == SAMPLED
    return sampled and clock[STEPS] - clock[SAMPLE_STEPS] > CRAWL_STEPS and h * CRAWL < limit


@kernel
def try_step(context, clock, method, t, h, n, y, k, y_new, point, step):
    """Compute y_new and all rates of a step: (whether it was found and satisfies closures, the error over the tolerance)."""
    rtol, atol = clock[RTOL], clock[ATOL]
    if method[IS_IMPLICIT] != 0.0:
        step[STEP_TIME], step[STEP_LENGTH], step[STEP_RTOL], step[STEP_ATOL] = t, h, rtol, atol
        # the work of driven joints is that of stages as they are
        projected = clock[PROJECTED_STEPS] > 0.0 and context[MOTIONS] == 0
        step[STEP_PROJECTED] = 1.0 if projected else 0.0
        step[STEP_CONDITION], step[STEP_BEST] = clock[CONDITION], clock[BEST_CONDITION]
        evaluations = call_implicit(context[IMPLICIT], context, step, y, method, k, y_new)
        clock[EVALUATIONS] += abs(evaluations)
        clock[WORST_CONDITION] = step[STEP_CONDITION]
        return evaluations > 0, step[STEP_ERROR]
    met = explicit_step(context, clock, method, t, h, n, y, k, y_new, point)
    if method[IS_ADAPTIVE] != 0.0:
        return met, explicit_error(context, method, n, h, k, y, y_new, rtol, atol)
    return met, 0.0


@kernel
def choose_next_step(clock, method, h, error, clipped):
    """Set the step after an accepted one; `method_record.StepControl` defines how."""
    factor = method[LARGEST_FACTOR]
    if error > 0.0:
        factor = method[SAFETY] * error ** method[PROPORTIONAL_EXPONENT]
        if clock[LAST_ERROR] > 0.0:
            factor *= clock[LAST_ERROR] ** method[INTEGRAL_EXPONENT]
        factor = min(method[LARGEST_FACTOR], max(method[LEAST_FACTOR], factor))
    clock[LAST_ERROR] = max(error, LEAST_ERROR)
    # The error of a step that was cut short says nothing about a longer one.
    if not clipped or factor < 1.0:
        clock[STEP] = h * factor


@kernel
def advance(
    context, method, y, k, scratch, clock, sides, stops, times, count, y_out, force_out, max_steps
):  # fmt: skip
    """Integrate for at most `max_steps` steps; the head of this file has the rest.

    method: its record.  k: n numbers for each rate of the method.  scratch: 2 n numbers, one for each rate,
    STEP_SIZE, and 5 for each event.  y ends at clock[TIME].
    """
    topo, events, shared = words_at(context[TOPO]), context[EVENTS], numbers_at(context[SHARED])
    n = topo[NQ] + topo[NV] + FLOWS
    s, adaptive = int(method[STAGES]), method[IS_ADAPTIVE] != 0.0
    y_new, point = scratch, shifted(scratch, n)
    w = shifted(scratch, 2 * n)
    step = shifted(w, int(method[ALL_RATES]))
    values = shifted(step, STEP_SIZE)
    counting = clock[MOST_STIFF_STEPS] > 0.0 and method[IS_IMPLICIT] == 0.0
    for _ in range(max_steps):
        t = clock[TIME]
        tiny = RESOLUTION * max(clock[END_TIME], 1e-300)
        if clock[END_TIME] - t <= tiny:
            clock[TIME] = clock[END_TIME]
            while row_due(clock, times, count, clock[END_TIME]):
                if not write_row(context, clock, times, y, y_out, force_out):
                    return NOT_FINITE
            return DONE
        limit = begin_step(context, clock, stops, y, k, tiny)
        if fault_noted(context):
            return NOT_FINITE
        h = min(clock[STEP], clock[LARGEST])
        if adaptive and (h < tiny or crawls(context, clock, h, limit)):
            return STUCK
        clipped = h >= limit * (1.0 - 1e-9)
        if clipped:
            h = limit
        found, error = try_step(context, clock, method, t, h, n, y, k, y_new, point, step)
        if fault_noted(context):
            return NOT_FINITE
        if context[CLOSURE_ROWS] > 0:
            clock[NEW_CONDITION] = condition(context)
        stiff = counting and count_stiff(context, clock, method, h, n, k, y_new, point)
        usable = found and finite(y_new, n) and finite(shifted(k, s * n), n)
        if adaptive and usable and context[CLOSURE_ROWS] > 0:
            if avoidable(clock, error):
                clock[REJECTED] += 1.0
                clock[AVOIDED_STEPS] += 1.0
                clock[STEP] = SHORTER * h
                continue
            error /= max(1.0, rounding(context, clock, h, y_new, clock[RTOL], clock[ATOL]))
        if not (usable and error <= 1.0):
            clock[REJECTED] += 1.0
            clock[PROJECTED_STEPS] = PROJECTED if context[CLOSURE_ROWS] > 0 else 0.0
            if not adaptive:
                return STUCK
            factor = method[LEAST_FACTOR]
            if usable:
                factor = max(factor, method[SAFETY] * error ** method[ERROR_EXPONENT])
            clock[STEP] = h * factor
            if stiff:
                return STIFF
            continue
        # The step is accepted.  Events come first, then the outputs before them.
        event, reached = -1, 1.0
        end = t + limit if clipped else t + h
        if events > 0 or row_due(clock, times, count, end):
            extra_stages(context, clock, method, t, h, n, y, k, point)
            if fault_noted(context):
                return NOT_FINITE
            if events > 0:
                event, reached = first_crossing(
                    (
                        context, topo, method, n, h, k, y, t + shared[ORIGIN_TIME], w, point,
                        context[EVENT_FUNCTION],
                    ),
                    events, sides, values,
                )  # fmt: skip
                note_fault(context, context[WRENCHES] + 2, t, values, 5 * events, y)
                if fault_noted(context):
                    return NOT_FINITE
                if event >= 0:
                    end = t + reached * h
            while row_due(clock, times, count, end):
                x = min((times[int(clock[OUTPUT])] - t) / h, 1.0)
                state_within(context, method, n, h, k, y, t + shared[ORIGIN_TIME], x, w, point)
                if not write_row(context, clock, times, point, y_out, force_out):
                    return NOT_FINITE
        clock[STEPS] += 1.0
        if context[CLOSURE_ROWS] > 0:
            follow_condition(clock)
        if adaptive:
            choose_next_step(clock, method, h, error, clipped)
        clock[TIME] = end
        if event >= 0:
            state_within(context, method, n, h, k, y, t + shared[ORIGIN_TIME], reached, w, point)
            for i in range(n):
                y[i] = point[i]
            normalize(topo, y)
            follow_cut_joints(context, y)
            clock[EVENT_NUMBER], clock[EVENT_STEP] = event, h
            clock[NEEDS_RATE] = 1.0
            return EVENT
        for i in range(n):
            y[i] = y_new[i]
            k[i] = k[s * n + i]
        normalize(topo, y)
        follow_cut_joints(context, y)
        if stiff:
            return STIFF
    return PAUSED
