"""Slopes of the dynamics of systems of rigid bodies, any joints, along q and by v, tau and vdot.

A step of q along speed j moves all that is outboard of j by the twist S_j.  Seen by an observer who is moved along,
all bodies outboard change their spatial velocities by the same v_p x S_j and, but for the term -V_k x (v_p x S_j), their
spatial accelerations by the same c_j; likewise for a step of v (Singh, Russell & Wensing 2022, "Efficient analytical
derivatives of rigid-body dynamics using spatial vector algebra"; the joint j is between the frames p and j):

    by q:  spin = ang(v_p x S_j),   c = a_p x S_j + v_p x (v_p x S_j),     by v:  spin = ang(S_j),   c = (v_p + v_j) x S_j

A body then needs the force I_k c + B_k spin, B_k (6 x 3) = -2 [w~ Sigma + h~ u~; p~] with u the velocity of its frame, h, p
its moments of mass and momentum, Sigma = tr(J)/2 - J: a change of the linear velocity of everything does nothing.
External wrenches, which are not moved along, have a matrix E of the same form, for the rotation ang(S_j).

Inverse dynamics: with the sums I^C, B^C, E^C, f^C over the bodies outboard,

    dtau_i = S_i . (I^C_i c_j + B^C_i spin_j + E^C_i ang(S_j))        for i outboard of j
    dtau_i = S_i . (I^C_j c_j + B^C_j spin_j + E^C_j ang(S_j) + S_j x* f^C_j)        for i inboard of j; the last by q

Forward dynamics: the same with the freedoms outboard free to move.  The articulated inertia P takes the place of I^C, and
B^A = B + sum of (1 - K S^T) B^A over the children that of B^C.  `columns` sweeps over the innovations of all columns.

All is in world axes.  Matrices refer to the body, and what is summed over pairs of bodies to one point, the frame of
the first body, so that nothing needs to be transformed there; velocities are those relative to that of this frame.

Sweep     base to tip, tip to base, then `columns` or the pairs of joints
Cost      about 500 multiplications a body, and for each pair of speeds 9 + 6 (inverse dynamics), twice
"""

from .articulated import forward_dynamics
from .columns import solve_columns
from .inertia import apply_inertia, load_inertia, rotate_symmetric, shift_rigid
from .joints import turned_joint
from .layout import (
    ACC,
    C_INERTIA,
    C_MASS,
    C_MOMENT,
    COLUMNS,
    CONST,
    D_PIVOTS,
    DOFS,
    END,
    G_DOFS,
    GENERAL,
    GRAVITY,
    GROUP,
    GROUPS,
    J_K,
    JOINT,
    JOINT_WORK,
    NV,
    PARENT,
    PHYSICS,
    PLACE,
    SB_ACC,
    SB_FORCE,
    SB_GYRO,
    SB_MASS,
    SB_PLACE,
    SB_TURN,
    SB_VEL,
    SLOPE_BODY,
    SLOPE_SPEED,
    SV_AT_BODY,
    SV_D,
    SV_GYRO,
    SV_K,
    SV_OWN,
    SV_PUSH,
    SV_RISE,
    SV_S,
    SV_SPIN,
    SV_TURN,
    V_JOINT,
    W_JOINT,
    W_PIVOTS,
    WORK,
    P,
)
from .motion import world_place
from .newton_euler import inverse_dynamics
from .nodes import undeformed
from .physics import armature, speed_slopes
from .scalar import kernel
from .vec import (
    accumulate3,
    add,
    axpy,
    cross,
    dot,
    load3,
    load6,
    load9,
    mul,
    mul_sym,
    mul_t,
    neg,
    scale,
    store3,
    store6,
    sub,
    zero,
)


@kernel
def body_record(k):
    """Where the record of body k begins."""
    return k // COLUMNS * SLOPE_BODY


@kernel
def speed_record(topo, i):
    """Where the record of speed i begins."""
    return topo[END] // COLUMNS * SLOPE_BODY + i * SLOPE_SPEED


