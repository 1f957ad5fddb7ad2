"""Outward steps: velocities, Coriolis terms, accelerations, places in the world.

Each is one step of a base-to-tip sweep, body k after its parent, with `place` done for k.
"""

from .joints import along, along_joint, general_joint_bias, general_joint_velocity
from .layout import (
    ACC,
    ARM,
    ATTACHED,
    AXIS,
    BIAS,
    DEFORMING,
    DOFS,
    GENERAL,
    GRAVITY,
    I_BIAS,
    I_POS,
    I_ROT,
    I_SHAPES,
    I_TURN,
    INBOARD,
    JOINT,
    MODES,
    NODE,
    OMEGA,
    ORIGIN,
    PARENT,
    PLACE,
    PRISMATIC,
    REVOLUTE,
    RIGIDLY,
    ROT,
    TURN,
    V_JOINT,
    V_MODES,
    VEL,
    W_INBOARD,
    W_NODE,
    WORK,
)
from .nodes import rates
from .scalar import kernel
from .so3 import turn_rates
from .vec import (
    add,
    axpy,
    cross,
    load3,
    load4,
    load9,
    matmul,
    mul,
    mul_abt,
    mul_t,
    neg,
    scale,
    store3,
    store9,
    sub,
    zero,
)


@kernel
def start_world(topo, const, work):
    """Start the sweep at the world: at rest, accelerated against gravity, at its own origin."""
    b = topo[WORK]
    zero(work, b + OMEGA, 3)
    zero(work, b + VEL, 6)
    zero(work, b + ACC, 3)
    store3(work, b + ACC + 3, neg(load3(const, GRAVITY)))
    zero(work, b + PLACE, 12)
    work[b + PLACE] = 1.0
    work[b + PLACE + 4] = 1.0
    work[b + PLACE + 8] = 1.0


@kernel
def turn_and_bias(topo, const, work, q, v, k):
    """Angular velocity OMEGA and Coriolis acceleration BIAS of body k.

    BIAS is the acceleration of the joint's outboard frame with every vdot zero and the parent's
    body frame unaccelerated, in outboard axes; on a body with a deforming inboard node, I_BIAS
    adds what lies between that node and the body frame, in body axes.  Jain & Rodriguez, Eq. (88);
    in a ruthless system only the velocities of the hinges enter.
    Cost: 36 multiplications for a one-axis joint on a rigid parent.
    """
    p = topo[k + PARENT]
    b = topo[k + WORK]
    w = load3(work, topo[p + WORK] + OMEGA)
    o = load3(work, b + ORIGIN)
    R = load9(work, b + ROT)

    # the joint's inboard frame, parent axes
    u = cross(w, o)
    if topo[k + ATTACHED] == DEFORMING:
        arm = load3(work, b + ARM)
        xd, dv, drift = rates(topo, const, q, v, p, topo[k + NODE])
        tb, tc, db, dc = load4(work, b + TURN + 3)
        dw, rate = turn_rates(load3(work, b + TURN), xd, tb, tc, db, dc)
        dwa = cross(dw, arm)
        acc_w = mul_t(R, add(rate, cross(w, dw)))
        acc_v = cross(w, axpy(2.0, add(dv, dwa), u))
        acc_v = mul_t(R, add(add(acc_v, drift), add(cross(rate, arm), cross(dw, dwa))))
        w = mul_t(R, add(w, dw))
    else:
        acc_w = (0.0, 0.0, 0.0)
        acc_v = mul_t(R, cross(w, u))
        w = mul_t(R, w)

    # the joint, outboard axes
    joint = topo[k + JOINT]
    if joint == REVOLUTE:
        w_rel = along(topo[k + AXIS], v[topo[k + V_JOINT]])
        acc_w = add(acc_w, cross(w, w_rel))
        w = add(w, w_rel)
    elif joint == PRISMATIC:
        v_rel = along(topo[k + AXIS] - 3, v[topo[k + V_JOINT]])
        acc_v = add(acc_v, scale(2.0, cross(w, v_rel)))
    elif joint == GENERAL:
        w_rel, v_rel = general_joint_velocity(topo, work, v, k)
        bias_w, bias_v = general_joint_bias(topo, work, v, k)
        acc_w = add(acc_w, add(bias_w, cross(w, w_rel)))
        w2 = add(add(w, w), w_rel)
        acc_v = add(acc_v, add(bias_v, cross(w2, v_rel)))
        w = add(w, w_rel)
    store3(work, b + BIAS, acc_w)
    store3(work, b + BIAS + 3, acc_v)

    if topo[k + INBOARD] != 0:
        i = topo[k + W_INBOARD]
        xd, dv, drift = rates(topo, const, q, v, k, topo[k + INBOARD])
        l = load3(work, i + I_POS)
        tb, tc, db, dc = load4(work, i + I_TURN + 3)
        dw, rate = turn_rates(load3(work, i + I_TURN), xd, tb, tc, db, dc)
        w = sub(mul(load9(work, i + I_ROT), w), dw)
        acc_w = neg(add(rate, cross(w, dw)))
        acc_v = add(cross(w, add(cross(w, l), scale(2.0, dv))), drift)
        acc_v = neg(add(acc_v, cross(acc_w, l)))
        store3(work, i + I_BIAS, acc_w)
        store3(work, i + I_BIAS + 3, acc_v)
    store3(work, b + OMEGA, w)


