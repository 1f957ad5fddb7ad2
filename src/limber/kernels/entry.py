"""The compiled entry points: states start .. stop of a batch.

Arrays are flat and contiguous, state after state; one state is a batch of one.  The kernels run on
raw pointers, which keeps their calls cheap and their compilation short; this is where arrays turn
into pointers.  An entry returns 0 when all is well, else STATES times the number of the first bad
state plus a status.  Inputs are checked for finiteness and unit quaternions in one pass, results
for finiteness, so that nothing has to be checked from Python.
"""

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from . import articulated, composite, energy, manifold, newton_euler, observe, ruthless
from .layout import COLUMNS, END, FREE, G_KIND, G_Q, NQ, NV, ROWS_END, SPHERICAL, WORK_SIZE
from .scalar import entry, kernel

OK, SIZES, NOT_FINITE, NOT_UNIT, SINGULAR = 0, 1, 2, 3, 4
STATES = 8
UNIT_TOLERANCE = 1e-6


@intrinsic
def at(typingctx, array, i):
    """Pointer to element i of a contiguous vector."""

    def codegen(context, builder, signature, args):
        struct = context.make_array(signature.args[0])(context, builder, args[0])
        start = builder.ptrtoint(struct.data, cgutils.intp_t)
        address = builder.add(start, builder.mul(struct.itemsize, args[1]))
        return builder.inttoptr(address, struct.data.type)

    return types.CPointer(array.dtype)(array, types.intp), codegen


@kernel
def finite(x, n):
    """Whether n numbers are finite: 0 x is NaN for NaN and infinity."""
    total = 0.0
    for i in range(n):
        total += 0.0 * x[i]
    return total == 0.0


@kernel
def check(topo, q, v, x):
    """Status of one state: q, v and x finite, quaternions unit."""
    if not (finite(q, topo[NQ]) and finite(v, topo[NV]) and finite(x, topo[NV])):
        return NOT_FINITE
    for g in range(topo[END], topo[ROWS_END], COLUMNS):
        if topo[g + G_KIND] == SPHERICAL or topo[g + G_KIND] == FREE:
            j = topo[g + G_Q]
            norm = q[j] * q[j] + q[j + 1] * q[j + 1] + q[j + 2] * q[j + 2] + q[j + 3] * q[j + 3]
            if abs(norm - 1.0) > 2.0 * UNIT_TOLERANCE:
                return NOT_UNIT
    return OK


@kernel
def right_sizes(topo, work, q, v, x, out, stop):
    """Whether the arrays hold `stop` states or, for more, whole numbers of them."""
    states = out.size // topo[NV]
    return (
        stop <= states
        and out.size == states * topo[NV]
        and q.size == states * topo[NQ]
        and v.size == out.size
        and x.size == out.size
        and work.size >= topo[WORK_SIZE]
    )


# --- forward and inverse dynamics: (q, v, x) to out, without and with external forces -----------


@entry
def articulated_body(topo, const, work, q, v, x, out, start, stop):
    if not right_sizes(topo, work, q, v, x, out, stop):
        return SIZES
    t, c, w, nq, nv = at(topo, 0), at(const, 0), at(work, 0), topo[NQ], topo[NV]
    for i in range(start, stop):
        qi, vi, xi, oi = at(q, i * nq), at(v, i * nv), at(x, i * nv), at(out, i * nv)
        status = check(t, qi, vi, xi)
        if status == OK:
            articulated.forward_dynamics(t, c, w, qi, vi, xi, 0, t, c, oi)
            if not finite(oi, nv):
                status = SINGULAR
        if status != OK:
            return STATES * i + status
    return OK


@entry
def articulated_body_external(topo, const, work, q, v, x, index, ext, out, start, stop):
    if not right_sizes(topo, work, q, v, x, out, stop):
        return SIZES
    t, c, w, nq, nv = at(topo, 0), at(const, 0), at(work, 0), topo[NQ], topo[NV]
    n = index.size // 2
    for i in range(start, stop):
        qi, vi, xi, oi = at(q, i * nq), at(v, i * nv), at(x, i * nv), at(out, i * nv)
        status = check(t, qi, vi, xi)
        if status == OK:
            articulated.forward_dynamics(
                t, c, w, qi, vi, xi, n, at(index, 0), at(ext, 6 * n * i), oi
            )
            if not finite(oi, nv):
                status = SINGULAR
        if status != OK:
            return STATES * i + status
    return OK


