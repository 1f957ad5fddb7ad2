"""Where a body sits on its parent: the fixed transform, the bent node, the joint, the inboard node.

Given     q
Computes  per body ROT, ORIGIN, the joint map of a general joint, the node map (W_NODE) by which
          the parent's modal rates move the joint's inboard frame, and the inboard map (W_INBOARD)
Sweep     any order: each body needs only q
Cost      12 multiplications for a one-axis joint on a rigid parent; 21 m + 90 more on a deforming
          node of a parent with m modes
"""

from .joints import axis_column, general_joint_pose
from .layout import (
    ARM,
    ATTACHED,
    AXIS,
    C_ARM,
    C_OFFSET,
    C_ROT,
    CONST,
    DEFORMING,
    GENERAL,
    I_POS,
    I_ROT,
    I_SHAPES,
    I_TURN,
    INBOARD,
    JOINT,
    MODES,
    NODE,
    ORIGIN,
    PARENT,
    PRISMATIC,
    Q_JOINT,
    REVOLUTE,
    RIGIDLY,
    ROT,
    TURN,
    W_INBOARD,
    W_NODE,
    WORK,
)
from .nodes import deformed, shape, shape_at
from .scalar import cos, kernel, sin
from .so3 import bend, matrix
from .vec import add, axpy, cross, load3, load9, matmul, mul, store3, store4, store9, sub


@kernel
def turned(R, axis, angle):
    """R times the rotation by `angle` about coordinate axis `axis`."""
    s = sin(angle)
    c = cos(angle)
    a0, a1, a2, b0, b1, b2, c0, c1, c2 = R
    if axis == 0:
        return (
            (a0, c * a1 + s * a2, c * a2 - s * a1)
            + (b0, c * b1 + s * b2, c * b2 - s * b1)
            + (c0, c * c1 + s * c2, c * c2 - s * c1)
        )
    elif axis == 1:
        return (
            (c * a0 - s * a2, a1, c * a2 + s * a0)
            + (c * b0 - s * b2, b1, c * b2 + s * b0)
            + (c * c0 - s * c2, c1, c * c2 + s * c0)
        )
    else:
        return (
            (c * a0 + s * a1, c * a1 - s * a0, a2)
            + (c * b0 + s * b1, c * b1 - s * b0, b2)
            + (c * c0 + s * c1, c * c1 - s * c0, c2)
        )


@kernel
def store_column(work, i, r, turn, shift, arm):
    """Column r of a node map: what a node turned by `turn` and moved by `shift` does at `arm` from it."""
    store3(work, i + 6 * r, turn)
    store3(work, i + 6 * r + 3, add(shift, cross(turn, arm)))


@kernel
def store_node_map(const, node, columns, work, i, arm):
    """Constant node map: column r is [lambda_r; gamma_r + lambda_r x arm]."""
    for r in range(columns):
        turn, shift = shape(const, node, r)
        store_column(work, i, r, turn, shift, arm)


@kernel
def store_bent_node_map(topo, const, node, columns, work, q, k, T, arm):
    """Node map of body k at finite deflection: column r is [T lambda_r; gamma_r + (T lambda_r) x arm]."""
    p = topo[k + PARENT]
    i = topo[k + W_NODE]
    for r in range(columns):
        turn, shift = shape_at(topo, const, q, p, node, r)
        store_column(work, i, r, mul(T, turn), shift, arm)


@kernel
def place(topo, const, work, q, k):
    """Place body k on its parent; see the head of this file."""
    place_by(topo, const, work, q, k, topo[k + NODE], topo[topo[k + PARENT] + MODES])


@kernel
def place_by(topo, const, work, q, k, node, columns):
    """`place`, with a node map of so many `columns` that is computed from the node record `node`.

    The record has the shapes in the parent's modal coordinates, or in its aligned ones.
    """
    p = topo[k + PARENT]
    c = topo[k + CONST]
    b = topo[k + WORK]
    joint = topo[k + JOINT]
    attached = topo[k + ATTACHED]

    R = load9(const, c + C_ROT)
    arm = load3(const, c + C_ARM)
    o = load3(const, c + C_OFFSET)
    if attached == DEFORMING:
        x, l = deformed(topo, const, q, p, topo[k + NODE])
        E, tb, tc, db, dc = bend(x)
        R = matmul(E, R)
        arm = mul(E, arm)
        o = add(l, arm)
        store3(work, b + TURN, x)
        store4(work, b + TURN + 3, (tb, tc, db, dc))

    # the joint's displacement, in parent axes
    if joint == PRISMATIC:
        d = q[topo[k + Q_JOINT]]
        step = axis_column(R, topo[k + AXIS] - 3)
        o = axpy(d, step, o)
        arm = axpy(d, step, arm)
    elif joint == GENERAL:
        Rj, pj = general_joint_pose(topo, const, work, q, k)
        step = mul(R, pj)
        o = add(o, step)
        arm = add(arm, step)
        R = matmul(R, Rj)
    elif joint == REVOLUTE:
        R = turned(R, topo[k + AXIS], q[topo[k + Q_JOINT]])
    store9(work, b + ROT, R)
    store3(work, b + ORIGIN, o)

    if attached != RIGIDLY:
        store3(work, b + ARM, arm)
    if attached == DEFORMING:
        T = matrix(work[b + TURN + 3], work[b + TURN + 4], load3(work, b + TURN))
        store_bent_node_map(topo, const, node, columns, work, q, k, T, arm)
    elif attached != RIGIDLY:
        store_node_map(const, node, columns, work, topo[k + W_NODE], arm)

    if topo[k + INBOARD] != 0:
        place_inboard_node(topo, const, work, q, k)


@kernel
def place_inboard_node(topo, const, work, q, k):
    """Map from the deforming inboard node (the joint's outboard frame O) to the body frame F.

    w_F = E_d w_O - dw,  v_F = E_d v_O - w_F x l_d - dv; so V_F = X V_O - Pi eta_dot with column r
    of Pi = [T lambda_r; gamma_r - (T lambda_r) x l_d] (Jain & Rodriguez, Eqs. (9), (13)).
    """
    d = topo[k + INBOARD]
    i = topo[k + W_INBOARD]
    m = topo[k + MODES]
    x, l = deformed(topo, const, q, k, d)
    E, tb, tc, db, dc = bend(x)
    store9(work, i + I_ROT, E)
    store3(work, i + I_TURN, x)
    store4(work, i + I_TURN + 3, (tb, tc, db, dc))
    store3(work, i + I_POS, l)
    T = matrix(tb, tc, x)
    for r in range(m):
        turn, shift = shape_at(topo, const, q, k, d, r)
        turn = mul(T, turn)
        store3(work, i + I_SHAPES + 6 * r, turn)
        store3(work, i + I_SHAPES + 6 * r + 3, sub(shift, cross(turn, l)))
