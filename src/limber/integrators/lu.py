"""Dense L U factorization of a general matrix, with row exchanges.  Compiled only: it searches the largest pivot."""

from limber.kernels.scalar import kernel


@kernel
def factorize(a, n, pivots):
    """Overwrite the n x n matrix a (row-major) by L and U; row r was exchanged with row pivots[r]."""
    for r in range(n):
        best = r
        for s in range(r + 1, n):
            if abs(a[s * n + r]) > abs(a[best * n + r]):
                best = s
        pivots[r] = best
        if best != r:
            for t in range(n):
                a[r * n + t], a[best * n + t] = a[best * n + t], a[r * n + t]
        d = 1.0 / a[r * n + r]
        for s in range(r + 1, n):
            l = a[s * n + r] * d
            a[s * n + r] = l
            for t in range(r + 1, n):
                a[s * n + t] -= l * a[r * n + t]


@kernel
def solve(a, n, pivots, x):
    """Overwrite x by the solution with the factorization in a."""
    for r in range(n):
        s = int(pivots[r])
        x[r], x[s] = x[s], x[r]
        for t in range(r):
            x[r] -= a[r * n + t] * x[t]
    for r in range(n - 1, -1, -1):
        for t in range(r + 1, n):
            x[r] -= a[r * n + t] * x[t]
        x[r] /= a[r * n + r]
