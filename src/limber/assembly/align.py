"""Modal coordinates in which the loaded nodes of a body move along few shapes.

The articulated sweep may eliminate the modes of a body in any coordinates zeta, eta = B zeta: the joints
and the children do not notice.  B is chosen so that the shapes S of the loaded nodes (rows: rotation and
translation of each) become S B, in reduced column echelon form: as many unit entries and zeros as the
modes allow, and no motion at all for most of the modes beyond the rank of S.  A child then loads few
modes, each through few numbers.
"""

from __future__ import annotations

import numpy as np

from limber.checks import Array

#: A pivot below this part of its row is rounding.
SMALLEST_PIVOT = 1e-6
#: What elimination leaves of a row below this part of it is rounding.
ROUNDING = 1e-13
#: How much worse conditioned than G the modal mass matrix B^T G B may be, each scaled to a unit diagonal.
CONDITION = 100.0
#: More modes than this are aligned only if half of them come to rest: products with B cost, too.
FEW = 6


def aligning_basis(S: Array, G: Array) -> tuple[Array, Array] | None:
    """(B, S B), see the head of this file; None where there is no such choice or it does not pay.

    S has a row per motion and a column per mode, G is the modal mass matrix.
    """
    limit = CONDITION * _condition(G)
    for pivots in range(min(S.shape), 0, -1):
        B, aligned = _echelon(S, pivots)
        if _condition(B.T @ G @ B) <= limit < 1.0 / ROUNDING:
            moving = np.count_nonzero(aligned.any(axis=0))
            return (B, aligned) if len(B) <= FEW or 2 * moving <= len(B) else None
    return None


def _condition(G: Array) -> float:
    size = np.sqrt(np.maximum(np.diag(G), 1e-300))
    return float(np.linalg.cond(G / np.outer(size, size)))


def _echelon(S: Array, pivots: int) -> tuple[Array, Array]:
    """Column operations B and S B with at most so many pivots, the largest of its row first."""
    m = S.shape[1]
    B, E = np.eye(m), S.copy()
    row = np.abs(S).max(axis=1, initial=0.0)
    scale = np.where(row > 0.0, row, np.inf)
    for c in range(pivots):
        ratio = np.abs(E[:, c:]) / scale[:, None]
        i, j = divmod(int(ratio.argmax()), ratio.shape[1])
        if ratio[i, j] < SMALLEST_PIVOT:
            break
        for X in (E, B):
            X[:, [c, c + j]] = X[:, [c + j, c]]
        # column c over the pivot, and out of the others
        step = np.eye(m)
        step[c] = -E[i] / E[i, c]
        step[c, c] = 1.0 / E[i, c]
        B, E = B @ step, E @ step
        E[i] = 0.0
        E[i, c] = 1.0
        scale[i] = np.inf
    E[np.abs(E) <= ROUNDING * row[:, None]] = 0.0
    # modes that move the nodes first
    order = np.argsort(~E.any(axis=0), kind="stable")
    return B[:, order], E[:, order]
