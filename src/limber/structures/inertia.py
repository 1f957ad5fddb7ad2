r"""Modal integrals of a full mass matrix.

The velocities of the degrees of freedom are U [eta_dot; w; v], where U has for node j, with x_j = lambda_j eta, the
rows

    displacement  [gamma_j, -l_j~, I],   l_j = l0_j + gamma_j eta
    rotation      [(I - 1/2 x_j~) lambda_j, I - x_j~ + 1/2 x_j~^2, 0]    (node axes, in which rotary inertia is constant)

and M_m(eta) = U^T M U: the nodal floating frame of reference of Zwoelfer and Gerstmayr, extended to rotations.  For
lumped masses with rotary inertia these are the integrals of `bodies.points`.

Some of them are expensive and usually negligible: G1, the change of modal mass as nodes with rotary inertia rotate, and
the part of F1[r, s] that is symmetric in r and s.  Both vanish for solids and point masses.  In addition to the effect
of rotary inertia the latter contains a discretization error, since beams interpolate stretch and bending differently:
for a uniform clamped beam of n equal elements it is zero among bending modes and 0.6/n^2 of F1 between the first mode
of stretch and the first two of bending.  They are left out if they are small (`SMALL`).  The rotation of mass centres
that are offset from their nodes is neglected beyond first order.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from limber.bodies.integrals import LEVI_CIVITA, ModalIntegrals, upper
from limber.checks import Array
from limber.structures.rigid import rigid_motions

#: G1 and the symmetric part of F1 are left out if both are less than this fraction of their natural size.  Node rotations of
#: 0.1 rad then change a modal mass, or the coupling of two modes by spin, by a thousandth of the mass of the modes.
SMALL = 0.01


def modal_integrals(M: sp.csr_array, position: Array, shapes: Array) -> ModalIntegrals:
    """The integrals of shapes (N, m) in the axes and about the origin of `position`."""
    N, m = shapes.shape
    freedoms = N // len(position)
    S = rigid_motions(position, freedoms, np.zeros(3))
    MS = M @ S
    rigid = S.T @ MS
    coupling = shapes.T @ MS
    X = np.einsum("ikj,nkm->njmi", LEVI_CIVITA, shapes.reshape(-1, 3, m)).reshape(N, 3 * m)
    MX = M @ X
    J1 = (X.T @ MS[:, :3]).reshape(m, 3, 3)
    J2 = (X.T @ MX).reshape(m, 3, m, 3).swapaxes(1, 2)
    F1 = (shapes.T @ MX).reshape(m, m, 3)
    G0 = shapes.T @ (M @ shapes)
    G1 = np.zeros((m, m, m))
    if freedoms == 6:
        turns = shapes.reshape(-1, 6, m)[:, 3:]
        turn = turns.transpose(0, 2, 1)  # (n, m, 3) lambda
        # moments at the nodes due to their rotary inertia, with the body and with the modes
        cross, bent = _rotary_terms(turn, _moments(M, np.tile(np.eye(3), (len(position), 1, 1))))
        F1 += cross
        J2 += bent
        G1 = _mass_change(turn, _moments(M, turns))
    if _small(G0, G1, F1, shapes):
        G1, F1 = np.zeros((m, m, m)), 0.5 * (F1 - F1.swapaxes(0, 1))
    moment = rigid[:3, 3:]  # m p~
    return ModalIntegrals(
        mass=float(np.trace(rigid[3:, 3:]) / 3.0),
        S0=0.5
        * np.array(
            [moment[2, 1] - moment[1, 2], moment[0, 2] - moment[2, 0], moment[1, 0] - moment[0, 1]]
        ),
        J0=upper(rigid[:3, :3]),
        E0=coupling[:, 3:],
        F0=coupling[:, :3],
        J1=upper(J1 + J1.swapaxes(1, 2)),
        G0=G0,
        F1=F1,
        J2=upper(J2 + J2.swapaxes(2, 3)),
        G1=G1,
    )


def _moments(M: sp.csr_array, turns: Array) -> Array:
    """(n, 3, k): the moments that accelerate rotations (n, 3, k) alone, while no node moves."""
    alone = np.concatenate([np.zeros_like(turns), turns], axis=1)
    force = M @ alone.reshape(-1, turns.shape[2])
    return force.reshape(alone.shape)[:, 3:]


def _rotary_terms(turn: Array, rotary: Array) -> tuple[Array, Array]:
    """(m, m, 3) and (m, m, 3, 3): what -1/2 x~ lambda adds to F1 and 1/2 x~^2 to half of J2."""
    m = turn.shape[1]
    F1, J2 = np.zeros((m, m, 3)), np.zeros((m, m, 3, 3))
    for s in range(m):
        spin = np.cross(turn, turn[:, [s]])  # (n, r, 3): -lambda_s x lambda_r
        F1[:, s] = 0.5 * np.einsum("nrk,nki->ri", spin, rotary, optimize=True)
        # (lambda_r~ lambda_s~)^T applied to the moments: lambda_s x (lambda_r x ...)
        moved = np.cross(turn[:, :, None], rotary.transpose(0, 2, 1)[:, None])  # (n, r, i, 3)
        J2[:, s] = np.cross(turn[:, None, [s]], moved).sum(axis=0)
    return F1, 0.5 * (J2 + J2.swapaxes(0, 1))


def _mass_change(turn: Array, moment: Array) -> Array:
    """G1 (m, m, m) of moments (n, 3, m) at the nodes."""
    m = turn.shape[1]
    half = np.zeros((m, m, m))  # [r, q, s]
    for s in range(m):
        half[:, :, s] = 0.5 * np.einsum(
            "nrk,nkq->rq", np.cross(turn, turn[:, [s]]), moment, optimize=True
        )
    return half + half.swapaxes(0, 1)


def _small(G0: Array, G1: Array, F1: Array, shapes: Array) -> bool:
    """Whether G1 and the symmetric part of F1 can be left out."""
    size = np.sqrt(np.diag(G0))
    pair = np.outer(size, size)
    even = np.abs(F1 + F1.swapaxes(0, 1)).max(axis=2) / 2.0
    steepest = 1.0
    if np.any(G1):
        turn = shapes.reshape(-1, 6, len(G0))[:, 3:]
        steepest = np.linalg.norm(turn, axis=1).max(axis=0)
    change = np.abs(G1) / (pair[:, :, None] * np.maximum(steepest, 1e-300))
    return bool(np.all(even <= SMALL * pair) and np.all(change <= SMALL))
