"""Eigenvalues of M x'' + D x' + K x = 0, with one entry for each pair of them.

At rest D is symmetric; about a steady motion it also has gyroscopic terms, and K is not symmetric in general.

The matrices are given in coordinates in which the diagonal of M is 1, so no result or tolerance depends on
the units of length and mass.  Tolerances are relative, so none depends on the unit of time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from limber.checks import Array

#: Real parts below this fraction of an eigenvalue are rounding errors where two of them coincide, which is the rule without
#: damping and about steady motions.
COINCIDENT = 1e-7
#: A motion without stiffness whose damping is below this fraction of the largest of such motions has only rounding errors.
UNDAMPED = 1e-14
#: Eigenvalues below this many times the estimate of their errors are zero: the estimate is one of first order.
BLURRED = 10.0
#: The relative error of every number of a first-order system.
ROUNDED = 1e-15
#: Damping this many times the highest frequency puts the eigenvalues too far apart for one solution.
HEAVY = 1e3


class Solved(NamedTuple):
    """Frequency, damping ratio, growth rate, eigenvalue and shape (a column) of each mode."""

    omega: Array
    damping: Array
    growth: Array
    eigenvalues: np.ndarray
    shapes: np.ndarray


def symmetric(M: Array, D: Array, elastic: Array, gravity: Array, uncertain: Array) -> Solved:
    """The modes for symmetric stiffnesses; `uncertain` bounds the rounding errors of zeros in `gravity`."""
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 (slow to import)

    X, squares = natural(M, elastic, gravity, uncertain)
    X, C = _turned(X, squares, D)
    eigenvalues, partners = _roots(np.diag(C), squares)
    omega, ratio, growth = _described(eigenvalues, partners)
    # modes that the damping couples are solved together
    own = np.sqrt(np.abs(np.diag(C)))
    coupled = np.abs(C) > 1e-9 * np.outer(own, own) + 1e-13 * np.abs(C).max()
    count, group = connected_components(coupled)
    for g in range(count):
        i = np.flatnonzero(group == g)
        if len(i) > 1:
            growing = int(np.count_nonzero(squares[i] < 0.0))
            part = _first_order(
                C[np.ix_(i, i)], np.diag(squares[i]), coincident=False, growing=growing
            )
            omega[i], ratio[i], growth[i], eigenvalues[i], turn = part
            X = X.astype(complex)
            X[:, i] = X[:, i] @ (turn / np.linalg.norm(turn, axis=0))
    return Solved(omega, ratio, growth, eigenvalues, X)


def natural(M: Array, elastic: Array, gravity: Array, uncertain: Array) -> tuple[Array, Array]:
    """The shapes X without damping, X^T M X = 1, and the squares of their frequencies, for symmetric stiffnesses.

    Squares that may be rounding errors, or errors of the differences that `uncertain` bounds, are zero.
    """
    K = elastic + gravity
    X = undamped(M, K)
    squares = np.einsum("ki,kl,li->i", X, K, X)
    size = np.abs(X)
    rounding = np.einsum("ki,kl,li->i", size, 1e-13 * np.abs(elastic) + uncertain, size)
    rounding += 1e-22 * np.abs(squares).max()
    squares[np.abs(squares) <= rounding] = 0.0
    return X, squares


def _turned(X: Array, squares: Array, D: Array) -> tuple[Array, Array]:
    """The shapes and their damping matrix, those without stiffness turned such that it is diagonal among them.

    A motion with neither stiffness nor damping has a double eigenvalue of zero with one vector, which rounding would split
    into a growing and a decaying one.  So such motions must be shapes of their own, which no damping couples.
    """
    free = np.flatnonzero(squares == 0.0)
    C = X.T @ D @ X
    if not free.size:
        return X, C
    rates, turn = np.linalg.eigh(C[np.ix_(free, free)])
    X = X.copy()
    X[:, free] = X[:, free] @ turn
    C = X.T @ D @ X
    undamped = free[rates <= UNDAMPED * rates.max()]
    C[undamped], C[:, undamped] = 0.0, 0.0
    return X, C


def _roots(damping: Array, squares: Array) -> tuple[np.ndarray, np.ndarray]:
    """The roots of x^2 + damping x + squares = 0, damping >= 0: the greater one or the upper one, and the other.

    A root that is small compared with the other is computed as their product divided by the large one, which loses no digits.
    """
    half = 0.5 * damping
    root = np.sqrt((half**2 - squares).astype(complex))
    fast = -half - root
    overdamped = (root.imag == 0.0) & (fast != 0.0)
    slow = np.where(overdamped, squares / np.where(overdamped, fast, 1.0), -half + root)
    return slow, fast


def undamped(M: Array, K: Array) -> Array:
    """Shapes X with X^T M X = 1 and X^T K X diagonal.

    The accuracy of a solution is limited by the rounding of its highest frequency, so modes with far lower
    frequencies are solved again among themselves.
    """
    from scipy.linalg import eigh  # noqa: PLC0415 (slow to import)

    squares, X = eigh(K, M)
    columns = np.arange(len(M))
    while np.any(low := np.abs(squares) < 1e-6 * np.abs(squares).max()):
        columns = columns[low]
        Y = X[:, columns]
        squares, turn = eigh(Y.T @ K @ Y, Y.T @ M @ Y)
        X[:, columns] = Y @ turn
    return X


def unsymmetric(
    M: Array, D: Array, elastic: Array, loads: Array, uncertain: Array, *, steady: bool = False
) -> Solved:
    """The modes for a stiffness that is not symmetric, computed in the modes of its symmetric part.

    steady : whether they are those of a steady motion, with gyroscopic terms in D.
    """
    K = elastic + loads
    X = undamped(M, 0.5 * (K + K.T))
    size = np.abs(X)
    noise = float((size.T @ uncertain @ size).max())
    # the slowest stiffness that is more than rounding, or that of the loads, gives the unit of time
    squares = np.abs(np.einsum("ki,kl,li->i", X, K, X))
    rounding = np.einsum("ki,kl,li->i", size, 1e-13 * np.abs(elastic) + uncertain, size)
    slowest = float(squares[squares > rounding].min(initial=np.inf))
    scale = max(float(np.abs(X.T @ loads @ X).max()), slowest if slowest < np.inf else 0.0) or 1.0
    coincident = steady or not D.any()
    uncertain = size.T @ (1e-13 * np.abs(elastic) + uncertain) @ size
    found = _first_order(
        X.T @ D @ X, X.T @ K @ X, coincident, np.sqrt(scale), 1e-13 + noise / scale, uncertain
    )
    shapes = X @ found.shapes
    norms = np.sqrt(np.einsum("ij,ik,kj->j", shapes.conj(), M, shapes).real)
    return found._replace(shapes=shapes / norms)


def _described(eigenvalues: np.ndarray, partners: np.ndarray) -> tuple[Array, Array, Array]:
    """Frequencies, damping ratios and growth rates of pairs of eigenvalues.

    A pair with a real, growing eigenvalue is not an oscillation: its frequency is zero and its damping nan.
    """
    growth = np.maximum(eigenvalues.real, 0.0)
    falling = (eigenvalues.imag == 0.0) & (growth > 0.0)
    omega = np.sqrt(np.where(falling, 0.0, np.maximum((eigenvalues * partners).real, 0.0)))
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(omega > 0.0, 0.0 - 0.5 * (eigenvalues + partners).real / omega, np.nan)
    return omega, ratio, growth


def _first_order(
    D: Array,
    K: Array,
    coincident: bool,
    rate: float = 1.0,
    tolerance: float = 0.0,
    uncertain: Array | None = None,
    growing: int | None = None,
) -> Solved:
    """The modes of x'' + D x' + K x = 0 as a first-order system, in the time unit 1/rate.

    The result has one of each pair of eigenvalues; `tolerance` is that of `_spectrum`.  `coincident` says that
    eigenvalues may coincide, so that rounding splits them.  `uncertain` bounds the errors of K beyond rounding.
    `growing` is how many eigenvalues can grow, if that is known.
    """
    n = len(K)
    F = np.block([[np.zeros((n, n)), np.eye(n)], [-K / rate**2, -D / rate]])
    heavy = not (coincident or tolerance) and np.abs(D).max() > HEAVY * np.sqrt(np.abs(K).max())
    if heavy:
        values, X = _wide_spectrum(D, K)
        rounding = 1e-12 * np.abs(values)
    else:
        errors = ROUNDED * np.abs(F)
        if uncertain is not None:
            errors[n:, :n] += uncertain / rate**2
        values, X, lefts = _spectrum(F, tolerance)
        moved = _errors(F, values, X, lefts, errors)
        rounding = rate * np.maximum(1e-12 * np.abs(values).max(), BLURRED * moved)
        values = rate * values
    values = np.where(np.abs(values) <= rounding, 0.0, values)
    values = np.where(np.abs(values.imag) <= rounding, values.real, values)
    bound = np.maximum(rounding, COINCIDENT * np.abs(values)) if coincident else rounding
    turns = (values.imag != 0.0) & (np.abs(values.real) <= bound)
    values = np.where(turns, 1j * values.imag, values)
    if growing is not None:
        others = np.argsort(-values.real, kind="stable")[growing:]
        values[others] = np.minimum(values[others].real, 0.0) + 1j * values[others].imag
    oscillating = np.flatnonzero(values.imag > 0.0)
    # the others are real: the fastest growing one is paired with the fastest decaying one, and so on
    real = np.flatnonzero(values.imag == 0.0)
    real = real[np.argsort(-values[real].real, kind="stable")]
    left = n - len(oscillating)
    keep = np.concatenate([oscillating, real[:left]])
    eigenvalues = values[keep]
    partners = np.concatenate([values[oscillating].conj(), values[real[::-1][:left]]])
    # [x; lambda x]; the vector of a double zero may lack either part
    X = X[:, keep].reshape(2, n, n)
    larger = np.linalg.norm(X, axis=1).argmax(axis=0)
    shapes = X[larger, :, np.arange(n)].T
    return Solved(*_described(eigenvalues, partners), eigenvalues, shapes)


def _wide_spectrum(D: Array, K: Array) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and vectors [x; lambda x] of x'' + D x' + K x = 0 for D that is symmetric and heavy, and a diagonal K.

    The eigenvalues range from about K/D to D, too far apart for one solution in double precision.  With a shift s and
    P = s^2 + s D + K, the eigenvalues nu = s / (lambda - s) of

        [[-P^-1 (s^2 + s D), -s^2 P^-1], [P^-1 K, -s^2 P^-1]]          (x, lambda x / s)

    are exact to rounding, so those lambda are that have about the size of s.  Several shifts give all of them.  They lie
    between the real and the imaginary axis, where there are no eigenvalues.
    """
    from scipy.linalg import eig  # noqa: PLC0415 (slow to import)

    n = len(K)
    eye = np.eye(n)
    squares = np.abs(np.diag(K))
    present = squares[squares > 0.0]
    damped = float(np.linalg.eigvalsh(D).max())
    least = min(present.min() / damped, np.sqrt(present.min())) if present.size else damped
    most = max(damped, np.sqrt(present.max(initial=0.0)))
    sizes = np.geomspace(0.1 * least, 10.0 * most, 2 + int(np.log10(most / least) / 3.0) + 1)
    ends = np.append(np.sqrt(sizes[1:] * sizes[:-1]), np.inf)
    values, vectors = np.zeros(2 * n, dtype=complex), np.zeros((2 * n, 2 * n), dtype=complex)
    start = 0
    for size, end in zip(sizes, ends):
        s = size * np.exp(0.25j * np.pi)
        inverse = np.linalg.inv(s**2 * eye + s * D + K)
        rest = s**2 * inverse
        F = np.block([[-inverse @ (s**2 * eye + s * D), -rest], [inverse @ K, -rest]])
        nu, V = eig(F)
        found = s * (1.0 + 1.0 / nu)
        order = np.argsort(np.abs(found), kind="stable")
        stop = max(start, int(np.count_nonzero(np.abs(found) <= end)))
        taken = order[start:stop]
        values[start:stop], vectors[:, start:stop] = found[taken], V[:, taken]
        vectors[n:, start:stop] *= s
        start = stop
    values[: n - present.size] = 0.0
    real = np.abs(values.imag) <= 1e-9 * np.abs(values)
    return np.where(real, values.real, values), vectors


