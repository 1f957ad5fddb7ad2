"""The compiled entry points: states start .. stop of a batch.

Arrays are flat and contiguous, state after state; one state is a batch of one.  The kernels run on
raw pointers, which keeps their calls cheap and their compilation short; this is where arrays turn
into pointers.  An entry returns 0 when all is well, else STATES times the number of the first bad
state plus a status.  In one pass the arrays are checked for their sizes, inputs for finiteness and unit
quaternions, results for finiteness, those of forward dynamics for sound pivots.

Arguments stand in one order: the model and the options, which a system keeps between calls; the state;
scratch and result; the states to do.

The entries are alike on purpose: Numba keeps no function on disk that was handed another one.
"""

from numba import types
from numba.extending import intrinsic

from . import (
    articulated,
    blocks,
    composite,
    drive,
    energy,
    implicit,
    manifold,
    march,
    newton_euler,
    observe,
    ruthless,
    sweeps,
)
from .borrowed import pointer
from .layout import (
    AXIS,
    COLUMNS,
    DOFS,
    END,
    FREE,
    G_KIND,
    G_Q,
    GENERAL,
    J_D,
    J_H,
    JOINT,
    JOINT_WORK,
    MODES,
    NOT_FINITE,
    NOT_UNIT,
    NQ,
    NV,
    OK,
    OVERFLOW,
    PIVOT_TOLERANCE,
    ROWS_END,
    SINGULAR,
    SIZES,
    SPHERICAL,
    STATES,
    UNIT_TOLERANCE,
    W_JOINT,
    W_MODES,
    WORK,
    WORK_SIZE,
    P,
)
from .scalar import called, entry, kernel
from .sweeps import FIELDS
from .vec import dot, load3


@intrinsic
def shifted(typingctx, start, n):
    """The pointer n elements on."""

    def codegen(context, builder, signature, args):
        return builder.gep(args[0], [args[1]])

    return start(start, types.intp), codegen


@kernel
def finite(x, n):
    """Whether n numbers are finite: 0 x is NaN for NaN and infinity."""
    total = 0.0
    for i in range(n):
        total += 0.0 * x[i]
    return total == 0.0


@kernel
def check_position(topo, q):
    """Status of a configuration: finite, quaternions unit."""
    if not finite(q, topo[NQ]):
        return NOT_FINITE
    for g in range(topo[END], topo[ROWS_END], COLUMNS):
        if topo[g + G_KIND] == SPHERICAL or topo[g + G_KIND] == FREE:
            j = topo[g + G_Q]
            norm = q[j] * q[j] + q[j + 1] * q[j + 1] + q[j + 2] * q[j + 2] + q[j + 3] * q[j + 3]
            if abs(norm - 1.0) > 2.0 * UNIT_TOLERANCE:
                return NOT_UNIT
    return OK


@kernel
def check(topo, q, v, x):
    """Status of one state: q, v and x finite, quaternions unit."""
    if not (finite(v, topo[NV]) and finite(x, topo[NV])):
        return NOT_FINITE
    return check_position(topo, q)


@kernel
def well_posed(topo, work, modal):
    """Whether every pivot that the articulated sweep left in `work` is positive, and more than rounding.

    For a joint, D = h.P h against the size of P along h: a freedom that moves nothing outboard but for
    rounding has no acceleration to speak of.  `modal`: whether the modes were factorized too.
    """
    for k in range(COLUMNS, topo[END], COLUMNS):
        b = topo[k + WORK] + P
        angular = work[b] + work[b + 3] + work[b + 5]
        linear = work[b + 15] + work[b + 18] + work[b + 20]
        j = topo[k + W_JOINT]
        if topo[k + JOINT] == GENERAL:
            for r in range(topo[k + DOFS]):
                hw = load3(work, j + J_H)
                hv = load3(work, j + J_H + 3)
                size = dot(hw, hw) * angular + dot(hv, hv) * linear
                if not 0.0 < size * work[j + J_D] * PIVOT_TOLERANCE < 1.0:
                    return False
                j += JOINT_WORK
        elif topo[k + DOFS] == 1:
            size = angular if topo[k + AXIS] < 3 else linear
            if not 0.0 < size * work[j + J_D] * PIVOT_TOLERANCE < 1.0:
                return False
        if modal != 0:
            m = topo[k + MODES]
            for r in range(m):
                if not work[topo[k + W_MODES] + 6 * m + r * m + r] > 0.0:
                    return False
    return True


