"""Hubs: bodies on which many closure rows end, whose motions take the place of the rows (`fronts`).

Row b of a hub has a unit wrench on it, or a unit force on one of its modes.  Where row i of a closure is eliminated, it
takes the hub's part over,

    row_i <- row_i + sum_b C_ib row_b   of U, c and L (its rows and columns),     lambda_b <- lambda_b + C_ib lambda_i

Cost      100 + 16 n multiplications for each of n rows of a closure that is eliminated next to a rigid hub
"""

from .layout import (
    F_DONE,
    F_ERRORS,
    F_HUB,
    F_LIST,
    F_MOTIONS,
    F_ROW,
    F_ROWS,
    F_SQUARES,
    FRONT,
    MODES,
    R_END,
    R_HUB,
    R_OWN,
    R_TAIL,
    ROW_RECORD,
    W_C,
    W_ERRORS,
    W_LAMBDA,
    W_NS,
    W_PATH,
    W_SIZE,
    W_U,
    W_UF,
    W_US,
)
from .scalar import kernel
from .vec import axpy, load3, store3


@kernel
def start_hub(topo, work, k):
    """The rows of a hub, body k, in its own front, which must be zero; their multipliers are zero so far."""
    front = topo[k + FRONT]
    n = topo[front + F_ROWS]
    j = topo[front + F_HUB]
    for i in range(6):
        work[topo[front + W_U] + 6 * (j + i) + i] = 1.0
        work[topo[front + W_PATH] + 2 * (j + i) + i // 3] = 1.0
        if topo[front + F_SQUARES] != 0:
            work[topo[front + W_NS] + 2 * (j + i) + i // 3] = 1.0
    for r in range(topo[k + MODES]):
        work[topo[front + W_UF] + r * n + j + 6 + r] = 1.0
        work[topo[front + W_US] + r * n + j + 6 + r] = 1.0
    release_hub(topo, work, front)


@kernel
def release_hub(topo, work, front):
    """The multipliers of the hub with this front, zero."""
    slots = topo[front + F_LIST] + topo[front + F_HUB]
    for i in range(topo[front + F_MOTIONS]):
        work[topo[W_LAMBDA] + topo[slots + i]] = 0.0


@kernel
def take_over(topo, work, front, i):
    """Add to row i of a front, which is eliminated here, what it does by the hubs on which it ends."""
    row = topo[front + F_ROW] + i * ROW_RECORD
    for side in range(2):
        if topo[row + R_HUB[side]] != 0:
            add_hub(topo, work, front, i, row + R_HUB[side])


@kernel
def add_u(work, u, i, j, x):
    """Add x times column j of U at work[u:] to column i."""
    at, other = u + 6 * i, u + 6 * j
    store3(work, at, axpy(x, load3(work, other), load3(work, at)))
    store3(work, at + 3, axpy(x, load3(work, other + 3), load3(work, at + 3)))


@kernel
def add_hub(topo, work, front, i, record):
    """Add to row i of a front what it does by one hub."""
    n, first = topo[front + F_ROWS], topo[front + F_DONE]
    u, c, size = topo[front + W_U], topo[front + W_C], topo[front + W_SIZE]
    row = topo[front + F_ROW] + i * ROW_RECORD
    end, own, tail = topo[row + R_END], topo[row + R_OWN], topo[row + R_TAIL]
    at, hub = topo[record + 1], topo[record + 2]
    for b in range(topo[record]):
        x = work[at + b]
        h = hub + b
        if front != topo[FRONT]:
            add_u(work, u, i, h, x)
        work[c + i] += x * work[c + h]
        error = x * work[size + h]
        if topo[front + F_ERRORS] != 0:
            e = topo[front + W_ERRORS] + (h - first) * (n - first) + h - first
            error += x * work[e]
            for s in range(b + 1, topo[record]):
                error += 2.0 * work[at + s] * work[e + s - b]
        work[size + i] += x * error
        # the column of i, then its row; L_ii changes with both
        work[own + i] += x * work[tail + h]
        for j in range(i + 1, end):
            work[own + j] += x * work[topo[row + (j - i) * ROW_RECORD + R_TAIL] + h]
        for j in range(first, h):
            work[tail + j] += x * work[topo[topo[front + F_ROW] + j * ROW_RECORD + R_OWN] + h]
        other = topo[topo[front + F_ROW] + h * ROW_RECORD + R_OWN]
        for j in range(h, n):
            work[tail + j] += x * work[other + j]
        work[own + i] += x * work[tail + h]
