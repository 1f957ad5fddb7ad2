"""The multipliers of closure rows, from the world outward, and what they do to modes and joints.

Solves    lambda_i = -(U_i . a + c_i + sum_j L_ij lambda_j) / L_ii of the rows that `fronts` has eliminated at each body
Given     the fronts, eliminated
Computes  lambda; the innovations of modes and joints with e lambda / D added
Sweep     base to tip
Cost      14 + n / 2 multiplications for each of n rows and each degree of freedom (with those of `fronts`)
"""

from .fronts import eliminate_at_world
from .layout import (
    D_FORCE,
    DOFS,
    DRIVE_RECORD,
    DRIVEN,
    F_DONE,
    F_LIST,
    F_ON,
    F_ROW,
    F_ROWS,
    FRONT,
    J_NU,
    JOINT_WORK,
    MODAL,
    MODES,
    R_END,
    R_HUB,
    R_OWN,
    R_TAIL,
    ROW_RECORD,
    W_C,
    W_E,
    W_JOINT,
    W_LAMBDA,
    W_U,
    W_UF,
    W_ZF,
)
from .scalar import kernel
from .vec import dot, load3


@kernel
def multiplier_at(topo, work, front, i, x):
    """lambda of row i of a front, eliminated there, with what is left of its acceleration, x / D; those after it are known."""
    n, first = topo[front + F_ROWS], topo[front + F_DONE]
    lam, slots = topo[W_LAMBDA], topo[front + F_LIST]
    row = topo[front + F_ROW] + i * ROW_RECORD
    for j in range(i + 1, topo[row + R_END]):
        x += work[topo[row + R_OWN] + j] * work[lam + topo[slots + j]]
    for j in range(first, n):
        x += work[topo[row + R_TAIL] + j] * work[lam + topo[slots + j]]
    work[lam + topo[slots + i]] = -x
    for side in range(2):
        record = row + R_HUB[side]
        hub = slots + topo[record + 2]
        for b in range(topo[record]):
            work[lam + topo[hub + b]] -= work[topo[record + 1] + b] * x


@kernel
def multipliers_at(topo, work, k, w, u):
    """lambda of the rows that are eliminated at body k, given its acceleration [w; u] and the other multipliers."""
    front = topo[k + FRONT]
    for i in range(topo[front + F_DONE] - 1, -1, -1):
        at = topo[front + W_U] + 6 * i
        x = work[topo[front + W_C] + i] + dot(load3(work, at), w) + dot(load3(work, at + 3), u)
        multiplier_at(topo, work, front, i, x)


@kernel
def solve_at_world(topo, work, w, u):
    """lambda of the rows that are eliminated at the world, which has the acceleration [w; u]."""
    front = topo[FRONT]
    if front != 0:
        eliminate_at_world(topo, work, w, u)
        for i in range(topo[front + F_DONE] - 1, -1, -1):
            multiplier_at(topo, work, front, i, work[topo[front + W_C] + i])


@kernel
def drive_joint(topo, work, k):
    """Add what the multipliers do to the innovations of the joint of body k.

    If it is driven, the force that its motion takes loses what the multipliers do along it.
    """
    front = topo[k + FRONT]
    n = topo[front + F_ROWS]
    for r in range(topo[k + DOFS]):
        x = 0.0
        for j in range(topo[front + F_ON], n):
            x += (
                work[topo[front + W_E] + r * n + j]
                * work[topo[W_LAMBDA] + topo[topo[front + F_LIST] + j]]
            )
        if topo[k + DRIVEN] != 0:
            work[topo[k + DRIVEN] + r * DRIVE_RECORD + D_FORCE] -= x
        else:
            work[topo[k + W_JOINT] + r * JOINT_WORK + J_NU] += x


@kernel
def drive_modes(topo, work, k):
    """Add what the multipliers do to the innovations of the modes of body k."""
    front = topo[k + FRONT]
    n = topo[front + F_ROWS]
    for r in range(topo[k + MODES]):
        x = 0.0
        for j in range(n):
            x += (
                work[topo[front + W_UF] + r * n + j]
                * work[topo[W_LAMBDA] + topo[topo[front + F_LIST] + j]]
            )
        work[topo[topo[k + MODAL] + W_ZF] + r] += x
