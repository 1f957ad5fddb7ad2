"""Checks of the entry points: sizes, finite numbers, unit quaternions, sound pivots, found coordinates.  Compiled only.

The pivot D of a degree of freedom that moves no mass, alone or together with those outboard of it, is zero.  Computed in
floating point, it consists of rounding errors of the inertias that were subtracted from each other to form it.
These inertias may be much larger than their difference, so a pivot is compared with them (`large_enough`).  If a
pivot is small in comparison, `steady` examines it: it computes the pivots again with the numbers of the model
changed in their last digits, which changes a pivot of rounding errors completely and any other pivot hardly at
all, and it tests how the system responds to forces.  The modes of a ruthless system are not checked: their mass
matrix is constant and was checked when the system was built, and what the modes carry only adds to it.
"""

from limber.checks import UNIT_TOLERANCE
from limber.kernels.composite import diagonal
from limber.kernels.layout import (
    A_B,
    A_G0,
    ATTACHED,
    AXIS,
    BOUNDED,
    CLOSURES,
    CLOSURES_END,
    COLUMNS,
    COMPOUND,
    D_PIVOTS,
    D_SIZE,
    DEFORMING,
    DOFS,
    DRIVEN,
    END,
    FREE,
    G_KIND,
    G_Q,
    GENERAL,
    GROUPS_END,
    I_SHAPES,
    INBOARD,
    J_H,
    JOINT,
    JOINT_WORK,
    K_KIND,
    K_LEFT,
    M_G0,
    MODAL,
    MODES,
    MOVED_BY,
    NQ,
    NV,
    ORIGIN,
    PARENT,
    RUTHLESS,
    SIZE,
    SPARE,
    SPHERICAL,
    V_JOINT,
    V_MODES,
    W_DF,
    W_INBOARD,
    W_JOINT,
    W_N,
    W_NODE,
    W_PIVOTS,
    WORK,
    WORK_SIZE,
    P,
)
from limber.kernels.physics import armature
from limber.kernels.scalar import kernel, sqrt
from limber.kernels.vec import dot, load3
from limber.native.status import (
    CONDITION,
    DEPENDENT,
    NEARLY_UNIT,
    NOT_FINITE,
    NOT_UNIT,
    OK,
    PIVOT_CHANGE,
    PIVOT_RATIO,
    UNIT_ROUNDING,
)

from .pointers import bits_of, call_sweep, shifted

#: The bits of the exponent of a number; those of NaN and infinity are all ones.
_EXPONENT = 0x7FF0000000000000


@kernel
def finite(x, n):
    """Whether n numbers are finite."""
    # This tests bits, which is faster than a sum of the numbers, where every addition waits for the one before.
    words = bits_of(x)
    all_finite = True
    for i in range(n):
        all_finite &= (words[i] & _EXPONENT) != _EXPONENT
    return all_finite


@kernel
def has_quaternion(topo, g):
    """Whether the coordinates of group g begin with a quaternion."""
    return topo[g + G_KIND] == SPHERICAL or topo[g + G_KIND] == FREE


@kernel
def squared_norm(q, j):
    """The squared norm of the quaternion at q[j:]."""
    return q[j] * q[j] + q[j + 1] * q[j + 1] + q[j + 2] * q[j + 2] + q[j + 3] * q[j + 3]


@kernel
def check_position(topo, q):
    """The status of a configuration; NEARLY_UNIT asks the caller to use `with_unit_quaternions`."""
    if not finite(q, topo[NQ]):
        return NOT_FINITE
    status = OK
    for g in range(topo[END], topo[GROUPS_END], COLUMNS):
        if has_quaternion(topo, g):
            error = abs(squared_norm(q, topo[g + G_Q]) - 1.0)
            if error > 2.0 * UNIT_TOLERANCE:
                return NOT_UNIT
            if error > UNIT_ROUNDING:
                status = NEARLY_UNIT
    return status


@kernel
def with_unit_quaternions(topo, work, q):
    """A copy of q with normalized quaternions, in the SPARE part of `work`."""
    copy = shifted(work, topo[SPARE])
    for i in range(topo[NQ]):
        copy[i] = q[i]
    for g in range(topo[END], topo[GROUPS_END], COLUMNS):
        if has_quaternion(topo, g):
            j = topo[g + G_Q]
            scale = 1.0 / sqrt(squared_norm(q, j))
            for i in range(j, j + 4):
                copy[i] = scale * q[i]
    return copy


@kernel
def mode_sizes(topo, k):
    """The place in `work` for the sizes of the modes of body k: that of N, which is free after a sweep."""
    return topo[topo[k + MODAL] + W_N]


@kernel
def pivot_of_mode(topo, k, r):
    """Where a sweep leaves 1/D of mode r of body k in work."""
    return topo[topo[k + MODAL] + W_DF] + r * topo[k + MODES] + r


