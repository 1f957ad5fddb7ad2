"""Products with the second-order shapes B of a point, which moves by 1/2 eta^T B eta.

The B of all points of a body have their vectors in the span of a few directions: one for a straight beam, whose points
move along it.  So B is stored as one m x m matrix for each direction, and `at` says where these begin in `const`.
"""

from .layout import B_DIRECTION, B_DIRECTIONS, BENT, MODES
from .scalar import kernel
from .vec import axpy, load3


@kernel
def row_times(topo, const, k, at, r, a, i):
    """Row r of B a, with the m numbers a[i:]."""
    m = topo[k + MODES]
    bent = topo[k + BENT]
    total = (0.0, 0.0, 0.0)
    for j in range(topo[bent + B_DIRECTIONS]):
        b = at + (j * m + r) * m
        length = 0.0
        for s in range(m):
            length += const[b + s] * a[i + s]
        total = axpy(length, load3(const, topo[bent + B_DIRECTION] + 3 * j), total)
    return total


@kernel
def between(topo, const, k, at, a, i, c, j):
    """a^T B c, with the m numbers a[i:] and c[j:]."""
    m = topo[k + MODES]
    bent = topo[k + BENT]
    total = (0.0, 0.0, 0.0)
    for d in range(topo[bent + B_DIRECTIONS]):
        length = 0.0
        for r in range(m):
            b = at + (d * m + r) * m
            row = 0.0
            for s in range(m):
                row += const[b + s] * c[j + s]
            length += row * a[i + r]
        total = axpy(length, load3(const, topo[bent + B_DIRECTION] + 3 * d), total)
    return total


@kernel
def pair(topo, const, k, at, r, s):
    """B_rs."""
    m = topo[k + MODES]
    bent = topo[k + BENT]
    total = (0.0, 0.0, 0.0)
    for j in range(topo[bent + B_DIRECTIONS]):
        length = const[at + (j * m + r) * m + s]
        total = axpy(length, load3(const, topo[bent + B_DIRECTION] + 3 * j), total)
    return total