@kernel
def pivots_posed(matrix, n):
    """The same for the factorization that `composite` left: its diagonal 1/D, M_ii behind the matrix."""
    for i in range(n):
        inverse = matrix[i * n + i]
        if not (inverse > 0.0 and inverse * matrix[n * n + i] * PIVOT_TOLERANCE < 1.0):
            return False
    return True


@kernel
def states_in(topo, work, q, stop):
    """The number of states in q (`stop` if a state has no coordinates); -1 if that does not come out even or
    is less than `stop`, or if `work` is too small."""
    states = q.size // topo[NQ] if topo[NQ] > 0 else stop
    if states < stop or q.size != states * topo[NQ] or work.size < topo[WORK_SIZE]:
        return -1
    return states


@kernel
def holds(array, size, states):
    """Whether an array is that of so many states, `size` numbers each."""
    return states >= 0 and array.size == size * states


@kernel
def speeds_fit(v, x, out, nv, states):
    """`holds` of the vectors of forward and inverse dynamics."""
    return holds(v, nv, states) and holds(x, nv, states) and holds(out, nv, states)


# --- forward and inverse dynamics: (q, v, x) to out, without and with external wrenches -------------


@entry
def articulated_body(topo, const, q, v, x, work, out, start, stop):
    t, c, w, nq, nv = pointer(topo), pointer(const), pointer(work), topo[NQ], topo[NV]
    if not speeds_fit(v, x, out, nv, states_in(topo, work, q, stop)):
        return SIZES
    for i in range(start, stop):
        qi, vi = shifted(pointer(q), i * nq), shifted(pointer(v), i * nv)
        xi, oi = shifted(pointer(x), i * nv), shifted(pointer(out), i * nv)
        status = check(t, qi, vi, xi)
        if status == OK:
            articulated.forward_dynamics(t, c, w, qi, vi, xi, 0, t, c, oi)
            if not (finite(oi, nv) and well_posed(t, w, 1)):
                status = SINGULAR
        if status != OK:
            return STATES * i + status
    return OK


@entry
def articulated_body_external(topo, const, index, ext, q, v, x, work, out, start, stop):
    t, c, w, nq, nv = pointer(topo), pointer(const), pointer(work), topo[NQ], topo[NV]
    n, states = index.size // 2, states_in(topo, work, q, stop)
    if not (speeds_fit(v, x, out, nv, states) and holds(ext, 6 * n, states)):
        return SIZES
    for i in range(start, stop):
        qi, vi = shifted(pointer(q), i * nq), shifted(pointer(v), i * nv)
        xi, oi = shifted(pointer(x), i * nv), shifted(pointer(out), i * nv)
        ei = shifted(pointer(ext), i * 6 * n)
        status = check(t, qi, vi, xi) if finite(ei, 6 * n) else NOT_FINITE
        if status == OK:
            articulated.forward_dynamics(t, c, w, qi, vi, xi, n, pointer(index), ei, oi)
            if not (finite(oi, nv) and well_posed(t, w, 1)):
                status = SINGULAR
        if status != OK:
            return STATES * i + status
    return OK


@entry
def ruthless_body(topo, const, q, v, x, work, out, start, stop):
    t, c, w, nq, nv = pointer(topo), pointer(const), pointer(work), topo[NQ], topo[NV]
    if not speeds_fit(v, x, out, nv, states_in(topo, work, q, stop)):
        return SIZES
    for i in range(start, stop):
        qi, vi = shifted(pointer(q), i * nq), shifted(pointer(v), i * nv)
        xi, oi = shifted(pointer(x), i * nv), shifted(pointer(out), i * nv)
        status = check(t, qi, vi, xi)
        if status == OK:
            ruthless.forward_dynamics(t, c, w, qi, vi, xi, 0, t, c, oi)
            if not (finite(oi, nv) and well_posed(t, w, 0)):
                status = SINGULAR
        if status != OK:
            return STATES * i + status
    return OK


