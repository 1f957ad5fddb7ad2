"""Checks of the entry points: sizes, finite numbers, unit quaternions, sound pivots.  Compiled only."""

from .layout import (
    ALL_PIVOTS,
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
    MATRIX_PIVOTS,
    MODES,
    NO_PIVOTS,
    NOT_FINITE,
    NOT_UNIT,
    NQ,
    NV,
    OK,
    PIVOT_TOLERANCE,
    ROWS_END,
    SPHERICAL,
    UNIT_TOLERANCE,
    W_JOINT,
    W_MODES,
    WORK,
    WORK_SIZE,
    P,
)
from .pointers import shifted
from .scalar import kernel
from .vec import dot, load3


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
        if modal:
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
def posed(topo, work, pivots):
    """Whether the pivots that a sweep left behind are sound."""
    if pivots == MATRIX_PIVOTS:
        return pivots_posed(shifted(work, topo[WORK_SIZE]), topo[NV])
    return pivots == NO_PIVOTS or well_posed(topo, work, pivots == ALL_PIVOTS)
