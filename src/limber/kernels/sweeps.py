"""Block products and tree sweeps on stacked vectors: what spatial operators are applied by.

A stacked vector of some space has one block per body, `width` columns wide, row-major; x_at[k] is the
row where block k starts.  Block k of a memoryless operator lies at data[at[k]:], rows[k] x cols[k].
parent[k] is the number of the parent, -1 for the world.
Cost: one multiplication per number of a block and column of the vector.
"""

from .scalar import kernel


@kernel
def multiply(count, data, at, rows, cols, x, x_at, y, y_at, width):
    """y = diag(blocks) x."""
    for k in range(count):
        for i in range(rows[k]):
            row = at[k] + i * cols[k]
            out = (y_at[k] + i) * width
            for c in range(width):
                y[out + c] = 0.0
            for j in range(cols[k]):
                b = data[row + j]
                into = (x_at[k] + j) * width
                for c in range(width):
                    y[out + c] += b * x[into + c]


@kernel
def multiply_transposed(count, data, at, rows, cols, x, x_at, y, y_at, width):
    """y = diag(blocks)^T x."""
    for k in range(count):
        for j in range(cols[k]):
            out = (y_at[k] + j) * width
            for c in range(width):
                y[out + c] = 0.0
        for i in range(rows[k]):
            row = at[k] + i * cols[k]
            into = (x_at[k] + i) * width
            for j in range(cols[k]):
                b = data[row + j]
                out = (y_at[k] + j) * width
                for c in range(width):
                    y[out + c] += b * x[into + c]


@kernel
def sweep_inward(count, data, at, rows, cols, parent, z, z_at, width):
    """z <- (I - S Delta)^{-1} z, tip to base: z(p) += Delta(k) z(k)."""
    for k in range(count - 1, -1, -1):
        p = parent[k]
        if p >= 0:
            for i in range(rows[k]):
                row = at[k] + i * cols[k]
                out = (z_at[p] + i) * width
                for j in range(cols[k]):
                    b = data[row + j]
                    into = (z_at[k] + j) * width
                    for c in range(width):
                        z[out + c] += b * z[into + c]


@kernel
def sweep_outward(count, data, at, rows, cols, parent, z, z_at, width):
    """z <- (I - S Delta)^{-T} z, base to tip: z(k) += Delta(k)^T z(p)."""
    for k in range(count):
        p = parent[k]
        if p >= 0:
            for i in range(rows[k]):
                row = at[k] + i * cols[k]
                into = (z_at[p] + i) * width
                for j in range(cols[k]):
                    b = data[row + j]
                    out = (z_at[k] + j) * width
                    for c in range(width):
                        z[out + c] += b * z[into + c]


@kernel
def gather_inward(count, parent, rows, x, x_at, y, y_at, size, width):
    """y = S x: block k of x, which belongs to the parent of k, added to the parent's block of y."""
    for i in range(size * width):
        y[i] = 0.0
    for k in range(count):
        p = parent[k]
        if p >= 0:
            for i in range(rows[k] * width):
                y[y_at[p] * width + i] += x[x_at[k] * width + i]


@kernel
def spread_outward(count, parent, rows, x, x_at, y, y_at, width):
    """y = S^T x: block k of y is the parent's block of x, zero on the world."""
    for k in range(count):
        p = parent[k]
        for i in range(rows[k] * width):
            if p >= 0:
                y[y_at[k] * width + i] = x[x_at[p] * width + i]
            else:
                y[y_at[k] * width + i] = 0.0
