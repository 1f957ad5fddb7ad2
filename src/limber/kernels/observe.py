"""Pose and Jacobian of a node.

Sweep     along the path from the base to the body
Cost      per body on the path: its placement, and 18 multiplications per freedom for the Jacobian
"""

from .layout import (
    ATTACHED,
    AXIS,
    DOFS,
    GENERAL,
    I_POS,
    I_ROT,
    I_SHAPES,
    INBOARD,
    J_H,
    JOINT,
    JOINT_WORK,
    MODES,
    NODE_POSITION,
    NODE_SHAPES,
    NV,
    ORIGIN,
    PARENT,
    Q_MODES,
    RIGIDLY,
    ROT,
    V_JOINT,
    V_MODES,
    W_INBOARD,
    W_JOINT,
    W_NODE,
    WORK,
)
from .placement import axis_column, node_deflection, place
from .scalar import kernel
from .so3 import exp_rotation, left_jacobian
from .vec import add, cross, load3, load9, matmul, mul, mul_abt, store3, store9, sub, transpose


@kernel
def body_pose(topo, const, work, q, body):
    """(R, p) of the body frame of `body` in the world.  Leaves every body on the path placed."""
    R = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    l = (0.0, 0.0, 0.0)
    k = body
    while k != 0:
        place(topo, const, work, q, k)
        b = topo[k + WORK]
        if topo[k + INBOARD] != 0:
            i = topo[k + W_INBOARD]
            E = transpose(load9(work, i + I_ROT))
            R = matmul(E, R)
            l = mul(E, sub(l, load3(work, i + I_POS)))
        turn = load9(work, b + ROT)
        R = matmul(turn, R)
        l = add(load3(work, b + ORIGIN), mul(turn, l))
        k = topo[k + PARENT]
    return R, l


@kernel
def pose(topo, const, work, q, body, node, out):
    """out = R (9, by rows) and position (3) of a node record on `body`, in the world."""
    R, p = body_pose(topo, const, work, q, body)
    x, shift = node_deflection(const, node, topo[body + MODES], q, topo[body + Q_MODES])
    l = add(load3(const, node + NODE_POSITION), shift)
    store9(out, 0, matmul(R, exp_rotation(x)))
    store3(out, 9, add(p, mul(R, l)))


@kernel
def store_column(out, size, c, w, u):
    """Column c of the 6 x size matrix in `out`."""
    for i in range(3):
        out[i * size + c] = w[i]
        out[(3 + i) * size + c] = u[i]


@kernel
def jacobian(topo, const, work, q, body, node, out):
    """out (6, nv) row-major: velocity [angular; linear] of the node per unit v, world axes.

    Each freedom moves everything outboard of it as a rigid body: a column is the freedom's twist,
    turned to world axes and taken to the node.
    """
    size = topo[NV]
    m = topo[body + MODES]
    e = topo[body + V_MODES]
    x, shift = node_deflection(const, node, m, q, topo[body + Q_MODES])
    R, _ = body_pose(topo, const, work, q, body)
    l = mul(R, add(load3(const, node + NODE_POSITION), shift))
    T = left_jacobian(x)
    for i in range(6 * size):
        out[i] = 0.0
    for r in range(m):
        s = node + NODE_SHAPES + 6 * r
        store_column(out, size, e + r, mul(R, mul(T, load3(const, s))), mul(R, load3(const, s + 3)))

    # R: axes of the frame at hand in the world; l: from it to the node, world axes
    k = body
    while k != 0:
        b = topo[k + WORK]
        p = topo[k + PARENT]
        m = topo[k + MODES]
        if topo[k + INBOARD] != 0:
            i = topo[k + W_INBOARD]
            e = topo[k + V_MODES]
            for r in range(m):
                w = mul(R, load3(work, i + I_SHAPES + 6 * r))
                u = add(mul(R, load3(work, i + I_SHAPES + 6 * r + 3)), cross(w, l))
                for t in range(3):
                    out[t * size + e + r] -= w[t]
                    out[(3 + t) * size + e + r] -= u[t]
            l = sub(l, mul(R, load3(work, i + I_POS)))
            R = matmul(R, load9(work, i + I_ROT))
        c = topo[k + V_JOINT]
        if topo[k + JOINT] == GENERAL:
            h = topo[k + W_JOINT] + J_H
            for r in range(topo[k + DOFS]):
                w = mul(R, load3(work, h + r * JOINT_WORK))
                u = add(mul(R, load3(work, h + r * JOINT_WORK + 3)), cross(w, l))
                store_column(out, size, c + r, w, u)
        elif topo[k + DOFS] == 1:
            axis = topo[k + AXIS]
            if axis < 3:
                w = axis_column(R, axis)
                store_column(out, size, c, w, cross(w, l))
            else:
                store_column(out, size, c, (0.0, 0.0, 0.0), axis_column(R, axis - 3))
        R = mul_abt(R, load9(work, b + ROT))
        if topo[k + ATTACHED] != RIGIDLY:
            e = topo[p + V_MODES]
            i = topo[k + W_NODE]
            for r in range(topo[p + MODES]):
                w = mul(R, load3(work, i + 6 * r))
                u = add(mul(R, load3(work, i + 6 * r + 3)), cross(w, l))
                store_column(out, size, e + r, w, u)
        l = add(l, mul(R, load3(work, b + ORIGIN)))
        k = p
