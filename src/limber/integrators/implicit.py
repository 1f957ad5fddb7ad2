"""One step of a diagonally implicit method for stiff modes and stiff torques, in O(N).

The method is stiffly accurate and its first stage is explicit, see `method_record`.  The unknowns of every other stage
are its accelerations a.  With c = h gamma, V = v0 + h (...) + c a and Q = q0 + h (...) + c Q_dot, Newton's method on
M(Q) a + bias(Q, V) = tau(t, Q, V) is

    (P - T) (a_new - a) = tau - bias - M a,     P = M + c D + c^2 K,    T = c dtau/dv + c^2 dtau/dq.

P is the mass matrix of the same system whose modal masses are G + c D + c^2 K, and whose joints have the
armature a + c df/dbeta + c^2 df/dtheta with f what the joint itself takes (`kernels.physics`), so that without
T a correction is one articulated-body sweep of that system,

    P a_new = tau + (c D + c^2 K) a - bias(Q, V).

T contains the slopes of the torque functions (`force_slopes`).  The matrix leaves out Coriolis, gyroscopic and
gravity terms, which are not stiff; converged stages are exact nevertheless.

The accelerations of driven joints (`motions`) are not unknowns: the sweep uses them as given.

The error of a step is that of the embedded formula, e, times (1 - c J)^-1.  Without this factor it is far too large
in stiff directions (Hairer & Wanner II, IV.8).  Along the speeds, with e_q = h^2 sum_i (e A)_i a_i,

    x_v = e_v - (P - T)^-1 (c (D - dtau/dv) e_v + (K - dtau/dq) u),    u = c e_q + c^2 e_v,    x_q = e_q + c x_v,

where the last e_q is computed from the rates of the coordinates, quaternions included.

The stages of a closed system satisfy the closures in their accelerations, so that the state at the end is off them by an error
of the order of the method.  The projection that brings it back (`projection`) moves it by at least that error, and where a
mechanism comes near a singular position by far more than the embedded formula shows: the larger of the two is the error of
the step.

Compiled only.
"""

from limber.kernels.layout import (
    A_B,
    A_G0,
    ANY_PHYSICS,
    COLUMNS,
    DOFS,
    END,
    GRAVITY,
    M_D,
    M_G0,
    M_K,
    MODAL,
    MODES,
    NQ,
    NV,
    PH_ARMATURE,
    PH_DAMPING,
    PH_FRICTION,
    PH_LOWER_STOP,
    PH_PEAK,
    PH_STIFFNESS,
    PH_UPPER_STOP,
    PHYSICS,
    PHYSICS_RECORD,
    V_JOINT,
    V_MODES,
)
from limber.kernels.manifold import coordinate_rates
from limber.kernels.physics import speed_secants
from limber.kernels.scalar import kernel
from limber.native.pointers import call_projection, call_sweep, numbers_at, shifted, words_at

from .context import (
    AGE,
    APPLIED,
    BASE,
    BY_Q,
    BY_V,
    CONST,
    CONST_SIZE,
    CORRECTION,
    COUNT,
    FLOWS,
    FORCE,
    IMPLICIT_SWEEP,
    MEMORY,
    MOTIONS,
    ORIGIN_TIME,
    POINT,
    PROJECTION,
    RATE,
    SHARED,
    SLOPED_ROWS,
    SLOPES_STATE,
    SPARE,
    STATEFUL,
    STEP_ATOL,
    STEP_BEST,
    STEP_CONDITION,
    STEP_ERROR,
    STEP_LENGTH,
    STEP_PROJECTED,
    STEP_RTOL,
    STEP_TIME,
    STIFFENED,
    STIFFENED_FREE,
    TOPO,
    WORK,
    ZERO_SPEEDS,
)
from .dense_output import block, combine
from .force_slopes import prepare_slopes, take_slopes, use_slopes
from .method_record import AT_A, AT_C, AT_ERRORS, AT_ERRORS_A, GAMMA, STAGES
from .motions import anchor, prescribe, put_rates, put_zeros, settle
from .projection import MOST_ROUNDING, close, condition, rounding_in
from .rates import evaluate, flow_rates, forces, independent, tolerance

