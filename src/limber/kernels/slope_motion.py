"""Slopes of the dynamics of systems of rigid bodies, any joints: what a step of one speed does to all that is outboard.

A step of q along speed j moves all that is outboard of j by the twist S_j.  Seen by an observer who is moved along,
all bodies outboard change their spatial velocities by the same v_p x S_j and, except for the term -V_k x (v_p x S_j), their
spatial accelerations by the same c_j; likewise for a step of v (Singh, Russell & Wensing 2022, "Efficient analytical
derivatives of rigid-body dynamics using spatial vector algebra"; the joint j is between the frames p and j):

    by q:  spin = ang(v_p x S_j),   c = a_p x S_j + v_p x (v_p x S_j),     by v:  spin = ang(S_j),   c = (v_p + v_j) x S_j

A body then needs the force I_k c + B_k spin, B_k (6 x 3) = -2 [w~ Sigma + h~ u~; p~] with u the velocity of its frame, h, p
its moments of mass and momentum, Sigma = tr(J)/2 - J: a change of the linear velocity of everything does nothing.
External wrenches, which are not moved along, have a matrix E of the same form, for the rotation ang(S_j).

All is in world axes.  Matrices refer to the body, and what is summed over pairs of bodies to one point, the frame of
the first body, so that nothing needs to be transformed there; velocities are those relative to that of this frame.

Given     q, v, vdot, external wrenches
Computes  the records of all bodies and speeds (`layout.SB_PLACE` and so on); `inverse_slopes` and `forward_slopes` go on
Sweep     base to tip
Cost      about 250 multiplications a body
"""

from .inertia import rotate_symmetric
from .joints import turned_joint
from .layout import (
    ACC,
    C_INERTIA,
    C_MASS,
    C_MOMENT,
    COLUMNS,
    CONST,
    DOFS,
    END,
    G_DOFS,
    GENERAL,
    GRAVITY,
    GROUP,
    GROUPS,
    JOINT,
    PARENT,
    PLACE,
    SB_ACC,
    SB_FORCE,
    SB_GYRO,
    SB_MASS,
    SB_PLACE,
    SB_TURN,
    SB_VEL,
    SLOPE_BODY,
    SV_AT_BODY,
    SV_RISE,
    SV_S,
    SV_SPIN,
    V_JOINT,
    WORK,
)
from .motion import world_place
from .nodes import undeformed
from .scalar import kernel
from .slope_records import body_record, cross_motion, load_motion, speed_record, store_motion
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
    neg,
    scale,
    store3,
    store6,
    sub,
    zero,
)


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
    """Place, velocity and acceleration of rigid body k on a rigid body; for each speed of its joint S, spin and c."""
    place = topo[k + WORK] + PLACE
    x = sub(load3(work, place + 9), load3(work, topo[COLUMNS + WORK] + PLACE + 9))
    store3(room, body_record(k) + SB_PLACE, x)
    move_joint(topo, work, room, v, vdot, k, body_record(topo[k + PARENT]), load9(work, place), x)


@kernel
def move_joint(topo, work, room, v, vdot, k, p, R, x):
    """Velocity and acceleration of the outboard frame of the joint of body k, given those of the inboard one in the record p.

    Stores S, spin and c of each speed.  The outboard frame is at x from the origin and has the axes R.
    """
    b = body_record(k)
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
def add_wrench(topo, work, room, k, position, n, f):
    """Add what an external wrench, world axes, does to body k as it turns: E = -[n~ + l~ f~; f~].

    position : of the node, body axes; l is the same in world axes.
    """
    b = body_record(k)
    l = mul(load9(work, topo[k + WORK] + PLACE), position)
    lf = dot(l, f)
    i = b + SB_TURN
    # l~ f~ = f l^T - (l . f) 1
    accumulate3(room, i, (lf - f[0] * l[0], n[2] - f[0] * l[1], -n[1] - f[0] * l[2]))
    accumulate3(room, i + 3, (-n[2] - f[1] * l[0], lf - f[1] * l[1], n[0] - f[1] * l[2]))
    accumulate3(room, i + 6, (n[1] - f[2] * l[0], -n[0] - f[2] * l[1], lf - f[2] * l[2]))
    accumulate3(room, i + 9, (0.0, f[2], -f[1]))
    accumulate3(room, i + 12, (-f[2], 0.0, f[0]))
    accumulate3(room, i + 15, (f[1], -f[0], 0.0))


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
        k, node = ext_index[2 * e], ext_index[2 * e + 1]
        n, f = load_motion(ext, 6 * e)
        l = undeformed(const, node)
        add_wrench(topo, work, room, k, l, n, f)
        l = mul(load9(work, topo[k + WORK] + PLACE), l)
        b = body_record(k)
        accumulate3(room, b + SB_FORCE, neg(add(n, cross(l, f))))
        accumulate3(room, b + SB_FORCE + 3, neg(f))