def _spectrum(F: Array, tolerance: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvalues, right and left vectors of F, the zeros first; left vectors of zeros that were split off are zero.

    Motions that nothing drives, F Z = 0 exactly or to within the tolerance (each row of F is scaled by its size, or by 1
    if that is larger), are split off, then those that only drive these, and so on.  Together their zero eigenvalues are
    defective, and rounding would turn them into small numbers.  With x = Z a + E y, where E leaves out as many
    coordinates t as Z has columns, y' = (F_r - Z_r Z_t^{-1} F_t) y and a' = Z_t^{-1} F_t y.
    """
    from scipy.linalg import eig, qr  # noqa: PLC0415 (slow to import)

    n = len(F)
    if n == 0:
        return np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0))
    Z = np.eye(n)[:, ~F.any(axis=0)]
    if not Z.size and tolerance:
        rows = F / np.maximum(np.abs(F).max(axis=1), 1.0)[:, None]
        _, sizes, V = np.linalg.svd(rows)
        Z = V[sizes <= tolerance].T
    z = Z.shape[1]
    if z == 0:
        values, left, right = eig(F, left=True, right=True)
        return values, right, left
    t = qr(Z.T, mode="r", pivoting=True)[1][:z]
    r = np.setdiff1d(np.arange(n), t)
    inverse = np.linalg.inv(Z[t])
    back = Z[r] @ inverse
    values, Y, left = _spectrum(F[np.ix_(r, r)] - back @ F[np.ix_(t, r)], tolerance)
    moves = values != 0.0
    a = inverse @ F[np.ix_(t, r)] @ Y / np.where(moves, values, 1.0)
    X = np.hstack([Z, Z @ np.where(moves, a, 0.0)])
    X[r, z:] += Y
    lefts = np.zeros_like(X)
    lefts[r, z:], lefts[t, z:] = left, -back.T @ left
    return np.concatenate([np.zeros(z), values]), X, lefts


def _errors(F: Array, values: np.ndarray, X: np.ndarray, lefts: np.ndarray, errors: Array) -> Array:
    """How far the errors of F, and what F X - X values has left, may move each eigenvalue.

    With left vectors y and right vectors x that is |y|^T errors |x| / |y^H x|.  Where several eigenvalues almost coincide, it
    grows as their distance shrinks, so that it covers the distance itself.
    """
    left_over = np.abs(np.einsum("ki,ki->i", lefts.conj(), F @ X - X * values))
    moved = np.einsum("ki,kl,li->i", np.abs(lefts), errors, np.abs(X))
    overlap = np.abs(np.einsum("ki,ki->i", lefts.conj(), X))
    return (left_over + moved) / np.where(lefts.any(axis=0), np.maximum(overlap, 1e-100), 1.0)
