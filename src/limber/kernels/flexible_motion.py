"""Motions of flexible systems for slopes of the dynamics: what a step of a mode does to all that is outboard.

A step of a mode j of body p moves all that is outboard of it as a rigid body, by the twist S_j(c) on the way to the child c:
that of the node of p to which c is attached (`node_twists`) and, on an inboard node that deforms, that of the body
frame of p.  Seen by an observer who is moved along, the bodies outboard change their motion as after a step of a joint
(`slope_motion`), now with

    by q:  spin = ang(S_j'),  c = S_j''           by v:  spin = ang(S_j),  c = 2 S_j'

in terms of the rates of S_j in the world.  In a frame with the spatial velocity V and acceleration A in which the
twist is s,   S' = V x S + s',   S'' = A x S + V x (S' + s') + s''.

All is in world axes at the frame of the first body.  The modes of a ruthless system have S alone.

Given     q, v, vdot; places in the world
Computes  SB_PLACE, SB_VEL and SB_ACC of a body, the motions of its joint, and the twist records of the modes that move it
Sweep     base to tip
Cost      about 100 multiplications for a rigid body, 300 for each mode of the parent
"""

from .layout import (
    ATTACHED,
    COLUMNS,
    DOFS,
    I_POS,
    I_ROT,
    INBOARD,
    MODES,
    NODE,
    NV,
    PARENT,
    PLACE,
    RIGIDLY,
    RUTHLESS,
    SB_ACC,
    SB_PLACE,
    SB_VEL,
    SV_AT_BODY,
    SV_S,
    SV_TWIST,
    TWIST,
    TWIST_RATE,
    TWIST_RISE,
    TWIST_S,
    V_JOINT,
    V_MODES,
    W_INBOARD,
    W_NODE,
    WORK,
)
from .node_twists import node_motion, twist
from .nodes import shape, undeformed
from .scalar import kernel
from .slope_motion import move_joint
from .slope_records import (
    body_record,
    cross_motion,
    load_motion,
    shifted_motion,
    speed_record,
    store_motion,
)
from .vec import accumulate3, add, cross, load3, load9, matmul, mul, scale, store3, sub, zero


@kernel
def twist_record(topo, k, j):
    """Where the twist record of mode j of the parent of body k, for what is outboard of the inboard frame of k, begins."""
    if topo[k + ATTACHED] == RIGIDLY:
        return speed_record(topo, topo[topo[k + PARENT] + V_MODES] + j) + SV_TWIST
    else:
        return speed_record(topo, topo[NV]) + TWIST // 6 * (topo[k + W_NODE] + 6 * j)


@kernel
def moved_by_modes(topo, k):
    """Whether the modes of the parent of body k, if it has any, move the inboard frame of k."""
    return topo[k + ATTACHED] != RIGIDLY or topo[topo[k + PARENT] + INBOARD] != 0


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
    """Velocity and acceleration of the inboard frame of body k on a flexible body, in its record, and the twists of the modes."""
    pk = topo[k + PARENT]
    p, b = body_record(pk), body_record(k)
    for i in range(12):
        room[b + SB_VEL + i] = room[p + SB_VEL + i]
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
    start = body_record(topo[k + PARENT])
    if topo[k + ATTACHED] != RIGIDLY:
        move_inboard_frame(topo, const, work, q, v, vdot, room, k)
        start = b
    if topo[k + INBOARD] == 0:
        move_joint(topo, work, room, v, vdot, k, start, R, x)
        for j in range(topo[k + MODES]):
            zero(room, speed_record(topo, topo[k + V_MODES] + j) + SV_TWIST, TWIST)
    else:
        i = topo[k + W_INBOARD]
        joint = add(x, mul(R, load3(work, i + I_POS)))
        move_joint(topo, work, room, v, vdot, k, start, matmul(R, load9(work, i + I_ROT)), joint)
        for r in range(topo[k + DOFS]):
            speed = speed_record(topo, topo[k + V_JOINT] + r)
            w, u = shifted_motion(room, speed + SV_S, x)
            store_motion(room, speed + SV_AT_BODY, w, u)
        move_body_frame(topo, const, work, q, v, vdot, room, k)
