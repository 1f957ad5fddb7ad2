"""Closures: where their ends are and how they move, and the rows of the constraints.

A closure joins frame O_a to frame O_b, each fixed in a (deforming) node, by a cut joint.  With V_rel the velocity of
O_b relative to O_a, at O_b in its axes, its rows are N^T V_rel = 0, where the columns of N are the complement of the
motions that the joint allows.  Row j pushes O_b with the wrench N_j lambda_j, and O_a with its reaction.

Joints are distinguished by the rotations that they allow (`layout`): LOCKED, AXIAL about one axis, BALL, and CROSSED,
which are two axes, one fixed in each end.  Only the first row of CROSSED is not constant in the axes of O_b.  RELATED
closures are linear relations of joint speeds.

Given     q, v; PLACE, OMEGA and VEL of the bodies
Computes  the wrenches of the rows at the fronts, U, UF, E of `fronts`, and the accelerations c that they have at
          zero vdot and zero acceleration of the bodies
Cost      about 300 multiplications for a closure and 60 for each of its rows
"""

from .cut_joint import (
    recover_coordinates,
    row_of,
    store_rows,
)
from .fronts import BLUR, add_wrench
from .joints import along, general_joint_velocity
from .layout import (
    A_B,
    ARM,
    ATTACHED,
    AXIS,
    CLOSURES,
    CLOSURES_END,
    COLUMNS,
    COMPOUND,
    CROSSED,
    DEFORMING,
    END,
    F_ROWS,
    FRONT,
    GENERAL,
    I_POS,
    I_ROT,
    INBOARD,
    JOINT,
    K_AT,
    K_AXIS,
    K_BODY,
    K_C,
    K_FACTOR,
    K_FRAME,
    K_HUB,
    K_KIND,
    K_LEFT,
    K_MAP,
    K_NODE,
    K_ROWS,
    K_TERM,
    K_TERMS,
    MODAL,
    MODES,
    NODE,
    OBSERVED,
    OMEGA,
    ORIGIN,
    PARENT,
    PLACE,
    PRISMATIC,
    RELATED,
    ROT,
    RUTHLESS,
    TURN,
    V_JOINT,
    VEL,
    W_E,
    W_INBOARD,
    W_N,
    W_UF,
    W_US,
    WORK,
)
from .motion import world_place
from .nodes import deformed, rates, shape, shape_at, undeformed
from .scalar import kernel
from .so3 import bend, matrix, turn_rates
from .vec import (
    add,
    axpy,
    cross,
    dot,
    load3,
    load4,
    load9,
    matmul,
    mul,
    mul_t,
    neg,
    store3,
    sub,
    transpose,
)


@kernel
def linear_velocity(topo, const, work, q, v, k):
    """Linear part of VEL of body k from that of its parent; OMEGA must be there.

    In a ruthless system it is the velocity of the hinges alone, as OMEGA is.
    """
    p = topo[k + PARENT]
    b = topo[k + WORK]
    w = load3(work, topo[p + WORK] + OMEGA)
    u = load3(work, topo[p + WORK] + VEL + 3)
    u = add(u, cross(w, load3(work, b + ORIGIN)))
    if topo[k + ATTACHED] == DEFORMING:
        xd, dv, _ = rates(topo, const, q, v, p, topo[k + NODE])
        tb, tc, db, dc = load4(work, b + TURN + 3)
        dw, _ = turn_rates(load3(work, b + TURN), xd, tb, tc, db, dc)
        u = add(u, add(dv, cross(dw, load3(work, b + ARM))))
    u = mul_t(load9(work, b + ROT), u)
    if topo[k + JOINT] == PRISMATIC:
        u = add(u, along(topo[k + AXIS] - 3, v[topo[k + V_JOINT]]))
    elif topo[k + JOINT] == GENERAL:
        _, v_rel = general_joint_velocity(topo, work, v, k)
        u = add(u, v_rel)
    if topo[k + INBOARD] != 0:
        i = topo[k + W_INBOARD]
        _, dv, _ = rates(topo, const, q, v, k, topo[k + INBOARD])
        u = mul(load9(work, i + I_ROT), u)
        u = sub(u, add(cross(load3(work, b + OMEGA), load3(work, i + I_POS)), dv))
    store3(work, b + VEL + 3, u)


@kernel
def observe(topo, const, work, q, v):
    """PLACE and the linear part of VEL of the bodies that the closures need."""
    for k in range(COLUMNS, topo[END], COLUMNS):
        if topo[k + OBSERVED] != 0:
            world_place(topo, work, k)
            linear_velocity(topo, const, work, q, v, k)


@kernel
def end_place(topo, const, work, q, c, side):
    """The frame of an end of closure c: R, o and arm in body axes, o from the body frame and arm from the node."""
    k = topo[c + K_BODY[side]]
    node = topo[c + K_NODE[side]]
    frame = topo[c + K_FRAME[side]]
    R = load9(const, frame)
    arm = load3(const, frame + 9)
    if topo[k + MODES] > 0 and topo[RUTHLESS] == 0:
        x, l = deformed(topo, const, q, k, node)
        E, _, _, _, _ = bend(x)
        R = matmul(E, R)
        arm = mul(E, arm)
    else:
        l = undeformed(const, node)
    return R, add(l, arm), arm