#: A stage has converged when its next correction would be smaller than the tolerance times CONVERGED times the square
#: root of rtol; that factor is kept between FINEST and COARSEST.  The limit must be much smaller than the tolerance to
#: keep the order of the method, because rates of stages enter the step with weights up to 31 gamma (in sdirk4) and
#: what remains of their errors adds up over the steps.
CONVERGED, FINEST, COARSEST = 0.1, 1e-4, 3e-3
#: A first correction needs no second one if it is below the limit times AT_ONCE.  The slopes of the torque must not be
#: what made it so small: the correction without slopes, which is the residual, must be below SOUND.
AT_ONCE, SOUND = 1e-2, 0.03
ITERATIONS = 8
#: An iteration is slow if its corrections shrink by a factor no smaller than SLOW.  The slopes are then taken anew,
#: if they are more than OLD steps old.
SLOW, OLD = 0.2, 5.0


@kernel
def stiffened(topo, const, size, c, hat, free):
    """The constants of the system with modal masses G + c D + c^2 K (`hat`), and the same without forces (`free`).

    The second system has no gravity, stiffness or damping: a sweep of it at rest applies P^-1.  Bodies whose modes are
    eliminated in aligned coordinates also have a constant B^T G B, which is computed from the new G.
    """
    for i in range(size):
        hat[i] = const[i]
    for k in range(COLUMNS, topo[END], COLUMNS):
        m = topo[k + MODES]
        modal = topo[k + MODAL]
        g, stiffness, damping = topo[modal + M_G0], topo[modal + M_K], topo[modal + M_D]
        for i in range(m * m):
            hat[g + i] += c * const[damping + i] + c * c * const[stiffness + i]
        b, aligned = topo[modal + A_B], topo[modal + A_G0]
        if m > 0 and b != 0:
            for r in range(m):
                for s in range(m):
                    total = 0.0
                    for i in range(m):
                        row = 0.0
                        for j in range(m):
                            row += hat[g + i * m + j] * const[b + j * m + s]
                        total += const[b + i * m + r] * row
                    hat[aligned + r * m + s] = total
    for i in range(size):
        free[i] = hat[i]
    for i in range(3):
        free[GRAVITY + i] = 0.0
    for k in range(COLUMNS, topo[END], COLUMNS):
        modal = topo[k + MODAL]
        for i in range(topo[k + MODES] * topo[k + MODES]):
            free[topo[modal + M_K] + i] = 0.0
            free[topo[modal + M_D] + i] = 0.0
        if topo[k + PHYSICS] != 0:
            for r in range(topo[k + DOFS]):
                i = topo[k + PHYSICS] + r * PHYSICS_RECORD
                free[i + PH_STIFFNESS] = 0.0
                free[i + PH_DAMPING] = 0.0
                free[i + PH_FRICTION] = 0.0
                free[i + PH_PEAK] = 0.0
                free[i + PH_LOWER_STOP] = 0.0
                free[i + PH_UPPER_STOP] = 0.0


@kernel
def stiffen_joints(topo, const, c, q, v, hat):
    """The armatures of `stiffened` at (q, v): a + c df/dbeta + c^2 df/dtheta."""
    if topo[ANY_PHYSICS] != 0:
        for k in range(COLUMNS, topo[END], COLUMNS):
            if topo[k + PHYSICS] != 0:
                for r in range(topo[k + DOFS]):
                    i = topo[k + PHYSICS] + r * PHYSICS_RECORD + PH_ARMATURE
                    by_theta, by_beta = speed_secants(topo, const, q, v, k, r)
                    hat[i] = const[i] + c * by_beta + c * c * by_theta


@kernel
def add_joint_terms(topo, const, hat, a, force):
    """force + (c df/dbeta + c^2 df/dtheta) a, as `stiffen_joints` left them in hat."""
    if topo[ANY_PHYSICS] != 0:
        for k in range(COLUMNS, topo[END], COLUMNS):
            if topo[k + PHYSICS] != 0:
                for r in range(topo[k + DOFS]):
                    i = topo[k + PHYSICS] + r * PHYSICS_RECORD + PH_ARMATURE
                    j = topo[k + V_JOINT] + r
                    force[j] += (hat[i] - const[i]) * a[j]


@kernel
def add_joint_errors(topo, const, c, q, v, e_v, u, force):
    """force + c df/dbeta e_v + df/dtheta u, at (q, v)."""
    if topo[ANY_PHYSICS] != 0:
        for k in range(COLUMNS, topo[END], COLUMNS):
            if topo[k + PHYSICS] != 0:
                for r in range(topo[k + DOFS]):
                    by_theta, by_beta = speed_secants(topo, const, q, v, k, r)
                    j = topo[k + V_JOINT] + r
                    force[j] += c * by_beta * e_v[j] + by_theta * u[j]


