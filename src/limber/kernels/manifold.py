"""Coordinates and speeds: q_dot = N(q) v, and steps on the configuration manifold."""

from . import ldlt
from .joints import screw_pose
from .layout import (
    COLUMNS,
    DOFS,
    END,
    FREE,
    G_DOFS,
    G_KIND,
    G_MAP,
    G_Q,
    G_SCREWS,
    G_V,
    GENERAL,
    GROUP,
    GROUPS,
    JOINT,
    MODES,
    Q_JOINT,
    Q_MODES,
    SCREW,
    SPHERICAL,
    V_JOINT,
    V_MODES,
    W_NORMAL,
    W_TWISTS,
)
from .scalar import kernel
from .so3 import (
    exp_pose,
    load_quaternion,
    normalized,
    quaternion_matrix,
    quaternion_product,
    quaternion_rate,
)
from .vec import add, cross, load3, matmul, mul, mul_t, store3


@kernel
def screw_twists(topo, const, work, q, g):
    """Write the twists of the screws of group g, outboard axes, to the work array: the columns of B.

    Column i is Ad(lambda_{i-1} ... lambda_1)^{-1} h_i (Kwatny & Blankenship, Proposition 2).
    """
    c = topo[g + G_SCREWS]
    h = topo[g + G_MAP]
    j = topo[g + G_Q]
    B = topo[g + W_TWISTS]
    R, p = screw_pose(const, c, q[j])
    store3(work, B, load3(const, h))
    store3(work, B + 3, load3(const, h + 3))
    for i in range(1, topo[g + G_DOFS]):
        hw = load3(const, h + 6 * i)
        hv = add(load3(const, h + 6 * i + 3), cross(hw, p))
        store3(work, B + 6 * i, mul_t(R, hw))
        store3(work, B + 6 * i + 3, mul_t(R, hv))
        Ri, pi = screw_pose(const, c + i * SCREW, q[j + i])
        p = add(pi, mul(Ri, p))
        R = matmul(Ri, R)


@kernel
def screws_rate(topo, const, work, q, v, rate, g):
    """theta_dot of a group of several screws: B^T B theta_dot = B^T H beta.

    It is the least-squares left inverse of Kwatny & Blankenship, Proposition 2.
    """
    r = topo[g + G_DOFS]
    h = topo[g + G_MAP]
    j = topo[g + G_Q]
    B = topo[g + W_TWISTS]
    N = topo[g + W_NORMAL]
    screw_twists(topo, const, work, q, g)
    for i in range(r):
        right = 0.0
        for s in range(r):
            normal = 0.0
            mixed = 0.0
            for t in range(6):
                normal += work[B + 6 * i + t] * work[B + 6 * s + t]
                mixed += work[B + 6 * i + t] * const[h + 6 * s + t]
            work[N + i * r + s] = normal
            right += mixed * v[topo[g + G_V] + s]
        rate[j + i] = right
    ldlt.factorize(work, N, r)
    ldlt.solve(work, N, r, rate, j)


@kernel
def group_rate(topo, const, work, q, v, rate, g):
    """theta_dot of group g of a general joint."""
    j = topo[g + G_Q]
    b = topo[g + G_V]
    if topo[g + G_KIND] == SPHERICAL or topo[g + G_KIND] == FREE:
        e = load_quaternion(q, j)
        x = quaternion_rate(e, load3(v, b))
        rate[j] = x[0]
        store3(rate, j + 1, (x[1], x[2], x[3]))
        if topo[g + G_KIND] == FREE:
            store3(rate, j + 4, mul(quaternion_matrix(e[0], e[1], e[2], e[3]), load3(v, b + 3)))
    elif topo[g + G_DOFS] == 1:
        rate[j] = v[b]
    else:
        screws_rate(topo, const, work, q, v, rate, g)


@kernel
def joint_rate(topo, const, work, q, v, rate, k):
    """theta_dot of the joint of body k."""
    if topo[k + JOINT] == GENERAL:
        for g in range(topo[k + GROUP], topo[k + GROUP] + topo[k + GROUPS] * COLUMNS, COLUMNS):
            group_rate(topo, const, work, q, v, rate, g)
    elif topo[k + DOFS] == 1:
        rate[topo[k + Q_JOINT]] = v[topo[k + V_JOINT]]


@kernel
def coordinate_rates(topo, const, work, q, v, rate):
    """q_dot of the system.  It is a copy of v except for quaternions and groups of several screws."""
    for k in range(COLUMNS, topo[END], COLUMNS):
        for r in range(topo[k + MODES]):
            rate[topo[k + Q_MODES] + r] = v[topo[k + V_MODES] + r]
        joint_rate(topo, const, work, q, v, rate, k)


@kernel
def group_step(topo, const, work, q, v, dt, out, g):
    """The coordinates of group g of a general joint after dt; see `integrate`."""
    j = topo[g + G_Q]
    b = topo[g + G_V]
    kind = topo[g + G_KIND]
    if kind == SPHERICAL or kind == FREE:
        w = (dt * v[b], dt * v[b + 1], dt * v[b + 2])
        u = (0.0, 0.0, 0.0)
        if kind == FREE:
            u = (dt * v[b + 3], dt * v[b + 4], dt * v[b + 5])
        step, move = exp_pose(w, u)
        e = load_quaternion(q, j)
        x = normalized(quaternion_product(e, step))
        out[j] = x[0]
        store3(out, j + 1, (x[1], x[2], x[3]))
        if kind == FREE:
            R = quaternion_matrix(e[0], e[1], e[2], e[3])
            store3(out, j + 4, add(load3(q, j + 4), mul(R, move)))
    elif topo[g + G_DOFS] == 1:
        out[j] = q[j] + dt * v[b]
    else:
        screws_rate(topo, const, work, q, v, out, g)
        for i in range(j, j + topo[g + G_DOFS]):
            out[i] = q[i] + dt * out[i]


@kernel
def integrate(topo, const, work, q, v, dt, out):
    """q after moving with the constant speeds v for the time dt.

    Exact on quaternions (the exponential of SO(3) and SE(3), renormalized) and wherever
    theta_dot = beta; a group of several screws makes the step theta + Gamma beta dt.
    """
    for k in range(COLUMNS, topo[END], COLUMNS):
        for r in range(topo[k + MODES]):
            i = topo[k + Q_MODES] + r
            out[i] = q[i] + dt * v[topo[k + V_MODES] + r]
        if topo[k + JOINT] == GENERAL:
            for g in range(topo[k + GROUP], topo[k + GROUP] + topo[k + GROUPS] * COLUMNS, COLUMNS):
                group_step(topo, const, work, q, v, dt, out, g)
        elif topo[k + DOFS] == 1:
            i = topo[k + Q_JOINT]
            out[i] = q[i] + dt * v[topo[k + V_JOINT]]