@entry
def ruthless_body_external(topo, const, index, ext, q, v, x, work, out, start, stop):
    t, c, w, nq, nv = pointer(topo), pointer(const), pointer(work), topo[NQ], topo[NV]
    n, states = index.size // 2, states_in(topo, work, q, stop)
    if not (speeds_fit(v, x, out, nv, states) and holds(ext, 6 * n, states)):
        return SIZES
    for i in range(start, stop):
        qi, vi = shifted(pointer(q), i * nq), shifted(pointer(v), i * nv)
        xi, oi = shifted(pointer(x), i * nv), shifted(pointer(out), i * nv)
        ei = shifted(pointer(ext), i * 6 * n)
        status = check(t, qi, vi, xi) if finite(ei, 6 * n) else NOT_FINITE
        if status == OK:
            ruthless.forward_dynamics(t, c, w, qi, vi, xi, n, pointer(index), ei, oi)
            if not (finite(oi, nv) and well_posed(t, w, 0)):
                status = SINGULAR
        if status != OK:
            return STATES * i + status
    return OK


@entry
def composite_body(topo, const, q, v, x, work, out, start, stop):
    t, c, w, nq, nv = pointer(topo), pointer(const), pointer(work), topo[NQ], topo[NV]
    if not speeds_fit(v, x, out, nv, states_in(topo, work, q, stop)):
        return SIZES
    matrix = shifted(w, topo[WORK_SIZE])
    for i in range(start, stop):
        qi, vi = shifted(pointer(q), i * nq), shifted(pointer(v), i * nv)
        xi, oi = shifted(pointer(x), i * nv), shifted(pointer(out), i * nv)
        status = check(t, qi, vi, xi)
        if status == OK:
            composite.forward_dynamics(t, c, w, qi, vi, xi, 0, t, c, oi, matrix)
            if not (finite(oi, nv) and pivots_posed(matrix, nv)):
                status = SINGULAR
        if status != OK:
            return STATES * i + status
    return OK


@entry
def composite_body_external(topo, const, index, ext, q, v, x, work, out, start, stop):
    t, c, w, nq, nv = pointer(topo), pointer(const), pointer(work), topo[NQ], topo[NV]
    n, states = index.size // 2, states_in(topo, work, q, stop)
    if not (speeds_fit(v, x, out, nv, states) and holds(ext, 6 * n, states)):
        return SIZES
    matrix = shifted(w, topo[WORK_SIZE])
    for i in range(start, stop):
        qi, vi = shifted(pointer(q), i * nq), shifted(pointer(v), i * nv)
        xi, oi = shifted(pointer(x), i * nv), shifted(pointer(out), i * nv)
        ei = shifted(pointer(ext), i * 6 * n)
        status = check(t, qi, vi, xi) if finite(ei, 6 * n) else NOT_FINITE
        if status == OK:
            composite.forward_dynamics(t, c, w, qi, vi, xi, n, pointer(index), ei, oi, matrix)
            if not (finite(oi, nv) and pivots_posed(matrix, nv)):
                status = SINGULAR
        if status != OK:
            return STATES * i + status
    return OK


@entry
def newton_euler_sweep(topo, const, q, v, x, work, out, start, stop):
    t, c, w, nq, nv = pointer(topo), pointer(const), pointer(work), topo[NQ], topo[NV]
    if not speeds_fit(v, x, out, nv, states_in(topo, work, q, stop)):
        return SIZES
    for i in range(start, stop):
        qi, vi = shifted(pointer(q), i * nq), shifted(pointer(v), i * nv)
        xi, oi = shifted(pointer(x), i * nv), shifted(pointer(out), i * nv)
        status = check(t, qi, vi, xi)
        if status == OK:
            newton_euler.inverse_dynamics(t, c, w, qi, vi, xi, 0, t, c, oi)
            if not finite(oi, nv):
                status = SINGULAR
        if status != OK:
            return STATES * i + status
    return OK


@entry
def newton_euler_sweep_external(topo, const, index, ext, q, v, x, work, out, start, stop):
    t, c, w, nq, nv = pointer(topo), pointer(const), pointer(work), topo[NQ], topo[NV]
    n, states = index.size // 2, states_in(topo, work, q, stop)
    if not (speeds_fit(v, x, out, nv, states) and holds(ext, 6 * n, states)):
        return SIZES
    for i in range(start, stop):
        qi, vi = shifted(pointer(q), i * nq), shifted(pointer(v), i * nv)
        xi, oi = shifted(pointer(x), i * nv), shifted(pointer(out), i * nv)
        ei = shifted(pointer(ext), i * 6 * n)
        status = check(t, qi, vi, xi) if finite(ei, 6 * n) else NOT_FINITE
        if status == OK:
            newton_euler.inverse_dynamics(t, c, w, qi, vi, xi, n, pointer(index), ei, oi)
            if not finite(oi, nv):
                status = SINGULAR
        if status != OK:
            return STATES * i + status
    return OK


