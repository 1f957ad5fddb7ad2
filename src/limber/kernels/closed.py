"""Closed systems: forward dynamics, corrections of states, and how far closures are from being satisfied.

Solves    M vdot + bias = tau + A^T lambda,  A vdot + a0 = 0 (Rodriguez, Jain & Kreutz-Delgado, Eq. (2.17))
Given     q, v, tau, external wrenches
Computes  vdot
Sweep     base to tip, tip to base, base to tip; the rows of closures go along (`closures`, `fronts`)
Cost      that of the tree (`articulated`), and that of `fronts` for the bodies between the ends of closures
"""

from .articulated import (
    align_all_forces,
    condense,
    condense_joint,
    condense_modes,
    eliminate_unforced_joint,
    pass_to_parent,
    prepare,
    recover,
    recover_joint,
    recover_modes,
)
from .closures import add_rows, observe
from .forces import apply_external
from .fronts import clear, eliminate_rows, rows_past_modes, rows_to_joint, rows_to_parent
from .layout import (
    ACC,
    CLOSURES,
    CLOSURES_END,
    COLUMNS,
    COMPOUND,
    END,
    F_DONE,
    F_ON,
    F_ROWS,
    FRONT,
    INBOARD,
    K_C,
    K_FACTOR,
    K_FIRST,
    K_KIND,
    K_ROWS,
    K_SLOT,
    K_TERM,
    K_TERMS,
    MODES,
    NV,
    OBSERVED,
    Q_JOINT,
    RELATED,
    V_JOINT,
    W_LAMBDA,
    WORK,
)
from .motion import acceleration, start_world, turn_and_bias, world_place
from .multipliers import drive_joint, drive_modes, multipliers_at, solve_at_world
from .placement import place
from .responses import forget_forces
from .scalar import kernel
from .vec import load3, zero
from .violations import (
    store_accelerations,
    store_coordinates,
    store_rates,
    store_violations,
    store_wrench,
)


@kernel
def condense_unforced_joint(topo, const, work, zeros, k, p):
    """`articulated.condense_joint` of a joint on which no force acts."""
    eliminate_unforced_joint(topo, const, work, zeros, k, p)
    pass_to_parent(topo, work, k)


@kernel
def condense_with_rows(topo, const, work, q, v, tau, k, forced):
    """`articulated.condense` of a body that closure rows pass through; `forced` is 0 if no force acts on its joint."""
    front = topo[k + FRONT]
    if topo[k + INBOARD] != 0:
        rows_to_joint(topo, work, k)
    p = condense_modes(topo, const, work, tau, k)
    if topo[k + MODES] > 0:
        rows_past_modes(topo, work, k)
    if topo[front + F_DONE] > 0:
        eliminate_rows(topo, work, k, p)
    if forced != 0:
        condense_joint(topo, const, work, q, v, tau, k, p)
    else:
        condense_unforced_joint(topo, const, work, tau, k, p)
    if topo[front + F_ON] < topo[front + F_ROWS]:
        rows_to_parent(topo, work, k)


@kernel
def condense_unforced(topo, const, work, q, zeros):
    """The inward sweep of a system on which no forces act but those of its rows; `zeros` are NV of them."""
    forget_forces(topo, work)
    for k in range(topo[END] - COLUMNS, 0, -COLUMNS):
        if topo[k + FRONT] != 0:
            condense_with_rows(topo, const, work, q, zeros, zeros, k, 0)
        else:
            p = condense_modes(topo, const, work, zeros, k)
            condense_unforced_joint(topo, const, work, zeros, k, p)


@kernel
def recover_with_rows(topo, const, work, vdot, k):
    """`articulated.recover` of a body that closure rows pass through."""
    drive_joint(topo, work, k)
    w, u = recover_joint(topo, work, vdot, k)
    multipliers_at(topo, work, k, w, u)
    if topo[k + MODES] > 0:
        drive_modes(topo, work, k)
    recover_modes(topo, const, work, vdot, k, w, u)


@kernel
def solve_outward(topo, const, work, vdot):
    """The multipliers at the world and the last outward sweep."""
    b = topo[WORK] + ACC
    solve_at_world(topo, work, load3(work, b), load3(work, b + 3))
    for k in range(COLUMNS, topo[END], COLUMNS):
        if topo[k + FRONT] != 0:
            recover_with_rows(topo, const, work, vdot, k)
        else:
            recover(topo, const, work, vdot, k)


@kernel
def start(topo, const, work, q, v, ext_count, ext_index, ext):
    """The first outward sweep with external wrenches, and fronts without rows."""
    prepare(topo, const, work, q, v)
    observe(topo, const, work, q, v)
    if ext_count > 0:
        for k in range(COLUMNS, topo[END], COLUMNS):
            world_place(topo, work, k)
        apply_external(topo, const, work, q, ext_count, ext_index, ext)
    clear(topo, work)


@kernel
def condense_inward(topo, const, work, q, v, tau):
    """The inward sweep, with the rows of the fronts."""
    align_all_forces(topo, const, work, tau)
    for k in range(topo[END] - COLUMNS, 0, -COLUMNS):
        if topo[k + FRONT] != 0:
            condense_with_rows(topo, const, work, q, v, tau, k, 1)
        else:
            condense(topo, const, work, q, v, tau, k)


@kernel
def forward_dynamics(topo, const, work, q, v, tau, ext_count, ext_index, ext, vdot):
    """vdot of (q, v, tau); see the head of this file."""
    start(topo, const, work, q, v, ext_count, ext_index, ext)
    add_rows(topo, const, work, q, v)
    condense_inward(topo, const, work, q, v, tau)
    solve_outward(topo, const, work, vdot)


