"""The compiled entry points: states start .. stop of a batch.

Arrays are flat and contiguous, state after state; one state is a batch of one.  The kernels run on
raw pointers, which keeps their calls cheap and their compilation short; this is where arrays turn
into pointers.  An entry returns 0 when all is well, else STATES times the number of the first bad
state plus a status.  In one pass the arrays are checked for their sizes, inputs for finiteness and unit
quaternions (those unit within a tolerance are made so), results for finiteness, those of forward dynamics for
sound pivots.

Arguments stand in one order: function, model and options, which a system keeps between calls; the state;
scratch and result; the states to do.
"""

from limber.kernels import (
    articulated,
    blocks,
    composite,
    energy,
    manifold,
    newton_euler,
    observe,
    paths,
    physics,
    precomputed,
    sweeps,
    wrenches,
)
from limber.kernels.layout import NQ, NV, WORK_SIZE
from limber.kernels.sweeps import FIELDS
from limber.native.status import (
    JUDGED,
    NEARLY_UNIT,
    NOT_FINITE,
    OK,
    OVERFLOW,
    SINGULAR,
    SIZES,
    STATES,
    UNSURE,
)

from .decorators import NUMBER, NUMBERS, NUMBERS_AT, WORD, WORDS, WORDS_AT, called, entry
from .pointers import call_function, call_sweep, shifted
from .state_checks import (
    check,
    check_position,
    finite,
    holds,
    large_enough,
    states_in,
    steady,
    with_unit_quaternions,
)
from .vectors import pointer

# types of arguments: function, its number, topo and const; work, out, first and last state; sweeps and functions
_MODEL = WORD, WORD, WORDS, NUMBERS
_BATCH = NUMBERS, NUMBERS, WORD, WORD
_SWEEP = WORDS_AT, *[NUMBERS_AT] * 5, WORD, WORDS_AT, NUMBERS_AT, NUMBERS_AT
_FUNCTION = WORDS_AT, *[NUMBERS_AT] * 4, WORD, WORD, NUMBER, NUMBERS_AT

# --- what Python calls: one state function, by its address, over the states of a batch ------------------


@entry(*_MODEL, WORDS, NUMBERS, NUMBERS, NUMBERS, NUMBERS, *_BATCH)
def dynamics(function, pivots, topo, const, index, ext, q, v, x, work, out, start, stop):
    """(q, v, x) to out by a sweep, with the wrenches `ext` at the nodes of `index`.

    `pivots`: 1 for a sweep that leaves pivots; UNSURE, of a state whose result stands, says that one of them is
    small and `judge_pivots` should look at it.
    """
    t, c, w, nq, nv = pointer(topo), pointer(const), pointer(work), topo[NQ], topo[NV]
    n, states = index.size // 2, states_in(topo, work, q, stop)
    if not (holds(v, nv, states) and holds(x, nv, states) and holds(out, nv, states)):
        return SIZES
    if not holds(ext, 6 * n, states):
        return SIZES
    for i in range(start, stop):
        qi, vi = shifted(pointer(q), i * nq), shifted(pointer(v), i * nv)
        xi, oi = shifted(pointer(x), i * nv), shifted(pointer(out), i * nv)
        ei = shifted(pointer(ext), i * 6 * n)
        status = check(t, qi, vi, xi) if finite(ei, 6 * n) else NOT_FINITE
        if status == NEARLY_UNIT:
            qi, status = with_unit_quaternions(t, w, qi), OK
        if status == OK:
            call_sweep(function, t, c, w, qi, vi, xi, n, pointer(index), ei, oi)
            if not finite(oi, nv):
                status = SINGULAR
            elif pivots != 0 and not large_enough(t, c, w):
                status = UNSURE
        if status != OK:
            return STATES * i + status
    return OK


@entry(WORD, WORDS, *[NUMBERS] * 5)
def judge_pivots(function, topo, const, nudged, q, work, found):
    """Whether the mass matrix is regular at one configuration, by `checks.steady`."""
    if q.size != topo[NQ] or work.size < topo[WORK_SIZE] or found.size != JUDGED * topo[NV]:
        return SIZES
    t, w, qi = pointer(topo), pointer(work), pointer(q)
    status = check_position(t, qi)
    if status == NEARLY_UNIT:
        qi, status = with_unit_quaternions(t, w, qi), OK
    if status == OK:
        sound = steady(function, t, pointer(const), pointer(nudged), w, qi, pointer(found))
        status = OK if sound else SINGULAR
    return status


