"""The blocks of the spatial operators, body by body, dense.

For body k with m modes, r joint speeds, and a parent p with m_p modes, in body axes:

    Phi(p, k)  (m_p + 6, m + 6)  carries a modal spatial force of body k to its parent, rotations
               included: zero in its first m columns (Jain & Rodriguez, Eq. (12))
    H(k)       (m + r, m + 6)    [[I, -Pi^T], [0, H_F]] (13)
    M_m(k)     (m + 6, m + 6)    (23)
    a_m(k)     (m + 6)           Coriolis acceleration (88), with gravity at the bodies on the world
    b_m(k)     (m + 6)           gyroscopic force (93), with K eta + D eta_dot
    V_m(k)     (m + 6)           [eta_dot; V(k)] (11)

Given     q, v
Computes  `out`, at the offsets in `where`: six per body, in the order above
Sweep     base to tip
"""

from .forces import force_to_joint
from .joints import along, along_joint
from .layout import (
    ACC,
    ATTACHED,
    BIAS,
    COLUMNS,
    DOFS,
    END,
    I_BIAS,
    I_POS,
    I_ROT,
    I_SHAPES,
    INBOARD,
    MODAL,
    MODES,
    ORIGIN,
    PARENT,
    RIGIDLY,
    ROT,
    V_MODES,
    VEL,
    W_DF,
    W_INBOARD,
    W_MU,
    W_NODE,
    W_ZF,
    WORK,
    P,
    Z,
)
from .modal import mass_and_bias
from .motion import carry, start_world, turn_and_bias, velocity
from .placement import place
from .scalar import kernel
from .vec import add, cross, dot, load3, load9, mul, store3, sub, zero

BLOCKS = 6


@kernel
def unit6(j):
    """The unit spatial vector j as (angular, linear)."""
    if j < 3:
        return along(j, 1.0), (0.0, 0.0, 0.0)
    else:
        return (0.0, 0.0, 0.0), along(j - 3, 1.0)


@kernel
def to_frame(topo, work, k, w, v):
    """X [w; v]: carry a velocity from the joint's outboard frame to the body frame, with the modes at rest."""
    if topo[k + INBOARD] != 0:
        i = topo[k + W_INBOARD]
        E = load9(work, i + I_ROT)
        w = mul(E, w)
        v = sub(mul(E, v), cross(w, load3(work, i + I_POS)))
    return w, v


@kernel
def transfer_block(topo, work, k, out, i):
    """Phi(p, k) at out[i:], row-major."""
    p = topo[k + PARENT]
    b = topo[k + WORK]
    m = topo[k + MODES]
    mp = topo[p + MODES]
    width = m + 6
    zero(out, i, (mp + 6) * width)
    R = load9(work, b + ROT)
    o = load3(work, b + ORIGIN)
    for j in range(6):
        n, f = unit6(j)
        if topo[k + INBOARD] != 0:
            n, f = force_to_joint(topo, work, k, n, f)
        n = mul(R, n)
        f = mul(R, f)
        c = i + m + j
        if topo[k + ATTACHED] != RIGIDLY:
            node = topo[k + W_NODE]
            for r in range(mp):
                out[c + r * width] = dot(load3(work, node + 6 * r), n) + dot(
                    load3(work, node + 6 * r + 3), f
                )
        n = add(n, cross(o, f))
        for r in range(3):
            out[c + (mp + r) * width] = n[r]
            out[c + (mp + 3 + r) * width] = f[r]


@kernel
def joint_block(topo, work, k, out, i):
    """H(k) at out[i:], row-major."""
    m = topo[k + MODES]
    r = topo[k + DOFS]
    width = m + 6
    zero(out, i, (m + r) * width)
    for s in range(m):
        out[i + s * width + s] = 1.0
        if topo[k + INBOARD] != 0:
            for t in range(6):
                out[i + s * width + m + t] = -work[topo[k + W_INBOARD] + I_SHAPES + 6 * s + t]
    zeros = (0.0, 0.0, 0.0)
    for s in range(r):
        w, v = along_joint(topo, work, k, s, 1.0, zeros, zeros)
        w, v = to_frame(topo, work, k, w, v)
        store3(out, i + (m + s) * width + m, w)
        store3(out, i + (m + s) * width + m + 3, v)


@kernel
def mass_block(topo, work, k, out, i):
    """M_m(k) at out[i:], row-major."""
    b = topo[k + WORK] + P
    m = topo[k + MODES]
    modal = topo[k + MODAL]
    mu = topo[modal + W_MU]
    df = topo[modal + W_DF]
    width = m + 6
    for r in range(m):
        for s in range(m):
            out[i + r * width + s] = work[df + r * m + s]
        for t in range(6):
            x = work[mu + 6 * r + t]
            out[i + r * width + m + t] = x
            out[i + (m + t) * width + r] = x
    i += m * width + m
    for r in range(3):
        for s in range(3):
            # (xx, xy, xz, yy, yz, zz)
            low = r if r < s else s
            high = s if r < s else r
            at = low * (5 - low) // 2 + high
            out[i + r * width + s] = work[b + at]
            out[i + (3 + r) * width + 3 + s] = work[b + 15 + at]
            out[i + r * width + 3 + s] = work[b + 6 + 3 * r + s]
            out[i + (3 + s) * width + r] = work[b + 6 + 3 * r + s]


@kernel
def bias_blocks(topo, work, k, v, out, a, b, V):
    """a_m(k), b_m(k), V_m(k) at out[a:], out[b:], out[V:]."""
    m = topo[k + MODES]
    at = topo[k + WORK]
    zf = topo[topo[k + MODAL] + W_ZF]
    for r in range(m):
        out[a + r] = 0.0
        out[b + r] = work[zf + r]
        out[V + r] = v[topo[k + V_MODES] + r]
    w = load3(work, at + BIAS)
    u = load3(work, at + BIAS + 3)
    if topo[k + PARENT] == 0:
        world = topo[WORK] + ACC
        gw, gu = carry(topo, work, k, v, 0, 0, load3(work, world), load3(work, world + 3))
        w = add(w, gw)
        u = add(u, gu)
    w, u = to_frame(topo, work, k, w, u)
    if topo[k + INBOARD] != 0:
        i = topo[k + W_INBOARD] + I_BIAS
        w = add(w, load3(work, i))
        u = add(u, load3(work, i + 3))
    store3(out, a + m, w)
    store3(out, a + m + 3, u)
    for t in range(6):
        out[b + m + t] = work[at + Z + t]
        out[V + m + t] = work[at + VEL + t]


@kernel
def operator_blocks(topo, const, work, q, v, where, out):
    """Every block of every body; see the head of this file."""
    start_world(topo, const, work)
    i = 0
    for k in range(COLUMNS, topo[END], COLUMNS):
        place(topo, const, work, q, k)
        turn_and_bias(topo, const, work, q, v, k)
        velocity(topo, work, v, k)
        mass_and_bias(topo, const, work, q, v, k, False, True)
        transfer_block(topo, work, k, out, where[i])
        joint_block(topo, work, k, out, where[i + 1])
        mass_block(topo, work, k, out, where[i + 2])
        bias_blocks(topo, work, k, v, out, where[i + 3], where[i + 4], where[i + 5])
        i += BLOCKS
