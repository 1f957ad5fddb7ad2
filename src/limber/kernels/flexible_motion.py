"""Slopes of the dynamics of flexible systems: the outward sweep, in which each body leaves what the inward sweep needs.

A step of a mode j of body p moves all that is outboard of it as a rigid body, by the twist S_j(c) on the way to the child c:
that of the node of p to which c is attached (`node_twists`) and, on an inboard node that deforms, that of the body
frame of p.  Seen by an observer who is moved along, the bodies outboard change their motion as after a step of a joint
(`slope_motion`), now with

    by q:  spin = ang(S_j'),  c = S_j''           by v:  spin = ang(S_j),  c = 2 S_j'

in terms of the rates of S_j in the world.  In a frame with the spatial velocity V and acceleration A in which the
twist is s,   S' = V x S + s',   S'' = A x S + V x (S' + s') + s''.

Beside what the motion of its frame does, the deformation of a body changes the forces that it needs (`modal_slopes`).
All is in world axes at the frame of the first body.  The modes of a ruthless system have S but no other slope than K
and D.

Given     q, v, vdot, external wrenches, after `newton_euler.inverse_dynamics`
Computes  the records of all bodies, speeds and twists; the slopes of the modes of a body as far as their own body goes
Sweep     base to tip
Cost      about 350 multiplications for a rigid body, 25 m^2 + 500 m more for m modes
"""

from .inertia import rotate_symmetric
from .layout import (
    ATTACHED,
    BENT,
    COLUMNS,
    DOFS,
    END,
    I_POS,
    I_ROT,
    INBOARD,
    MODAL,
    MODES,
    NODE,
    NV,
    OMEGA,
    PARENT,
    PLACE,
    RIGIDLY,
    RUTHLESS,
    SB_ACC,
    SB_FORCE,
    SB_GYRO,
    SB_MASS,
    SB_PLACE,
    SB_TURN,
    SB_VEL,
    SV_AT_BODY,
    SV_GYRO,
    SV_K,
    SV_PUSH,
    SV_S,
    SV_TURN,
    SV_TWIST,
    TWIST,
    TWIST_RATE,
    TWIST_RISE,
    TWIST_S,
    V_JOINT,
    V_MODES,
    W_DF,
    W_INBOARD,
    W_MU,
    W_N,
    W_NODE,
    WORK,
    P,
    Z,
)
from .modal import axpy9, body_mass, moment_of
from .modal_slopes import slopes_by_modes, slopes_by_spin, traced
from .motion import world_place
from .node_twists import add_pull_slopes, node_motion, twist
from .nodes import deformed, shape, shape_at, undeformed
from .scalar import kernel
from .slope_motion import add_wrench, move_joint, set_off, start_slopes, store_gyro
from .slope_records import (
    body_record,
    cross_motion,
    load_motion,
    paired,
    row_of,
    shifted_motion,
    speed_record,
    store_motion,
    times,
)
from .so3 import left_jacobian
from .vec import (
    accumulate3,
    add,
    axpy,
    cross,
    dot,
    load3,
    load6,
    load9,
    matmul,
    mul,
    mul_sym,
    mul_t,
    scale,
    store3,
    store6,
    store9,
    sub,
    zero,
)


@kernel
def twist_record(topo, k, j):
    """Where the twist record of mode j of the parent of body k, for what is outboard of the inboard frame of k, begins."""
    if topo[k + ATTACHED] == RIGIDLY:
        return speed_record(topo, topo[topo[k + PARENT] + V_MODES] + j) + SV_TWIST
    else:
        return speed_record(topo, topo[NV]) + TWIST // 6 * (topo[k + W_NODE] + 6 * j)


@kernel
def moved_by_modes(topo, k):
    """Whether modes of the parent of body k move its inboard frame."""
    p = topo[k + PARENT]
    return topo[p + MODES] > 0 and (topo[k + ATTACHED] != RIGIDLY or topo[p + INBOARD] != 0)


@kernel
def to_origin(R, x, w, u):
    """A motion [w; u] of a frame with the axes R at x, in its own axes, at the origin and in world axes."""
    w, u = mul(R, w), mul(R, u)
    return w, add(u, cross(x, w))


