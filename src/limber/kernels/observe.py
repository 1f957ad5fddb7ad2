"""Pose, Jacobian and acceleration of a node.

Sweep     along the path from the base to the body
Cost      per body on the path: its placement, and 18 multiplications per degree of freedom for the Jacobian
"""

from .joints import turned_joint
from .layout import (
    ACC,
    ATTACHED,
    COLUMNS,
    DOFS,
    END,
    GRAVITY,
    I_POS,
    I_ROT,
    I_SHAPES,
    INBOARD,
    MODES,
    NV,
    OMEGA,
    ORIGIN,
    PARENT,
    PLACE,
    RIGIDLY,
    ROT,
    V_JOINT,
    V_MODES,
    W_INBOARD,
    W_NODE,
    WORK,
)
from .motion import acceleration, start_world, turn_and_bias, world_place
from .nodes import accelerations, deformed, rates, shape_at
from .placement import place
from .scalar import kernel
from .so3 import bend, exp_rotation, left_jacobian, matrix, turn_rates
from .vec import (
    add,
    axpy,
    cross,
    load3,
    load9,
    matmul,
    mul,
    mul_abt,
    store3,
    store9,
    sub,
    transpose,
)


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
    x, l = deformed(topo, const, q, body, node)
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

    Each degree of freedom moves everything outboard of it as a rigid body: a column is its twist,
    turned to world axes and taken to the node.
    """
    size = topo[NV]
    m = topo[body + MODES]
    e = topo[body + V_MODES]
    x, l = deformed(topo, const, q, body, node)
    R, _ = body_pose(topo, const, work, q, body)
    l = mul(R, l)
    T = left_jacobian(x)
    for i in range(6 * size):
        out[i] = 0.0
    for r in range(m):
        turn, shift = shape_at(topo, const, q, body, node, r)
        store_column(out, size, e + r, mul(R, mul(T, turn)), mul(R, shift))

    # R: axes of the current frame in the world; l: from its origin to the node, world axes
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
        for r in range(topo[k + DOFS]):
            w, u = turned_joint(topo, work, k, r, R)
            store_column(out, size, c + r, w, add(u, cross(w, l)))
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


@kernel
def node_acceleration(topo, const, work, q, v, vdot, body, node, out):
    """out = acceleration [angular; linear] of a node record on `body`, world axes: J vdot + (dJ/dt) v.

    With w the angular velocity of the body frame, l from it to the node, dw and dv the velocities of the node
    relative to it: wd + Tl x_dd + (d/dt Tl) x_d + w x dw and vd + wd x l + w x (w x l) + l_dd + 2 w x dv.
    Sweep     base to tip
    """
    start_world(topo, const, work)
    for k in range(COLUMNS, topo[END], COLUMNS):
        place(topo, const, work, q, k)
        turn_and_bias(topo, const, work, q, v, k)
        acceleration(topo, work, vdot, k)
        world_place(topo, work, k)
    b = topo[body + WORK]
    w, wd, vd = load3(work, b + OMEGA), load3(work, b + ACC), load3(work, b + ACC + 3)
    x, l = deformed(topo, const, q, body, node)
    xd, dv, _ = rates(topo, const, q, v, body, node)
    xdd, ldd = accelerations(topo, const, q, v, vdot, body, node)
    _, tb, tc, db, dc = bend(x)
    dw, rate = turn_rates(x, xd, tb, tc, db, dc)
    vd = add(vd, add(cross(wd, l), cross(w, axpy(2.0, dv, cross(w, l)))))
    wd = add(wd, add(add(mul(matrix(tb, tc, x), xdd), rate), cross(w, dw)))
    R = load9(work, b + PLACE)
    store3(out, 0, mul(R, wd))
    # the world is accelerated against gravity
    store3(out, 3, add(mul(R, add(vd, ldd)), load3(const, GRAVITY)))


@kernel
def motions(topo, const, work, q, v, vdot, out):
    """out = angular velocities, accelerations [angular; linear] less gravity, and axes of all body frames.

    The first two are in body axes, the last are rotation matrices to world axes.
    Sweep     base to tip
    """
    start_world(topo, const, work)
    count = topo[END] // COLUMNS - 1
    for k in range(COLUMNS, topo[END], COLUMNS):
        place(topo, const, work, q, k)
        turn_and_bias(topo, const, work, q, v, k)
        acceleration(topo, work, vdot, k)
        world_place(topo, work, k)
        b = topo[k + WORK]
        i = k // COLUMNS - 1
        store3(out, 3 * i, load3(work, b + OMEGA))
        store3(out, 3 * count + 6 * i, load3(work, b + ACC))
        store3(out, 3 * count + 6 * i + 3, load3(work, b + ACC + 3))
        for t in range(9):
            out[9 * count + 9 * i + t] = work[b + PLACE + t]
