"""Symmetric 6 x 6 inertias, angular part first, as three blocks.

    P = [[A, B], [B^T, C]],   A, C symmetric (6-tuples), B a full 3 x 3 block (9-tuple)

A spatial vector is passed as two 3-tuples, its angular and its linear part.
"""

from .scalar import inlined, kernel
from .vec import (
    add,
    cross,
    load6,
    load9,
    mul,
    mul_sym,
    mul_t,
    store6,
    store9,
)


@kernel
def load_inertia(a, i):
    return load6(a, i), load9(a, i + 6), load6(a, i + 15)


@kernel
def store_inertia(a, i, A, B, C):
    store6(a, i, A)
    store9(a, i + 6, B)
    store6(a, i + 15, C)


@kernel
def accumulate_inertia(a, i, A, B, C):
    for j in range(6):
        a[i + j] += A[j]
    for j in range(9):
        a[i + 6 + j] += B[j]
    for j in range(6):
        a[i + 15 + j] += C[j]


@kernel
def apply_inertia(A, B, C, w, v):
    """P [w; v] as (angular, linear)."""
    return add(mul_sym(A, w), mul(B, v)), add(mul_t(B, w), mul_sym(C, v))


@kernel
def rotate_symmetric(R, S):
    """R S R^T with S symmetric.  Cost 31 multiplications.

    A rotation leaves multiples of the identity unchanged.  So S - S_zz I is rotated, whose last diagonal element
    is zero, and the last element of the result follows from the trace.
    """
    xx = S[0] - S[5]
    yy = S[3] - S[5]
    a0 = R[0] * xx + R[1] * S[1] + R[2] * S[2]
    a1 = R[0] * S[1] + R[1] * yy + R[2] * S[4]
    a2 = R[0] * S[2] + R[1] * S[4]
    b0 = R[3] * xx + R[4] * S[1] + R[5] * S[2]
    b1 = R[3] * S[1] + R[4] * yy + R[5] * S[4]
    b2 = R[3] * S[2] + R[4] * S[4]
    tx = a0 * R[0] + a1 * R[1] + a2 * R[2]
    ty = b0 * R[3] + b1 * R[4] + b2 * R[5]
    return (
        tx + S[5],
        a0 * R[3] + a1 * R[4] + a2 * R[5],
        a0 * R[6] + a1 * R[7] + a2 * R[8],
        ty + S[5],
        b0 * R[6] + b1 * R[7] + b2 * R[8],
        xx + yy - tx - ty + S[5],
    )


@inlined
def rotate_inertia(R, A, B, C):
    """diag(R, R) P diag(R, R)^T: from child to parent axes.  Cost 105 multiplications.

    B is split into its symmetric part and the vector of its antisymmetric one.
    """
    half = (0.5 * (B[1] + B[3]), 0.5 * (B[2] + B[6]), 0.5 * (B[5] + B[7]))
    S = rotate_symmetric(R, (B[0], half[0], half[1], B[4], half[2], B[8]))
    x, y, z = mul(R, (half[2] - B[5], B[2] - half[1], half[0] - B[1]))
    return (
        rotate_symmetric(R, A),
        (S[0], S[1] - z, S[2] + y, S[1] + z, S[3], S[4] - x, S[2] - y, S[4] + x, S[5]),
        rotate_symmetric(R, C),
    )


@kernel
def shift_inertia(o, A, B, C):
    """phi P phi^T with phi = [[I, o~], [0, I]]: from the tip of o to its root.

    A + o~ B^T - B o~ - o~ C o~,   B + o~ C,   C.
    """
    x, y, z = o
    # D = B + o~ C
    D = (
        B[0] + (y * C[2] - z * C[1]),
        B[1] + (y * C[4] - z * C[3]),
        B[2] + (y * C[5] - z * C[4]),
        B[3] + (z * C[0] - x * C[2]),
        B[4] + (z * C[1] - x * C[4]),
        B[5] + (z * C[2] - x * C[5]),
        B[6] + (x * C[1] - y * C[0]),
        B[7] + (x * C[3] - y * C[1]),
        B[8] + (x * C[4] - y * C[2]),
    )
    # A + o~ B^T - D o~, written for the upper triangle; (o~ B^T)_ij = (o x row_j(B))_i and
    # (D o~)_ij = (row_i(D) x o)_j
    return (
        (
            A[0] + (y * B[2] - z * B[1]) - (D[1] * z - D[2] * y),
            A[1] + (y * B[5] - z * B[4]) - (D[2] * x - D[0] * z),
            A[2] + (y * B[8] - z * B[7]) - (D[0] * y - D[1] * x),
            A[3] + (z * B[3] - x * B[5]) - (D[5] * x - D[3] * z),
            A[4] + (z * B[6] - x * B[8]) - (D[3] * y - D[4] * x),
            A[5] + (x * B[7] - y * B[6]) - (D[6] * y - D[7] * x),
        ),
        D,
        C,
    )