# --- functions of q -------------------------------------------------------------------------------


@entry
def mass_matrix(topo, const, q, work, out, start, stop):
    t, c, w, nq, size = pointer(topo), pointer(const), pointer(work), topo[NQ], topo[NV] * topo[NV]
    if not holds(out, size, states_in(topo, work, q, stop)):
        return SIZES
    for i in range(start, stop):
        qi, oi = shifted(pointer(q), i * nq), shifted(pointer(out), i * size)
        status = check_position(t, qi)
        if status == OK:
            composite.mass_matrix(t, c, w, qi, oi)
            if not finite(oi, size):
                status = OVERFLOW
        if status != OK:
            return STATES * i + status
    return OK


@entry
def potential_energy(topo, const, q, work, out, start, stop):
    t, c, w, nq, size = pointer(topo), pointer(const), pointer(work), topo[NQ], 1
    if not holds(out, size, states_in(topo, work, q, stop)):
        return SIZES
    for i in range(start, stop):
        qi, oi = shifted(pointer(q), i * nq), shifted(pointer(out), i * size)
        status = check_position(t, qi)
        if status == OK:
            energy.potential_energy(t, c, w, qi, oi)
            if not finite(oi, size):
                status = OVERFLOW
        if status != OK:
            return STATES * i + status
    return OK


@entry
def pose(topo, const, body, node, q, work, out, start, stop):
    t, c, w, nq, size = pointer(topo), pointer(const), pointer(work), topo[NQ], 12
    if not holds(out, size, states_in(topo, work, q, stop)):
        return SIZES
    for i in range(start, stop):
        qi, oi = shifted(pointer(q), i * nq), shifted(pointer(out), i * size)
        status = check_position(t, qi)
        if status == OK:
            observe.pose(t, c, w, qi, body, node, oi)
            if not finite(oi, size):
                status = OVERFLOW
        if status != OK:
            return STATES * i + status
    return OK


@entry
def jacobian(topo, const, body, node, q, work, out, start, stop):
    t, c, w, nq, size = pointer(topo), pointer(const), pointer(work), topo[NQ], 6 * topo[NV]
    if not holds(out, size, states_in(topo, work, q, stop)):
        return SIZES
    for i in range(start, stop):
        qi, oi = shifted(pointer(q), i * nq), shifted(pointer(out), i * size)
        status = check_position(t, qi)
        if status == OK:
            observe.jacobian(t, c, w, qi, body, node, oi)
            if not finite(oi, size):
                status = OVERFLOW
        if status != OK:
            return STATES * i + status
    return OK


# --- functions of q and v -------------------------------------------------------------------------


@entry
def kinetic_energy(topo, const, q, v, work, out, start, stop):
    t, c, w, nq, nv = pointer(topo), pointer(const), pointer(work), topo[NQ], topo[NV]
    size, states = 1, states_in(topo, work, q, stop)
    if not (holds(v, nv, states) and holds(out, size, states)):
        return SIZES
    for i in range(start, stop):
        qi, vi = shifted(pointer(q), i * nq), shifted(pointer(v), i * nv)
        oi = shifted(pointer(out), i * size)
        status = check(t, qi, vi, vi)
        if status == OK:
            energy.kinetic_energy(t, c, w, qi, vi, oi)
            if not finite(oi, size):
                status = OVERFLOW
        if status != OK:
            return STATES * i + status
    return OK


@entry
def momentum(topo, const, q, v, work, out, start, stop):
    t, c, w, nq, nv = pointer(topo), pointer(const), pointer(work), topo[NQ], topo[NV]
    size, states = 6, states_in(topo, work, q, stop)
    if not (holds(v, nv, states) and holds(out, size, states)):
        return SIZES
    for i in range(start, stop):
        qi, vi = shifted(pointer(q), i * nq), shifted(pointer(v), i * nv)
        oi = shifted(pointer(out), i * size)
        status = check(t, qi, vi, vi)
        if status == OK:
            energy.momentum(t, c, w, qi, vi, oi)
            if not finite(oi, size):
                status = OVERFLOW
        if status != OK:
            return STATES * i + status
    return OK


