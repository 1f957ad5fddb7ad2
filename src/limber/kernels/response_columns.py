"""Responses of a tree to many generalized forces, M^{-1} times the columns of a matrix, by the factors of `articulated`.

The sweeps are those of `responses`, with WIDE_LANES columns at a time.  All vectors refer to one point and to world axes, so that
nothing is transformed on the way from body to body:

    inward    modes  eps_r = tau_r - S_r.F - L_sr eps_s (s < r),   F += K_r eps_r,   nu = eps / D
              joint  eps = tau - S.F,   F += K eps,   nu = eps / D,   F(parent) += F
    outward   joint  vdot = nu - K.a,   a += S vdot;       modes  eta_dd_r = nu_r - K_r.a - L_rs eta_dd_s (s > r)

S_r.F of a mode is the sum over the children of its body, each with its own S_r and F.  A lane is the innermost loop, so that
it is computed in vector registers.

Given     the factors that `articulated.forward_dynamics` left in work; slopes of inverse dynamics in `out`
Computes  slopes of forward dynamics
Sweep     tip to base, base to tip, for each block of columns
Cost      24 multiplications for a joint speed and 24 + m for each of m modes, for each column
"""

from .flexible_motion import to_origin
from .joints import turned_joint
from .layout import (
    A_B,
    ATTACHED,
    COLUMNS,
    D_PIVOTS,
    DOFS,
    END,
    I_POS,
    I_ROT,
    I_SHAPES,
    INBOARD,
    J_H,
    J_K,
    JOINT_WORK,
    MODAL,
    MODES,
    MOVED_BY,
    NV,
    ORIGIN,
    PARENT,
    PLACE,
    RIGIDLY,
    TWIST,
    V_JOINT,
    V_MODES,
    W_DF,
    W_INBOARD,
    W_JOINT,
    W_MU,
    W_NODE,
    W_PIVOTS,
    WIDE_COLUMNS,
    WIDE_LANES,
    WORK,
    WORK_SIZE,
)
from .motion import world_place
from .scalar import kernel
from .slope_records import load_motion, speed_record, store_motion
from .vec import add, cross, load3, load6, load9, matmul, mul, neg, sub, zero

# lanes of a body: on the way inward the force that it exerts on what is inboard, on the way outward its acceleration
BODY_LANES = 6 * WIDE_LANES


@kernel
def factors(topo):
    """Where the factors begin in the scratch: those of `work` at the places that they have there, at the origin."""
    return speed_record(topo, topo[NV]) + TWIST // 6 * topo[WORK_SIZE]


@kernel
def lanes_of_body(topo, k):
    """Where the lanes of body k begin."""
    return factors(topo) + topo[WORK_SIZE] + k // COLUMNS * BODY_LANES


@kernel
def lanes_of_speed(topo, i):
    """Where the lanes of speed i begin."""
    return lanes_of_body(topo, topo[END]) + i * WIDE_LANES


@kernel
def force_to_origin(R, x, n, f):
    """A wrench [n; f] at x, in axes R, at the origin and in world axes."""
    n, f = mul(R, n), mul(R, f)
    return add(n, cross(x, f)), f


@kernel
def keep_factors(topo, work, room):
    """Copy the factors that a sweep of `articulated` left in work to the scratch, at the origin and in world axes."""
    to = factors(topo)
    for k in range(COLUMNS, topo[END], COLUMNS):
        world_place(topo, work, k)
        at = topo[k + WORK] + PLACE
        R = load9(work, at)
        start = load3(work, topo[COLUMNS + WORK] + PLACE + 9)
        x = sub(load3(work, at + 9), start)
        m = topo[k + MODES]
        if topo[k + INBOARD] != 0:
            i = topo[k + W_INBOARD]
            for r in range(m):
                shape = i + I_SHAPES + 6 * r
                w, u = load_motion(work, shape)
                w, u = to_origin(R, x, w, u)
                store_motion(room, to + shape, neg(w), neg(u))
            # the other factors refer to the inboard node
            x = add(x, mul(R, load3(work, i + I_POS)))
            R = matmul(R, load9(work, i + I_ROT))
        if m > 0:
            mu = topo[topo[k + MODAL] + W_MU]
            df = topo[topo[k + MODAL] + W_DF]
            for r in range(m):
                n, f = load_motion(work, mu + 6 * r)
                n, f = force_to_origin(R, x, n, f)
                store_motion(room, to + mu + 6 * r, n, f)
            for r in range(m * m):
                room[to + df + r] = work[df + r]
        for r in range(topo[k + DOFS]):
            i = topo[k + W_JOINT] + r * JOINT_WORK
            w, u = turned_joint(topo, work, k, r, R)
            store_motion(room, to + i + J_H, w, add(u, cross(x, w)))
            n, f = load_motion(work, i + J_K)
            n, f = force_to_origin(R, x, n, f)
            store_motion(room, to + i + J_K, n, f)
            i = topo[k + W_PIVOTS] + D_PIVOTS + r
            room[to + i] = work[i]
        if topo[k + ATTACHED] != RIGIDLY:
            at = topo[topo[k + PARENT] + WORK] + PLACE
            R = load9(work, at)
            x = add(load3(work, at + 9), mul(R, load3(work, topo[k + WORK] + ORIGIN)))
            x = sub(x, start)
            for r in range(topo[k + MOVED_BY]):
                column = topo[k + W_NODE] + 6 * r
                w, u = load_motion(work, column)
                w, u = to_origin(R, x, w, u)
                store_motion(room, to + column, w, u)