@kernel
def carry(topo, work, k, x, i, m, w, v):
    """Carry a velocity or acceleration [w; v] from the parent's body frame to the joint of body k.

    The linear map phi^T of the recursion: rotation, lever arm, and the parent's modal rates (or
    accelerations) x[i:i+m] through the node map.  Parent axes in, outboard axes out.
    """
    b = topo[k + WORK]
    R = load9(work, b + ROT)
    v = add(v, cross(w, load3(work, b + ORIGIN)))
    if topo[k + ATTACHED] != RIGIDLY:
        n = topo[k + W_NODE]
        for r in range(m):
            w = axpy(x[i + r], load3(work, n + 6 * r), w)
            v = axpy(x[i + r], load3(work, n + 6 * r + 3), v)
    return mul_t(R, w), mul_t(R, v)


@kernel
def add_joint(topo, work, k, x, w, v):
    """[w; v] + H^T x_k, outboard axes, x laid out as the system's v."""
    i = topo[k + V_JOINT]
    for r in range(topo[k + DOFS]):
        w, v = along_joint(topo, work, k, r, x[i + r], w, v)
    return w, v


@kernel
def to_body_frame(topo, work, k, x, w, v):
    """Carry [w; v] from the joint's outboard frame to the body frame: X [w; v] - Pi x_k."""
    if topo[k + INBOARD] != 0:
        i = topo[k + W_INBOARD]
        E = load9(work, i + I_ROT)
        w = mul(E, w)
        v = sub(mul(E, v), cross(w, load3(work, i + I_POS)))
        for r in range(topo[k + MODES]):
            s = -x[topo[k + V_MODES] + r]
            w = axpy(s, load3(work, i + I_SHAPES + 6 * r), w)
            v = axpy(s, load3(work, i + I_SHAPES + 6 * r + 3), v)
    return w, v


@kernel
def velocity(topo, work, v, k):
    """VEL of body k from that of its parent: V(k) = phi^T V(p) + H^T v (Jain & Rodriguez, (11))."""
    p = topo[k + PARENT]
    b = topo[p + WORK]
    w, u = load3(work, b + VEL), load3(work, b + VEL + 3)
    w, u = carry(topo, work, k, v, topo[p + V_MODES], topo[p + MODES], w, u)
    w, u = add_joint(topo, work, k, v, w, u)
    w, u = to_body_frame(topo, work, k, v, w, u)
    b = topo[k + WORK]
    store3(work, b + VEL, w)
    store3(work, b + VEL + 3, u)


@kernel
def acceleration(topo, work, vdot, k):
    """ACC of body k from that of its parent, BIAS included (Jain & Rodriguez, Eq. (24))."""
    p = topo[k + PARENT]
    b = topo[p + WORK]
    w, u = load3(work, b + ACC), load3(work, b + ACC + 3)
    w, u = carry(topo, work, k, vdot, topo[p + V_MODES], topo[p + MODES], w, u)
    b = topo[k + WORK]
    w = add(w, load3(work, b + BIAS))
    u = add(u, load3(work, b + BIAS + 3))
    w, u = add_joint(topo, work, k, vdot, w, u)
    w, u = to_body_frame(topo, work, k, vdot, w, u)
    if topo[k + INBOARD] != 0:
        i = topo[k + W_INBOARD] + I_BIAS
        w = add(w, load3(work, i))
        u = add(u, load3(work, i + 3))
    store3(work, b + ACC, w)
    store3(work, b + ACC + 3, u)


@kernel
def world_place(topo, work, k):
    """PLACE of body k: its body axes and origin in the world."""
    a = topo[topo[k + PARENT] + WORK] + PLACE
    b = topo[k + WORK]
    R = load9(work, a)
    p = add(load3(work, a + 9), mul(R, load3(work, b + ORIGIN)))
    R = matmul(R, load9(work, b + ROT))
    if topo[k + INBOARD] != 0:
        i = topo[k + W_INBOARD]
        R = mul_abt(R, load9(work, i + I_ROT))
        p = sub(p, mul(R, load3(work, i + I_POS)))
    store9(work, b + PLACE, R)
    store3(work, b + PLACE + 9, p)