@kernel
def end_pose(topo, const, work, q, c, side):
    """The frame of an end of closure c in the world: R, p."""
    R, o, _ = end_place(topo, const, work, q, c, side)
    b = topo[topo[c + K_BODY[side]] + WORK] + PLACE
    turn = load9(work, b)
    return matmul(turn, R), add(load3(work, b + 9), mul(turn, o))


@kernel
def end_motion(topo, const, work, q, v, c, side):
    """How the frame of an end of closure c moves: w, u, and its acceleration at zero vdot on an unaccelerated body.

    World axes.  The terms are those of `motion.turn_and_bias`.
    """
    k = topo[c + K_BODY[side]]
    node = topo[c + K_NODE[side]]
    b = topo[k + WORK]
    _, o, arm = end_place(topo, const, work, q, c, side)
    w = load3(work, b + OMEGA)
    turned = cross(w, o)
    u = add(load3(work, b + VEL + 3), turned)
    if topo[k + MODES] > 0 and topo[RUTHLESS] == 0:
        x, _ = deformed(topo, const, q, k, node)
        xd, dv, drift = rates(topo, const, q, v, k, node)
        _, tb, tc, db, dc = bend(x)
        dw, rate = turn_rates(x, xd, tb, tc, db, dc)
        dwa = cross(dw, arm)
        acc_w = add(rate, cross(w, dw))
        acc_v = cross(w, axpy(2.0, add(dv, dwa), turned))
        acc_v = add(add(acc_v, drift), add(cross(rate, arm), cross(dw, dwa)))
        w = add(w, dw)
        u = add(u, add(dv, dwa))
    else:
        acc_w = (0.0, 0.0, 0.0)
        acc_v = cross(w, turned)
    R = load9(work, b + PLACE)
    return mul(R, w), mul(R, u), mul(R, acc_w), mul(R, acc_v)


@kernel
def crossed(topo, const, c, Ra, Rb):
    """The axes of a CROSSED closure in the world, the one of end a and the one of end b."""
    i = topo[c + K_AXIS]
    return mul(Ra, load3(const, i)), mul(Rb, load3(const, i + 3))


@kernel
def modal_wrench(topo, const, work, q, k, node, n, f):
    """The forces of the wrench [n; f] at a node on the modes of body k, in the coordinates of its elimination, in W_N."""
    m = topo[k + MODES]
    modal = topo[k + MODAL]
    forces = topo[modal + W_N]  # N is no longer needed
    B = topo[modal + A_B]
    own = 0 if B == 0 else 1  # the row of m numbers that the forces on its own modes go to
    if topo[RUTHLESS] == 0:
        x, _ = deformed(topo, const, q, k, node)
        _, tb, tc, _, _ = bend(x)
        n = mul_t(matrix(tb, tc, x), n)
    for r in range(m):
        if topo[RUTHLESS] == 0:
            turn, shift = shape_at(topo, const, q, k, node, r)
        else:
            turn, shift = shape(const, node, r)
        work[forces + own * m + r] = dot(turn, n) + dot(shift, f)
    if B != 0:
        for r in range(m):
            x = 0.0
            for s in range(m):
                x += const[B + s * m + r] * work[forces + own * m + s]
            work[forces + r] = x


@kernel
def push(topo, const, work, q, c, side, j, n, f, far):
    """Add the wrench [n; f] at the frame of an end, world axes, to row j of closure c: at the front of its body, or as
    what the row does to the motions of a hub; `far` is what `squared_distances` gives."""
    k = topo[c + K_BODY[side]]
    b = topo[k + WORK]
    m = topo[k + MODES]
    _, o, arm = end_place(topo, const, work, q, c, side)
    R = load9(work, b + PLACE)
    n = mul_t(R, n)
    f = mul_t(R, f)
    if m > 0:
        modal_wrench(topo, const, work, q, k, topo[c + K_NODE[side]], add(n, cross(arm, f)), f)
    n = add(n, cross(o, f))
    if topo[c + K_HUB[side]] != 0:
        at = topo[c + K_HUB[side]] + j * (6 + m)
        store3(work, at, n)
        store3(work, at + 3, f)
        for r in range(m):
            work[at + 6 + r] = work[topo[topo[k + MODAL] + W_N] + r]
    else:
        front = topo[k + FRONT]
        row = topo[c + K_AT[side]] + j
        for r in range(m):
            x = work[topo[topo[k + MODAL] + W_N] + r]
            at = r * topo[front + F_ROWS] + row
            work[topo[front + W_UF] + at] += x
            work[topo[front + W_US] + at] += x * x
        add_wrench(topo, work, front, row, n, f, BLUR * far * dot(f, f))


@kernel
def squared_distances(topo, work, c, side, p):
    """The square of what the place p of an end is the sum of: that of its body in the world, and from there to the end."""
    body = load3(work, topo[topo[c + K_BODY[side]] + WORK] + PLACE + 9)
    arm = sub(p, body)
    return dot(body, body) + dot(arm, arm)