@kernel
def store_twist(room, at, R, x, b, s):
    """Store the twist s, which is fixed to nothing but seen from the body record b, and its rates.

    The velocity must be in b; the acceleration is for `store_rise`, which takes the record on.  Leaves s'' in TWIST_RISE.
    """
    sw, su = to_origin(R, x, s[0], s[1])
    dw, du = to_origin(R, x, s[2], s[3])
    ddw, ddu = to_origin(R, x, s[4], s[5])
    w, u = load_motion(room, b + SB_VEL)
    rw, ru = cross_motion(w, u, sw, su)
    rw, ru = add(rw, dw), add(ru, du)
    ew, eu = cross_motion(w, u, add(rw, dw), add(ru, du))
    store_motion(room, at + TWIST_S, sw, su)
    store_motion(room, at + TWIST_RATE, rw, ru)
    store_motion(room, at + TWIST_RISE, add(ddw, ew), add(ddu, eu))


@kernel
def add_rise(room, at, b):
    """Add A x S to the second rate of a twist."""
    aw, au = load_motion(room, b + SB_ACC)
    sw, su = load_motion(room, at + TWIST_S)
    rw, ru = cross_motion(aw, au, sw, su)
    accumulate3(room, at + TWIST_RISE, rw)
    accumulate3(room, at + TWIST_RISE + 3, ru)


@kernel
def add_scaled(room, to, s, at):
    """Add s times the motion at room[at:] to that at room[to:]."""
    for i in range(6):
        room[to + i] += s * room[at + i]


@kernel
def move_inboard_frame(topo, const, work, q, v, vdot, room, k):
    """Velocity and acceleration of the inboard frame of body k, in its record, and the twists of the modes that move it."""
    pk = topo[k + PARENT]
    p, b = body_record(pk), body_record(k)
    for i in range(12):
        room[b + SB_VEL + i] = room[p + SB_VEL + i]
    if topo[k + ATTACHED] != RIGIDLY:
        R = load9(work, topo[pk + WORK] + PLACE)
        x = load3(room, p + SB_PLACE)
        i = topo[pk + V_MODES]
        node = topo[k + NODE]
        if topo[RUTHLESS] == 0:
            motion = node_motion(topo, const, q, v, vdot, pk, node)
            for j in range(topo[pk + MODES]):
                at = twist_record(topo, k, j)
                store_twist(room, at, R, x, p, twist(topo, const, q, v, vdot, pk, node, j, motion))
                add_rise(room, at, p)
                add_scaled(room, b + SB_VEL, v[i + j], at + TWIST_S)
                add_scaled(room, b + SB_ACC, vdot[i + j], at + TWIST_S)
                add_scaled(room, b + SB_ACC, v[i + j], at + TWIST_RATE)
                if topo[pk + INBOARD] != 0:
                    own = speed_record(topo, i + j) + SV_TWIST
                    for t in range(TWIST):
                        room[at + t] += room[own + t]
        else:
            l = undeformed(const, node)
            for j in range(topo[pk + MODES]):
                at = twist_record(topo, k, j)
                turn, shift = shape(const, node, j)
                w, u = to_origin(R, x, turn, sub(shift, cross(turn, l)))
                store_motion(room, at + TWIST_S, w, u)
                add_scaled(room, b + SB_ACC, vdot[i + j], at + TWIST_S)


@kernel
def move_body_frame(topo, const, work, q, v, vdot, room, k):
    """Velocity and acceleration of the frame of body k, in whose record are those of its deforming inboard node.

    Stores the twists by which the modes move it.
    """
    b = body_record(k)
    i = topo[k + V_MODES]
    node = topo[k + INBOARD]
    R = load9(work, topo[k + WORK] + PLACE)
    x = load3(room, b + SB_PLACE)
    motion = node_motion(topo, const, q, v, vdot, k, node)
    for j in range(topo[k + MODES]):
        tw, tu, _, _, _, _ = twist(topo, const, q, v, vdot, k, node, j, motion)
        tw, tu = to_origin(R, x, tw, tu)
        accumulate3(room, b + SB_VEL, scale(-v[i + j], tw))
        accumulate3(room, b + SB_VEL + 3, scale(-v[i + j], tu))
    for j in range(topo[k + MODES]):
        at = speed_record(topo, i + j) + SV_TWIST
        store_twist(room, at, R, x, b, twist(topo, const, q, v, vdot, k, node, j, motion))
        for t in range(TWIST):
            room[at + t] = -room[at + t]
        add_scaled(room, b + SB_ACC, vdot[i + j], at + TWIST_S)
        add_scaled(room, b + SB_ACC, v[i + j], at + TWIST_RATE)
    for j in range(topo[k + MODES]):
        add_rise(room, speed_record(topo, i + j) + SV_TWIST, b)


