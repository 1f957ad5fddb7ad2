"""States that satisfy the closures: where a step, dense output or an event leads to is brought back onto them.

The error of a step takes q and v away from the closures by no more than the tolerance.  q takes steps of Gauss and
Newton until the closures are satisfied, and v loses what violates them,

    q <- q (+) P^-1 A^T (A P^-1 A^T)^-1 (-violations),     v <- v - P^-1 A^T (A P^-1 A^T)^-1 A v,

which are the least changes in the metric P (`kernels.closed.correction`).  P is the mass matrix M and, in implicit
steps, M + c D + c^2 K, which leaves stiff modes where the step has put them.  A change of the size of the error keeps
the order of the method, and there is nothing to tune.  Driven joints (`motions`) are set to their prescribed motion,
and all others move.

Where a mechanism is singular, two branches of its motion cross.  Accelerations are smooth along each of them, but off
them they grow with the inverse square of the distance from the singular position, so the stages of an explicit step
have to satisfy the closures as well.  An explicit method with projected stages is the same method for the rates
f(projection(y)), which keeps its order.  It costs several times as much, and is done for PROJECTED steps after a rejected
one.  Even so rounding grows with the third power of the inverse distance (`rounding`), so that near a singular position a
shorter step does not have a smaller error.  Steps pass through such positions and do not end at them.

Compiled only.
"""

from limber.kernels.layout import (
    CLOSURES,
    CLOSURES_END,
    COLUMNS,
    COMPOUND,
    END,
    F_DONE,
    F_ROW,
    FRONT,
    K_JOINT,
    K_KIND,
    NQ,
    NV,
    Q_JOINT,
    R_END,
    R_OWN,
    ROW_RECORD,
    START,
    START_SIZE,
    W_SIZE,
)
from limber.kernels.manifold import integrate
from limber.kernels.scalar import kernel
from limber.kernels.step import normalize
from limber.native.pointers import call_projection, call_sweep, numbers_at, shifted, words_at

from .context import (
    AVOIDED_STEPS,
    BEST_CONDITION,
    CLOSURE_ROWS,
    CLOSURE_SCRATCH,
    CONDITION,
    CONST,
    CORRECTION_SWEEP,
    EXTENT,
    GAP,
    GAP_ROW,
    GEOMETRY_CONST,
    GEOMETRY_TOPO,
    GEOMETRY_WORK,
    MEMORY,
    MOTIONS,
    NEW_CONDITION,
    ORIGIN_TIME,
    PROJECTED_STEPS,
    PROJECTION,
    ROW_RATES,
    ROW_UNITS,
    SHARED,
    SOUGHT,
    STIFFENED_FREE,
    TOPO,
    VIOLATIONS,
    WORK,
    WORST_CONDITION,
)
from .method_record import IS_IMPLICIT
from .motions import prescribe
from .rates import tolerance

#: Rows are met if they are off by less than MET, in rad, m or, of a relation, what a coordinate changes it by in one, and less than this fraction of the
#: system's size if that is below 1 m; their speeds are compared with this times the largest speed, or times 1.  Corrections
#: are made until then or as long as they help.
MET, STEPS = 1e-15, 20
#: A state whose closures are farther off than this after all steps does not meet them, unless it is below the second times
#: the largest coordinate or the system's size: places have no more digits.
NEARLY_MET, ROUNDED = 1e-10, 1e-13
#: So many steps after a rejected one have projected stages, and those from where the `condition` of the rows is beyond
#: TOWARD times the best so far.
PROJECTED, TOWARD = 10, 10.0
#: A position is next to a singular one if the condition is beyond NEAR times the best so far, and as good as singular
#: beyond SINGULAR times.  So many times a step that comes from elsewhere and ends at a singular position, or has some
#: error and a stage next to one, is replaced by one that is SHORTER, so that its stages lie elsewhere.
NEAR, SINGULAR, AVOIDED, SHORTER = 1e3, 1e7, 4, 0.8
#: The error of a step with a stage next to a singular position is estimated badly, and must be this small.
SURE = 0.1
#: The rounding in the violations of rows, relative to their size, with what the elimination of rows adds to it; and the
#: largest error of speeds for which it is held responsible, as a part of them, anywhere and in steps that start next to a
#: singular position, where the rate at the start is uncertain.
ROUNDING, MOST_ROUNDING, MOST_ROUNDING_NEAR = 1e-15, 1e-9, 1e-7


@kernel
def largest(x, n):
    """The largest of the absolute values of n numbers, which is not a number if one of them is not."""
    size = 0.0
    for i in range(n):
        if not abs(x[i]) <= size:
            size = abs(x[i])
    return size