@kernel
def cross_motion(w, u, x, y):
    """[w; u] x [x; y] of two motions."""
    return cross(w, x), add(cross(w, y), cross(u, x))


@kernel
def cross_force(w, u, n, f):
    """[w; u] x* [n; f] of a motion and a force."""
    return add(cross(w, n), cross(u, f)), cross(w, f)


@kernel
def load_motion(room, i):
    """The two parts of the spatial vector at room[i:]."""
    return load3(room, i), load3(room, i + 3)


@kernel
def store_motion(room, i, w, u):
    """Store the two parts of a spatial vector at room[i:]."""
    store3(room, i, w)
    store3(room, i + 3, u)


@kernel
def paired(room, i, n, f):
    """The scalar product of the spatial vector at room[i:] with [n; f]."""
    return dot(load3(room, i), n) + dot(load3(room, i + 3), f)


@kernel
def start_slopes(topo, const, room):
    """The record of the world."""
    zero(room, 0, SLOPE_BODY)
    store3(room, SB_ACC + 3, neg(load3(const, GRAVITY)))


@kernel
def set_off(topo, work, room, v, k):
    """Let the world move against the velocity of the frame of k, the first body, which then does not move."""
    R = load9(work, topo[k + WORK] + PLACE)
    for r in range(topo[k + DOFS]):
        _, u = turned_joint(topo, work, k, r, R)
        back = axpy(-v[topo[k + V_JOINT] + r], u, load3(room, SB_VEL + 3))
        store3(room, SB_VEL + 3, back)


@kernel
def move_body(topo, work, room, v, vdot, k):
    """Place, velocity and acceleration of body k; for each speed of its joint S, spin and c."""
    p = body_record(topo[k + PARENT])
    b = body_record(k)
    place = topo[k + WORK] + PLACE
    R = load9(work, place)
    x = sub(load3(work, place + 9), load3(work, topo[COLUMNS + WORK] + PLACE + 9))
    store3(room, b + SB_PLACE, x)
    w, u = load_motion(room, p + SB_VEL)
    aw, au = load_motion(room, p + SB_ACC)
    groups = topo[k + GROUPS] if topo[k + JOINT] == GENERAL else 1
    i = topo[k + V_JOINT]
    r = 0
    for g in range(groups):
        dofs = topo[k + DOFS]
        if topo[k + JOINT] == GENERAL:
            dofs = topo[topo[k + GROUP] + g * COLUMNS + G_DOFS]
        rw, ru = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)  # relative velocity
        dw, du = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)  # S times the rates of the speeds
        for t in range(r, r + dofs):
            at = speed_record(topo, i + t)
            sw, su = turned_joint(topo, work, k, t, R)
            store_motion(room, at + SV_AT_BODY, sw, su)
            su = sub(su, cross(sw, x))
            store_motion(room, at + SV_S, sw, su)
            rw, ru = axpy(v[i + t], sw, rw), axpy(v[i + t], su, ru)
            dw, du = axpy(vdot[i + t], sw, dw), axpy(vdot[i + t], su, du)
        nw, nu = add(w, rw), add(u, ru)
        for t in range(r, r + dofs):
            at = speed_record(topo, i + t)
            sw, su = load_motion(room, at + SV_S)
            xw, xu = cross_motion(w, u, sw, su)
            store3(room, at + SV_SPIN, xw)
            yw, yu = cross_motion(w, u, xw, xu)
            zw, zu = cross_motion(aw, au, sw, su)
            store_motion(room, at + SV_RISE, add(yw, zw), add(yu, zu))
            yw, yu = cross_motion(nw, nu, sw, su)
            store_motion(room, at + SV_RISE + 6, add(xw, yw), add(xu, yu))
        cw, cu = cross_motion(nw, nu, rw, ru)
        w, u = nw, nu
        aw, au = add(aw, add(dw, cw)), add(au, add(du, cu))
        r += dofs
    store_motion(room, b + SB_VEL, w, u)
    store_motion(room, b + SB_ACC, aw, au)