@kernel
def move(topo, const, work, q, v, vdot, room, k):
    """The motion of body k, the motions of its joint, and the twists of the modes that move its frames."""
    b = body_record(k)
    at = topo[k + WORK] + PLACE
    R = load9(work, at)
    x = sub(load3(work, at + 9), load3(work, topo[COLUMNS + WORK] + PLACE + 9))
    store3(room, b + SB_PLACE, x)
    move_inboard_frame(topo, const, work, q, v, vdot, room, k)
    if topo[k + INBOARD] == 0:
        move_joint(topo, work, room, v, vdot, k, b, R, x)
        for j in range(topo[k + MODES]):
            zero(room, speed_record(topo, topo[k + V_MODES] + j) + SV_TWIST, TWIST)
    else:
        i = topo[k + W_INBOARD]
        joint = add(x, mul(R, load3(work, i + I_POS)))
        move_joint(topo, work, room, v, vdot, k, b, matmul(R, load9(work, i + I_ROT)), joint)
        for r in range(topo[k + DOFS]):
            speed = speed_record(topo, topo[k + V_JOINT] + r)
            w, u = shifted_motion(room, speed + SV_S, x)
            store_motion(room, speed + SV_AT_BODY, w, u)
        move_body_frame(topo, const, work, q, v, vdot, room, k)


@kernel
def start_record(topo, work, v, room, k):
    """The inertia, the wrench at the joint, and B of body k; the wrench includes all that is outboard."""
    at = topo[k + WORK]
    b = body_record(k)
    R = load9(work, at + PLACE)
    mass = work[at + P + 15]
    h = mul(R, moment_of(work, at))
    J = rotate_symmetric(R, load6(work, at + P))
    room[b + SB_MASS] = mass
    store3(room, b + SB_MASS + 1, h)
    store6(room, b + SB_MASS + 4, J)
    store_motion(room, b + SB_FORCE, mul(R, load3(work, at + Z)), mul(R, load3(work, at + Z + 3)))
    w = mul(R, load3(work, at + OMEGA))
    u = add(load3(room, b + SB_VEL + 3), cross(w, load3(room, b + SB_PLACE)))
    store_gyro(room, b + SB_GYRO, w, u, mass, h, J)
    zero(room, b + SB_TURN, 18)
    if topo[k + MODES] > 0 and topo[RUTHLESS] == 0:
        add_modal_gyro(topo, work, v, room, k, R)


@kernel
def add_modal_gyro(topo, work, v, room, k, R):
    """Add to B of body k what its modal rates do: 2 (tr(N) I - N), and -2 p~ with their momentum p."""
    modal = topo[k + MODAL]
    N = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    p = (0.0, 0.0, 0.0)
    for r in range(topo[k + MODES]):
        rate = 2.0 * v[topo[k + V_MODES] + r]
        N = axpy9(rate, load9(work, topo[modal + W_N] + 9 * r), N)
        p = axpy(rate, load3(work, topo[modal + W_MU] + 6 * r + 3), p)
    x, y, z = load3(R, 0), load3(R, 3), load3(R, 6)
    M = matmul(R, transposed_rows(traced(N, x), traced(N, y), traced(N, z)))
    px, py, pz = mul(R, p)
    i = body_record(k) + SB_GYRO
    store9(room, i, axpy9(1.0, M, load9(room, i)))
    accumulate3(room, i + 9, (0.0, pz, -py))
    accumulate3(room, i + 12, (-pz, 0.0, px))
    accumulate3(room, i + 15, (py, -px, 0.0))


@kernel
def transposed_rows(x, y, z):
    """The matrix with these columns."""
    return (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2])


