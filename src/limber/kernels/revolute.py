"""The revolute joint in the articulated-body sweeps, with its axis reordered to be the last.

Eliminating a joint without armature leaves P_R_plus H^T = 0.  For a rotation about a coordinate axis, one row
and one column of P_R_plus are therefore zero.  A cyclic reordering of the coordinates, which costs nothing, makes
that axis z, so that the zeros are in a known place and are neither computed nor multiplied:

    P_R_plus = [[A, B], [B^T, C]],   A = [[xx, xy, 0], [xy, yy, 0], [0, 0, 0]],   B with last row 0

Cost      20 multiplications for K and the downdate, 31 for the force, 109 to turn both to parent axes
"""

from .inertia import rotate_symmetric, store_inertia
from .layout import (
    AXIS,
    BIAS,
    D_PIVOTS,
    J_K,
    J_NU,
    PARENT,
    ROT,
    SCRATCH,
    V_JOINT,
    W_JOINT,
    W_PIVOTS,
    WORK,
    Z,
)
from .scalar import inlined, kernel
from .vec import add, axpy, dot, mul, mul_sym, scale, store3


@kernel
def others(axis):
    """The two axes that follow `axis` in cyclic order."""
    if axis == 0:
        return 1, 2
    elif axis == 1:
        return 2, 0
    else:
        return 0, 1


@kernel
def load_aligned(a, i, x, y, z):
    """The vector at a[i:], components in the order x, y, z."""
    return a[i + x], a[i + y], a[i + z]


@kernel
def load_aligned_symmetric(a, i, x, y, z):
    """The symmetric matrix at a[i:], rows and columns in the cyclic order x, y, z."""
    # (xx, xy, xz, yy, yz, zz): the diagonal is at 0, 3, 5; other entries are at row + column, except for yz
    xy, xz, yz = x + y, x + z, y + z
    return (
        a[i + x * (7 - x) // 2],
        a[i + xy + xy // 3],
        a[i + xz + xz // 3],
        a[i + y * (7 - y) // 2],
        a[i + yz + yz // 3],
        a[i + z * (7 - z) // 2],
    )


@inlined
def rotate_plus(R, A, B, C):
    """diag(R, R) P_R_plus diag(R, R)^T, from (xx, xy, yy) of A, the first two rows of B, and C."""
    xx, xy, yy = A
    x0, y0, _, x1, y1, _, x2, y2, _ = R
    # R A, then R A R^T
    p0, p1, p2 = xx * x0 + xy * y0, xx * x1 + xy * y1, xx * x2 + xy * y2
    q0, q1, q2 = xy * x0 + yy * y0, xy * x1 + yy * y1, xy * x2 + yy * y2
    # B R^T, then R B R^T
    s0, s1, s2 = mul(R, (B[0], B[1], B[2]))
    t0, t1, t2 = mul(R, (B[3], B[4], B[5]))
    return (
        (
            p0 * x0 + q0 * y0,
            p0 * x1 + q0 * y1,
            p0 * x2 + q0 * y2,
            p1 * x1 + q1 * y1,
            p1 * x2 + q1 * y2,
            p2 * x2 + q2 * y2,
        ),
        (
            x0 * s0 + y0 * t0,
            x0 * s1 + y0 * t1,
            x0 * s2 + y0 * t2,
            x1 * s0 + y1 * t0,
            x1 * s1 + y1 * t1,
            x1 * s2 + y1 * t2,
            x2 * s0 + y2 * t0,
            x2 * s1 + y2 * t1,
            x2 * s2 + y2 * t2,
        ),
        rotate_symmetric(R, C),
    )


@inlined
def eliminate_revolute(topo, work, tau, k, p):
    """`eliminate_joint` of `articulated` for a revolute joint.

    K = P H^T / D, whose entry for the axis itself is 1; eps = tau - H z; P_plus = P - K (P H^T)^T;
    z_plus = z + K eps + P_plus a, whose component along the axis is tau.
    """
    b = topo[k + WORK]
    j = topo[k + W_JOINT]
    z = topo[k + AXIS]
    x, y = others(z)
    xx, xy, xz, yy, yz, zz = load_aligned_symmetric(work, p, x, y, z)
    g = load_aligned(work, p + 6 + 3 * z, x, y, z)
    n0, n1, n2 = load_aligned(work, b + Z, x, y, z)
    torque = tau[topo[k + V_JOINT]]
    eps = torque - n2
    d = 1.0 / zz
    k0, k1 = xz * d, yz * d
    kg = scale(d, g)
    work[j + J_K + x] = k0
    work[j + J_K + y] = k1
    work[j + J_K + z] = 1.0
    work[j + J_K + 3 + x] = kg[0]
    work[j + J_K + 3 + y] = kg[1]
    work[j + J_K + 3 + z] = kg[2]
    work[topo[k + W_PIVOTS] + D_PIVOTS] = d
    work[j + J_NU] = eps * d
    if topo[k + PARENT] == 0:
        return
    # P_plus
    xx -= k0 * xz
    xy -= k0 * yz
    yy -= k1 * yz
    r = axpy(-k0, g, load_aligned(work, p + 6 + 3 * x, x, y, z))
    s = axpy(-k1, g, load_aligned(work, p + 6 + 3 * y, x, y, z))
    C = load_aligned_symmetric(work, p + 15, x, y, z)
    C = (
        C[0] - kg[0] * g[0],
        C[1] - kg[0] * g[1],
        C[2] - kg[0] * g[2],
        C[3] - kg[1] * g[1],
        C[4] - kg[1] * g[2],
        C[5] - kg[2] * g[2],
    )
    # z_plus
    ax, ay, _ = load_aligned(work, b + BIAS, x, y, z)
    v = load_aligned(work, b + BIAS + 3, x, y, z)
    n = (
        n0 + k0 * eps + xx * ax + xy * ay + dot(r, v),
        n1 + k1 * eps + xy * ax + yy * ay + dot(s, v),
        torque,
    )
    f = axpy(eps, kg, load_aligned(work, b + Z + 3, x, y, z))
    f = add(axpy(ay, s, axpy(ax, r, f)), mul_sym(C, v))
    c = b + ROT
    R = (
        load_aligned(work, c, x, y, z)
        + load_aligned(work, c + 3, x, y, z)
        + load_aligned(work, c + 6, x, y, z)
    )
    A, B, C = rotate_plus(R, (xx, xy, yy), r + s, C)
    store_inertia(work, b + SCRATCH, A, B, C)
    store3(work, b + Z, mul(R, n))
    store3(work, b + Z + 3, mul(R, f))