@kernel
def add_modal_forces(topo, const, d, x, k, y, force):
    """force + d D x + k K y."""
    for body in range(COLUMNS, topo[END], COLUMNS):
        m = topo[body + MODES]
        modal = topo[body + MODAL]
        stiffness, damping = topo[modal + M_K], topo[modal + M_D]
        e = topo[body + V_MODES]
        for r in range(m):
            for s in range(m):
                i = r * m + s
                force[e + r] += (
                    d * const[damping + i] * x[e + s] + k * const[stiffness + i] * y[e + s]
                )


@kernel
def correction_norm(nq, nv, c, rtol, atol, y, v_new, found):
    """Root mean square of a correction of the accelerations, as speeds over their tolerance."""
    total = 0.0
    for j in range(nv):
        total += (c * found[j] / tolerance(rtol, atol, y[nq + j], v_new[j])) ** 2
    return (total / max(nv, 1)) ** 0.5


@kernel
def solve_stage(context, memory, step, c, at, y, y_new, rate):
    """Newton's method for one stage, which starts from the rates in `rate`.

    Returns the evaluations used, negative if it failed, and the largest factor by which corrections shrank.  BASE has
    the part of the stage's state that is known; y_new becomes the whole state.
    """
    topo, const = words_at(context[TOPO]), numbers_at(context[CONST])
    work, tau = numbers_at(context[WORK]), numbers_at(context[APPLIED])
    hat, base = numbers_at(memory[STIFFENED]), numbers_at(memory[BASE])
    force, found = numbers_at(memory[FORCE]), numbers_at(memory[CORRECTION])
    sloped = numbers_at(memory[SLOPES_STATE])[COUNT] > 0.0
    rtol, atol = step[STEP_RTOL], step[STEP_ATOL]
    enough = min(max(CONVERGED * rtol**0.5, FINEST), COARSEST)
    nq, nv = topo[NQ], topo[NV]
    a, v_new = shifted(rate, nq), shifted(y_new, nq)
    z = y_new  # the state at which the dynamics is evaluated
    if step[STEP_PROJECTED] != 0.0:
        z = numbers_at(memory[POINT])
    for j in range(nq + nv):
        y_new[j] = base[j] + c * rate[j]
    if context[MOTIONS] > 0:
        prescribe(context, at + numbers_at(context[SHARED])[ORIGIN_TIME], y_new)
        put_rates(context, a)
        coordinate_rates(topo, const, work, y_new, v_new, rate)
        anchor(context, c, a, base, y_new, rate)
    # The coordinates must belong to these speeds, here and after every correction.
    coordinates(context, memory, step, c, base, y, y_new, rate)
    last, slowest = 0.0, 0.0
    for iteration in range(ITERATIONS):
        if not on_closures(context, memory, step, y_new):
            return -iteration - 1, 1.0
        if step[STEP_PROJECTED] != 0.0:  # corrections below what rounding does say nothing
            worst = step[STEP_CONDITION] / max(step[STEP_BEST], 1.0)
            enough = max(enough, rounding_in(context, worst, MOST_ROUNDING, c, z, rtol, atol))
        forces(context, at, z)
        for j in range(nv):
            force[j] = tau[j]
        add_modal_forces(topo, const, c, a, c * c, a, force)
        stiffen_joints(topo, const, c, z, shifted(z, nq), hat)
        add_joint_terms(topo, const, hat, a, force)
        if context[MOTIONS] > 0:
            put_rates(context, force)
        call_sweep(
            context[IMPLICIT_SWEEP], topo, hat, work, z, shifted(z, nq), force, 0, topo, hat, found
        )
        for j in range(nv):
            found[j] -= a[j]
        residual = correction_norm(nq, nv, c, rtol, atol, y, v_new, found)
        norm = residual
        if sloped:
            use_slopes(memory, nv, found)
            norm = correction_norm(nq, nv, c, rtol, atol, y, v_new, found)
        for j in range(nv):
            a[j] += found[j]
            v_new[j] = base[nq + j] + c * a[j]
        norm = max(norm, coordinates(context, memory, step, c, base, y, y_new, rate))
        used = iteration + 1
        if not norm < 1e300:
            return -used, 1.0
        if norm < AT_ONCE * enough and residual < SOUND:
            return used, slowest
        if iteration > 0:
            shrink = norm / last if last > 0.0 else 0.0
            slowest = max(slowest, shrink)
            if shrink >= 1.0:
                return -used, slowest
            ahead = shrink / (1.0 - shrink) * norm
            if ahead < enough:
                return used, slowest
            if ahead * shrink ** (ITERATIONS - used) > enough:
                return -used, slowest
        last = norm
    return -ITERATIONS, slowest