@kernel
def product(room, s, f, w):
    """The scalar product of the vector s with lane w of the vector in the lanes f."""
    return (
        s[0] * room[f + w]
        + s[1] * room[f + WIDE_LANES + w]
        + s[2] * room[f + 2 * WIDE_LANES + w]
        + s[3] * room[f + 3 * WIDE_LANES + w]
        + s[4] * room[f + 4 * WIDE_LANES + w]
        + s[5] * room[f + 5 * WIDE_LANES + w]
    )


@kernel
def subtract_product(room, to, at, f):
    """Subtract the scalar product of the vector at room[at:] with that in the lanes f from the lane `to`."""
    s = load6(room, at)
    for w in range(WIDE_LANES):
        room[to + w] -= product(room, s, f, w)


@kernel
def add_along(room, f, at, x):
    """Add the vector at room[at:] times the lane x to the vector in the lanes f."""
    s = load6(room, at)
    for w in range(WIDE_LANES):
        y = room[x + w]
        room[f + w] += s[0] * y
        room[f + WIDE_LANES + w] += s[1] * y
        room[f + 2 * WIDE_LANES + w] += s[2] * y
        room[f + 3 * WIDE_LANES + w] += s[3] * y
        room[f + 4 * WIDE_LANES + w] += s[4] * y
        room[f + 5 * WIDE_LANES + w] += s[5] * y


@kernel
def add_lane(room, to, s, x):
    """Add s times the lane x to the lane `to`."""
    for w in range(WIDE_LANES):
        room[to + w] += s * room[x + w]


@kernel
def scale_lane(room, x, s):
    """Scale the lane x."""
    for w in range(WIDE_LANES):
        room[x + w] *= s


@kernel
def combine_modes(topo, const, room, k, transposed):
    """Take the lanes of the modes of body k to its aligned coordinates, tau <- B^T tau if `transposed`, or back, by B.

    Needs m spare lanes behind those of the speeds.
    """
    m = topo[k + MODES]
    B = topo[topo[k + MODAL] + A_B]
    x = lanes_of_speed(topo, topo[k + V_MODES])
    y = lanes_of_speed(topo, topo[NV])
    zero(room, y, m * WIDE_LANES)
    for r in range(m):
        for s in range(m):
            b = const[B + s * m + r] if transposed else const[B + r * m + s]
            add_lane(room, y + r * WIDE_LANES, b, x + s * WIDE_LANES)
    for i in range(m * WIDE_LANES):
        room[x + i] = room[y + i]


@kernel
def sweep_inward(topo, room):
    """Innovations of all speeds in the place of their forces."""
    to = factors(topo)
    for k in range(topo[END] - COLUMNS, 0, -COLUMNS):
        f = lanes_of_body(topo, k)
        m = topo[k + MODES]
        if m > 0:
            i = lanes_of_speed(topo, topo[k + V_MODES])
            mu = to + topo[topo[k + MODAL] + W_MU]
            df = to + topo[topo[k + MODAL] + W_DF]
            if topo[k + INBOARD] != 0:
                for r in range(m):
                    at = to + topo[k + W_INBOARD] + I_SHAPES + 6 * r
                    subtract_product(room, i + r * WIDE_LANES, at, f)
            for r in range(m):
                for s in range(r):
                    add_lane(room, i + r * WIDE_LANES, -room[df + s * m + r], i + s * WIDE_LANES)
                add_along(room, f, mu + 6 * r, i + r * WIDE_LANES)
            for r in range(m):
                scale_lane(room, i + r * WIDE_LANES, room[df + r * m + r])
        for r in range(topo[k + DOFS]):
            e = lanes_of_speed(topo, topo[k + V_JOINT] + r)
            j = to + topo[k + W_JOINT] + r * JOINT_WORK
            subtract_product(room, e, j + J_H, f)
            add_along(room, f, j + J_K, e)
            scale_lane(room, e, room[to + topo[k + W_PIVOTS] + D_PIVOTS + r])
        p = topo[k + PARENT]
        if p != 0:
            g = lanes_of_body(topo, p)
            for w in range(6 * WIDE_LANES):
                room[g + w] += room[f + w]
            if topo[k + ATTACHED] != RIGIDLY:
                i = lanes_of_speed(topo, topo[p + V_MODES])
                for r in range(topo[k + MOVED_BY]):
                    subtract_product(room, i + r * WIDE_LANES, to + topo[k + W_NODE] + 6 * r, f)


