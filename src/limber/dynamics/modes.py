"""Natural frequencies, damping and shapes about a configuration at rest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.bodies import FlexibleBody
from limber.checks import Array
from limber.dynamics.evaluate import check_system, vectors
from limber.dynamics.inverse import bias, mass_matrix
from limber.dynamics.kinematics import integrate
from limber.errors import ArgumentTypeError, ArgumentValueError

#: Step of the differences by which gravity's stiffness is found; fourth order.
STEP = 1e-3


@dataclass(frozen=True, eq=False)
class Modes:
    """Modes of a system, by rising frequency.

    omega : (n,) natural frequencies, rad/s; zero for a rigid-body mode, and nan for a direction in
        which the configuration is unstable (it has no frequency).
    damping : (n,) damping ratios; nan where omega is zero or nan.
    shapes : (nv, n) shapes in v, v^T M v = 1; complex if the damping couples the modes.
    eigenvalues : (n,) complex, -damping omega + i omega sqrt(1 - damping^2).
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

    Solves M x'' + D x' + K x = 0 with K the elastic stiffness and that of gravity, forces held at what
    keeps q in equilibrium.

    Parameters
    ----------
    q : (nq,) the configuration.
    v : must be None or zero in this version: modes about a steady motion are not available yet.
    locked : names of bodies whose joints do not move.
    """
    check_system(system)
    batch, (q,) = vectors(system, q=(q, system.nq))
    if batch:
        raise ArgumentValueError(f"q must have shape ({system.nq},), got {(*batch, system.nq)}.")
    if v is not None and np.any(np.asarray(v)):
        raise ArgumentValueError(
            "v is not zero: modes about a steady motion are not available in this version. Leave v out."
        )
    free = _free(system, locked)
    M = mass_matrix(system, q[0])[np.ix_(free, free)]
    D = modal_damping(system)[np.ix_(free, free)]
    K = stiffness(system, q[0])[np.ix_(free, free)]
    return _solve(M, D, K, free, system.nv)


def _free(system: System, locked: Iterable[str]) -> np.ndarray:
    """Indices of v that may move."""
    if isinstance(locked, str):
        raise ArgumentTypeError(
            f"locked must be a list of body names, got the string {locked!r}: use [{locked!r}]."
        )
    keep = np.ones(system.nv, dtype=bool)
    for body in locked:
        system.number(body)
        keep[system.layout[body].v_joint] = False
    if not keep.any():
        raise ArgumentValueError("locked leaves nothing free to move.")
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


def stiffness(system: System, q: Array) -> Array:
    """The tangent stiffness (nv, nv) at q: elastic, exactly, and that of gravity, by differences."""
    K = modal_stiffness(system)
    if np.any(system.gravity):
        nv = system.nv
        weights = ((-2, 1 / 12), (-1, -8 / 12), (1, 8 / 12), (2, -1 / 12))
        slope = np.zeros((nv, nv))
        elastic = np.zeros((nv, nv))
        for steps, weight in weights:
            moved = integrate(system, q, np.eye(nv), steps * STEP)
            slope += weight / STEP * bias(system, moved, np.zeros(nv)).T
            elastic += weight * steps * K
        K = K + (slope - elastic)
    return 0.5 * (K + K.T)


def _solve(M, D, K, free, nv) -> Modes:
    from scipy.linalg import eigh  # noqa: PLC0415 (slow to import)

    squares, X = eigh(K, M)
    # what rounding leaves of a zero frequency
    floor = 1e-10 * max(squares[-1], 0.0) + 1e-14 * np.abs(K).max(initial=0.0) / max(
        np.abs(M).max(), 1e-300
    )
    squares = np.where(np.abs(squares) <= floor, 0.0, squares)
    coupled = X.T @ D @ X
    off = coupled - np.diag(np.diag(coupled))
    if np.abs(off).max(initial=0.0) > 1e-9 * np.abs(coupled).max(initial=0.0):
        return _solve_coupled(M, D, K, free, nv)
    with np.errstate(invalid="ignore", divide="ignore"):
        omega = np.sqrt(np.where(squares < 0.0, np.nan, squares))
        half = 0.5 * np.diag(coupled)
        ratio = np.where(omega > 0.0, half / omega, np.nan)
    eigenvalues = -half + np.sqrt((half**2 - squares).astype(complex))
    shapes = np.zeros((nv, len(squares)))
    shapes[free] = X
    return Modes(omega, ratio, shapes, eigenvalues)


def _solve_coupled(M, D, K, free, nv) -> Modes:
    """Complex modes of the first-order form, one of each conjugate pair."""
    from scipy.linalg import eig  # noqa: PLC0415

    n = len(M)
    zero, one = np.zeros((n, n)), np.eye(n)
    left = np.block([[one, zero], [zero, M]])
    values, vectors_ = eig(np.block([[zero, one], [-K, -D]]), left)
    keep = np.flatnonzero(values.imag > 1e-12 * np.abs(values).max())
    # overdamped modes and rigid-body modes are real and come in twos: keep the slower of each pair
    real = np.flatnonzero(np.abs(values.imag) <= 1e-12 * np.abs(values).max())
    real = real[np.argsort(np.abs(values[real]))][: n - len(keep)]
    keep = np.concatenate([keep, real])
    keep = keep[np.argsort(np.abs(values[keep]))]
    lam, X = values[keep], vectors_[:n, keep]
    X = X / np.sqrt(np.einsum("ij,ik,kj->j", X.conj(), M, X))
    omega = np.abs(lam)
    omega[omega < 1e-10 * np.abs(values).max()] = 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(omega > 0.0, -lam.real / omega, np.nan)
    shapes = np.zeros((nv, len(keep)), dtype=complex)
    shapes[free] = X
    return Modes(omega, ratio, shapes, lam)