@kernel
def turn_to_world(topo, work, room, k):
    """Take what `modal_slopes` left in the records of the modes of body k to world axes and to the origin; set SV_K and SV_TURN."""
    at = topo[k + WORK]
    R = load9(work, at + PLACE)
    x = load3(room, body_record(k) + SB_PLACE)
    mu = topo[topo[k + MODAL] + W_MU]
    for r in range(topo[k + MODES]):
        speed = speed_record(topo, topo[k + V_MODES] + r)
        n, f = mul(R, load3(work, mu + 6 * r)), mul(R, load3(work, mu + 6 * r + 3))
        store_motion(room, speed + SV_K, add(n, cross(x, f)), f)
        for i in range(speed + SV_PUSH, speed + SV_PUSH + 12, 6):
            n, f = mul(R, load3(room, i)), mul(R, load3(room, i + 3))
            store_motion(room, i, add(n, cross(x, f)), f)
        store3(room, speed + SV_GYRO, mul(R, load3(room, speed + SV_GYRO)))
        zero(room, speed + SV_TURN, 3)


@kernel
def start_modes(topo, const, work, q, v, vdot, room, k, out):
    """Slopes of the forces on the modes of body k, its frame's motion given, in `out`, and the records of the modes."""
    m = topo[k + MODES]
    nv = topo[NV]
    slopes_by_modes(topo, const, work, q, v, vdot, room, k, out)
    if topo[k + BENT] != 0:
        body_mass(topo, const, work, q, k)
    R = load9(work, topo[k + WORK] + PLACE)
    b = body_record(k)
    _, u = shifted_motion(room, b + SB_VEL, load3(room, b + SB_PLACE))
    slopes_by_spin(topo, const, work, v, room, k, mul_t(R, u))
    turn_to_world(topo, work, room, k)
    by_vdot = nv + 2 * nv * nv + topo[k + V_MODES] * (nv + 1)
    df = topo[topo[k + MODAL] + W_DF]
    for i in range(m):
        for j in range(m):
            out[by_vdot + i * nv + j] = work[df + i * m + j]


@kernel
def add_bent_wrench(topo, const, work, q, room, k, node, n, f, out):
    """Add what an external wrench at a node of flexible body k does to the slopes of its modes."""
    nv = topo[NV]
    i = topo[k + V_MODES]
    R = load9(work, topo[k + WORK] + PLACE)
    for r in range(topo[k + MODES]):
        speed = speed_record(topo, i + r)
        if topo[RUTHLESS] == 0:
            x, _ = deformed(topo, const, q, k, node)
            turn, shift = shape_at(topo, const, q, k, node, r)
            turn, shift = mul(R, mul(left_jacobian(x), turn)), mul(R, shift)
            accumulate3(room, speed + SV_PUSH, cross(f, shift))
        else:
            turn, shift = shape(const, node, r)
            turn, shift = mul(R, turn), mul(R, shift)
        accumulate3(room, speed + SV_TURN, add(cross(n, turn), cross(f, shift)))
    if topo[RUTHLESS] == 0:
        at = nv + i * (nv + 1)
        add_pull_slopes(topo, const, q, k, node, mul_t(R, n), mul_t(R, f), False, -1.0, out, at, nv)


@kernel
def inertial(room, b, w, u):
    """The inertia of the body record b times the motion [w; u], both at the body."""
    h = load3(room, b + SB_MASS + 1)
    n = add(mul_sym(load6(room, b + SB_MASS + 4), w), cross(h, u))
    return n, axpy(room[b + SB_MASS], u, cross(w, h))


@kernel
def answer(room, b, x, rise, spin, turned, turn):
    """I c + B spin (+ E turn, if `turned`) of the record b, whose body is at x; c is the motion at room[rise:].  At the origin."""
    cw, cu = shifted_motion(room, rise, x)
    n, f = inertial(room, b, cw, cu)
    bn, bf = times(room, b + SB_GYRO, spin)
    n, f = add(n, bn), add(f, bf)
    if turned != 0:
        bn, bf = times(room, b + SB_TURN, turn)
        n, f = add(n, bn), add(f, bf)
    return add(n, cross(x, f)), f


