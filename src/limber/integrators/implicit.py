"""One step of an implicit method for stiff modes and stiff torques, in O(N).

SDIRK of order 4(3), five stages, L-stable and stiffly accurate (Hairer & Wanner II, Table 6.5).  The
unknowns of a stage are its accelerations a; with c = h gamma, V = v0 + h (...) + c a and
Q = q0 + h (...) + c Q_dot, Newton's method on M(Q) a + bias(Q, V) = tau(t, Q, V) is

    (P - T) (a_new - a) = tau - bias - M a,     P = M + c D + c^2 K,    T = c dtau/dv + c^2 dtau/dq.

P is the mass matrix of the same system whose modal masses are G + c D + c^2 K, and whose joints have the
armature a + c df/dbeta + c^2 df/dtheta with f what the joint itself takes (`kernels.physics`), so that without
T a correction is one articulated-body sweep of that system,

    P a_new = tau + (c D + c^2 K) a - bias(Q, V).

T is that of the torque functions, taken into account by `slopes`.  What is left out of the matrix
(Coriolis, gyroscopic and gravity terms) is not stiff; converged stages are exact all the same.

The error of a step is that of the embedded formula, e, times (1 - c J)^-1, without which it is far too large
in stiff directions (Hairer & Wanner II, IV.8).  Along the speeds, with e_q = h^2 sum_i (e A)_i a_i,

    x_v = e_v - (P - T)^-1 (c (D - dtau/dv) e_v + (K - dtau/dq) u),    u = c e_q + c^2 e_v,    x_q = e_q + c x_v,

where the last e_q is that of the rates of the coordinates, quaternions included.

No stage lies in the first quarter of a step.  So the embedded formula has the rate at the start among its own:
what jumps in that quarter is seen, and an oscillation too fast for the step.

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
from limber.native.pointers import call_sweep, numbers_at, shifted, words_at

from .context import (
    AGE,
    APPLIED,
    BASE,
    BY_Q,
    BY_V,
    CONST,
    CONST_SIZE,
    COUNT,
    FLOWS,
    FORCE,
    FOUND,
    FREE,
    HAT,
    IMPLICIT_SWEEP,
    MEMORY,
    POINT,
    RATE,
    REST,
    SLOPED,
    SPARE,
    STATE,
    STATEFUL,
    TOPO,
    WORK,
)
from .force_slopes import prepare_slopes, take_slopes, use_slopes
from .rates import flow_rates, forces, tolerance

STAGES = 5
GAMMA = 0.25
#: A stage has converged when the next correction would be this part of the tolerance: the square root of rtol
#: times ENOUGH, within these bounds.  Rates of stages enter the step with weights up to 31 gamma, and what is left
#: of them adds up over the steps: much less than the tolerance keeps the order of the method.
ENOUGH, FINEST, COARSEST = 0.1, 1e-4, 3e-3
#: A first correction this much smaller is not followed by a second, unless slopes made it so small: the residual
#: itself, as a correction without slopes, must be below SOUND.
AT_ONCE, SOUND = 1e-2, 0.03
ITERATIONS = 8
#: Corrections that shrink by no better factor are slow; slopes so many steps old are taken anew for it.
SLOW, OLD = 0.2, 5.0


@kernel
def stiffened(topo, const, size, c, hat, free):
    """The constants of the system with modal masses G + c D + c^2 K, and the same without forces of its own.

    The second has no gravity, stiffness or damping: at rest it is P^-1.  Bodies whose modes are eliminated in
    aligned coordinates have B^T G B besides, which becomes that of the new G.
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
def solve_stage(context, memory, step, at, y, y_new, rate):
    """Newton's method for one stage, from the rates in `rate`: evaluations (negative: failed), and how slow.

    BASE has the part of the stage's state that is known; y_new becomes all of it.
    """
    topo, const = words_at(context[TOPO]), numbers_at(context[CONST])
    work, tau = numbers_at(context[WORK]), numbers_at(context[APPLIED])
    hat, base = numbers_at(memory[HAT]), numbers_at(memory[BASE])
    force, found = numbers_at(memory[FORCE]), numbers_at(memory[FOUND])
    sloped = numbers_at(memory[STATE])[COUNT] > 0.0
    c, rtol, atol = GAMMA * step[1], step[2], step[3]
    enough = min(max(ENOUGH * rtol**0.5, FINEST), COARSEST)
    nq, nv = topo[NQ], topo[NV]
    a, v_new = shifted(rate, nq), shifted(y_new, nq)
    for j in range(nq + nv):
        y_new[j] = base[j] + c * rate[j]
    # coordinates that belong to these speeds, as after every correction
    coordinates(context, c, rtol, atol, base, y, v_new, y_new, rate)
    last, slowest = 0.0, 0.0
    for iteration in range(ITERATIONS):
        forces(context, at, y_new)
        for j in range(nv):
            force[j] = tau[j]
        add_modal_forces(topo, const, c, a, c * c, a, force)
        stiffen_joints(topo, const, c, y_new, v_new, hat)
        add_joint_terms(topo, const, hat, a, force)
        call_sweep(
            context[IMPLICIT_SWEEP], topo, hat, work, y_new, v_new, force, 0, topo, hat, found
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
        norm = max(norm, coordinates(context, c, rtol, atol, base, y, v_new, y_new, rate))
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
def coordinates(context, c, rtol, atol, base, y, v_new, y_new, rate):
    """Q = base + c Q_dot of the speeds v_new, with Q_dot in `rate`; how far Q moved over its tolerance.

    Q_dot depends on Q where there are quaternions: it is that of the Q before, which must settle too.
    """
    topo, const = words_at(context[TOPO]), numbers_at(context[CONST])
    coordinate_rates(topo, const, numbers_at(context[WORK]), y_new, v_new, rate)
    total = 0.0
    for j in range(topo[NQ]):
        new = base[j] + c * rate[j]
        total += ((new - y_new[j]) / tolerance(rtol, atol, y[j], new)) ** 2
        y_new[j] = new
    return (total / max(topo[NQ], 1)) ** 0.5


@kernel
def solve_stages(context, memory, step, y, tableau, k, y_new):
    """All stages of a step: evaluations (negative: failed), and how slow the slowest was."""
    topo, base = words_at(context[TOPO]), numbers_at(memory[BASE])
    A, C = tableau, shifted(tableau, STAGES * STAGES)
    n = topo[NQ] + topo[NV] + FLOWS
    t, h = step[0], step[1]
    evaluations, slowest = 0, 0.0
    for i in range(STAGES):
        rate, before = shifted(k, (i + 1) * n), shifted(k, i * n)
        for j in range(n):
            base[j] = y[j]
            rate[j] = before[j]
        for s in range(i):
            w = h * A[i * STAGES + s]
            ks = shifted(k, (s + 1) * n)
            for j in range(n):
                base[j] += w * ks[j]
        used, slow = solve_stage(context, memory, step, t + C[i] * h, y, y_new, rate)
        slowest = max(slowest, slow)
        if used < 0:
            return used - evaluations, slowest
        flow_rates(context, y_new, rate)
        for j in range(n - FLOWS, n):
            y_new[j] = base[j] + GAMMA * h * rate[j]
        evaluations += used
    return evaluations, slowest


@kernel
def error_norm(context, memory, step, y, tableau, k, y_new):
    """Root mean square of the estimated error over the tolerance; see the head of this file."""
    topo, const = words_at(context[TOPO]), numbers_at(context[CONST])
    work, free = numbers_at(context[WORK]), numbers_at(memory[FREE])
    force, found = numbers_at(memory[FORCE]), numbers_at(memory[FOUND])
    e_v, e_q, u = numbers_at(memory[BASE]), numbers_at(memory[POINT]), numbers_at(memory[SPARE])
    weights = shifted(tableau, STAGES * STAGES + STAGES)
    h, rtol, atol = step[1], step[2], step[3]
    c = GAMMA * h
    nq, nv = topo[NQ], topo[NV]
    n = nq + nv + FLOWS
    for j in range(nv):
        e_v[j] = h * weights[2 * STAGES] * k[nq + j]
        e_q[j] = 0.0
        for i in range(STAGES):
            a = k[(i + 1) * n + nq + j]
            e_v[j] += h * weights[i] * a
            e_q[j] += h * h * weights[STAGES + i] * a
        u[j] = c * e_q[j] + c * c * e_v[j]
        force[j] = 0.0
    add_modal_forces(topo, const, c, e_v, 1.0, u, force)
    v_new = shifted(y_new, nq)
    stiffen_joints(topo, const, c, y_new, v_new, free)
    add_joint_errors(topo, const, c, y_new, v_new, e_v, u, force)
    count = int(numbers_at(memory[STATE])[COUNT])
    rows = numbers_at(memory[SLOPED])
    by_q, by_v = numbers_at(memory[BY_Q]), numbers_at(memory[BY_V])
    for i in range(count):
        row = int(rows[i])
        for j in range(nv):
            force[row] -= c * by_v[row * nv + j] * e_v[j] + by_q[row * nv + j] * u[j]
    rest = numbers_at(memory[REST])
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
        x_q[j] += h * weights[2 * STAGES] * k[j]
        for i in range(STAGES):
            x_q[j] += h * weights[i] * k[(i + 1) * n + j]
        total += (x_q[j] / tolerance(rtol, atol, y[j], y_new[j])) ** 2
    return (total / max(nq + nv, 1)) ** 0.5


@kernel
def implicit_step(context, step, y, tableau, k, y_new):
    """y_new after a step, and the rates of the stages in k; returns the evaluations used, negative for failure.

    step: t, h, rtol, atol, and gets the error.  tableau: A (5 x 5), C, e, e A (5 each), the e of the start.
    k holds 7 rows of n: the rate at the start, those of the stages, the rate at the end.
    """
    topo, const = words_at(context[TOPO]), numbers_at(context[CONST])
    memory = words_at(context[MEMORY])
    state = numbers_at(memory[STATE])
    n = topo[NQ] + topo[NV] + FLOWS
    c = GAMMA * step[1]
    hat, free = numbers_at(memory[HAT]), numbers_at(memory[FREE])
    stiffened(topo, const, context[CONST_SIZE], c, hat, free)
    stiffen_joints(topo, const, c, y, shifted(y, topo[NQ]), free)
    if state[COUNT] > 0.0:
        prepare_slopes(context, memory, c, y)
    used, slowest = solve_stages(context, memory, step, y, tableau, k, y_new)
    evaluations = abs(used)
    state[AGE] += 1.0
    if context[STATEFUL] != 0 and (
        (used < 0 and state[AGE] > 1.0) or (slowest > SLOW and state[AGE] > OLD)
    ):
        take_slopes(context, memory, step[0], c, y, shifted(k, topo[NQ]))
        evaluations += 2 * topo[NV] + 1
        if state[COUNT] > 0.0:
            prepare_slopes(context, memory, c, y)
        if used < 0 and state[COUNT] > 0.0:
            used, slowest = solve_stages(context, memory, step, y, tableau, k, y_new)
            evaluations += abs(used)
    if used < 0:
        return -evaluations
    step[4] = error_norm(context, memory, step, y, tableau, k, y_new)
    end, final = shifted(k, (STAGES + 1) * n), shifted(k, STAGES * n)
    for j in range(n):
        end[j] = final[j]
    return evaluations