@kernel
def on_closures(context, memory, step, y_new):
    """Put the stage y_new, moved onto the closures, to POINT if stages are projected; whether the closures are satisfied."""
    if step[STEP_PROJECTED] == 0.0:
        return True
    topo, z = words_at(context[TOPO]), numbers_at(memory[POINT])
    for j in range(topo[NQ] + topo[NV]):
        z[j] = y_new[j]
    metric = numbers_at(memory[STIFFENED_FREE])
    met = call_projection(context[PROJECTION], context, metric, z) >= 0
    step[STEP_CONDITION] = max(step[STEP_CONDITION], condition(context))
    return met


@kernel
def coordinates(context, memory, step, c, base, y, y_new, rate):
    """Q = base + c Q_dot of the speeds of y_new, with Q_dot in `rate`; returns how far Q moved over its tolerance.

    Where there are quaternions, or stages are projected, Q_dot depends on Q.  It is evaluated at the Q before, so Q has to
    converge as well.
    """
    topo, const = words_at(context[TOPO]), numbers_at(context[CONST])
    rtol, atol, z = step[STEP_RTOL], step[STEP_ATOL], y_new
    if step[STEP_PROJECTED] != 0.0:
        on_closures(context, memory, step, y_new)
        z = numbers_at(memory[POINT])
    coordinate_rates(topo, const, numbers_at(context[WORK]), z, shifted(z, topo[NQ]), rate)
    total = 0.0
    for j in range(topo[NQ]):
        new = base[j] + c * rate[j]
        total += ((new - y_new[j]) / tolerance(rtol, atol, y[j], new)) ** 2
        y_new[j] = new
    return (total / max(topo[NQ], 1)) ** 0.5


@kernel
def solve_stages(context, memory, step, y, method, k, y_new):
    """Solve all stages of a step; returns what `solve_stage` does, for all of them."""
    topo, base = words_at(context[TOPO]), numbers_at(memory[BASE])
    s, A, c = int(method[STAGES]), block(method, AT_A), block(method, AT_C)
    n = topo[NQ] + topo[NV] + FLOWS
    t, h = step[STEP_TIME], step[STEP_LENGTH]
    gamma_h = method[GAMMA] * h
    evaluations, slowest = 0, 0.0
    for i in range(1, s):
        rate, before = shifted(k, i * n), shifted(k, (i - 1) * n)
        for j in range(n):
            rate[j] = before[j]
        combine(n, h, shifted(A, i * s), i, k, y, base)
        used, slow = solve_stage(context, memory, step, gamma_h, t + c[i] * h, y, y_new, rate)
        slowest = max(slowest, slow)
        if used < 0:
            return used - evaluations, slowest
        if context[MOTIONS] > 0:
            settle(context, y_new)
        flow_rates(context, y_new, rate)
        for j in range(n - FLOWS, n):
            y_new[j] = base[j] + gamma_h * rate[j]
        evaluations += used
    return evaluations, slowest