@kernel
def inertia_along(work, i, angular, linear):
    """A bound of the inertia along the spatial vector at work[i:], given bounds of its angular and linear parts."""
    w, v = load3(work, i), load3(work, i + 3)
    return dot(w, w) * angular + dot(v, v) * linear


@kernel
def start_sizes(topo, const, work):
    """Set SIZE of every body to zero, and the sizes of its modes to the diagonal of the modal mass matrix."""
    for k in range(COLUMNS, topo[END], COLUMNS):
        b = topo[k + WORK] + SIZE
        work[b] = 0.0
        work[b + 1] = 0.0
        m = topo[k + MODES]
        if m > 0 and topo[RUTHLESS] == 0:
            modal = topo[k + MODAL]
            G = topo[modal + A_G0] if topo[modal + A_B] != 0 else topo[modal + M_G0]
            i = mode_sizes(topo, k)
            for r in range(m):
                work[i + r] = const[G + r * m + r]


@kernel
def size_to_parent(topo, work, k):
    """Include the largest inertias of body k and of the bodies outboard of it in those of its parent."""
    p = topo[k + PARENT]
    b = topo[k + WORK]
    i = b + P
    angular = max(work[b + SIZE], work[i] + work[i + 3] + work[i + 5])
    linear = max(work[b + SIZE + 1], work[i + 15] + work[i + 18] + work[i + 20])
    o = load3(work, b + ORIGIN)
    i = topo[p + WORK] + SIZE
    work[i] = max(work[i], angular + dot(o, o) * linear)
    work[i + 1] = max(work[i + 1], linear)
    if topo[k + ATTACHED] == DEFORMING:
        i = mode_sizes(topo, p)
        j = topo[k + W_NODE]
        for r in range(topo[k + MOVED_BY]):
            work[i + r] += inertia_along(work, j + 6 * r, angular, linear)


@kernel
def mode_size(topo, work, k, r):
    """The inertias that the pivot of mode r of body k came from."""
    size = work[mode_sizes(topo, k) + r]
    if topo[k + INBOARD] != 0:
        b = topo[k + WORK]
        i = b + P
        angular = work[b + SIZE] + work[i] + work[i + 3] + work[i + 5]
        linear = work[b + SIZE + 1] + work[i + 15] + work[i + 18] + work[i + 20]
        size += inertia_along(work, topo[k + W_INBOARD] + I_SHAPES + 6 * r, angular, linear)
    return size


@kernel
def diagonal_entry(axis):
    """Where the diagonal entry of an axis (0..5) lies in P."""
    if axis < 3:
        return axis * (7 - axis) // 2
    else:
        return 15 + (axis - 3) * (10 - axis) // 2


@kernel
def speed_size(topo, work, k, r):
    """The inertias that the pivot of joint speed r of body k came from: P along it, and those outboard."""
    b = topo[k + WORK]
    angular, linear = work[b + SIZE], work[b + SIZE + 1]
    if topo[k + JOINT] == GENERAL:
        i = topo[k + W_JOINT] + r * JOINT_WORK + J_H
        size = inertia_along(work, i, angular, linear)
        for axis in range(6):
            size += work[i + axis] * work[i + axis] * work[b + P + diagonal_entry(axis)]
        return size
    else:
        axis = topo[k + AXIS]
        own = work[b + P + diagonal_entry(axis)]
        return own + (angular if axis < 3 else linear)


@kernel
def large(size, inverse):
    """Whether a pivot, given its inverse, is positive and not small compared with `size`."""
    return inverse > 0.0 and size * inverse * PIVOT_RATIO < 1.0


@kernel
def within_bounds(topo, work):
    """Whether every pivot is positive, and not small compared with bounds of the inertias it came from.

    Bodies outboard have higher numbers.  If s is the largest D_SIZE from body k on, then its own P is at most s along
    a joint speed, and what `size_to_parent` makes of P of the bodies outboard at most 2 s, since the largest angular
    and the largest linear part may be those of different bodies.
    """
    size = 0.0
    for k in range(topo[END] - COLUMNS, 0, -COLUMNS):
        i = topo[k + W_PIVOTS]
        size = max(size, work[i + D_SIZE])
        for r in range(topo[k + DOFS]):
            if not large(3.0 * size, work[i + D_PIVOTS + r]):
                return False
    return True


