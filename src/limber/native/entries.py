"""The compiled entry points.

Those of the functions of the state are made from the table `limber.kernels.functions`, all with one signature:

    function(topo, const, work, q, v, x, count, index, ext, out)

They take raw pointers and compute one state; x stands for tau, vdot or dt, and (count, index, ext) for nodes and the
wrenches at them.  `run_states` calls one of them by its address for the states of a batch, which are stored one
after the other; a single state is a batch of one.  It checks that inputs are finite and quaternions are unit (those
that are unit within a tolerance are normalized), that results are finite, and that the pivots of forward dynamics
are sound.  It returns 0 if all is well, and otherwise STATES times the number of the first bad state plus a status.
"""

from importlib import import_module

from limber.kernels import blocks, paths, sweeps
from limber.kernels.functions import BY_STEPS, ENTRIES, ROWS
from limber.kernels.layout import NQ, NV, WORK_SIZE
from limber.kernels.sweeps import FIELDS
from limber.native.status import (
    JUDGED,
    NEARLY_UNIT,
    NOT_FINITE,
    OK,
    SINGULAR,
    SIZES,
    STATES,
    UNSURE,
)

from .decorators import NUMBERS, NUMBERS_AT, WORD, WORDS, WORDS_AT, called, entry
from .pointers import call_states, call_sweep, numbers_at, shifted, words_at
from .record import (
    BAD_RESULT,
    CONST,
    FOUND,
    FUNCTION,
    INDEX,
    OUT_SIZE,
    PIVOTS,
    RECORD,
    RUN,
    TOPO,
    V_SIZE,
    WRENCHES,
    X_SIZE,
)
from .state_checks import (
    all_found,
    check_position,
    finite,
    holds,
    holds_or_constant,
    large_enough,
    states_in,
    steady,
    with_unit_quaternions,
)
from .vectors import pointer

# --- functions of one state, called by address ----------------------------------------------------------


def _of_position(kernel):
    def function(topo, const, work, q, v, x, count, index, ext, out):
        kernel(topo, const, work, q, out)

    return function


def _of_motion(kernel):
    def function(topo, const, work, q, v, x, count, index, ext, out):
        kernel(topo, const, work, q, v, out)

    return function


def _of_position_and_rows(kernel):
    def function(topo, const, work, q, v, x, count, index, ext, out):
        kernel(topo, const, work, q, x, out)

    return function


def _of_accelerated_motion(kernel):
    def function(topo, const, work, q, v, x, count, index, ext, out):
        kernel(topo, const, work, q, v, x, out)

    return function


def _of_motion_and_time(kernel):
    def function(topo, const, work, q, v, x, count, index, ext, out):
        kernel(topo, const, work, q, v, x[0], out)

    return function


def _of_node(kernel):
    def function(topo, const, work, q, v, x, count, index, ext, out):
        kernel(topo, const, work, q, index[0], index[1], out)

    return function


def _of_moving_node(kernel):
    def function(topo, const, work, q, v, x, count, index, ext, out):
        kernel(topo, const, work, q, v, x, index[0], index[1], out)

    return function


def _of_forces(kernel):
    def function(topo, const, work, q, v, x, count, index, ext, out):
        kernel(topo, const, work, q, count, index, ext, out)

    return function


def _of_motion_and_forces(kernel):
    # it has the signature; a function that calls it would be compiled once more
    return getattr(kernel, "py_func", kernel)


def _of_motion_and_forces_with_scratch(kernel):
    def function(topo, const, work, q, v, x, count, index, ext, out):
        scratch = shifted(work, topo[WORK_SIZE])
        kernel(topo, const, work, q, v, x, count, index, ext, out, scratch)

    return function


def _of_motion_and_forces_with_spare(kernel):
    def function(topo, const, work, q, v, x, count, index, ext, out):
        spare = shifted(work, topo[WORK_SIZE])
        scratch = shifted(spare, topo[WORK_SIZE])
        kernel(topo, const, work, q, v, x, count, index, ext, out, spare, scratch)

    return function