@kernel
def add_row(topo, const, work, q, c, j, n, f, r, far):
    """Row j of closure c: the wrench [n; f] at O_b, world axes, on b, and its reaction on a; r is from O_a to O_b."""
    push(topo, const, work, q, c, 1, j, n, f, far)
    push(topo, const, work, q, c, 0, j, neg(add(n, cross(r, f))), neg(f), far)


@kernel
def row_at(topo, const, work, c, j):
    """Row j of a cut joint, axes of end b."""
    if topo[c + K_KIND] == COMPOUND:
        return row_of(topo, work, c, j)
    else:
        i = topo[c + K_MAP] + 6 * j
        return load3(const, i), load3(const, i + 3)


@kernel
def relative_pose(Ra, pa, Rb, pb):
    """The pose of O_b in O_a."""
    return matmul(transpose(Ra), Rb), mul_t(Ra, sub(pb, pa))


@kernel
def relative_velocity(r, wa, ua, wb, ub):
    """V_rel of O_b at the place r from O_a, world axes."""
    return sub(wb, wa), sub(sub(ub, ua), cross(wa, r))


@kernel
def relative_acceleration(r, w, u, wa, alpha_a, acc_a, alpha_b, acc_b):
    """The rate of V_rel = [w; u] in the axes of O_b, turned to the world, given the accelerations of the two frames."""
    alpha = sub(sub(alpha_b, alpha_a), cross(wa, w))
    acc = sub(sub(acc_b, acc_a), add(cross(alpha_a, r), cross(wa, cross(wa, r))))
    return alpha, sub(acc, cross(axpy(2.0, wa, w), u))


@kernel
def crossed_acceleration(a1, a2, n, w, alpha):
    """The acceleration of the first row of CROSSED, n = a1 x a2.

    w = b1 a1 + b2 a2, and in the axes of O_b the rate of a1 is -b2 a2 x a1.
    """
    s1, s2, cosine = dot(a1, w), dot(a2, w), dot(a1, a2)
    return dot(n, alpha) - (s1 - cosine * s2) * (s2 - cosine * s1) / dot(n, n)


@kernel
def add_spatial(topo, const, work, q, v, c):
    """The rows of a cut joint."""
    Ra, pa = end_pose(topo, const, work, q, c, 0)
    Rb, pb = end_pose(topo, const, work, q, c, 1)
    wa, ua, alpha_a, acc_a = end_motion(topo, const, work, q, v, c, 0)
    wb, ub, alpha_b, acc_b = end_motion(topo, const, work, q, v, c, 1)
    r = sub(pb, pa)
    # each part has the rounding of its own size, also where the ends are at the origin
    far = squared_distances(topo, work, c, 0, pa) + squared_distances(topo, work, c, 1, pb)
    w, u = relative_velocity(r, wa, ua, wb, ub)
    alpha, acc = relative_acceleration(r, w, u, wa, alpha_a, acc_a, alpha_b, acc_b)
    at = topo[c + K_C]
    first = 0
    if topo[c + K_KIND] == CROSSED:
        a1, a2 = crossed(topo, const, c, Ra, Rb)
        n = cross(a1, a2)
        work[at] += crossed_acceleration(a1, a2, n, w, alpha)
        add_row(topo, const, work, q, c, 0, n, (0.0, 0.0, 0.0), r, far)
        first = 1
    elif topo[c + K_KIND] == COMPOUND:
        R, p = relative_pose(Ra, pa, Rb, pb)
        e, cosine, left = recover_coordinates(topo, const, work, c, R, p)
        store3(work, topo[c + K_LEFT], e)
        store3(work, topo[c + K_LEFT] + 3, left)
        work[topo[c + K_LEFT] + 6] = cosine
        bias_w, bias_u = store_rows(topo, const, work, c, mul_t(Rb, w), mul_t(Rb, u))
        alpha = sub(alpha, mul(Rb, bias_w))
        acc = sub(acc, mul(Rb, bias_u))
    for j in range(first, topo[c + K_ROWS]):
        n, f = row_at(topo, const, work, c, j)
        n = mul(Rb, n)
        f = mul(Rb, f)
        work[at + j] += dot(n, alpha) + dot(f, acc)
        add_row(topo, const, work, q, c, j, n, f, r, far)


@kernel
def add_relation(topo, const, work, c):
    """The row of a relation: its coefficients at the joint speeds."""
    i = topo[c + K_TERM]
    for t in range(topo[c + K_TERMS]):
        front = topo[topo[i] + FRONT]
        at = topo[front + W_E] + topo[i + 1] * topo[front + F_ROWS] + topo[i + 2]
        work[at] += const[topo[c + K_FACTOR] + t]
        i += 3


@kernel
def add_rows(topo, const, work, q, v):
    """The rows of all closures; the fronts must be zero.  See the head of this file."""
    for c in range(topo[CLOSURES], topo[CLOSURES_END], COLUMNS):
        if topo[c + K_KIND] == RELATED:
            add_relation(topo, const, work, c)
        else:
            add_spatial(topo, const, work, q, v, c)