@kernel
def sweep_outward(topo, room):
    """Accelerations of all speeds in the place of their innovations."""
    to = factors(topo)
    for k in range(COLUMNS, topo[END], COLUMNS):
        p = topo[k + PARENT]
        a = lanes_of_body(topo, k)
        b = lanes_of_body(topo, p)
        for w in range(6 * WIDE_LANES):
            room[a + w] = room[b + w]
        if topo[k + ATTACHED] != RIGIDLY:
            i = lanes_of_speed(topo, topo[p + V_MODES])
            for r in range(topo[k + MOVED_BY]):
                add_along(room, a, to + topo[k + W_NODE] + 6 * r, i + r * WIDE_LANES)
        for r in range(topo[k + DOFS] - 1, -1, -1):
            e = lanes_of_speed(topo, topo[k + V_JOINT] + r)
            j = to + topo[k + W_JOINT] + r * JOINT_WORK
            subtract_product(room, e, j + J_K, a)
            add_along(room, a, j + J_H, e)
        m = topo[k + MODES]
        if m > 0:
            i = lanes_of_speed(topo, topo[k + V_MODES])
            mu = to + topo[topo[k + MODAL] + W_MU]
            df = to + topo[topo[k + MODAL] + W_DF]
            for r in range(m - 1, -1, -1):
                subtract_product(room, i + r * WIDE_LANES, mu + 6 * r, a)
                for s in range(r + 1, m):
                    add_lane(room, i + r * WIDE_LANES, -room[df + r * m + s], i + s * WIDE_LANES)
            if topo[k + INBOARD] != 0:
                for r in range(m):
                    add_along(
                        room, a, to + topo[k + W_INBOARD] + I_SHAPES + 6 * r, i + r * WIDE_LANES
                    )


@kernel
def aligned(topo, k):
    """Whether body k has modes that are eliminated in aligned coordinates."""
    return topo[k + MODES] > 0 and topo[topo[k + MODAL] + A_B] != 0


@kernel
def load_lanes(room, lane, out, at, n):
    """Set n lanes, WIDE_COLUMNS or fewer, to minus the numbers at out[at:]."""
    if n == WIDE_COLUMNS:  # a loop of known length is fast
        for w in range(WIDE_COLUMNS):
            room[lane + w] = -out[at + w]
    else:
        for w in range(n):
            room[lane + w] = -out[at + w]


@kernel
def store_lanes(room, lane, out, at, n):
    """Write n lanes, WIDE_COLUMNS or fewer, to out[at:]."""
    if n == WIDE_COLUMNS:
        for w in range(WIDE_COLUMNS):
            out[at + w] = room[lane + w]
    else:
        for w in range(n):
            out[at + w] = room[lane + w]


@kernel
def load_block(topo, const, room, j0, n, out):
    """The lanes of n columns from j0 on: -dtau along q and by v, and unit forces."""
    nv = topo[NV]
    zero(room, lanes_of_body(topo, 0), topo[END] // COLUMNS * BODY_LANES)
    zero(room, lanes_of_speed(topo, 0), nv * WIDE_LANES)
    for kind in range(2):
        for i in range(nv):
            lane = lanes_of_speed(topo, i) + kind * WIDE_COLUMNS
            load_lanes(room, lane, out, nv + (kind * nv + i) * nv + j0, n)
    for w in range(n):
        room[lanes_of_speed(topo, j0 + w) + 2 * WIDE_COLUMNS + w] = 1.0
    for k in range(COLUMNS, topo[END], COLUMNS):
        if aligned(topo, k):
            combine_modes(topo, const, room, k, True)


@kernel
def store_block(topo, const, room, j0, n, out):
    """Take the answers of n columns from j0 on from the lanes."""
    nv = topo[NV]
    for k in range(COLUMNS, topo[END], COLUMNS):
        if aligned(topo, k):
            combine_modes(topo, const, room, k, False)
    for kind in range(3):
        for i in range(nv):
            lane = lanes_of_speed(topo, i) + kind * WIDE_COLUMNS
            store_lanes(room, lane, out, nv + (kind * nv + i) * nv + j0, n)


@kernel
def respond_to_columns(topo, const, room, out):
    """Slopes of vdot along q, by v and by tau in the place of those of tau, in `out` from number NV on."""
    nv = topo[NV]
    for j0 in range(0, nv, WIDE_COLUMNS):
        n = min(WIDE_COLUMNS, nv - j0)
        load_block(topo, const, room, j0, n, out)
        sweep_inward(topo, room)
        sweep_outward(topo, room)
        store_block(topo, const, room, j0, n, out)