@kernel
def store_gyro(room, i, w, u, mass, h, J):
    """B of a body at room[i:], by rows: -2 [w~ Sigma + h~ u~; p~]."""
    half = 0.5 * (J[0] + J[3] + J[5])
    xx, yy, zz = half - J[0], half - J[3], half - J[5]
    hu = dot(h, u)
    x, y, z = w
    # w~ Sigma, with the off-diagonal entries of Sigma = tr(J)/2 - J; h~ u~ = u h^T - (h . u) 1
    store3(room, i, (
        -2.0 * (z * J[1] - y * J[2] + u[0] * h[0] - hu),
        -2.0 * (-z * yy - y * J[4] + u[0] * h[1]),
        -2.0 * (z * J[4] + y * zz + u[0] * h[2]),
    ))  # fmt: skip
    store3(room, i + 3, (
        -2.0 * (z * xx + x * J[2] + u[1] * h[0]),
        -2.0 * (-z * J[1] + x * J[4] + u[1] * h[1] - hu),
        -2.0 * (-z * J[2] - x * zz + u[1] * h[2]),
    ))  # fmt: skip
    store3(room, i + 6, (
        -2.0 * (-y * xx - x * J[1] + u[2] * h[0]),
        -2.0 * (y * J[1] + x * yy + u[2] * h[1]),
        -2.0 * (y * J[2] - x * J[4] + u[2] * h[2] - hu),
    ))  # fmt: skip
    px, py, pz = scale(2.0, axpy(mass, u, cross(w, h)))
    store3(room, i + 9, (0.0, pz, -py))
    store3(room, i + 12, (-pz, 0.0, px))
    store3(room, i + 15, (py, -px, 0.0))


@kernel
def start_body(topo, const, work, room, k):
    """The force that body k needs, its B and its inertia; no external wrenches yet."""
    c = topo[k + CONST]
    at = topo[k + WORK]
    b = body_record(k)
    R = load9(work, at + PLACE)
    mass = const[c + C_MASS]
    h = mul(R, load3(const, c + C_MOMENT))
    J = rotate_symmetric(R, load6(const, c + C_INERTIA))
    w, u = load_motion(room, b + SB_VEL)
    u = add(u, cross(w, load3(room, b + SB_PLACE)))
    aw = mul(R, load3(work, at + ACC))
    au = mul(R, load3(work, at + ACC + 3))
    n = add(add(mul_sym(J, aw), cross(h, au)), cross(w, mul_sym(J, w)))
    f = add(axpy(mass, au, cross(aw, h)), cross(w, cross(w, h)))
    store_motion(room, b + SB_FORCE, n, f)
    store_gyro(room, b + SB_GYRO, w, u, mass, h, J)
    zero(room, b + SB_TURN, 18)
    room[b + SB_MASS] = mass
    store3(room, b + SB_MASS + 1, h)
    store6(room, b + SB_MASS + 4, J)


@kernel
def add_wrench(const, work, topo, room, k, node, n, f):
    """Add an external wrench at a node of body k, world axes: E = -[n~ + l~ f~; f~]."""
    b = body_record(k)
    l = mul(load9(work, topo[k + WORK] + PLACE), undeformed(const, node))
    lf = dot(l, f)
    i = b + SB_TURN
    # l~ f~ = f l^T - (l . f) 1
    accumulate3(room, i, (lf - f[0] * l[0], n[2] - f[0] * l[1], -n[1] - f[0] * l[2]))
    accumulate3(room, i + 3, (-n[2] - f[1] * l[0], lf - f[1] * l[1], n[0] - f[1] * l[2]))
    accumulate3(room, i + 6, (n[1] - f[2] * l[0], -n[0] - f[2] * l[1], lf - f[2] * l[2]))
    accumulate3(room, i + 9, (0.0, f[2], -f[1]))
    accumulate3(room, i + 12, (-f[2], 0.0, f[0]))
    accumulate3(room, i + 15, (f[1], -f[0], 0.0))
    accumulate3(room, b + SB_FORCE, neg(add(n, cross(l, f))))
    accumulate3(room, b + SB_FORCE + 3, neg(f))


