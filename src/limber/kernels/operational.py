"""Operational space: how ends move under forces at them.

Solves    J M^{-1} J^T, the inverse of the operational inertia; the accelerations of the ends without forces at them;
          M^{-1} J^T.  In a closed system M^{-1} stands for the constrained inverse
          M^{-1} - M^{-1} A^T (A M^{-1} A^T)^{-1} A M^{-1}.
Given     q, v, tau, external wrenches; ends, as closures of kind PROBED with six rows each
Computes  see `motion` and `responses`
Sweep     base to tip, tip to base; `responses` also base to tip for each row
Cost      that of `closed.forward_dynamics` with as many closure rows

The six rows of an end are its velocities [angular; linear] in world axes.  They ride inward with the closure rows
(`fronts`) but are not eliminated.  What is left of them at the world is L = J M^{-1} J^T (Rodriguez, Jain &
Kreutz-Delgado, Eq. (3.10), B^T Omega B) and c + U^T a, their acceleration.
"""

from .articulated import prepare, recover
from .closed import condense_inward, condense_unforced, recover_with_rows, start
from .closures import add_relation, add_spatial, end_motion, observe, push
from .fronts import clear, eliminate_at_world
from .hubs import release_hub
from .layout import (
    ACC,
    CLOSURES,
    CLOSURES_END,
    COLUMNS,
    DOFS,
    END,
    F_DONE,
    F_LIST,
    F_ROWS,
    F_STRIDE,
    FRONT,
    GRAVITY,
    J_NU,
    JOINT_WORK,
    K_C,
    K_KIND,
    MODAL,
    MODES,
    NV,
    PROBED,
    PROBES,
    RELATED,
    W_C,
    W_JOINT,
    W_L,
    W_LAMBDA,
    W_SIZE,
    W_ZF,
    WORK,
)
from .multipliers import multiplier_at
from .scalar import kernel
from .vec import dot, load3, zero


@kernel
def unit(i, axis):
    """1.0 if i is `axis`, else 0.0."""
    return 1.0 if i == axis else 0.0


@kernel
def add_probe(topo, const, work, q, v, c):
    """The rows of an end: unit wrenches at it in world axes, and its acceleration at zero vdot."""
    _, _, alpha, acc = end_motion(topo, const, work, q, v, c, 1)
    at = topo[c + K_C]
    for j in range(3):
        axis = (unit(j, 0), unit(j, 1), unit(j, 2))
        work[at + j] += dot(axis, alpha)
        work[at + 3 + j] += dot(axis, acc)
        push(topo, const, work, q, c, 1, j, axis, (0.0, 0.0, 0.0), 0.0)
        push(topo, const, work, q, c, 1, 3 + j, (0.0, 0.0, 0.0), axis, 0.0)


@kernel
def add_rows_and_probes(topo, const, work, q, v):
    """`closures.add_rows` with ends among the closures."""
    for c in range(topo[CLOSURES], topo[CLOSURES_END], COLUMNS):
        if topo[c + K_KIND] == PROBED:
            add_probe(topo, const, work, q, v, c)
        elif topo[c + K_KIND] == RELATED:
            add_relation(topo, const, work, c)
        else:
            add_spatial(topo, const, work, q, v, c)


@kernel
def motion(topo, const, work, q, v, tau, ext_count, ext_index, ext, out):
    """out = J M^{-1} J^T (n n), the sizes of its rows (n, see `fronts`), and the accelerations of the ends (n)."""
    start(topo, const, work, q, v, ext_count, ext_index, ext)
    add_rows_and_probes(topo, const, work, q, v)
    condense_inward(topo, const, work, q, v, tau)
    w, u = load3(work, topo[WORK] + ACC), load3(work, topo[WORK] + ACC + 3)
    eliminate_at_world(topo, work, w, u)
    front = topo[FRONT]
    count = topo[PROBES]
    first = topo[front + F_ROWS] - count
    for i in range(count):
        row = topo[front + W_L] + (first + i) * topo[front + F_STRIDE] + first
        for j in range(i, count):
            out[i * count + j] = work[row + j]
            out[j * count + i] = work[row + j]
        out[count * count + i] = work[topo[front + W_SIZE] + first + i]
        a = work[topo[front + W_C] + first + i]
        if i % 6 > 2:
            a += const[GRAVITY + i % 6 - 3]  # the world is accelerated against gravity
        out[count * count + count + i] = a


@kernel
def load_ends(topo, work, end):
    """The multipliers at the world: 1 of the row `end` of the ends, 0 of the others, and those of closures."""
    for k in range(COLUMNS, topo[END], COLUMNS):
        if topo[k + FRONT] != 0:
            release_hub(topo, work, topo[k + FRONT])
    front = topo[FRONT]
    slots = topo[front + F_LIST] + topo[front + F_ROWS] - topo[PROBES]
    for i in range(topo[PROBES]):
        work[topo[W_LAMBDA] + topo[slots + i]] = unit(i, end)
    for i in range(topo[front + F_DONE] - 1, -1, -1):
        multiplier_at(topo, work, front, i, 0.0)


@kernel
def still(topo, work, k):
    """Forget what the ends that came before did to the modes and the joint of body k."""
    if topo[k + MODES] > 0:
        zero(work, topo[topo[k + MODAL] + W_ZF], topo[k + MODES])
    for r in range(topo[k + DOFS]):
        work[topo[k + W_JOINT] + r * JOINT_WORK + J_NU] = 0.0


@kernel
def responses(topo, const, work, q, out):
    """out (n, nv) = rows of M^{-1} J^T: how the speeds change by a unit impulse along each row of the ends."""
    size = topo[NV]
    zero(out, 0, size)  # stands for v and tau
    prepare(topo, const, work, q, out)
    observe(topo, const, work, q, out)
    clear(topo, work)
    add_rows_and_probes(topo, const, work, q, out)
    condense_unforced(topo, const, work, q, out)
    zero(work, topo[WORK] + ACC, 6)
    eliminate_at_world(topo, work, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    for i in range(topo[PROBES] - 1, -1, -1):
        for k in range(COLUMNS, topo[END], COLUMNS):
            still(topo, work, k)
        load_ends(topo, work, i)
        for k in range(COLUMNS, topo[END], COLUMNS):
            if topo[k + FRONT] != 0:
                recover_with_rows(topo, const, work, out, k)
            else:
                recover(topo, const, work, out, k)
        if i > 0:
            for j in range(size):
                out[i * size + j] = out[j]
