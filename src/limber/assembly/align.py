"""Modal coordinates in which few modes move the loaded nodes of a body.

The articulated sweep may eliminate the modes of a body in any coordinates zeta, eta = B zeta; this does not affect the
joints and the children.  Let S be the shapes of the loaded nodes (rows: rotation and translation of each).  B is chosen
so that S B has reduced column echelon form.  S B then has as many unit entries and zeros as the modes allow, and most
of the modes beyond the rank of S do not move the nodes at all.  A child therefore loads few modes, each through few
numbers.
"""

from __future__ import annotations

import numpy as np

from limber.checks import Array

#: A pivot that is smaller than this fraction of its row is rounding error.
SMALLEST_PIVOT = 1e-6
#: Entries that elimination leaves below this fraction of their row are rounding errors.
ROUNDING = 1e-13
#: The largest allowed ratio of the condition numbers of B^T G B and G, each scaled to a unit diagonal.
CONDITION = 100.0
#: More modes than this are aligned only if half of them then move no node, because products with B cost time too.
FEW = 6


def aligning_basis(S: Array, G: Array) -> tuple[Array, Array] | None:
    """(B, S B) as defined in the module docstring, or None if there is no such basis or it is not worthwhile.

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
    """Column operations B and the product S B, with at most `pivots` pivots; the relatively largest comes first."""
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
        # divide column c by the pivot, and eliminate it from the other columns
        step = np.eye(m)
        step[c] = -E[i] / E[i, c]
        step[c, c] = 1.0 / E[i, c]
        B, E = B @ step, E @ step
        E[i] = 0.0
        E[i, c] = 1.0
        scale[i] = np.inf
    E[np.abs(E) <= ROUNDING * row[:, None]] = 0.0
    # the modes that move the nodes come first
    order = np.argsort(~E.any(axis=0), kind="stable")
    return B[:, order], E[:, order]