@kernel
def largest_row(context, x):
    """The largest of the closure rows x in their units, as `largest`."""
    units, size = numbers_at(context[ROW_UNITS]), 0.0
    for i in range(context[CLOSURE_ROWS]):
        part = abs(x[i]) / units[i]
        if not part <= size:
            size = part
    return size


@kernel
def violations(context, q, out):
    """By how much the closure rows are off at q, in `out`; returns the largest in its unit."""
    topo, const = words_at(context[GEOMETRY_TOPO]), numbers_at(context[GEOMETRY_CONST])
    work = numbers_at(context[GEOMETRY_WORK])
    call_sweep(context[VIOLATIONS], topo, const, work, q, q, q, 0, topo, const, out)
    return largest_row(context, out)


@kernel
def row_rates(context, q, v, out):
    """The velocities of the closure rows, in `out`; returns the largest in its unit."""
    topo, const = words_at(context[GEOMETRY_TOPO]), numbers_at(context[GEOMETRY_CONST])
    work = numbers_at(context[GEOMETRY_WORK])
    call_sweep(context[ROW_RATES], topo, const, work, q, v, q, 0, topo, const, out)
    return largest_row(context, out)


@kernel
def project_coordinates(context, metric, q, off, dv, there):
    """Move q onto the closures: (by how much they are off in the end, steps taken)."""
    topo, work = words_at(context[TOPO]), numbers_at(context[WORK])
    nq, steps = topo[NQ], 0
    size = violations(context, q, off)
    limit = MET * min(1.0, numbers_at(context[SHARED])[EXTENT])
    while not size <= limit and steps < STEPS:
        call_sweep(context[CORRECTION_SWEEP], topo, metric, work, q, q, off, 0, topo, metric, dv)
        integrate(topo, metric, work, q, dv, -1.0, there)
        after = violations(context, there, off)
        if not after < size:
            break
        for i in range(nq):
            q[i] = there[i]
        size = after
        steps += 1
    return size, steps


@kernel
def project_speeds(context, metric, q, v, off, dv, there):
    """Remove from v the part that violates the closures; returns the number of corrections."""
    topo, work = words_at(context[TOPO]), numbers_at(context[WORK])
    nv, steps = topo[NV], 0
    size = row_rates(context, q, v, off)
    limit = MET * min(1.0, numbers_at(context[SHARED])[EXTENT]) * max(1.0, largest(v, nv))
    while not size <= limit and steps < STEPS:
        call_sweep(context[CORRECTION_SWEEP], topo, metric, work, q, v, off, 0, topo, metric, dv)
        for i in range(nv):
            there[i] = v[i] - dv[i]
        after = row_rates(context, q, there, off)
        if not after < size:
            break
        for i in range(nv):
            v[i] = there[i]
        size = after
        steps += 1
    return steps


@kernel
def project(context, metric, y):
    """Bring the state y onto the closures: 0 if it was there, 1 if it was moved, -1 if the closures cannot be satisfied near it.

    metric: the constants of the system whose mass matrix is P.  SHARED contains by how much and where closures are not satisfied.
    """
    topo, shared = words_at(context[TOPO]), numbers_at(context[SHARED])
    rows = context[CLOSURE_ROWS]
    off = numbers_at(context[CLOSURE_SCRATCH])
    dv = shifted(off, rows)
    there = shifted(dv, topo[NV])
    normalize(topo, y)
    digits = ROUNDED * max(shared[EXTENT], largest(y, topo[NQ]))
    gap, moved = project_coordinates(context, metric, y, off, dv, there)
    if not gap <= max(NEARLY_MET, digits):
        gap = violations(context, y, off)
        units = numbers_at(context[ROW_UNITS])
        for i in range(rows):
            if abs(off[i]) / units[i] == gap:
                shared[GAP], shared[GAP_ROW] = abs(off[i]), i
        return -1
    shared[GAP] = 0.0
    moved += project_speeds(context, metric, y, shifted(y, topo[NQ]), off, dv, there)
    return 1 if moved > 0 else 0


@kernel
def follow_cut_joints(context, y):
    """Let the search for coordinates of cut joints (`kernels.cut_joint`) begin where these are at y, the state reached.

    From there it finds those of all states that a step comes by.
    """
    if context[SOUGHT] == 0:
        return
    violations(context, y, numbers_at(context[CLOSURE_SCRATCH]))  # this leaves them in `work`
    topo, here = words_at(context[TOPO]), words_at(context[GEOMETRY_TOPO])
    const, deformed = numbers_at(context[CONST]), numbers_at(context[GEOMETRY_CONST])
    work = numbers_at(context[GEOMETRY_WORK])
    shift = topo[CLOSURES] - here[CLOSURES]
    for c in range(here[CLOSURES], here[CLOSURES_END], COLUMNS):
        if here[c + K_KIND] == COMPOUND:
            joint, other = here[c + K_JOINT], topo[c + shift + K_JOINT]
            for i in range(here[joint + START_SIZE]):
                found = work[here[joint + Q_JOINT] + i]
                deformed[here[joint + START] + i] = found
                const[topo[other + START] + i] = found


