"""Slopes of forward dynamics of systems of rigid bodies along q, by v and by tau.

The slopes of `inverse_slopes` with everything outboard free to move.  The articulated inertia P takes the place of I^C,
and B^A = B + sum of (1 - K S^T) B^A over the children that of B^C.  `columns` sweeps over the innovations of all columns.

Given     q, v, tau, external wrenches
Computes  vdot, and its slopes
Sweep     those of `articulated` and `slope_motion`, tip to base, then `columns`
Cost      about 500 multiplications a body, and that of `columns`
"""

from .articulated import forward_dynamics
from .columns import solve_columns
from .inertia import apply_inertia, load_inertia
from .layout import (
    COLUMNS,
    D_PIVOTS,
    DOFS,
    END,
    J_K,
    JOINT_WORK,
    PARENT,
    PHYSICS,
    PLACE,
    SB_FORCE,
    SB_GYRO,
    SB_PLACE,
    SB_TURN,
    SV_AT_BODY,
    SV_D,
    SV_GYRO,
    SV_K,
    SV_OWN,
    SV_PUSH,
    SV_RISE,
    SV_SPIN,
    SV_TURN,
    V_JOINT,
    W_JOINT,
    W_PIVOTS,
    WORK,
    P,
)
from .physics import speed_slopes
from .scalar import kernel
from .slope_motion import prepare_slopes
from .slope_records import (
    body_record,
    cross_force,
    group_start,
    load_motion,
    paired,
    pass_force,
    pass_matrix,
    row_of,
    shifted_motion,
    speed_record,
    store_motion,
    subtract_product,
    times,
)
from .vec import add, axpy, cross, load3, load9, mul, mul_t, scale, store3, sub, zero


@kernel
def articulated_force(topo, work, room, k, cw, cu):
    """P [cw; cu] of body k, at the body, world axes."""
    at = topo[k + WORK]
    R = load9(work, at + PLACE)
    A, B, C = load_inertia(work, at + P)
    n, f = apply_inertia(A, B, C, mul_t(R, cw), mul_t(R, cu))
    return mul(R, n), mul(R, f)


@kernel
def eliminate_own(topo, work, room, k, at, kind, n, f):
    """Innovations of the speeds of body k by a step of the speed `at` of its joint, and what it does to the parent.

    kind : 0, 1, 2 for q, v, tau.  [n; f] is what the step needs at the body.  SV_OWN has the forces that drive the speeds.
    """
    i = topo[k + V_JOINT]
    R = load9(work, topo[k + WORK] + PLACE)
    for r in range(topo[k + DOFS]):
        other = speed_record(topo, i + r)
        j = topo[k + W_JOINT] + r * JOINT_WORK + J_K
        own = at + SV_OWN + 6 * kind + r
        eps = room[own] - paired(room, other + SV_AT_BODY, n, f)
        room[own] = eps * room[other + SV_D]
        n = axpy(eps, mul(R, load3(work, j)), n)
        f = axpy(eps, mul(R, load3(work, j + 3)), f)
    return n, f


@kernel
def store_push(room, at, kind, x, n, f):
    """The force on the parent by a step of the speed `at`, at the origin."""
    store_motion(room, at + SV_PUSH + 6 * kind, add(n, cross(x, f)), f)