@entry
def ruthless_body(topo, const, work, q, v, x, out, start, stop):
    if not right_sizes(topo, work, q, v, x, out, stop):
        return SIZES
    t, c, w, nq, nv = at(topo, 0), at(const, 0), at(work, 0), topo[NQ], topo[NV]
    for i in range(start, stop):
        qi, vi, xi, oi = at(q, i * nq), at(v, i * nv), at(x, i * nv), at(out, i * nv)
        status = check(t, qi, vi, xi)
        if status == OK:
            ruthless.forward_dynamics(t, c, w, qi, vi, xi, 0, t, c, oi)
            if not finite(oi, nv):
                status = SINGULAR
        if status != OK:
            return STATES * i + status
    return OK


@entry
def ruthless_body_external(topo, const, work, q, v, x, index, ext, out, start, stop):
    if not right_sizes(topo, work, q, v, x, out, stop):
        return SIZES
    t, c, w, nq, nv = at(topo, 0), at(const, 0), at(work, 0), topo[NQ], topo[NV]
    n = index.size // 2
    for i in range(start, stop):
        qi, vi, xi, oi = at(q, i * nq), at(v, i * nv), at(x, i * nv), at(out, i * nv)
        status = check(t, qi, vi, xi)
        if status == OK:
            ruthless.forward_dynamics(t, c, w, qi, vi, xi, n, at(index, 0), at(ext, 6 * n * i), oi)
            if not finite(oi, nv):
                status = SINGULAR
        if status != OK:
            return STATES * i + status
    return OK


@entry
def composite_body(topo, const, work, q, v, x, out, start, stop):
    if not right_sizes(topo, work, q, v, x, out, stop):
        return SIZES
    t, c, w, nq, nv = at(topo, 0), at(const, 0), at(work, 0), topo[NQ], topo[NV]
    matrix = at(work, topo[WORK_SIZE])
    for i in range(start, stop):
        qi, vi, xi, oi = at(q, i * nq), at(v, i * nv), at(x, i * nv), at(out, i * nv)
        status = check(t, qi, vi, xi)
        if status == OK:
            composite.forward_dynamics(t, c, w, qi, vi, xi, 0, t, c, oi, matrix)
            if not finite(oi, nv):
                status = SINGULAR
        if status != OK:
            return STATES * i + status
    return OK


@entry
def composite_body_external(topo, const, work, q, v, x, index, ext, out, start, stop):
    if not right_sizes(topo, work, q, v, x, out, stop):
        return SIZES
    t, c, w, nq, nv = at(topo, 0), at(const, 0), at(work, 0), topo[NQ], topo[NV]
    n = index.size // 2
    matrix = at(work, topo[WORK_SIZE])
    for i in range(start, stop):
        qi, vi, xi, oi = at(q, i * nq), at(v, i * nv), at(x, i * nv), at(out, i * nv)
        status = check(t, qi, vi, xi)
        if status == OK:
            composite.forward_dynamics(
                t, c, w, qi, vi, xi, n, at(index, 0), at(ext, 6 * n * i), oi, matrix
            )
            if not finite(oi, nv):
                status = SINGULAR
        if status != OK:
            return STATES * i + status
    return OK


@entry
def newton_euler_sweep(topo, const, work, q, v, x, out, start, stop):
    if not right_sizes(topo, work, q, v, x, out, stop):
        return SIZES
    t, c, w, nq, nv = at(topo, 0), at(const, 0), at(work, 0), topo[NQ], topo[NV]
    for i in range(start, stop):
        qi, vi, xi, oi = at(q, i * nq), at(v, i * nv), at(x, i * nv), at(out, i * nv)
        status = check(t, qi, vi, xi)
        if status == OK:
            newton_euler.inverse_dynamics(t, c, w, qi, vi, xi, 0, t, c, oi)
        if status != OK:
            return STATES * i + status
    return OK


@entry
def newton_euler_sweep_external(topo, const, work, q, v, x, index, ext, out, start, stop):
    if not right_sizes(topo, work, q, v, x, out, stop):
        return SIZES
    t, c, w, nq, nv = at(topo, 0), at(const, 0), at(work, 0), topo[NQ], topo[NV]
    n = index.size // 2
    for i in range(start, stop):
        qi, vi, xi, oi = at(q, i * nq), at(v, i * nv), at(x, i * nv), at(out, i * nv)
        status = check(t, qi, vi, xi)
        if status == OK:
            newton_euler.inverse_dynamics(
                t, c, w, qi, vi, xi, n, at(index, 0), at(ext, 6 * n * i), oi
            )
        if status != OK:
            return STATES * i + status
    return OK