@entry(*_MODEL, WORD, WORD, NUMBERS, *_BATCH)
def of_position(function, size, topo, const, body, node, q, work, out, start, stop):
    """`size` numbers from q."""
    t, c, w, nq = pointer(topo), pointer(const), pointer(work), topo[NQ]
    if not holds(out, size, states_in(topo, work, q, stop)):
        return SIZES
    for i in range(start, stop):
        qi, oi = shifted(pointer(q), i * nq), shifted(pointer(out), i * size)
        status = check_position(t, qi)
        if status == NEARLY_UNIT:
            qi, status = with_unit_quaternions(t, w, qi), OK
        if status == OK:
            call_function(function, t, c, w, qi, qi, body, node, 0.0, oi)
            if not finite(oi, size):
                status = OVERFLOW
        if status != OK:
            return STATES * i + status
    return OK


@entry(*_MODEL, NUMBER, NUMBERS, NUMBERS, *_BATCH)
def of_motion(function, size, topo, const, dt, q, v, work, out, start, stop):
    """`size` numbers from q and v, and a time if that matters."""
    t, c, w, nq, nv = pointer(topo), pointer(const), pointer(work), topo[NQ], topo[NV]
    states = states_in(topo, work, q, stop)
    if not (holds(v, nv, states) and holds(out, size, states)):
        return SIZES
    for i in range(start, stop):
        qi, vi = shifted(pointer(q), i * nq), shifted(pointer(v), i * nv)
        oi = shifted(pointer(out), i * size)
        status = check(t, qi, vi, vi) if 0.0 * dt == 0.0 else NOT_FINITE
        if status == NEARLY_UNIT:
            qi, status = with_unit_quaternions(t, w, qi), OK
        if status == OK:
            call_function(function, t, c, w, qi, vi, 0, 0, dt, oi)
            if not finite(oi, size):
                status = OVERFLOW
        if status != OK:
            return STATES * i + status
    return OK


@entry(WORDS, NUMBERS, WORD, WORD, NUMBERS, NUMBERS, NUMBERS, *_BATCH)
def node_accelerations(topo, const, body, node, q, v, vdot, work, out, start, stop):
    """The acceleration of a node, 6 numbers, from q, v and vdot."""
    t, c, w, nq, nv = pointer(topo), pointer(const), pointer(work), topo[NQ], topo[NV]
    states = states_in(topo, work, q, stop)
    if not (holds(v, nv, states) and holds(vdot, nv, states) and holds(out, 6, states)):
        return SIZES
    for i in range(start, stop):
        qi, vi = shifted(pointer(q), i * nq), shifted(pointer(v), i * nv)
        ai, oi = shifted(pointer(vdot), i * nv), shifted(pointer(out), i * 6)
        status = check(t, qi, vi, ai)
        if status == OK:
            observe.node_acceleration(t, c, w, qi, vi, ai, body, node, oi)
            if not finite(oi, 6):
                status = OVERFLOW
        if status != OK:
            return STATES * i + status
    return OK


# --- sweeps of one state, called by address -------------------------------------------------------------


@called(*_SWEEP)
def articulated_sweep(topo, const, work, q, v, tau, count, index, ext, vdot):
    articulated.forward_dynamics(topo, const, work, q, v, tau, count, index, ext, vdot)


@called(*_SWEEP)
def precomputed_sweep(topo, const, work, q, v, tau, count, index, ext, vdot):
    precomputed.forward_dynamics(topo, const, work, q, v, tau, count, index, ext, vdot)


@called(*_SWEEP)
def composite_sweep(topo, const, work, q, v, tau, count, index, ext, vdot):
    matrix = shifted(work, topo[WORK_SIZE])
    composite.forward_dynamics(topo, const, work, q, v, tau, count, index, ext, vdot, matrix)


@called(*_SWEEP)
def newton_euler_sweep(topo, const, work, q, v, vdot, count, index, ext, tau):
    newton_euler.inverse_dynamics(topo, const, work, q, v, vdot, count, index, ext, tau)


@called(*_SWEEP)
def wrench_sweep(topo, const, work, q, v, x, count, index, ext, tau):
    wrenches.wrench_forces(topo, const, work, q, count, index, ext, tau)


# --- functions of one state, called by address ----------------------------------------------------------


@called(*_FUNCTION)
def mass_matrix(topo, const, work, q, v, body, node, dt, out):
    composite.mass_matrix(topo, const, work, q, out)


@called(*_FUNCTION)
def potential_energy(topo, const, work, q, v, body, node, dt, out):
    energy.potential_energy(topo, const, work, q, out)