@kernel
def fill_own(topo, const, work, q, v, room, k, turned):
    """The steps of the speeds of body k, as far as its own joint and its parent feel them directly."""
    b = body_record(k)
    x = load3(room, b + SB_PLACE)
    i = topo[k + V_JOINT]
    fn, ff = load_motion(room, b + SB_FORCE)
    for r in range(topo[k + DOFS]):
        at = speed_record(topo, i + r)
        room[at + SV_D] = work[topo[k + W_PIVOTS] + D_PIVOTS + r]
        zero(room, at + SV_OWN, 18)
    for r in range(topo[k + DOFS]):
        at = speed_record(topo, i + r)
        sw, su = load_motion(room, at + SV_AT_BODY)
        pn, pf = cross_force(sw, su, fn, ff)
        for t in range(group_start(topo, k, r)):
            room[at + SV_OWN + t] = -paired(room, speed_record(topo, i + t) + SV_AT_BODY, pn, pf)
        if topo[k + PHYSICS] != 0:
            by_theta, by_beta = speed_slopes(topo, const, q, v, k, r)
            room[at + SV_OWN + r] -= by_theta
            room[at + SV_OWN + 6 + r] -= by_beta
        room[at + SV_OWN + 12 + r] = 1.0
        cw, cu = shifted_motion(room, at + SV_RISE, x)
        n, f = articulated_force(topo, work, room, k, cw, cu)
        bn, bf = times(room, b + SB_GYRO, load3(room, at + SV_SPIN))
        n, f = add(n, bn), add(f, bf)
        if turned != 0:
            bn, bf = times(room, b + SB_TURN, sw)
            n, f = add(n, bn), add(f, bf)
        n, f = eliminate_own(topo, work, room, k, at, 0, n, f)
        store_push(room, at, 0, x, add(n, pn), add(f, pf))
        cw, cu = shifted_motion(room, at + SV_RISE + 6, x)
        n, f = articulated_force(topo, work, room, k, cw, cu)
        bn, bf = times(room, b + SB_GYRO, sw)
        n, f = eliminate_own(topo, work, room, k, at, 1, add(n, bn), add(f, bf))
        store_push(room, at, 1, x, n, f)
        zeros = (0.0, 0.0, 0.0)
        n, f = eliminate_own(topo, work, room, k, at, 2, zeros, zeros)
        store_push(room, at, 2, x, n, f)


@kernel
def free_joint(topo, work, room, k, turned):
    """Eliminate the speeds of body k from its B and E; leave their rows, and K at the origin."""
    b = body_record(k)
    x = load3(room, b + SB_PLACE)
    R = load9(work, topo[k + WORK] + PLACE)
    for r in range(topo[k + DOFS]):
        at = speed_record(topo, topo[k + V_JOINT] + r)
        j = topo[k + W_JOINT] + r * JOINT_WORK + J_K
        kw, ku = mul(R, load3(work, j)), mul(R, load3(work, j + 3))
        store_motion(room, at + SV_K, add(kw, cross(x, ku)), ku)
        sw, su = load_motion(room, at + SV_AT_BODY)
        d = room[at + SV_D]
        row = row_of(room, b + SB_GYRO, sw, su)
        subtract_product(room, b + SB_GYRO, kw, ku, row)
        store3(room, at + SV_GYRO, scale(d, row))
        if turned != 0:
            row = row_of(room, b + SB_TURN, sw, su)
            subtract_product(room, b + SB_TURN, kw, ku, row)
            store3(room, at + SV_TURN, scale(d, row))


@kernel
def forward_slopes(topo, const, work, q, v, tau, ext_count, ext_index, ext, out, room):
    """out = vdot, then its slopes along q, by v and by tau, (nv, nv) each, of a system of rigid bodies."""
    forward_dynamics(topo, const, work, q, v, tau, ext_count, ext_index, ext, out)
    prepare_slopes(topo, const, work, v, out, ext_count, ext_index, ext, room)
    for k in range(topo[END] - COLUMNS, 0, -COLUMNS):
        fill_own(topo, const, work, q, v, room, k, ext_count)
        free_joint(topo, work, room, k, ext_count)
        p = topo[k + PARENT]
        if p != 0:
            b, p = body_record(k), body_record(p)
            o = sub(load3(room, b + SB_PLACE), load3(room, p + SB_PLACE))
            pass_force(room, b, p, o)
            pass_matrix(room, b + SB_GYRO, p + SB_GYRO, o)
            if ext_count > 0:
                pass_matrix(room, b + SB_TURN, p + SB_TURN, o)
    solve_columns(topo, room, ext_count, out)
