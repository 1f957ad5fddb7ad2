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

#: A pivot below this part of its row is left alone: it would make B ill-conditioned.
SMALLEST_PIVOT = 1e-2
#: What elimination leaves of a row below this part of it is rounding.
ROUNDING = 1e-13


def aligning_basis(S: Array) -> tuple[Array, Array]:
    """(B, S B): see the head of this file.  S has a row per motion and a column per mode."""
    rows, m = S.shape
    B, E = np.eye(m), S.copy()
    size = np.abs(S).max(axis=1, initial=0.0)
    size[size == 0.0] = np.inf
    for c in range(min(rows, m)):
        ratio = np.abs(E[:, c:]) / size[:, None]
        i, j = np.unravel_index(ratio.argmax(), ratio.shape)
        if ratio[i, j] < SMALLEST_PIVOT:
            break
        for X in (E, B):
            X[:, [c, c + j]] = X[:, [c + j, c]]
        # column operation on both: column c over the pivot, out of the others
        step = np.eye(m)
        step[c] = -E[i] / E[i, c]
        step[c, c] = 1.0 / E[i, c]
        B, E = B @ step, E @ step
        E[i] = 0.0
        E[i, c] = 1.0
        size[i] = np.inf
    E[np.abs(E) <= ROUNDING * np.abs(S).max(axis=1, initial=0.0)[:, None]] = 0.0
    # modes that move the nodes first
    order = np.argsort(~E.any(axis=0), kind="stable")
    return B[:, order], E[:, order]


def positive(G: Array) -> bool:
    """Whether a modal mass matrix is positive definite by a margin."""
    size = np.sqrt(np.maximum(np.diag(G), 1e-300))
    return bool(np.linalg.eigvalsh(G / np.outer(size, size)).min(initial=1.0) > 1e-9)
