"""Natural frequencies, damping and shapes about a configuration at rest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.bodies import FlexibleBody
from limber.checks import Array, shown
from limber.dynamics.evaluate import check_system, refuse, vectors
from limber.dynamics.inverse import bias, mass_matrix
from limber.dynamics.kinematics import integrate
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.kernels.layout import NOT_FINITE

#: Step of the differences by which gravity's stiffness is found; fourth order.
STEP = 1e-3
#: What those differences leave of a zero, relative to the forces, and of a symmetric matrix.
DIFFERENCES = 1e-11
ASYMMETRY = 1e-6


@dataclass(frozen=True, eq=False)
class Modes:
    """Modes of a system, by rising frequency.

    omega : (n,) natural frequencies, rad/s; zero for a rigid-body mode, and nan, first of all, for a
        direction in which the configuration is unstable (it has no frequency).
    damping : (n,) damping ratios; nan where omega is zero or nan.
    shapes : (nv, n) shapes in v, v^T M v = 1; complex if the damping couples the modes.
    eigenvalues : (n,) complex, -damping omega + i omega sqrt(1 - damping^2); of two real ones, the
        greater: the slower of an overdamped mode, the growing one of an unstable direction.
    """

    omega: Array
    damping: Array
    shapes: np.ndarray
    eigenvalues: np.ndarray

    @property
    def frequencies(self) -> Array:
        """omega in Hz."""
        return self.omega / (2.0 * np.pi)


def modes(
    system: System, q: ArrayLike, v: ArrayLike | None = None, locked: Iterable[str] = ()
) -> Modes:
    """Natural modes of small motion about the configuration q at rest.

    Solves M x'' + D x' + K x = 0 with K the elastic stiffness and that of gravity, tau held at what
    keeps q in equilibrium.  Where a spherical or free joint needs such a force to hold it, that force
    follows the body and K is not symmetric.

    Parameters
    ----------
    q : (nq,) the configuration.
    v : must be None or zero in this version: modes about a steady motion are not available yet.
    locked : names of bodies whose joints do not move.
    """
    check_system(system)
    rest = np.zeros(system.nv) if v is None else v
    batch, (q, v) = vectors(system, q=(q, system.nq), v=(rest, system.nv))
    if batch:
        raise ArgumentValueError(
            f"q and v must be one state, got a batch of shape {batch}. Call modes once per state."
        )
    if not np.isfinite(v).all():
        refuse(system, NOT_FINITE, 0, 1, {"v": v})
    if np.any(v):
        raise ArgumentValueError(
            "v is not zero: modes about a steady motion are not available in this version. Leave v out."
        )
    free = _free(system, locked)
    M = mass_matrix(system, q[0])[np.ix_(free, free)]
    D = modal_damping(system)[np.ix_(free, free)]
    elastic = modal_stiffness(system)[np.ix_(free, free)]
    gravity = gravity_stiffness(system, q[0])[np.ix_(free, free)]
    held = np.abs(bias(system, q[0], np.zeros(system.nv)))[free] if gravity.any() else 0.0 * free
    bound = ASYMMETRY * np.abs(gravity).max() + 1e-13 * np.abs(elastic).max()
    if np.abs(gravity - gravity.T).max() > bound:
        found = _unsymmetric(M, D, elastic, gravity)
    else:
        found = _symmetric(M, D, elastic, 0.5 * (gravity + gravity.T), held)
    omega, ratio, eigenvalues, X = found
    order = np.argsort(np.where(np.isnan(omega), -1.0, omega), kind="stable")
    shapes = np.zeros((system.nv, len(omega)), dtype=X.dtype)
    shapes[free] = X[:, order]
    return Modes(omega[order], ratio[order], shapes, eigenvalues[order])


def _free(system: System, locked: Iterable[str]) -> np.ndarray:
    """Indices of v that may move."""
    if isinstance(locked, str):
        raise ArgumentTypeError(
            f"locked must be a list of body names, got the string {locked!r}: use [{locked!r}]."
        )
    try:
        bodies = list(locked)
    except TypeError:
        raise ArgumentTypeError(
            f"locked must be a list of body names, got {shown(locked)}."
        ) from None
    keep = np.ones(system.nv, dtype=bool)
    for body in bodies:
        system.number(body, "locked: body")
        keep[system.layout[body].v_joint] = False
    if not keep.any():
        raise ArgumentValueError(
            f"locked={shown(bodies)} leaves none of the {system.nv} speeds of {system.name!r} free to move. Lock "
            "fewer joints."
        )
    return np.flatnonzero(keep)


def modal_damping(system: System) -> Array:
    """The damping matrix (nv, nv) of the modes."""
    D = np.zeros((system.nv, system.nv))
    for name, where in system.layout.items():
        body = system.bodies[name]
        if isinstance(body, FlexibleBody):
            D[where.v_modes, where.v_modes] = body.damping
    return D


def modal_stiffness(system: System) -> Array:
    """The elastic stiffness matrix (nv, nv) of the modes."""
    K = np.zeros((system.nv, system.nv))
    for name, where in system.layout.items():
        body = system.bodies[name]
        if isinstance(body, FlexibleBody):
            K[where.v_modes, where.v_modes] = body.stiffness
    return K


def difference_steps(system: System) -> Array:
    """A step for each freedom: STEP for joints; for modes, what turns no node by more than STEP and moves
    none by more than STEP times the extent of the body."""
    size = np.full(system.nv, STEP)
    for name, where in system.layout.items():
        body = system.bodies[name]
        if isinstance(body, FlexibleBody):
            parts = (body.points, body.nodes)
            extent = max(np.ptp(part.position, axis=0).max() for part in parts) or 1.0
            for r in range(body.modes):
                turn = max(np.abs(part.rotation[:, :, r]).max() for part in parts)
                move = max(np.abs(part.translation[:, :, r]).max() for part in parts) / extent
                size[where.v_modes.start + r] = STEP / (max(turn, move) or 1.0)
    return size


def gravity_stiffness(system: System, q: Array) -> Array:
    """The stiffness (nv, nv) of gravity at q, by differences."""
    nv = system.nv
    slope = np.zeros((nv, nv))
    if not np.any(system.gravity):
        return slope
    size = difference_steps(system)
    for steps, weight in ((-2, 1 / 12), (-1, -8 / 12), (1, 8 / 12), (2, -1 / 12)):
        moved = integrate(system, q, np.diag(size), steps)
        slope += weight * bias(system, moved, np.zeros(nv)).T / size
    return slope - modal_stiffness(system)


def _symmetric(M, D, elastic, gravity, held):
    """omega, damping, eigenvalues and shapes for symmetric stiffnesses; `held` are the forces at q."""
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 (slow to import)

    K = elastic + gravity
    X = _undamped(M, K)
    squares = np.einsum("ki,kl,li->i", X, K, X)
    # what rounding and differences leave of a zero frequency
    size = np.abs(X)
    rounding = 1e-13 * np.einsum("ki,kl,li->i", size, np.abs(elastic), size)
    rounding += 1e-22 * np.abs(squares).max()
    differences = np.abs(X.T @ gravity @ X).max() + (held @ size) * size.sum(axis=0)
    squares[np.abs(squares) <= rounding + DIFFERENCES * differences] = 0.0
    C = X.T @ D @ X
    half = 0.5 * np.diag(C)
    with np.errstate(invalid="ignore", divide="ignore"):
        omega = np.sqrt(np.where(squares < 0.0, np.nan, squares))
        ratio = np.where(omega > 0.0, half / omega, np.nan)
    eigenvalues = -half + np.sqrt((half**2 - squares).astype(complex))
    # modes that the damping couples are solved together
    own = np.sqrt(np.abs(np.diag(C)))
    coupled = np.abs(C) > 1e-9 * np.outer(own, own) + 1e-13 * np.abs(C).max()
    count, group = connected_components(coupled)
    for g in range(count):
        i = np.flatnonzero(group == g)
        if len(i) > 1:
            part = _first_order(C[np.ix_(i, i)], np.diag(squares[i]))
            omega[i], ratio[i], eigenvalues[i], turn = part
            X = X.astype(complex)
            X[:, i] = X[:, i] @ (turn / np.linalg.norm(turn, axis=0))
    return omega, ratio, eigenvalues, X


def _undamped(M, K):
    """Shapes X with X^T M X = 1 and X^T K X diagonal.

    A solution is exact to the rounding of its highest frequency, so those far below it are solved again
    among themselves.
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