@kernel
def shift_rigid(o, mass, moment, J):
    """`shift_inertia` of a rigid body: its moment of mass, and its inertia about the root of o.

    h + m o,  J + 2 (o . w) I - o w^T - w o^T with w = h + m o / 2.  Cost 18 multiplications.
    """
    x, y, z = o
    step = (mass * x, mass * y, mass * z)
    a = moment[0] + 0.5 * step[0]
    b = moment[1] + 0.5 * step[1]
    c = moment[2] + 0.5 * step[2]
    xx, yy, zz = 2.0 * (x * a), 2.0 * (y * b), 2.0 * (z * c)
    return add(moment, step), (
        J[0] + yy + zz,
        J[1] - x * b - y * a,
        J[2] - x * c - z * a,
        J[3] + xx + zz,
        J[4] - y * c - z * b,
        J[5] + xx + yy,
    )


@kernel
def accumulate_rigid(a, i, mass, moment, J):
    """Add the inertia of a rigid body to the inertia at a[i:]."""
    for j in range(6):
        a[i + j] += J[j]
    x, y, z = moment
    a[i + 7] -= z
    a[i + 8] += y
    a[i + 9] += z
    a[i + 11] -= x
    a[i + 12] -= y
    a[i + 13] += x
    a[i + 15] += mass
    a[i + 18] += mass
    a[i + 20] += mass


@kernel
def downdate(A, B, C, ku, kf, u, f):
    """P - [ku; kf] [u; f]^T, where [ku; kf] is a multiple of [u; f]."""
    return (
        (
            A[0] - ku[0] * u[0],
            A[1] - ku[0] * u[1],
            A[2] - ku[0] * u[2],
            A[3] - ku[1] * u[1],
            A[4] - ku[1] * u[2],
            A[5] - ku[2] * u[2],
        ),
        (
            B[0] - ku[0] * f[0],
            B[1] - ku[0] * f[1],
            B[2] - ku[0] * f[2],
            B[3] - ku[1] * f[0],
            B[4] - ku[1] * f[1],
            B[5] - ku[1] * f[2],
            B[6] - ku[2] * f[0],
            B[7] - ku[2] * f[1],
            B[8] - ku[2] * f[2],
        ),
        (
            C[0] - kf[0] * f[0],
            C[1] - kf[0] * f[1],
            C[2] - kf[0] * f[2],
            C[3] - kf[1] * f[1],
            C[4] - kf[1] * f[2],
            C[5] - kf[2] * f[2],
        ),
    )


@kernel
def column(A, B, C, i):
    """Column i (0..5) of P as (angular, linear)."""
    if i == 0:
        return (A[0], A[1], A[2]), (B[0], B[1], B[2])
    elif i == 1:
        return (A[1], A[3], A[4]), (B[3], B[4], B[5])
    elif i == 2:
        return (A[2], A[4], A[5]), (B[6], B[7], B[8])
    elif i == 3:
        return (B[0], B[3], B[6]), (C[0], C[1], C[2])
    elif i == 4:
        return (B[1], B[4], B[7]), (C[1], C[3], C[4])
    else:
        return (B[2], B[5], B[8]), (C[2], C[4], C[5])


@kernel
def shift_force(o, n, f):
    """phi [n; f]: carry a wrench from the tip of o to its root."""
    return add(n, cross(o, f)), f