@kernel
def implicit_error(context, memory, step, y, method, k, y_new):
    """Root mean square of the estimated error over the tolerance; see the head of this file."""
    topo, const = words_at(context[TOPO]), numbers_at(context[CONST])
    work, free = numbers_at(context[WORK]), numbers_at(memory[STIFFENED_FREE])
    force, found = numbers_at(memory[FORCE]), numbers_at(memory[CORRECTION])
    e_v, e_q, u = numbers_at(memory[BASE]), numbers_at(memory[POINT]), numbers_at(memory[SPARE])
    s, e, e_A = int(method[STAGES]), block(method, AT_ERRORS), block(method, AT_ERRORS_A)
    h, rtol, atol = step[STEP_LENGTH], step[STEP_RTOL], step[STEP_ATOL]
    c = method[GAMMA] * h
    nq, nv = topo[NQ], topo[NV]
    n = nq + nv + FLOWS
    for j in range(nv):
        e_v[j] = 0.0
        e_q[j] = 0.0
        for i in range(s):
            a = k[i * n + nq + j]
            e_v[j] += h * e[i] * a
            e_q[j] += h * h * e_A[i] * a
        u[j] = c * e_q[j] + c * c * e_v[j]
        force[j] = 0.0
    add_modal_forces(topo, const, c, e_v, 1.0, u, force)
    v_new = shifted(y_new, nq)
    stiffen_joints(topo, const, c, y_new, v_new, free)
    add_joint_errors(topo, const, c, y_new, v_new, e_v, u, force)
    count = int(numbers_at(memory[SLOPES_STATE])[COUNT])
    rows = numbers_at(memory[SLOPED_ROWS])
    by_q, by_v = numbers_at(memory[BY_Q]), numbers_at(memory[BY_V])
    for i in range(count):
        row = int(rows[i])
        for j in range(nv):
            force[row] -= c * by_v[row * nv + j] * e_v[j] + by_q[row * nv + j] * u[j]
    if context[MOTIONS] > 0:
        put_zeros(context, force)
    rest = numbers_at(memory[ZERO_SPEEDS])
    call_sweep(context[IMPLICIT_SWEEP], topo, free, work, y_new, rest, force, 0, topo, free, found)
    if count > 0:
        use_slopes(memory, nv, found)
    total = 0.0
    for j in range(nv):
        x = e_v[j] - found[j]
        e_q[j] = c * x
        total += (x / tolerance(rtol, atol, y[nq + j], y_new[nq + j])) ** 2
    x_q = numbers_at(memory[RATE])
    coordinate_rates(topo, const, work, y_new, e_q, x_q)
    for j in range(nq):
        for i in range(s):
            x_q[j] += h * e[i] * k[i * n + j]
        total += (x_q[j] / tolerance(rtol, atol, y[j], y_new[j])) ** 2
    return (total / independent(context, nq + nv)) ** 0.5


@kernel
def close_step(context, method, step, t, before, y, y_new):
    """Bring y_new onto the closures, as `close`, and count the way that it is moved as an error of the step.

    before: room for y_new as it was.
    """
    topo = words_at(context[TOPO])
    n = topo[NQ] + topo[NV]
    rtol, atol = step[STEP_RTOL], step[STEP_ATOL]
    for j in range(n):
        before[j] = y_new[j]
    moved = close(context, method, t, y_new)
    total = 0.0
    for j in range(n):
        total += ((y_new[j] - before[j]) / tolerance(rtol, atol, y[j], y_new[j])) ** 2
    step[STEP_ERROR] = max(step[STEP_ERROR], (total / independent(context, n)) ** 0.5)
    return moved


@kernel
def implicit_step(context, step, y, method, k, y_new):
    """y_new after a step, and the rates of the stages in k; returns the evaluations used, negative for failure.

    step: see STEP_TIME and the places behind it; STEP_ERROR is written.  method: its record.
    """
    topo, const = words_at(context[TOPO]), numbers_at(context[CONST])
    memory = words_at(context[MEMORY])
    state = numbers_at(memory[SLOPES_STATE])
    n = topo[NQ] + topo[NV] + FLOWS
    c = method[GAMMA] * step[STEP_LENGTH]
    hat, free = numbers_at(memory[STIFFENED]), numbers_at(memory[STIFFENED_FREE])
    stiffened(topo, const, context[CONST_SIZE], c, hat, free)
    stiffen_joints(topo, const, c, y, shifted(y, topo[NQ]), free)
    if state[COUNT] > 0.0:
        prepare_slopes(context, memory, c, y)
    used, slowest = solve_stages(context, memory, step, y, method, k, y_new)
    evaluations = abs(used)
    state[AGE] += 1.0
    if context[STATEFUL] != 0 and (
        (used < 0 and state[AGE] > 1.0) or (slowest > SLOW and state[AGE] > OLD)
    ):
        take_slopes(context, memory, step[STEP_TIME], c, y, shifted(k, topo[NQ]))
        evaluations += 2 * topo[NV] + 1
        if state[COUNT] > 0.0:
            prepare_slopes(context, memory, c, y)
        if used < 0 and state[COUNT] > 0.0:
            used, slowest = solve_stages(context, memory, step, y, method, k, y_new)
            evaluations += abs(used)
    if used < 0:
        return -evaluations
    step[STEP_ERROR] = implicit_error(context, memory, step, y, method, k, y_new)
    s = int(method[STAGES])
    end, final = shifted(k, s * n), shifted(k, (s - 1) * n)
    after = step[STEP_TIME] + step[STEP_LENGTH]
    moved = close_step(context, method, step, after, numbers_at(memory[BASE]), y, y_new)
    if moved < 0:
        return -evaluations
    if moved > 0:
        evaluate(context, after, y_new, end)
        return evaluations + 1
    for j in range(n):
        end[j] = final[j]
    return evaluations