@kernel
def large_enough(topo, const, work):
    """Whether every pivot that the articulated sweep left in `work` is positive, and not small compared with the
    inertias it came from: those of P of its body and of all bodies outboard, before their degrees of freedom were
    eliminated.
    """
    if topo[BOUNDED] != 0 and within_bounds(topo, work):
        return True
    # Returning from within the loop is fast: the processor predicts that it does not happen and continues.
    start_sizes(topo, const, work)
    for k in range(topo[END] - COLUMNS, 0, -COLUMNS):
        m = topo[k + MODES]
        if m > 0 and topo[RUTHLESS] == 0:
            for r in range(m):
                if not large(mode_size(topo, work, k, r), work[pivot_of_mode(topo, k, r)]):
                    return False
        for r in range(topo[k + DOFS]):
            size = speed_size(topo, work, k, r) + armature(topo, const, k, r)
            if not large(size, work[topo[k + W_PIVOTS] + D_PIVOTS + r]):
                return False
        if topo[k + PARENT] != 0:
            size_to_parent(topo, work, k)
    return True


@kernel
def all_found(topo, work, most):
    """Whether the search for the coordinates of each COMPOUND closure in a closed sweep left errors of at most `most`, in
    positions where no joint map is singular."""
    for c in range(topo[CLOSURES], topo[CLOSURES_END], COLUMNS):
        if topo[c + K_KIND] == COMPOUND:
            left = topo[c + K_LEFT]
            for i in range(left, left + 6):
                if not abs(work[i]) <= most:
                    return False
            if work[left + 6] < 0.0:  # the sine of half a turn is zero too
                return False
            if not work[left + 7] <= DEPENDENT:
                return False
    return True


@kernel
def inverse_pivots(topo, work, out):
    """1/D of every degree of freedom, in the layout of v; 1 for the modes of a ruthless system."""
    for k in range(COLUMNS, topo[END], COLUMNS):
        m = topo[k + MODES]
        for r in range(m):
            i = pivot_of_mode(topo, k, r)
            out[topo[k + V_MODES] + r] = work[i] if topo[RUTHLESS] == 0 else 1.0
        for r in range(topo[k + DOFS]):
            out[topo[k + V_JOINT] + r] = work[topo[k + W_PIVOTS] + D_PIVOTS + r]


@kernel
def steady(function, topo, const, nudged, work, q, found):
    """Whether the pivots of a sweep at q are positive, change by at most PIVOT_CHANGE when the sweep is run on the
    `nudged` numbers of the model, and the responses to forces stay below CONDITION.

    Computes  in `found`, which has JUDGED vectors of NV numbers, CHANGES: the relative change of each pivot;
              RESPONSES: z = C^{-1} w from the difference of two sweeps, with C the mass matrix scaled to a unit
              diagonal and w irregular numbers of about 1 (if C is nearly singular, z is about as large as
              C^{-1}); RATIOS: the diagonal of the mass matrix over the pivots
    """
    n = topo[NV]
    change, z, inverse = found, shifted(found, n), shifted(found, 2 * n)
    root, force, rest = shifted(found, 3 * n), shifted(found, 4 * n), shifted(found, 5 * n)
    diagonal(topo, const, work, q, root)
    for i in range(n):
        root[i] = sqrt(root[i])
        phase = 0.6180339887498949 * (i + 1)  # multiples of the golden ratio fill (0, 1) evenly
        w = 0.5 + phase - int(phase)
        force[i] = root[i] * (w if i % 2 == 0 else -w)
        rest[i] = 0.0
    for k in range(COLUMNS, topo[END], COLUMNS):
        if topo[k + DRIVEN] != 0:
            for i in range(topo[k + V_JOINT], topo[k + V_JOINT] + topo[k + DOFS]):
                force[i] = 0.0
    call_sweep(function, topo, const, work, q, rest, force, 0, topo, const, z)
    inverse_pivots(topo, work, inverse)
    for i in range(n):
        force[i] = -force[i]
    call_sweep(function, topo, nudged, work, q, rest, force, 0, topo, nudged, change)
    for i in range(n):
        z[i] = 0.5 * root[i] * (z[i] - change[i])
    inverse_pivots(topo, work, change)
    sound = True
    for i in range(n):
        change[i] = abs(change[i] / inverse[i] - 1.0)
        sound &= inverse[i] > 0.0 and change[i] <= PIVOT_CHANGE and abs(z[i]) <= CONDITION
        inverse[i] *= root[i] * root[i]
    return sound


@kernel
def states_in(topo, work, q, stop):
    """The number of states in q, or `stop` if a state has no coordinates.

    It is -1 if q does not hold a whole number of states, holds fewer than `stop`, or if `work` is too small.
    """
    states = q.size // topo[NQ] if topo[NQ] > 0 else stop
    if states < stop or q.size != states * topo[NQ] or work.size < topo[WORK_SIZE]:
        return -1
    return states


@kernel
def holds(array, size, states):
    """Whether an array holds this many states of `size` numbers each."""
    return states >= 0 and array.size == size * states


@kernel
def holds_or_constant(array, size, states, constant):
    """The same; if `size` is 0, all states share the array, which must then have `constant` numbers."""
    return holds(array, size, states) if size > 0 else array.size == constant
