r"""Modal integrals of a full mass matrix.

The velocities of the freedoms are U [eta_dot; w; v], where U has for node j, with x_j = lambda_j eta, the rows

    displacement  [gamma_j, -l_j~, I],   l_j = l0_j + gamma_j eta
    rotation      [(I - 1/2 x_j~) lambda_j, I - x_j~ + 1/2 x_j~^2, 0]    (node axes, in which rotary inertia is constant)

and M_m(eta) = U^T M U: the nodal floating frame of reference of Zwoelfer and Gerstmayr, extended to rotations.  For
lumped masses with rotary inertia these are the integrals of `bodies.points`.  Three things are left out:

- The part of F1[r, s] that is symmetric in r and s.  It vanishes if M is the same in all directions, M = M_s (x) I3, as
  it is for solids and lumped masses.  For beams it is an error of discretization, since stretch and bending are
  interpolated differently, and would act as a false second-order shape.  For a uniform clamped beam of n equal elements
  it is zero among bending modes and 0.6/n^2 between the first mode of stretch and the first two of bending (0.6 % for 10
  elements).
- G1, the change of modal mass by rotary inertia, where it is small (`ROTARY`).
- The turning of mass centres that are offset from their nodes, beyond first order.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from limber.bodies.integrals import LEVI_CIVITA, ModalIntegrals, upper
from limber.checks import Array
from limber.structures.rigid import rigid_motions

#: G1 is left out if the rotary inertia of nodes has less than this part in every modal mass.  A rotation of 0.1 rad
#: changes that mass by a tenth of it.
ROTARY = 0.01


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
    G1 = None
    if freedoms == 6:
        turn = shapes.reshape(-1, 6, m)[:, 3:].transpose(0, 2, 1)  # (n, m, 3) lambda
        rotary = MS[:, :3].reshape(-1, 6, 3)[
            :, 3:
        ]  # (n, 3, 3): moments at the nodes for each axis of w
        cross, bent = _rotary_terms(turn, rotary)
        F1 += cross
        J2 += bent
        G1 = _modal_mass_change(turn, (M @ shapes).reshape(-1, 6, m)[:, 3:])
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
        G0=shapes.T @ (M @ shapes),
        F1=0.5 * (F1 - F1.swapaxes(0, 1)),
        J2=upper(J2 + J2.swapaxes(2, 3)),
        G1=G1,  # type: ignore[arg-type]
    )


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


def _modal_mass_change(turn: Array, moment: Array) -> Array | None:
    """G1 (m, m, m) of moments (n, 3, m) at the nodes; None where it is small."""
    m = turn.shape[1]
    half = np.zeros((m, m, m))  # [r, q, s]
    for s in range(m):
        half[:, :, s] = 0.5 * np.einsum(
            "nrk,nkq->rq", np.cross(turn, turn[:, [s]]), moment, optimize=True
        )
    G1 = half + half.swapaxes(0, 1)
    steepest = np.linalg.norm(turn, axis=2).max(axis=0)
    small = np.abs(G1).max(axis=(0, 1)) <= ROTARY * steepest
    return None if small.all() else G1
