"""Three-vectors and 3 x 3 matrices as tuples of scalars.

A vector is a 3-tuple, a matrix a 9-tuple by rows, a symmetric matrix the 6-tuple
(xx, xy, xz, yy, yz, zz).  Compiled, they live in registers; in plain Python they carry any
scalar.  `load*`/`store*` move them in and out of flat arrays.
"""

from .scalar import kernel


@kernel
def load3(a, i):
    return a[i], a[i + 1], a[i + 2]


@kernel
def load4(a, i):
    return a[i], a[i + 1], a[i + 2], a[i + 3]


@kernel
def load6(a, i):
    return a[i], a[i + 1], a[i + 2], a[i + 3], a[i + 4], a[i + 5]


@kernel
def load9(a, i):
    return (a[i], a[i + 1], a[i + 2], a[i + 3], a[i + 4], a[i + 5], a[i + 6], a[i + 7], a[i + 8])


@kernel
def store3(a, i, x):
    a[i] = x[0]
    a[i + 1] = x[1]
    a[i + 2] = x[2]


@kernel
def store4(a, i, x):
    store3(a, i, (x[0], x[1], x[2]))
    a[i + 3] = x[3]


@kernel
def store6(a, i, x):
    store3(a, i, (x[0], x[1], x[2]))
    store3(a, i + 3, (x[3], x[4], x[5]))


@kernel
def store9(a, i, x):
    store3(a, i, (x[0], x[1], x[2]))
    store3(a, i + 3, (x[3], x[4], x[5]))
    store3(a, i + 6, (x[6], x[7], x[8]))


@kernel
def accumulate3(a, i, x):
    a[i] += x[0]
    a[i + 1] += x[1]
    a[i + 2] += x[2]


@kernel
def zero(a, i, n):
    for j in range(i, i + n):
        a[j] = 0.0


@kernel
def add(x, y):
    return x[0] + y[0], x[1] + y[1], x[2] + y[2]


@kernel
def sub(x, y):
    return x[0] - y[0], x[1] - y[1], x[2] - y[2]


@kernel
def neg(x):
    return -x[0], -x[1], -x[2]


@kernel
def scale(s, x):
    return s * x[0], s * x[1], s * x[2]


@kernel
def axpy(s, x, y):
    """s x + y."""
    return s * x[0] + y[0], s * x[1] + y[1], s * x[2] + y[2]


@kernel
def dot(x, y):
    return x[0] * y[0] + x[1] * y[1] + x[2] * y[2]


@kernel
def cross(x, y):
    return (
        x[1] * y[2] - x[2] * y[1],
        x[2] * y[0] - x[0] * y[2],
        x[0] * y[1] - x[1] * y[0],
    )


@kernel
def mul(A, x):
    """A x."""
    return (
        A[0] * x[0] + A[1] * x[1] + A[2] * x[2],
        A[3] * x[0] + A[4] * x[1] + A[5] * x[2],
        A[6] * x[0] + A[7] * x[1] + A[8] * x[2],
    )


@kernel
def mul_t(A, x):
    """A^T x."""
    return (
        A[0] * x[0] + A[3] * x[1] + A[6] * x[2],
        A[1] * x[0] + A[4] * x[1] + A[7] * x[2],
        A[2] * x[0] + A[5] * x[1] + A[8] * x[2],
    )


@kernel
def mul_sym(S, x):
    """S x with S symmetric."""
    return (
        S[0] * x[0] + S[1] * x[1] + S[2] * x[2],
        S[1] * x[0] + S[3] * x[1] + S[4] * x[2],
        S[2] * x[0] + S[4] * x[1] + S[5] * x[2],
    )


@kernel
def matmul(A, B):
    """A B."""
    return (
        A[0] * B[0] + A[1] * B[3] + A[2] * B[6],
        A[0] * B[1] + A[1] * B[4] + A[2] * B[7],
        A[0] * B[2] + A[1] * B[5] + A[2] * B[8],
        A[3] * B[0] + A[4] * B[3] + A[5] * B[6],
        A[3] * B[1] + A[4] * B[4] + A[5] * B[7],
        A[3] * B[2] + A[4] * B[5] + A[5] * B[8],
        A[6] * B[0] + A[7] * B[3] + A[8] * B[6],
        A[6] * B[1] + A[7] * B[4] + A[8] * B[7],
        A[6] * B[2] + A[7] * B[5] + A[8] * B[8],
    )


@kernel
def transpose(A):
    return A[0], A[3], A[6], A[1], A[4], A[7], A[2], A[5], A[8]


@kernel
def mul_abt(A, B):
    """A B^T."""
    return (
        A[0] * B[0] + A[1] * B[1] + A[2] * B[2],
        A[0] * B[3] + A[1] * B[4] + A[2] * B[5],
        A[0] * B[6] + A[1] * B[7] + A[2] * B[8],
        A[3] * B[0] + A[4] * B[1] + A[5] * B[2],
        A[3] * B[3] + A[4] * B[4] + A[5] * B[5],
        A[3] * B[6] + A[4] * B[7] + A[5] * B[8],
        A[6] * B[0] + A[7] * B[1] + A[8] * B[2],
        A[6] * B[3] + A[7] * B[4] + A[8] * B[5],
        A[6] * B[6] + A[7] * B[7] + A[8] * B[8],
    )


@kernel
def skew(x):
    """The cross-product matrix x~."""
    return 0.0, -x[2], x[1], x[2], 0.0, -x[0], -x[1], x[0], 0.0