# --- functions of q and v -----------------------------------------------------------------------


@entry
def mass_matrix(topo, const, work, q, v, out, start, stop):
    t, c, w, nq, nv = at(topo, 0), at(const, 0), at(work, 0), topo[NQ], topo[NV]
    size = out.size * nq // max(q.size, 1)
    for i in range(start, stop):
        qi, vi, oi = at(q, i * nq), at(v, i * nv), at(out, i * size)
        status = check(t, qi, vi, vi)
        if status != OK:
            return STATES * i + status
        composite.mass_matrix(t, c, w, qi, oi)
    return OK


@entry
def kinetic_energy(topo, const, work, q, v, out, start, stop):
    t, c, w, nq, nv = at(topo, 0), at(const, 0), at(work, 0), topo[NQ], topo[NV]
    size = out.size * nq // max(q.size, 1)
    for i in range(start, stop):
        qi, vi, oi = at(q, i * nq), at(v, i * nv), at(out, i * size)
        status = check(t, qi, vi, vi)
        if status != OK:
            return STATES * i + status
        energy.kinetic_energy(t, c, w, qi, vi, oi)
    return OK


@entry
def potential_energy(topo, const, work, q, v, out, start, stop):
    t, c, w, nq, nv = at(topo, 0), at(const, 0), at(work, 0), topo[NQ], topo[NV]
    size = out.size * nq // max(q.size, 1)
    for i in range(start, stop):
        qi, vi, oi = at(q, i * nq), at(v, i * nv), at(out, i * size)
        status = check(t, qi, vi, vi)
        if status != OK:
            return STATES * i + status
        energy.potential_energy(t, c, w, qi, oi)
    return OK


@entry
def momentum(topo, const, work, q, v, out, start, stop):
    t, c, w, nq, nv = at(topo, 0), at(const, 0), at(work, 0), topo[NQ], topo[NV]
    size = out.size * nq // max(q.size, 1)
    for i in range(start, stop):
        qi, vi, oi = at(q, i * nq), at(v, i * nv), at(out, i * size)
        status = check(t, qi, vi, vi)
        if status != OK:
            return STATES * i + status
        energy.momentum(t, c, w, qi, vi, oi)
    return OK


@entry
def qdot(topo, const, work, q, v, out, start, stop):
    t, c, w, nq, nv = at(topo, 0), at(const, 0), at(work, 0), topo[NQ], topo[NV]
    size = out.size * nq // max(q.size, 1)
    for i in range(start, stop):
        qi, vi, oi = at(q, i * nq), at(v, i * nv), at(out, i * size)
        status = check(t, qi, vi, vi)
        if status != OK:
            return STATES * i + status
        manifold.coordinate_rates(t, c, w, qi, vi, oi)
    return OK


@entry
def integrate(topo, const, work, q, v, dt, out, start, stop):
    t, c, w, nq, nv = at(topo, 0), at(const, 0), at(work, 0), topo[NQ], topo[NV]
    size = out.size * nq // max(q.size, 1)
    for i in range(start, stop):
        qi, vi, oi = at(q, i * nq), at(v, i * nv), at(out, i * size)
        status = check(t, qi, vi, vi)
        if status != OK:
            return STATES * i + status
        manifold.integrate(t, c, w, qi, vi, dt, oi)
    return OK


@entry
def pose(topo, const, work, q, v, body, node, out, start, stop):
    t, c, w, nq, nv = at(topo, 0), at(const, 0), at(work, 0), topo[NQ], topo[NV]
    size = out.size * nq // max(q.size, 1)
    for i in range(start, stop):
        qi, vi, oi = at(q, i * nq), at(v, i * nv), at(out, i * size)
        status = check(t, qi, vi, vi)
        if status != OK:
            return STATES * i + status
        observe.pose(t, c, w, qi, body, node, oi)
    return OK


@entry
def jacobian(topo, const, work, q, v, body, node, out, start, stop):
    t, c, w, nq, nv = at(topo, 0), at(const, 0), at(work, 0), topo[NQ], topo[NV]
    size = out.size * nq // max(q.size, 1)
    for i in range(start, stop):
        qi, vi, oi = at(q, i * nq), at(v, i * nv), at(out, i * size)
        status = check(t, qi, vi, vi)
        if status != OK:
            return STATES * i + status
        observe.jacobian(t, c, w, qi, body, node, oi)
    return OK
