"""Block products and tree sweeps on stacked vectors, by which spatial operators are applied.

A stacked vector has one block per body, `width` columns wide, row-major.  `table` has FIELDS integers for each
body: the offset of its block of the operator in `data`, the rows and columns of the block, and the rows of the
two vectors that the body reads and writes (in a sweep, its own and its parent's; -1 on the world).
Cost: one multiplication per number of a block and column of the vector.
"""

from .scalar import kernel

AT, ROWS, COLS, FIRST, SECOND, FIELDS = 0, 1, 2, 3, 4, 5


@kernel
def add_product(data, at, rows, cols, x, x_at, y, y_at, width):
    """y(y_at) += A x(x_at), with A the rows x cols block at data[at:]."""
    if width == 1:
        for i in range(rows):
            total = 0.0
            for j in range(cols):
                total += data[at + i * cols + j] * x[x_at + j]
            y[y_at + i] += total
    else:
        for i in range(rows):
            for j in range(cols):
                b = data[at + i * cols + j]
                for c in range(width):
                    y[(y_at + i) * width + c] += b * x[(x_at + j) * width + c]


@kernel
def add_transposed_product(data, at, rows, cols, x, x_at, y, y_at, width):
    """y(y_at) += A^T x(x_at)."""
    for i in range(rows):
        for j in range(cols):
            b = data[at + i * cols + j]
            for c in range(width):
                y[(y_at + j) * width + c] += b * x[(x_at + i) * width + c]


@kernel
def multiply(count, data, table, x, y, width):
    """y += diag(blocks) x; FIRST is the row in x, SECOND that in y."""
    for k in range(0, count * FIELDS, FIELDS):
        rows, cols = table[k + ROWS], table[k + COLS]
        add_product(
            data, table[k + AT], rows, cols, x, table[k + FIRST], y, table[k + SECOND], width
        )


@kernel
def multiply_transposed(count, data, table, x, y, width):
    """y += diag(blocks)^T x; SECOND is the row in x, FIRST that in y."""
    for k in range(0, count * FIELDS, FIELDS):
        rows, cols = table[k + ROWS], table[k + COLS]
        add_transposed_product(
            data, table[k + AT], rows, cols, x, table[k + SECOND], y, table[k + FIRST], width
        )


@kernel
def sweep_inward(count, data, table, z, width):
    """z <- (I - S Delta)^{-1} z, tip to base: z(p) += Delta(k) z(k); FIRST is k, SECOND its parent."""
    for k in range((count - 1) * FIELDS, -1, -FIELDS):
        if table[k + SECOND] >= 0:
            rows, cols = table[k + ROWS], table[k + COLS]
            add_product(
                data, table[k + AT], rows, cols, z, table[k + FIRST], z, table[k + SECOND], width
            )


@kernel
def sweep_outward(count, data, table, z, width):
    """z <- (I - S Delta)^{-T} z, base to tip: z(k) += Delta(k)^T z(p)."""
    for k in range(0, count * FIELDS, FIELDS):
        if table[k + SECOND] >= 0:
            rows, cols = table[k + ROWS], table[k + COLS]
            add_transposed_product(
                data, table[k + AT], rows, cols, z, table[k + SECOND], z, table[k + FIRST], width
            )


@kernel
def gather_inward(count, table, x, y, width):
    """y += S x: block k of x (FIRST), which belongs to the parent of k, into the parent's block of y."""
    for k in range(0, count * FIELDS, FIELDS):
        if table[k + SECOND] >= 0:
            for i in range(table[k + ROWS] * width):
                y[table[k + SECOND] * width + i] += x[table[k + FIRST] * width + i]


@kernel
def spread_outward(count, table, x, y, width):
    """y += S^T x: the parent's block of x (SECOND) into block k of y."""
    for k in range(0, count * FIELDS, FIELDS):
        if table[k + SECOND] >= 0:
            for i in range(table[k + ROWS] * width):
                y[table[k + FIRST] * width + i] += x[table[k + SECOND] * width + i]