#: Makes a function of the common signature from a kernel, by the arguments of the kernel.
_WITH_SIGNATURE = {
    ("q",): _of_position,
    ("q", "v"): _of_motion,
    ("q", "rows"): _of_position_and_rows,
    ("q", "starts"): _of_position_and_rows,
    ("q", "v", "vdot"): _of_accelerated_motion,
    ("q", "v", "dt"): _of_motion_and_time,
    ("q", "node"): _of_node,
    ("q", "v", "vdot", "node"): _of_moving_node,
    ("q", "forces"): _of_forces,
    ("q", "v", "tau", "forces"): _of_motion_and_forces,
    ("q", "v", "vdot", "forces"): _of_motion_and_forces,
    ("q", "v", "tau", "forces", "matrix"): _of_motion_and_forces_with_scratch,
    ("q", "v", "tau", "forces", "slopes"): _of_motion_and_forces_with_scratch,
    ("q", "v", "vdot", "forces", "slopes"): _of_motion_and_forces_with_scratch,
    ("q", "v", "tau", "forces", "spare", "slopes"): _of_motion_and_forces_with_spare,
}
_SIGNATURE = WORDS_AT, *[NUMBERS_AT] * 5, WORD, WORDS_AT, NUMBERS_AT, NUMBERS_AT


def _compiled_from(row):
    module, _, name = row.kernel.partition(".")
    kernel = getattr(import_module(f"limber.kernels.{module}"), name)
    return called(*_SIGNATURE)(_WITH_SIGNATURE[row.takes](kernel))


globals().update(
    {name: _compiled_from(ROWS[name]) for name in ENTRIES.values() if name not in BY_STEPS}
)


# --- a function over the states of a batch --------------------------------------------------------------


@called(WORDS_AT, *[NUMBERS_AT] * 6, WORD, WORD)
def run_states(record, q, v, x, ext, work, out, start, stop):
    """States start .. stop of a batch; see the head of this file, and `record`.

    UNSURE means that the result of a state is there, but that one of its pivots is small and `judge_pivots` must
    decide, or that coordinates of a cut joint were not found and must be sought elsewhere (`dynamics.charts`).
    """
    topo, const, index = words_at(record[TOPO]), numbers_at(record[CONST]), words_at(record[INDEX])
    nq, nv, nx, size = topo[NQ], record[V_SIZE], record[X_SIZE], record[OUT_SIZE]
    wrenches, pivots = record[WRENCHES], record[PIVOTS]
    for i in range(start, stop):
        qi, vi, xi = shifted(q, i * nq), shifted(v, i * nv), shifted(x, i * nx)
        ei, oi = shifted(ext, i * 6 * wrenches), shifted(out, i * size)
        status = NOT_FINITE
        if finite(vi, nv) and finite(xi, nx) and finite(ei, 6 * wrenches):
            status = check_position(topo, qi)
        if status == NEARLY_UNIT:
            qi, status = with_unit_quaternions(topo, work, qi), OK
        if status == OK:
            call_sweep(record[FUNCTION], topo, const, work, qi, vi, xi, wrenches, index, ei, oi)
            if not finite(oi, size):
                status = record[BAD_RESULT]
            elif pivots != 0 and not large_enough(topo, const, work):
                status = UNSURE
            elif record[FOUND] != 0 and not all_found(topo, work, numbers_at(record[FOUND])[0]):
                status = UNSURE
        if status != OK:
            return STATES * i + status
    return OK


@entry(WORDS, *[NUMBERS] * 6, WORD, WORD)
def states(record, q, v, x, ext, work, out, start, stop):
    """`run_states` for calls from Python; checks the sizes of the arrays."""
    if record.size != RECORD:
        return SIZES
    topo = words_at(record[TOPO])
    n = states_in(topo, work, q, stop)
    if not (holds(ext, 6 * record[WRENCHES], n) and holds(out, record[OUT_SIZE], n)):
        return SIZES
    if not holds_or_constant(v, record[V_SIZE], n, topo[NV]):
        return SIZES
    if not holds_or_constant(x, record[X_SIZE], n, topo[NV]):
        return SIZES
    return call_states(
        record[RUN], pointer(record), pointer(q), pointer(v), pointer(x), pointer(ext), pointer(work), pointer(out),
        start, stop,
    )  # fmt: skip


@entry(WORD, WORDS, *[NUMBERS] * 5)
def judge_pivots(function, topo, const, nudged, q, work, found):
    """Whether the mass matrix is regular at one configuration, by `state_checks.steady`."""
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


# --- spatial operators ----------------------------------------------------------------------------


@entry(WORDS, *[NUMBERS] * 4, WORDS, NUMBERS)
def operator_blocks(topo, const, work, q, v, where, out):
    if work.size < topo[WORK_SIZE] or q.size != topo[NQ] or v.size != topo[NV]:
        return SIZES
    t, w, qi, vi = pointer(topo), pointer(work), pointer(q), pointer(v)
    status = check_position(t, qi) if finite(vi, topo[NV]) else NOT_FINITE
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
    """Write the positions of the joints at all times to `out`, then the velocities, then the accelerations."""
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
