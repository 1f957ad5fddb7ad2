"""The compiled entry points: one state, or a range of a batch.

The kernels run on raw pointers, which keeps their calls cheap and their compilation short; this
is where arrays turn into pointers.  Each entry returns a status, 0 when all is well; for a batch,
STATES times the number of the first bad state plus its status.  Inputs are checked for finiteness
and unit quaternions in one pass, results for finiteness, so that nothing is checked from Python.
"""

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from . import articulated, composite, energy, manifold, newton_euler, observe, ruthless
from .layout import COLUMNS, END, FREE, G_KIND, G_Q, NQ, NV, ROWS_END, SPHERICAL, WORK_SIZE
from .scalar import kernel

OK, SIZES, NOT_FINITE, NOT_UNIT, SINGULAR = 0, 1, 2, 3, 4
STATES = 8
UNIT_TOLERANCE = 1e-6


@intrinsic
def row(typingctx, array, i):
    """Pointer to the first element of row i of a contiguous array (of a vector: to element i)."""

    def codegen(context, builder, signature, args):
        struct = context.make_array(signature.args[0])(context, builder, args[0])
        stride = cgutils.unpack_tuple(builder, struct.strides)[0]
        start = builder.ptrtoint(struct.data, cgutils.intp_t)
        address = builder.add(start, builder.mul(stride, args[1]))
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
def right_sizes(topo, work, q, v, x, out):
    return (
        q.size == topo[NQ]
        and v.size == topo[NV]
        and x.size == topo[NV]
        and out.size == topo[NV]
        and work.size >= topo[WORK_SIZE]
    )


# --- forward and inverse dynamics: (q, v, x) to out ---------------------------------------------


@kernel
def articulated_one(topo, const, work, q, v, tau, vdot):
    if not right_sizes(topo, work, q, v, tau, vdot):
        return SIZES
    t, c, w = row(topo, 0), row(const, 0), row(work, 0)
    status = check(t, row(q, 0), row(v, 0), row(tau, 0))
    if status == OK:
        articulated.forward_dynamics(
            t, c, w, row(q, 0), row(v, 0), row(tau, 0), 0, t, c, row(vdot, 0)
        )
        if not finite(row(vdot, 0), t[NV]):
            status = SINGULAR
    return status


@kernel
def articulated_batch(topo, const, work, q, v, tau, ext_index, ext, vdot, start, stop):
    t, c, w = row(topo, 0), row(const, 0), row(work, 0)
    count = ext_index.size // 2
    for i in range(start, stop):
        status = check(t, row(q, i), row(v, i), row(tau, i))
        if status == OK:
            articulated.forward_dynamics(
                t, c, w, row(q, i), row(v, i), row(tau, i),
                count, row(ext_index, 0), row(ext, i), row(vdot, i),
            )  # fmt: skip
            if not finite(row(vdot, i), t[NV]):
                status = SINGULAR
        if status != OK:
            return STATES * i + status
    return OK


@kernel
def ruthless_one(topo, const, work, q, v, tau, vdot):
    if not right_sizes(topo, work, q, v, tau, vdot):
        return SIZES
    t, c, w = row(topo, 0), row(const, 0), row(work, 0)
    status = check(t, row(q, 0), row(v, 0), row(tau, 0))
    if status == OK:
        ruthless.forward_dynamics(t, c, w, row(q, 0), row(v, 0), row(tau, 0), 0, t, c, row(vdot, 0))
        if not finite(row(vdot, 0), t[NV]):
            status = SINGULAR
    return status


@kernel
def ruthless_batch(topo, const, work, q, v, tau, ext_index, ext, vdot, start, stop):
    t, c, w = row(topo, 0), row(const, 0), row(work, 0)
    count = ext_index.size // 2
    for i in range(start, stop):
        status = check(t, row(q, i), row(v, i), row(tau, i))
        if status == OK:
            ruthless.forward_dynamics(
                t, c, w, row(q, i), row(v, i), row(tau, i),
                count, row(ext_index, 0), row(ext, i), row(vdot, i),
            )  # fmt: skip
            if not finite(row(vdot, i), t[NV]):
                status = SINGULAR
        if status != OK:
            return STATES * i + status
    return OK


@kernel
def composite_batch(topo, const, work, q, v, tau, ext_index, ext, vdot, start, stop):
    t, c, w = row(topo, 0), row(const, 0), row(work, 0)
    count = ext_index.size // 2
    matrix = row(work, t[WORK_SIZE])
    for i in range(start, stop):
        status = check(t, row(q, i), row(v, i), row(tau, i))
        if status == OK:
            composite.forward_dynamics(
                t, c, w, row(q, i), row(v, i), row(tau, i),
                count, row(ext_index, 0), row(ext, i), row(vdot, i), matrix,
            )  # fmt: skip
            if not finite(row(vdot, i), t[NV]):
                status = SINGULAR
        if status != OK:
            return STATES * i + status
    return OK