@kernel
def multipliers(topo, work, rows):
    """rows = lambda of the closure rows, after `forward_dynamics`."""
    for c in range(topo[CLOSURES], topo[CLOSURES_END], COLUMNS):
        slot = topo[W_LAMBDA] + topo[c + K_SLOT]
        for j in range(topo[c + K_ROWS]):
            rows[topo[c + K_FIRST] + j] = work[slot + j]


@kernel
def correction(topo, const, work, q, rows, out):
    """out = M^{-1} A^T (A M^{-1} A^T)^{-1} rows: of all changes dv with A dv = rows, the one of least kinetic energy.

    It is the change of vdot by accelerations `rows` of the closures, in a system without motion and forces.
    """
    zero(out, 0, topo[NV])  # stands for v and tau
    prepare(topo, const, work, q, out)
    observe(topo, const, work, q, out)
    clear(topo, work)
    add_rows(topo, const, work, q, out)
    accelerate_rows(topo, work, rows)
    condense_unforced(topo, const, work, q, out)
    zero(work, topo[WORK] + ACC, 6)
    solve_outward(topo, const, work, out)


@kernel
def accelerate_rows(topo, work, rows):
    """Demand the accelerations `rows` of the closure rows."""
    for c in range(topo[CLOSURES], topo[CLOSURES_END], COLUMNS):
        for j in range(topo[c + K_ROWS]):
            work[topo[c + K_C] + j] -= rows[topo[c + K_FIRST] + j]


@kernel
def place_ends(topo, const, work, q):
    """PLACE of the bodies that the closures need."""
    start_world(topo, const, work)
    for k in range(COLUMNS, topo[END], COLUMNS):
        if topo[k + OBSERVED] != 0:
            place(topo, const, work, q, k)
            world_place(topo, work, k)


@kernel
def wrenches(topo, const, work, q, rows, out):
    """out (6 each) = what the multipliers `rows` of the closures exert on their ends b, world axes.

    A relation exerts a generalized force, its multiplier, which takes the place of the first component.
    """
    place_ends(topo, const, work, q)
    at = 0
    for c in range(topo[CLOSURES], topo[CLOSURES_END], COLUMNS):
        if topo[c + K_KIND] == RELATED:
            zero(out, at, 6)
            out[at] = rows[topo[c + K_FIRST]]
        else:
            store_wrench(topo, const, work, q, c, rows, out, at)
        at += 6


@kernel
def violations(topo, const, work, q, out):
    """out = by how much each closure row is off, in m and rad, or in the units of a relation."""
    place_ends(topo, const, work, q)
    for c in range(topo[CLOSURES], topo[CLOSURES_END], COLUMNS):
        if topo[c + K_KIND] == RELATED:
            factor = topo[c + K_FACTOR]
            terms = topo[c + K_TERMS]
            x = -const[factor + terms]
            for t in range(terms):
                i = topo[c + K_TERM] + 3 * t
                x += const[factor + t] * q[topo[topo[i] + Q_JOINT] + topo[i + 1]]
            out[topo[c + K_FIRST]] = x
        else:
            store_violations(topo, const, work, q, c, out)


@kernel
def cut_coordinates(topo, const, work, q, starts, out):
    """out (13 each) = the coordinates of COMPOUND closures, sought from `starts` (6 each), by how much they are off, and the
    `dependence` of the joint map there."""
    place_ends(topo, const, work, q)
    at = 0
    into = 0
    for c in range(topo[CLOSURES], topo[CLOSURES_END], COLUMNS):
        zero(out, into, 13)
        if topo[c + K_KIND] == COMPOUND:
            store_coordinates(topo, const, work, q, c, starts, at, out, into)
        at += 6
        into += 13


@kernel
def related(topo, const, v, c):
    """What the coefficients of a relation make of speeds or accelerations."""
    x = 0.0
    for t in range(topo[c + K_TERMS]):
        i = topo[c + K_TERM] + 3 * t
        x += const[topo[c + K_FACTOR] + t] * v[topo[topo[i] + V_JOINT] + topo[i + 1]]
    return x


@kernel
def row_rates(topo, const, work, q, v, out):
    """out = A v, the velocities of the closure rows."""
    start_world(topo, const, work)
    for k in range(COLUMNS, topo[END], COLUMNS):
        if topo[k + OBSERVED] != 0:
            place(topo, const, work, q, k)
            turn_and_bias(topo, const, work, q, v, k)
    observe(topo, const, work, q, v)
    for c in range(topo[CLOSURES], topo[CLOSURES_END], COLUMNS):
        if topo[c + K_KIND] == RELATED:
            out[topo[c + K_FIRST]] = related(topo, const, v, c)
        else:
            store_rates(topo, const, work, q, v, c, out)


@kernel
def row_accelerations(topo, const, work, q, v, vdot, out):
    """out = A vdot + a0, the accelerations of the closure rows."""
    start_world(topo, const, work)
    for k in range(COLUMNS, topo[END], COLUMNS):
        if topo[k + OBSERVED] != 0:
            place(topo, const, work, q, k)
            turn_and_bias(topo, const, work, q, v, k)
            acceleration(topo, work, vdot, k)
    observe(topo, const, work, q, v)
    for c in range(topo[CLOSURES], topo[CLOSURES_END], COLUMNS):
        if topo[c + K_KIND] == RELATED:
            out[topo[c + K_FIRST]] = related(topo, const, vdot, c)
        else:
            store_accelerations(topo, const, work, q, v, vdot, c, out)
