"""Slopes of inverse dynamics of systems of rigid bodies along q, by v and by vdot.

With c, spin and S of `slope_motion`, and the sums I^C, B^C, E^C, f^C over the bodies outboard,

    dtau_i = S_i . (I^C_i c_j + B^C_i spin_j + E^C_i ang(S_j))        for i outboard of j
    dtau_i = S_i . (I^C_j c_j + B^C_j spin_j + E^C_j ang(S_j) + S_j x* f^C_j)        for i inboard of j; the last by q

Given     q, v, vdot, external wrenches
Computes  tau, and its slopes
Sweep     those of `newton_euler` and `slope_motion`, then tip to base
Cost      about 500 multiplications a body, and 9 + 6 for each pair of speeds, twice
"""

from .inertia import shift_rigid
from .layout import (
    COLUMNS,
    DOFS,
    END,
    NV,
    PARENT,
    PHYSICS,
    SB_FORCE,
    SB_GYRO,
    SB_MASS,
    SB_PLACE,
    SB_TURN,
    SV_AT_BODY,
    SV_GYRO,
    SV_K,
    SV_OWN,
    SV_PUSH,
    SV_RISE,
    SV_S,
    SV_SPIN,
    SV_TURN,
    V_JOINT,
)
from .newton_euler import inverse_dynamics
from .physics import armature, speed_slopes
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
    times,
)
from .vec import accumulate3, add, axpy, cross, dot, load3, load6, mul_sym, store3, sub, zero


@kernel
def composite_force(room, b, at, x, turned):
    """I^C c + B^C spin (+ E^C ang(S), if `turned`) at the body, for the step of q of the speed `at`; x is the body's place."""
    cw, cu = shifted_motion(room, at + SV_RISE, x)
    spin = load3(room, at + SV_SPIN)
    n, f = inertial(room, b, cw, cu)
    bn, bf = times(room, b + SB_GYRO, spin)
    n, f = add(n, bn), add(f, bf)
    if turned != 0:
        bn, bf = times(room, b + SB_TURN, load3(room, at + SV_S))
        n, f = add(n, bn), add(f, bf)
    return n, f


@kernel
def inertial(room, b, w, u):
    """The composite inertia of the body record b times the motion [w; u]."""
    h = load3(room, b + SB_MASS + 1)
    n = add(mul_sym(load6(room, b + SB_MASS + 4), w), cross(h, u))
    return n, axpy(room[b + SB_MASS], u, cross(w, h))


