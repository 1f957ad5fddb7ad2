"""Appendages: flexible bodies from the few numbers that the supplier of a solar array or an antenna states."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from limber.bodies import FlexibleBody, RigidBody
from limber.bodies.integrals import tilde
from limber.bodies.nodes import Nodes
from limber.bodies.shapes import Shapes
from limber.checks import Array, array, numbers, repeated, shown
from limber.errors import ArgumentValueError
from limber.structures.closure import closed_integrals

#: By this fraction the modes may exceed the mass and inertia of the body, because suppliers round their numbers.
ROUNDED = 1e-6
DIRECTIONS = ("rotation about x", "rotation about y", "rotation about z", "x", "y", "z")


def appendage(
    mass: float,
    com: ArrayLike,
    inertia: ArrayLike,
    frequencies: ArrayLike,
    translation: ArrayLike,
    rotation: ArrayLike | None = None,
    damping: ArrayLike = 0.0,
) -> FlexibleBody:
    """Make a flexible body from its rigid mass properties and its modes with the root held (cantilever modes).

    Parameters
    ----------
    mass : kg.
    com : from the root to the centre of mass, m.
    inertia : about the centre of mass, kg m^2, as for `RigidBody`.
    frequencies : (m,) of the modes with the root held, Hz.
    translation : (3, m) modal participation factors along x, y and z, kg^(1/2): sums of mass times mode shape, for
        shapes of modal mass 1 kg.  Their squares are the effective masses.
    rotation : (3, m) those about x, y and z through the root, kg^(1/2) m.  Their squares are the effective inertias
        about the root.  None: zero.
    damping : damping ratio, one for all modes or one for each.

    The body frame is at the root, which is the only node.  If only effective masses are known, the factors are their
    square roots, with signs such that the parts of a mode agree: if an array along +y bends towards +z, both its factor
    along z and its factor about x are positive.

    With the root's acceleration a and angular acceleration alpha, mode k obeys

        eta_k'' + 2 zeta_k omega_k eta_k' + omega_k^2 eta_k = -translation[:, k] @ a - rotation[:, k] @ alpha

    and the root feels the forces -translation @ eta'' in addition to those of the rigid body.  The modes may not carry
    more than the body has: its mass matrix minus the sum of their outer products must be positive semidefinite.  How
    inertia forces change with the deformation is estimated as for a `Superelement`.
    """
    rigid = RigidBody(mass, com, inertia)
    hertz = numbers("frequencies", frequencies, "(modes,)")
    if hertz.ndim != 1 or not hertz.size or hertz.min() <= 0.0:
        raise ArgumentValueError(
            f"frequencies must be a list of numbers above 0, Hz, one for each mode, got {shown(frequencies)}."
        )
    m, omega = hertz.size, 2.0 * np.pi * hertz
    hint = f"One row for each axis, one column for each of {m} frequencies."
    shifts = array("translation", translation, (3, m), hint)
    turns = np.zeros((3, m)) if rotation is None else array("rotation", rotation, (3, m), hint)
    ratios = repeated("damping", damping, m, "One damping ratio for each mode.")
    if ratios.min() < 0.0:
        raise ArgumentValueError(f"damping must be at least 0, got {ratios.min():g}.")
    S0 = rigid.mass * tilde(rigid.com)
    M = np.block([[rigid.inertia - S0 @ tilde(rigid.com), S0], [-S0, rigid.mass * np.eye(3)]])
    factors = np.vstack([turns, shifts])
    _check(M, factors)
    root = Shapes(np.zeros((1, 3)), np.zeros((1, 3, m)), np.zeros((1, 3, m)))
    return FlexibleBody(
        closed_integrals(M, factors.T, np.eye(m)),
        Nodes(("root",), root),
        np.diag(omega**2),
        np.diag(2.0 * ratios * omega),
    )


def _check(M: Array, factors: Array) -> None:
    """Reject modes that carry more mass or inertia than the body has."""
    have, used = np.diag(M), np.square(factors).sum(axis=1)
    over = used > (1.0 + ROUNDED) * have
    if over.any():
        i = int(np.argmax(np.where(over, used / np.maximum(have, 1e-300), 0.0)))
        what = "mass" if i > 2 else "inertia about the root"
        raise ArgumentValueError(
            f"the modes have an effective {what} of {used[i]:.6g} for {DIRECTIONS[i]}, but the body has {have[i]:.6g}. "
            "The factors are for modes with modal mass 1 kg, with rotations about the root; effective masses are their "
            "squares."
        )
    size = np.sqrt(np.where(have > 0.0, have, 1.0))
    least = float(np.linalg.eigvalsh((M - factors @ factors.T) / np.outer(size, size))[0])
    if least < -ROUNDED:
        raise ArgumentValueError(
            "the modes carry more than the body has in a direction that combines several axes, although not along or about "
            "a single axis. Check the signs of the factors: the parts of one mode along and about the axes must agree, and "
            "so must the centre of mass. Rotations are about the root."
        )