@kernel
def condition(context):
    """The largest ratio of the size of a row to the pivot of another one, redundant rows aside, at the last correction.

    Rows of mechanisms that share nothing are not compared.  `kernels.fronts` leaves the inverses of the pivots on the
    diagonals and the gains g beside them.  The size of row i is L_ii before any row was eliminated, which is the sum of its
    pivot and of g_ji^2 times the pivots of the rows j before.
    """
    topo, work = words_at(context[TOPO]), numbers_at(context[WORK])
    most = 0.0
    for k in range(0, topo[END], COLUMNS):
        front = topo[k + FRONT]
        if front != 0:
            first, inverse, largest_size = topo[front + F_ROW], 0.0, 0.0
            for i in range(topo[front + F_DONE]):
                d, size = work[topo[first + i * ROW_RECORD + R_OWN] + i], 0.0
                if d * work[topo[front + W_SIZE] + i] >= 1.0:  # it is not redundant
                    size = 1.0 / d
                for j in range(i):
                    row = first + j * ROW_RECORD
                    if i < topo[row + R_END]:
                        before = work[topo[row + R_OWN] + j]
                        if before > 0.0:
                            size += work[topo[row + R_OWN] + i] ** 2 / before
                inverse, largest_size = max(inverse, d), max(largest_size, size)
                if i + 1 == topo[first + i * ROW_RECORD + R_END]:  # the last row of a part
                    most = max(most, largest_size * inverse)
                    inverse, largest_size = 0.0, 0.0
    return most


@kernel
def avoidable(clock, error):
    """Whether a step is in trouble because of a singular position, which a somewhat shorter one may avoid."""
    near = NEAR * clock[BEST_CONDITION]
    if near == 0.0 or clock[AVOIDED_STEPS] >= AVOIDED or clock[CONDITION] > near:
        return False
    if clock[NEW_CONDITION] > SINGULAR * clock[BEST_CONDITION]:
        return True
    return error > SURE and clock[PROJECTED_STEPS] > 0.0 and clock[WORST_CONDITION] > near


@kernel
def follow_condition(clock):
    """Record the condition of the rows where a step has ended, and of whether the next one has projected stages."""
    now = max(clock[NEW_CONDITION], 1.0)
    best = min(now, clock[BEST_CONDITION]) if clock[BEST_CONDITION] > 0.0 else now
    clock[CONDITION], clock[BEST_CONDITION], clock[AVOIDED_STEPS] = now, best, 0.0
    clock[PROJECTED_STEPS] = max(clock[PROJECTED_STEPS] - 1.0, 1.0 if now > TOWARD * best else 0.0)


@kernel
def rounding(context, clock, h, y, rtol, atol):
    """What rounding next to a singular position adds to the error of an explicit step of length h, over the tolerance.

    At the distance d from it, the condition of the rows is 1 / d^2 of the best.  Coordinates are off by ROUNDING / d, speeds
    by ROUNDING v / d^2 and accelerations by ROUNDING v^2 / d^3.
    """
    if clock[PROJECTED_STEPS] == 0.0 or clock[BEST_CONDITION] == 0.0:
        return 0.0
    most = MOST_ROUNDING
    if clock[CONDITION] > NEAR * clock[BEST_CONDITION]:
        most = MOST_ROUNDING_NEAR
    worst = clock[WORST_CONDITION] / clock[BEST_CONDITION]
    return rounding_in(context, worst, most, h, y, rtol, atol)


@kernel
def rounding_in(context, worst, most, h, y, rtol, atol):
    """What rounding adds to the speeds of y in a time h over the tolerance, where the condition of the rows is `worst` times the best.

    most: the largest error for which rounding is held responsible, as a fraction of the speeds.
    """
    topo = words_at(context[TOPO])
    speed = largest(shifted(y, topo[NQ]), topo[NV])
    error = h * ROUNDING * speed**2 * worst**1.5
    return min(error, most * max(1.0, speed)) / tolerance(rtol, atol, speed, speed)


@kernel
def close(context, method, t, y):
    """`project` y, if there are closures, in the metric of the last step of a method.

    Driven joints are as prescribed at the time t, which counts from the start of the run.
    """
    if context[CLOSURE_ROWS] == 0:
        return 0
    if context[MOTIONS] > 0:
        prescribe(context, t + numbers_at(context[SHARED])[ORIGIN_TIME], y)
    metric = context[CONST]
    if method[IS_IMPLICIT] != 0.0:
        metric = words_at(context[MEMORY])[STIFFENED_FREE]
    return call_projection(context[PROJECTION], context, numbers_at(metric), y)