@kernel
def newton_euler_one(topo, const, work, q, v, vdot, tau):
    if not right_sizes(topo, work, q, v, vdot, tau):
        return SIZES
    t, c, w = row(topo, 0), row(const, 0), row(work, 0)
    status = check(t, row(q, 0), row(v, 0), row(vdot, 0))
    if status == OK:
        newton_euler.inverse_dynamics(
            t, c, w, row(q, 0), row(v, 0), row(vdot, 0), 0, t, c, row(tau, 0)
        )
    return status


@kernel
def newton_euler_batch(topo, const, work, q, v, vdot, ext_index, ext, tau, start, stop):
    t, c, w = row(topo, 0), row(const, 0), row(work, 0)
    count = ext_index.size // 2
    for i in range(start, stop):
        status = check(t, row(q, i), row(v, i), row(vdot, i))
        if status != OK:
            return STATES * i + status
        newton_euler.inverse_dynamics(
            t, c, w, row(q, i), row(v, i), row(vdot, i),
            count, row(ext_index, 0), row(ext, i), row(tau, i),
        )  # fmt: skip
    return OK


# --- functions of q and v -----------------------------------------------------------------------


@kernel
def mass_matrix_batch(topo, const, work, q, v, out, start, stop):
    t, c, w = row(topo, 0), row(const, 0), row(work, 0)
    for i in range(start, stop):
        status = check(t, row(q, i), row(v, i), row(v, i))
        if status != OK:
            return STATES * i + status
        composite.mass_matrix(t, c, w, row(q, i), row(out, i))
    return OK


@kernel
def kinetic_energy_batch(topo, const, work, q, v, out, start, stop):
    t, c, w = row(topo, 0), row(const, 0), row(work, 0)
    for i in range(start, stop):
        status = check(t, row(q, i), row(v, i), row(v, i))
        if status != OK:
            return STATES * i + status
        energy.kinetic_energy(t, c, w, row(q, i), row(v, i), row(out, i))
    return OK


@kernel
def potential_energy_batch(topo, const, work, q, v, out, start, stop):
    t, c, w = row(topo, 0), row(const, 0), row(work, 0)
    for i in range(start, stop):
        status = check(t, row(q, i), row(v, i), row(v, i))
        if status != OK:
            return STATES * i + status
        energy.potential_energy(t, c, w, row(q, i), row(out, i))
    return OK


@kernel
def momentum_batch(topo, const, work, q, v, out, start, stop):
    t, c, w = row(topo, 0), row(const, 0), row(work, 0)
    for i in range(start, stop):
        status = check(t, row(q, i), row(v, i), row(v, i))
        if status != OK:
            return STATES * i + status
        energy.momentum(t, c, w, row(q, i), row(v, i), row(out, i))
    return OK


@kernel
def qdot_batch(topo, const, work, q, v, out, start, stop):
    t, c, w = row(topo, 0), row(const, 0), row(work, 0)
    for i in range(start, stop):
        status = check(t, row(q, i), row(v, i), row(v, i))
        if status != OK:
            return STATES * i + status
        manifold.coordinate_rates(t, c, w, row(q, i), row(v, i), row(out, i))
    return OK


@kernel
def integrate_batch(topo, const, work, q, v, dt, out, start, stop):
    t, c, w = row(topo, 0), row(const, 0), row(work, 0)
    for i in range(start, stop):
        status = check(t, row(q, i), row(v, i), row(v, i))
        if status != OK:
            return STATES * i + status
        manifold.integrate(t, c, w, row(q, i), row(v, i), dt, row(out, i))
    return OK


@kernel
def pose_batch(topo, const, work, q, v, body, node, out, start, stop):
    t, c, w = row(topo, 0), row(const, 0), row(work, 0)
    for i in range(start, stop):
        status = check(t, row(q, i), row(v, i), row(v, i))
        if status != OK:
            return STATES * i + status
        observe.pose(t, c, w, row(q, i), body, node, row(out, i))
    return OK


@kernel
def jacobian_batch(topo, const, work, q, v, body, node, out, start, stop):
    t, c, w = row(topo, 0), row(const, 0), row(work, 0)
    for i in range(start, stop):
        status = check(t, row(q, i), row(v, i), row(v, i))
        if status != OK:
            return STATES * i + status
        observe.jacobian(t, c, w, row(q, i), body, node, row(out, i))
    return OK
