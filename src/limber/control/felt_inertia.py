r"""The inertia that joints with motors feel.

In an open system it is that of these joints with all others held. In a closed system these joints, the rows E of the
speeds, move the others through the closures. With the motions N that the closures allow, N^T M N = 1, in which springs
and modes of bodies are held,

    v = N z,    G = E N,    torques u give    z' = G^T u

    as many joints as ranks of G       M_r = (G G^T)^{-1}: every other joint with a motor is held
    more joints (redundant motors)     none of them can move with the others held. Each feels 1 / (G G^T)_ii with the
                                       others free, and takes the same share of it, so that the gains w^2 of this
                                       inertia give the stiffness w^2 on average over the motions of the motors

The quadratic form of M_r, for the weights of LQR, is then the energy of the motions; forces by which the motors only
push against each other have a cost of their own, because they move nothing. If the closures let the joints move only
by deformation, N includes springs and modes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from limber.assembly.system import System
from limber.checks import Array, listed
from limber.control.closed_joints import LOCKED, owners
from limber.dynamics.inverse import mass_matrix
from limber.dynamics.rows import DEPENDENT, row_space
from limber.dynamics.stiffness import own_stiffness_and_damping
from limber.errors import ArgumentValueError


@dataclass(frozen=True, eq=False)
class FeltInertia:
    """What joints feel.

    each : (joints,) the inertia of each, for gains that act on one joint.
    matrix : (joints, joints) M_r, with v_r^T M_r v_r twice the energy of their motions.
    inverse : (joints, joints) its inverse, or for redundant motors a positive matrix that agrees with it for torques that move
        something.
    moved : (joints, n) G; None for an open system, in which they move independently.
    """

    each: Array
    matrix: Array
    inverse: Array
    moved: Array | None

    def settled(self, stiffness: Array, torque: Array) -> Array:
        """How far constant torques move joints with these stiffnesses, one for each."""
        if self.moved is None:
            return np.asarray(torque / stiffness)
        G = self.moved
        K = G.T @ (stiffness[:, None] * G)
        return np.asarray(G @ (np.linalg.pinv(K, rcond=DEPENDENT, hermitian=True) @ (G.T @ torque)))


def felt_inertia(system: System, q: Array, places: np.ndarray) -> FeltInertia:
    """The inertia that the joints at `places`, in v, feel at q."""
    M = mass_matrix(system, q)
    if not system.closures:
        part = M[np.ix_(places, places)]
        return FeltInertia(np.diag(part).copy(), part, np.linalg.inv(part), None)
    elastic = np.diag(own_stiffness_and_damping(system, q)[0]) > 0.0
    elastic[places] = False
    G, locked = _moved(system, q, M, places, ~elastic)
    if locked.any():
        G, locked = _moved(system, q, M, places, np.ones(system.nv, dtype=bool))
    if locked.any():
        raise ArgumentValueError(
            f"tune: the closures of {system.name!r} lock the joint of {listed(owners(system, places[locked]))} in this "
            "configuration, so that a motor moves nothing there. Name the joints with motors, bodies=[...]."
        )
    size = np.linalg.norm(G, axis=1)
    U, s, _ = np.linalg.svd(G / size[:, None])
    rank = int((s > DEPENDENT * s.max()).sum())
    # of each joint in the unit of its inertia
    unit = np.outer(size, size)
    squares = np.ones(len(places))
    squares[:rank] = s[:rank] ** 2
    matrix = (U[:, :rank] / squares[:rank]) @ U[:, :rank].T / unit
    each = np.diag(matrix).copy()
    if rank < len(places):
        each = rank / len(places) / size**2
    return FeltInertia(each, matrix, (U * squares) @ U.T * unit, G)


def _moved(
    system: System, q: Array, M: Array, places: np.ndarray, moving: np.ndarray
) -> tuple[Array, np.ndarray]:
    """G, where only the speeds marked as moving do, and which joints the closures lock."""
    basis = row_space(system, q, np.flatnonzero(moving)).basis
    N = np.zeros((system.nv, basis.shape[1]))
    N[moving] = basis
    G = N[places]
    return G, np.linalg.norm(G, axis=1) <= LOCKED / np.sqrt(np.diag(M)[places])
