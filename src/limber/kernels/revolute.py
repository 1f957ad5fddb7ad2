"""The revolute joint in the articulated-body sweeps, its axis brought to the last place.

Eliminating a joint leaves P_R_plus with P_R_plus H^T = 0: for a turn about a coordinate axis, one row
and one column of zeros.  A cyclic reordering of the coordinates (a rotation, which costs nothing) makes
that axis z, so that the zeros stand at a known place and are neither computed nor multiplied:

    P_R_plus = [[A, B], [B^T, C]],   A = [[xx, xy, 0], [xy, yy, 0], [0, 0, 0]],   B with last row 0

Cost      20 multiplications for the downdate, 31 for the force, 93 to turn P_R_plus to parent axes,
          18 for the force; 5 for the acceleration
"""

from .inertia import rotate_symmetric
from .layout import AXIS, BIAS, J_D, J_K, J_NU, PARENT, ROT, V_JOINT, W_JOINT, WORK
from .scalar import kernel
from .vec import dot, load3, load9, mul, store3


@kernel
def align(x, axis):
    """The vector x in cyclic order, coordinate `axis` last."""
    if axis == 0:
        return x[1], x[2], x[0]
    elif axis == 1:
        return x[2], x[0], x[1]
    else:
        return x[0], x[1], x[2]


@kernel
def restore(x, axis):
    """The inverse of `align`."""
    if axis == 0:
        return x[2], x[0], x[1]
    elif axis == 1:
        return x[1], x[2], x[0]
    else:
        return x[0], x[1], x[2]


@kernel
def align_columns(R, axis):
    """The columns of R in cyclic order, column `axis` last."""
    if axis == 0:
        return R[1], R[2], R[0], R[4], R[5], R[3], R[7], R[8], R[6]
    elif axis == 1:
        return R[2], R[0], R[1], R[5], R[3], R[4], R[8], R[6], R[7]
    else:
        return R


@kernel
def align_inertia(A, B, C, axis):
    """P with the angular and the linear coordinates in cyclic order, `axis` last."""
    if axis == 0:
        return (
            (A[3], A[4], A[1], A[5], A[2], A[0]),
            (B[4], B[5], B[3], B[7], B[8], B[6], B[1], B[2], B[0]),
            (C[3], C[4], C[1], C[5], C[2], C[0]),
        )
    elif axis == 1:
        return (
            (A[5], A[2], A[4], A[0], A[1], A[3]),
            (B[8], B[6], B[7], B[2], B[0], B[1], B[5], B[3], B[4]),
            (C[5], C[2], C[4], C[0], C[1], C[3]),
        )
    else:
        return A, B, C


@kernel
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


@kernel
def eliminate_revolute(topo, work, tau, k, A, B, C, n, f):
    """`eliminate_joint` of `articulated` for a revolute joint.

    K = P H^T / D, of which the axis' own entry is 1; eps = tau - H z; P_plus = P - K (P H^T)^T;
    z_plus = z + K eps + P_plus a, which is tau along the axis.
    """
    b = topo[k + WORK]
    j = topo[k + W_JOINT]
    axis = topo[k + AXIS]
    A, B, C = align_inertia(A, B, C, axis)
    n0, n1, n2 = align(n, axis)
    f0, f1, f2 = align(f, axis)
    _, _, u0, _, u1, pivot = A
    g = (B[6], B[7], B[8])
    d = 1.0 / pivot
    k0, k1, k2, k3, k4 = u0 * d, u1 * d, g[0] * d, g[1] * d, g[2] * d
    torque = tau[topo[k + V_JOINT]]
    eps = torque - n2
    store3(work, j + J_K, (k0, k1, 1.0))
    store3(work, j + J_K + 3, (k2, k3, k4))
    work[j + J_D] = d
    work[j + J_NU] = eps * d
    if topo[k + PARENT] == 0:
        return A, B, C, n, f
    xx, xy, yy = A[0] - k0 * u0, A[1] - k0 * u1, A[3] - k1 * u1
    r = (B[0] - k0 * g[0], B[1] - k0 * g[1], B[2] - k0 * g[2])
    s = (B[3] - k1 * g[0], B[4] - k1 * g[1], B[5] - k1 * g[2])
    C = (
        C[0] - k2 * g[0],
        C[1] - k2 * g[1],
        C[2] - k2 * g[2],
        C[3] - k3 * g[1],
        C[4] - k3 * g[2],
        C[5] - k4 * g[2],
    )
    x, y, _ = align(load3(work, b + BIAS), axis)
    v = align(load3(work, b + BIAS + 3), axis)
    n = (
        n0 + k0 * eps + xx * x + xy * y + dot(r, v),
        n1 + k1 * eps + xy * x + yy * y + dot(s, v),
        torque,
    )
    f = (
        f0 + k2 * eps + r[0] * x + s[0] * y + C[0] * v[0] + C[1] * v[1] + C[2] * v[2],
        f1 + k3 * eps + r[1] * x + s[1] * y + C[1] * v[0] + C[3] * v[1] + C[4] * v[2],
        f2 + k4 * eps + r[2] * x + s[2] * y + C[2] * v[0] + C[4] * v[1] + C[5] * v[2],
    )
    R = align_columns(load9(work, b + ROT), axis)
    A, B, C = rotate_plus(R, (xx, xy, yy), r + s, C)
    return A, B, C, mul(R, n), mul(R, f)


@kernel
def revolute_acceleration(topo, work, vdot, k, w, u):
    """`joint_accelerations` of `articulated` for a revolute joint: K has a 1 on the axis, and so the
    new acceleration about it is nu less what the other five components contribute.
    """
    j = topo[k + W_JOINT]
    axis = topo[k + AXIS]
    x, y, z = align(w, axis)
    a, b, c = align(u, axis)
    turn = work[j + J_NU] - (
        work[j + J_K] * x
        + work[j + J_K + 1] * y
        + work[j + J_K + 3] * a
        + work[j + J_K + 4] * b
        + work[j + J_K + 5] * c
    )
    vdot[topo[k + V_JOINT]] = turn - z
    return restore((x, y, turn), axis), u
