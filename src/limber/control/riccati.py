r"""The discrete algebraic Riccati equation of regulators and filters.

    X = A^T X A - A^T X B (R + B^T X B)^-1 B^T X A + Q

Its stabilizing solution comes from the Schur form of a matrix pencil (`scipy.linalg.solve_discrete_are`). If weights or
variances differ by many powers of ten, the Schur form cannot be ordered, and a doubling algorithm is used (Chu, Fan,
Lin & Wang, International Journal of Control 77, 2004, 767-788):

    A <- A W A,    G <- G + A W G A^T,    X <- X + A^T X W A,    W = (1 + G X)^-1,    from  G = B R^-1 B^T,  X = Q

Each step covers as many samples as all previous steps together.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from limber.checks import Array

#: Doubling ends when X changes by no more than this part of itself; it has failed after so many steps.
SETTLED, STEPS = 1e-13, 60
#: A solution may leave this part of the largest term of the equation.
RESIDUAL = 1e-6


def discrete_riccati(A: Array, B: Array, Q: Array, R: Array) -> Array:
    """The stabilizing solution X of the equation above; raises np.linalg.LinAlgError if none exists or none is
    found."""
    try:
        return scipy.linalg.solve_discrete_are(A, B, Q, R)
    except (np.linalg.LinAlgError, ValueError):
        return _by_doubling(A, B, Q, R)


def _by_doubling(A: Array, B: Array, Q: Array, R: Array) -> Array:
    n = len(A)
    over, G, X = A, B @ np.linalg.solve(R, B.T), Q
    for _ in range(STEPS):
        with np.errstate(over="ignore", invalid="ignore"):
            both = np.linalg.solve(np.eye(n) + G @ X, np.hstack([over, G]))
            change = over.T @ X @ both[:, :n]
            G = _symmetric(G + over @ both[:, n:] @ over.T)
            X, over = _symmetric(X + change), over @ both[:, :n]
        if not (np.isfinite(X).all() and np.isfinite(G).all()):
            break
        if np.abs(change).max() <= SETTLED * np.abs(X).max():
            return _checked(A, B, Q, R, X)
    raise np.linalg.LinAlgError("doubling does not settle")


def _checked(A: Array, B: Array, Q: Array, R: Array, X: Array) -> Array:
    """X, if it solves the equation and is stabilizing."""
    K = np.linalg.solve(R + B.T @ X @ B, B.T @ X @ A)
    left = A.T @ X @ (A - B @ K) + Q - X
    if np.abs(left).max() > RESIDUAL * np.abs(X).max():
        raise np.linalg.LinAlgError("doubling is inexact here")
    if np.abs(np.linalg.eigvals(A - B @ K)).max() >= 1.0:
        raise np.linalg.LinAlgError("no solution is stabilizing")
    return X


def _symmetric(x: Array) -> Array:
    return 0.5 * (x + x.T)