@kernel
def fill_inverse(topo, const, q, v, room, k, turned, out):
    """The rows and columns of the speeds of body k in the slopes of inverse dynamics: those of speeds inboard, and its own."""
    nv = topo[NV]
    by_q = nv
    by_v = by_q + nv * nv
    by_vdot = by_v + nv * nv
    b = body_record(k)
    x = load3(room, b + SB_PLACE)
    i = topo[k + V_JOINT]
    dofs = topo[k + DOFS]
    fn, ff = load_motion(room, b + SB_FORCE)
    for r in range(dofs):
        at = speed_record(topo, i + r)
        sw, su = load_motion(room, at + SV_AT_BODY)
        # the row: P S, S^T B, S^T E
        yn, yf = inertial(room, b, sw, su)
        store_motion(room, at + SV_K, add(yn, cross(x, yf)), yf)
        store3(room, at + SV_GYRO, row_of(room, b + SB_GYRO, sw, su))
        store3(room, at + SV_TURN, row_of(room, b + SB_TURN, sw, su))
        # the columns, at the origin
        n, f = composite_force(room, b, at, x, turned)
        store_motion(room, at + SV_OWN, add(n, cross(x, f)), f)
        pn, pf = cross_force(sw, su, fn, ff)
        n, f = add(n, pn), add(f, pf)
        store_motion(room, at + SV_PUSH, add(n, cross(x, f)), f)
        cw, cu = shifted_motion(room, at + SV_RISE + 6, x)
        n, f = inertial(room, b, cw, cu)
        bn, bf = times(room, b + SB_GYRO, sw)
        n, f = add(n, bn), add(f, bf)
        store_motion(room, at + SV_PUSH + 6, add(n, cross(x, f)), f)
    for r in range(dofs):
        at = speed_record(topo, i + r)
        first = group_start(topo, k, r)
        row = (i + r) * nv
        # speeds of the same joint
        for t in range(dofs):
            other = speed_record(topo, i + t)
            push = at + (SV_PUSH if t < first else SV_OWN)
            n, f = load_motion(room, push)
            column = (i + t) * nv + i + r
            out[by_q + column] = paired(room, other + SV_S, n, f)
            n, f = load_motion(room, at + SV_PUSH + 6)
            out[by_v + column] = paired(room, other + SV_S, n, f)
            n, f = load_motion(room, at + SV_K)
            out[by_vdot + column] = paired(room, other + SV_S, n, f)
        if topo[k + PHYSICS] != 0:
            by_theta, by_beta = speed_slopes(topo, const, q, v, k, r)
            out[by_q + row + i + r] += by_theta
            out[by_v + row + i + r] += by_beta
            out[by_vdot + row + i + r] += armature(topo, const, k, r)
        # speeds inboard
        yn, yf = load_motion(room, at + SV_K)
        g, e = load3(room, at + SV_GYRO), load3(room, at + SV_TURN)
        qn, qf = load_motion(room, at + SV_PUSH)
        vn, vf = load_motion(room, at + SV_PUSH + 6)
        p = topo[k + PARENT]
        while p != 0:
            for j in range(topo[p + V_JOINT], topo[p + V_JOINT] + topo[p + DOFS]):
                other = speed_record(topo, j)
                s = load3(room, other + SV_S)
                slope = paired(room, other + SV_RISE, yn, yf) + dot(g, load3(room, other + SV_SPIN))
                if turned != 0:
                    slope += dot(e, s)
                out[by_q + row + j] = slope
                out[by_v + row + j] = paired(room, other + SV_RISE + 6, yn, yf) + dot(g, s)
                u = load3(room, other + SV_S + 3)
                mass = dot(s, yn) + dot(u, yf)
                out[by_vdot + row + j] = mass
                column = j * nv + i + r
                out[by_q + column] = dot(s, qn) + dot(u, qf)
                out[by_v + column] = dot(s, vn) + dot(u, vf)
                out[by_vdot + column] = mass
            p = topo[p + PARENT]


@kernel
def composite_to_parent(topo, room, k):
    """Add what a body and those outboard of it sum up to its parent."""
    b, p = body_record(k), body_record(topo[k + PARENT])
    o = sub(load3(room, b + SB_PLACE), load3(room, p + SB_PLACE))
    mass = room[b + SB_MASS]
    h, J = load3(room, b + SB_MASS + 1), load6(room, b + SB_MASS + 4)
    h, J = shift_rigid(o, mass, h, J)
    room[p + SB_MASS] += mass
    accumulate3(room, p + SB_MASS + 1, h)
    for i in range(6):
        room[p + SB_MASS + 4 + i] += J[i]
    pass_force(room, b, p, o)
    pass_matrix(room, b + SB_GYRO, p + SB_GYRO, o)
    pass_matrix(room, b + SB_TURN, p + SB_TURN, o)


@kernel
def fill_all(topo, const, q, v, room, turned, out):
    """The inward sweep of the slopes of inverse dynamics."""
    for k in range(topo[END] - COLUMNS, 0, -COLUMNS):
        fill_inverse(topo, const, q, v, room, k, turned, out)
        if topo[k + PARENT] != 0:
            composite_to_parent(topo, room, k)


@kernel
def inverse_slopes(topo, const, work, q, v, vdot, ext_count, ext_index, ext, out, room):
    """out = tau, then its slopes along q, by v and by vdot, (nv, nv) each, of a system of rigid bodies."""
    nv = topo[NV]
    inverse_dynamics(topo, const, work, q, v, vdot, ext_count, ext_index, ext, out)
    prepare_slopes(topo, const, work, v, vdot, ext_count, ext_index, ext, room)
    zero(out, nv, 3 * nv * nv)
    fill_all(topo, const, q, v, room, ext_count, out)