@kernel
def prepare_slopes(topo, const, work, v, vdot, ext_count, ext_index, ext, room):
    """The outward sweep: records of all bodies and speeds, after a sweep that left ACC, ROT and ORIGIN."""
    start_slopes(topo, const, room)
    for k in range(COLUMNS, topo[END], COLUMNS):
        world_place(topo, work, k)
        if k == COLUMNS:
            set_off(topo, work, room, v, k)
        move_body(topo, work, room, v, vdot, k)
        start_body(topo, const, work, room, k)
    for e in range(ext_count):
        n, f = load_motion(ext, 6 * e)
        add_wrench(const, work, topo, room, ext_index[2 * e], ext_index[2 * e + 1], n, f)


@kernel
def times(room, i, x):
    """The 6 x 3 matrix at room[i:] times x, as (angular, linear)."""
    return mul(load9(room, i), x), mul(load9(room, i + 9), x)


@kernel
def row_of(room, i, sw, su):
    """S^T times the 6 x 3 matrix at room[i:]."""
    return add(mul_t(load9(room, i), sw), mul_t(load9(room, i + 9), su))


@kernel
def subtract_product(room, i, kw, ku, x):
    """Subtract K x^T from the 6 x 3 matrix at room[i:]."""
    for r in range(3):
        store3(room, i + 3 * r, axpy(-kw[r], x, load3(room, i + 3 * r)))
        store3(room, i + 9 + 3 * r, axpy(-ku[r], x, load3(room, i + 9 + 3 * r)))


@kernel
def pass_matrix(room, i, j, o):
    """Add the 6 x 3 matrix at room[i:], of wrenches at the tip of o, to that at room[j:], of wrenches at its root."""
    x, y, z = load3(room, i + 9), load3(room, i + 12), load3(room, i + 15)
    accumulate3(room, j, add(load3(room, i), axpy(o[1], z, scale(-o[2], y))))
    accumulate3(room, j + 3, add(load3(room, i + 3), axpy(o[2], x, scale(-o[0], z))))
    accumulate3(room, j + 6, add(load3(room, i + 6), axpy(o[0], y, scale(-o[1], x))))
    accumulate3(room, j + 9, x)
    accumulate3(room, j + 12, y)
    accumulate3(room, j + 15, z)


@kernel
def pass_force(room, b, p, o):
    """Add the wrench of the body record b to that of its parent, from which it is at o."""
    n, f = load_motion(room, b + SB_FORCE)
    accumulate3(room, p + SB_FORCE, add(n, cross(o, f)))
    accumulate3(room, p + SB_FORCE + 3, f)


@kernel
def shifted_motion(room, i, x):
    """The motion at room[i:] that refers to the origin, at x."""
    w, u = load_motion(room, i)
    return w, add(u, cross(w, x))


@kernel
def group_start(topo, k, r):
    """The first speed of the group that speed r of the joint of body k belongs to."""
    first = 0
    if topo[k + JOINT] == GENERAL:
        g = topo[k + GROUP]
        while r >= first + topo[g + G_DOFS]:
            first += topo[g + G_DOFS]
            g += COLUMNS
    return first


# --- inverse dynamics -------------------------------------------------------------------------------------


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
def inverse_slopes(topo, const, work, q, v, vdot, ext_count, ext_index, ext, out, room):
    """out = tau, then its slopes along q, by v and by vdot, (nv, nv) each, of a system of rigid bodies."""
    nv = topo[NV]
    inverse_dynamics(topo, const, work, q, v, vdot, ext_count, ext_index, ext, out)
    prepare_slopes(topo, const, work, v, vdot, ext_count, ext_index, ext, room)
    zero(out, nv, 3 * nv * nv)
    fill_all(topo, const, q, v, room, ext_count, out)


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


# --- forward dynamics -------------------------------------------------------------------------------------


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