def _unsymmetric(M, D, elastic, gravity):
    """omega, damping, eigenvalues and shapes for a stiffness that is not symmetric.

    Coordinates that nothing resists, the translations of a free body, are split off: with them the zero
    eigenvalues are defective and come out as small numbers.
    """
    K = elastic + gravity
    A, B = np.linalg.solve(M, K), np.linalg.solve(M, D)
    idle = (np.abs(K).max(axis=0) <= DIFFERENCES * np.abs(gravity).max()) & ~D.any(axis=0)
    t, r = np.flatnonzero(idle), np.flatnonzero(~idle)
    noise = np.sqrt(DIFFERENCES * np.abs(np.linalg.solve(M, gravity)).max())
    omega, ratio, eigenvalues, Y = _first_order(B[np.ix_(r, r)], A[np.ix_(r, r)], noise)
    X = np.zeros((len(M), len(M)), dtype=complex)
    X[t, : t.size] = np.eye(t.size)
    X[r, t.size :] = Y
    moves = eigenvalues != 0.0
    pull = -(A[np.ix_(t, r)] @ Y + eigenvalues * (B[np.ix_(t, r)] @ Y))
    X[t, t.size :] = np.where(moves, pull / np.where(moves, eigenvalues, 1.0) ** 2, 0.0)
    X /= np.sqrt(np.einsum("ij,ik,kj->j", X.conj(), M, X))
    still = np.zeros(t.size)
    return (
        np.concatenate([still, omega]),
        np.concatenate([still + np.nan, ratio]),
        np.concatenate([still, eigenvalues]),
        X,
    )