@called(*_FUNCTION)
def pose(topo, const, work, q, v, body, node, dt, out):
    observe.pose(topo, const, work, q, body, node, out)


@called(*_FUNCTION)
def jacobian(topo, const, work, q, v, body, node, dt, out):
    observe.jacobian(topo, const, work, q, body, node, out)


@called(*_FUNCTION)
def kinetic_energy(topo, const, work, q, v, body, node, dt, out):
    energy.kinetic_energy(topo, const, work, q, v, out)


@called(*_FUNCTION)
def dissipation(topo, const, work, q, v, body, node, dt, out):
    energy.dissipation(topo, const, work, q, v, out)


@called(*_FUNCTION)
def joint_forces(topo, const, work, q, v, body, node, dt, out):
    physics.joint_forces(topo, const, work, q, v, out)


@called(*_FUNCTION)
def joint_slopes(topo, const, work, q, v, body, node, dt, out):
    physics.joint_slopes(topo, const, work, q, v, out)


@called(*_FUNCTION)
def armatures(topo, const, work, q, v, body, node, dt, out):
    physics.armatures(topo, const, work, q, out)


@called(*_FUNCTION)
def momentum(topo, const, work, q, v, body, node, dt, out):
    energy.momentum(topo, const, work, q, v, out)


@called(*_FUNCTION)
def qdot(topo, const, work, q, v, body, node, dt, out):
    manifold.coordinate_rates(topo, const, work, q, v, out)


@called(*_FUNCTION)
def spins(topo, const, work, q, v, body, node, dt, out):
    observe.spins(topo, const, work, q, v, out)


@called(*_FUNCTION)
def integrate(topo, const, work, q, v, body, node, dt, out):
    manifold.integrate(topo, const, work, q, v, dt, out)


# --- spatial operators ----------------------------------------------------------------------------


@entry(WORDS, *[NUMBERS] * 4, WORDS, NUMBERS)
def operator_blocks(topo, const, work, q, v, where, out):
    if work.size < topo[WORK_SIZE] or q.size != topo[NQ] or v.size != topo[NV]:
        return SIZES
    t, w, qi, vi = pointer(topo), pointer(work), pointer(q), pointer(v)
    status = check(t, qi, vi, vi)
    if status == NEARLY_UNIT:
        qi, status = with_unit_quaternions(t, w, qi), OK
    if status == OK:
        blocks.operator_blocks(t, pointer(const), w, qi, vi, pointer(where), pointer(out))
    return status


@entry(WORD, NUMBERS, WORDS, NUMBERS, NUMBERS, WORD)
def block_multiply(transposed, data, table, x, y, width):
    count = table.size // FIELDS
    if transposed:
        sweeps.multiply_transposed(
            count, pointer(data), pointer(table), pointer(x), pointer(y), width
        )
    else:
        sweeps.multiply(count, pointer(data), pointer(table), pointer(x), pointer(y), width)


@entry(WORD, NUMBERS, WORDS, NUMBERS, WORD)
def tree_sweep(transposed, data, table, z, width):
    count = table.size // FIELDS
    if transposed:
        sweeps.sweep_outward(count, pointer(data), pointer(table), pointer(z), width)
    else:
        sweeps.sweep_inward(count, pointer(data), pointer(table), pointer(z), width)


@entry(WORD, WORDS, NUMBERS, NUMBERS, WORD)
def tree_shift(transposed, table, x, y, width):
    count = table.size // FIELDS
    if transposed:
        sweeps.spread_outward(count, pointer(table), pointer(x), pointer(y), width)
    else:
        sweeps.gather_inward(count, pointer(table), pointer(x), pointer(y), width)


# --- paths: times to motions ----------------------------------------------------------------------------


@entry(NUMBERS, NUMBERS, WORD, NUMBERS, NUMBERS)
def trajectory(knots, pieces, joints, times, out):
    """Positions, then velocities, then accelerations of the joints at times, in out."""
    n = times.size
    k, p, at, o = pointer(knots), pointer(pieces), pointer(times), pointer(out)
    if out.size != 3 * n * joints or pieces.size != (knots.size + 1) * joints * paths.PIECE:
        return SIZES
    if not finite(at, n):
        return NOT_FINITE
    size = n * joints
    for i in range(n):
        first = shifted(o, i * joints)
        paths.along(
            k, knots.size, p, joints, at[i], first, shifted(first, size), shifted(first, 2 * size)
        )
    return OK