@entry
def qdot(topo, const, q, v, work, out, start, stop):
    t, c, w, nq, nv = pointer(topo), pointer(const), pointer(work), topo[NQ], topo[NV]
    size, states = nq, states_in(topo, work, q, stop)
    if not (holds(v, nv, states) and holds(out, size, states)):
        return SIZES
    for i in range(start, stop):
        qi, vi = shifted(pointer(q), i * nq), shifted(pointer(v), i * nv)
        oi = shifted(pointer(out), i * size)
        status = check(t, qi, vi, vi)
        if status == OK:
            manifold.coordinate_rates(t, c, w, qi, vi, oi)
            if not finite(oi, size):
                status = OVERFLOW
        if status != OK:
            return STATES * i + status
    return OK


@entry
def integrate(topo, const, q, v, dt, work, out, start, stop):
    t, c, w, nq, nv = pointer(topo), pointer(const), pointer(work), topo[NQ], topo[NV]
    size, states = nq, states_in(topo, work, q, stop)
    if not (holds(v, nv, states) and holds(out, size, states)):
        return SIZES
    for i in range(start, stop):
        qi, vi = shifted(pointer(q), i * nq), shifted(pointer(v), i * nv)
        oi = shifted(pointer(out), i * size)
        status = check(t, qi, vi, vi) if 0.0 * dt == 0.0 else NOT_FINITE
        if status == OK:
            manifold.integrate(t, c, w, qi, vi, dt, oi)
            if not finite(oi, size):
                status = OVERFLOW
        if status != OK:
            return STATES * i + status
    return OK


# --- spatial operators ----------------------------------------------------------------------------


@entry
def operator_blocks(topo, const, work, q, v, where, out):
    if work.size < topo[WORK_SIZE] or q.size != topo[NQ] or v.size != topo[NV]:
        return SIZES
    t, qi, vi = pointer(topo), pointer(q), pointer(v)
    status = check(t, qi, vi, vi)
    if status == OK:
        blocks.operator_blocks(
            t, pointer(const), pointer(work), qi, vi, pointer(where), pointer(out)
        )
    return status


@entry
def block_multiply(transposed, data, table, x, y, width):
    count = table.size // FIELDS
    if transposed:
        sweeps.multiply_transposed(
            count, pointer(data), pointer(table), pointer(x), pointer(y), width
        )
    else:
        sweeps.multiply(count, pointer(data), pointer(table), pointer(x), pointer(y), width)


@entry
def tree_sweep(transposed, data, table, z, width):
    count = table.size // FIELDS
    if transposed:
        sweeps.sweep_outward(count, pointer(data), pointer(table), pointer(z), width)
    else:
        sweeps.sweep_inward(count, pointer(data), pointer(table), pointer(z), width)


@entry
def tree_shift(transposed, table, x, y, width):
    count = table.size // FIELDS
    if transposed:
        sweeps.spread_outward(count, pointer(table), pointer(x), pointer(y), width)
    else:
        sweeps.gather_inward(count, pointer(table), pointer(x), pointer(y), width)


@entry
def simulate(
    context, method, y, k, scratch, clock, tableau, side, stops, times, y_out, tau_out, most
):  # fmt: skip
    """March a simulation on; see `march`."""
    return march.march(
        pointer(context), method, pointer(y), pointer(k), pointer(scratch), pointer(clock), pointer(tableau),
        pointer(side), pointer(stops), pointer(times), times.size, pointer(y_out), pointer(tau_out), most,
    )  # fmt: skip


# called by address


@called
def full_sweep(topo, const, work, q, v, tau, vdot):
    """`articulated.forward_dynamics`."""
    articulated.forward_dynamics(topo, const, work, q, v, tau, 0, topo, const, vdot)


@called
def ruthless_sweep(topo, const, work, q, v, tau, vdot):
    """`ruthless.forward_dynamics`."""
    ruthless.forward_dynamics(topo, const, work, q, v, tau, 0, topo, const, vdot)


@called
def engine_rates(context, t, y, dy):
    """`drive.rates`."""
    drive.rates(context, t, y, dy)


@called
def engine_forces(context, t, y):
    """`drive.forces`."""
    drive.forces(context, t, y)


@called
def engine_implicit(context, step, y, tableau, k, y_new):
    """`implicit.implicit_step`."""
    return implicit.implicit_step(context, step, y, tableau, k, y_new)