def _first_order(D, K, noise=0.0):
    """omega, damping, eigenvalues and shapes of x'' + D x' + K x = 0 as a first-order system.

    One of each pair of eigenvalues; those below `noise` are zero.
    """
    from scipy.linalg import eig  # noqa: PLC0415 (slow to import)

    n = len(K)
    values, X = eig(np.block([[np.zeros((n, n)), np.eye(n)], [-K, -D]]))
    noise = max(noise, 1e-12 * np.abs(values).max())
    values = np.where(np.abs(values) <= noise, 0.0, values)
    values = np.where(np.abs(values.imag) <= noise, values.real, values)
    oscillating = np.flatnonzero(values.imag > 0.0)
    # the others are real: the fastest growing goes with the fastest decaying, and so on
    real = np.flatnonzero(values.imag == 0.0)
    real = real[np.argsort(-values[real].real, kind="stable")]
    left = n - len(oscillating)
    keep = np.concatenate([oscillating, real[:left]])
    eigenvalues = values[keep]
    partner = np.concatenate([values[oscillating].conj(), values[real[::-1][:left]]])
    growing = (eigenvalues.imag == 0.0) & (eigenvalues.real > 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        omega = np.sqrt(np.where(growing, np.nan, (eigenvalues * partner).real))
        ratio = np.where(omega > 0.0, -0.5 * (eigenvalues + partner).real / omega, np.nan)
    # [x; lambda x]; the vector of a double zero may lack either part
    X = X[:, keep].reshape(2, n, n)
    larger = np.linalg.norm(X, axis=1).argmax(axis=0)
    return omega, ratio, eigenvalues, X[larger, :, np.arange(n)].T
