"""Dense L D L^T of a symmetric positive definite matrix in a flat array, without square roots."""

from .scalar import kernel


@kernel
def factorize(a, i, n):
    """Overwrite the n x n matrix at a[i:] (row-major; lower triangle read) by L and D.

    The result has L below the diagonal, 1/D on it and D L^T above it.  Cost n^3/6 multiplications.
    """
    for r in range(n):
        row = i + r * n
        # s = D L^T of column r, then row r of L
        for s in range(r):
            other = i + s * n
            x = a[row + s]
            for t in range(s):
                x -= a[other + t] * a[row + t]
            a[row + s] = x
        x = a[row + r]
        for s in range(r):
            y = a[row + s]
            l = y * a[i + s * n + s]
            a[i + s * n + r] = y
            a[row + s] = l
            x -= l * y
        a[row + r] = 1.0 / x


@kernel
def solve(a, i, n, x, j):
    """Overwrite x[j:j+n] by the solution with the factorization at a[i:]."""
    for r in range(n):
        row = i + r * n
        y = x[j + r]
        for s in range(r):
            y -= a[row + s] * x[j + s]
        x[j + r] = y
    for r in range(n):
        x[j + r] *= a[i + r * n + r]
    for r in range(n - 1, -1, -1):
        y = x[j + r]
        row = i + r * n
        for s in range(r):
            x[j + s] -= a[row + s] * y