@kernel
def move_own_body(topo, room, k, turned, out):
    """Add what the modes of body k do by moving its own frame; needs SB_MASS, SB_GYRO and SB_TURN of the body alone."""
    nv = topo[NV]
    b = body_record(k)
    x = load3(room, b + SB_PLACE)
    i = topo[k + V_MODES]
    m = topo[k + MODES]
    for j in range(m):
        # the forces that the step needs, and what it does to the rows of the modes through MU
        at = speed_record(topo, i + j)
        own = at + SV_TWIST
        turn, spin = load3(room, own + TWIST_S), load3(room, own + TWIST_RATE)
        n, f = answer(room, b, x, own + TWIST_RISE, spin, turned, turn)
        accumulate3(room, at + SV_PUSH, n)
        accumulate3(room, at + SV_PUSH + 3, f)
        n, f = answer(room, b, x, own + TWIST_RATE, scale(0.5, turn), 0, turn)
        accumulate3(room, at + SV_PUSH + 6, scale(2.0, n))
        accumulate3(room, at + SV_PUSH + 9, scale(2.0, f))
        for r in range(m):
            row = speed_record(topo, i + r)
            yn, yf = load_motion(room, row + SV_K)
            g = load3(room, row + SV_GYRO)
            slope = paired(room, own + TWIST_RISE, yn, yf) + dot(g, spin)
            slope += dot(load3(room, row + SV_TURN), turn)
            column = nv + (i + r) * nv + i + j
            out[column] += slope
            column += nv * nv
            out[column] += 2.0 * paired(room, own + TWIST_RATE, yn, yf) + dot(g, turn)
            column += nv * nv
            out[column] += paired(room, own + TWIST_S, yn, yf)
    for j in range(m):
        own = speed_record(topo, i + j) + SV_TWIST
        # rows by S of the frame: those of the forces, MU included, then the rows themselves
        mn, mf = load_motion(room, speed_record(topo, i + j) + SV_K)
        n, f = answer(room, b, x, own + TWIST_S, (0.0, 0.0, 0.0), 0, (0.0, 0.0, 0.0))
        mn, mf = add(mn, n), add(mf, f)
        for r in range(m):
            row = speed_record(topo, i + r) + SV_TWIST
            column = nv + (i + r) * nv + i + j
            n, f = load_motion(room, speed_record(topo, i + j) + SV_PUSH)
            out[column] += paired(room, row, n, f)
            n, f = load_motion(room, speed_record(topo, i + j) + SV_PUSH + 6)
            out[column + nv * nv] += paired(room, row, n, f)
            out[column + 2 * nv * nv] += paired(room, row, mn, mf)
    for j in range(m):
        at = speed_record(topo, i + j)
        add_rows(room, b, x, at, at + SV_TWIST)


@kernel
def add_rows(room, b, x, at, s):
    """Add to the rows of the speed `at` what the body record b, at x, does along the motion at room[s:]."""
    w, u = shifted_motion(room, s, x)
    n, f = inertial(room, b, w, u)
    accumulate3(room, at + SV_K, add(n, cross(x, f)))
    accumulate3(room, at + SV_K + 3, f)
    accumulate3(room, at + SV_GYRO, row_of(room, b + SB_GYRO, w, u))
    accumulate3(room, at + SV_TURN, row_of(room, b + SB_TURN, w, u))


@kernel
def prepare_flexible(topo, const, work, q, v, vdot, ext_count, ext_index, ext, room, out):
    """The outward sweep, after `inverse_dynamics`."""
    start_slopes(topo, const, room)
    for k in range(COLUMNS, topo[END], COLUMNS):
        world_place(topo, work, k)
        if k == COLUMNS:
            set_off(topo, work, room, v, k)
        move(topo, const, work, q, v, vdot, room, k)
        if topo[k + MODES] > 0:
            start_modes(topo, const, work, q, v, vdot, room, k, out)
        start_record(topo, work, v, room, k)
    for e in range(ext_count):
        k, node = ext_index[2 * e], ext_index[2 * e + 1]
        n, f = load_motion(ext, 6 * e)
        l = undeformed(const, node)
        if topo[k + MODES] > 0:
            if topo[RUTHLESS] == 0:
                _, l = deformed(topo, const, q, k, node)
            add_bent_wrench(topo, const, work, q, room, k, node, n, f, out)
        add_wrench(topo, work, room, k, l, n, f)
    for k in range(COLUMNS, topo[END], COLUMNS):
        if topo[k + INBOARD] != 0:
            move_own_body(topo, room, k, ext_count, out)
