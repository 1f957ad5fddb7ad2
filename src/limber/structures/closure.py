r"""Modal integrals of a body for which only the mass matrix at rest is known.

M_m(0) contains mass, S0, J0, E0, F0 and G0.  J1, F1 and J2, through which centrifugal and Coriolis forces grow with the
deformation, need moments of the mode shapes that it does not contain.  They are estimated as follows: every mode is the
mean rigid motion of the mass,

    phi_r = b_r + theta_r x l + psi_r,      M_rr [theta_r; b_r] = [F0_r; E0_r],

and a remainder psi_r without momentum, which is assumed to be uncorrelated with the position l and equally strong in
all directions.  The moments of the mean motion follow from mass, centre and inertia, those of the remainder from G0.
The result is that of a possible distribution of mass: M_m(eta) stays positive definite for any eta.
"""

from __future__ import annotations

import numpy as np

from limber.bodies.integrals import ModalIntegrals, tilde, upper
from limber.checks import Array


def closed_integrals(rigid: Array, coupling: Array, modal: Array) -> ModalIntegrals:
    """The integrals of M_rr (6, 6), [F0, E0] (m, 6) and G0 (m, m), rotations first."""
    mass = float(np.trace(rigid[3:, 3:])) / 3.0
    S0 = np.array([rigid[2, 4], rigid[0, 5], rigid[1, 3]])  # M_rr = [[J, S0~], [-S0~, m]]
    S0 = 0.5 * (S0 - np.array([rigid[1, 5], rigid[2, 3], rigid[0, 4]]))
    J0 = 0.5 * (rigid[:3, :3] + rigid[:3, :3].T)
    F0, E0 = coupling[:, :3], coupling[:, 3:]
    mean = _mean_motion(rigid, coupling)
    theta, b = tilde(mean[:, :3]), mean[:, 3:]
    P = 0.5 * np.trace(J0) * np.eye(3) - J0  # sum m l l^T
    swung = theta @ S0  # sum m theta_r x l
    N0 = b[:, :, None] * S0 + theta @ P
    N1 = mass * b[:, None, :, None] * b[None, :, None, :]
    N1 = (
        N1
        + b[:, None, :, None] * swung[None, :, None, :]
        + swung[:, None, :, None] * b[None, :, None, :]
    )
    N1 = N1 + (theta @ P)[:, None] @ np.swapaxes(theta, 1, 2)[None]
    rest = modal - np.trace(N1, axis1=2, axis2=3)
    N1 = N1 + rest[:, :, None, None] / 3.0 * np.eye(3)
    turned = N1 - np.swapaxes(N1, 2, 3)  # F1~
    F1 = np.stack([turned[..., 2, 1], turned[..., 0, 2], turned[..., 1, 0]], axis=-1)
    return ModalIntegrals(
        mass, S0, upper(J0), E0, F0, upper(_inertia(N0)), modal, F1, upper(_inertia(N1))
    )


def _mean_motion(rigid: Array, coupling: Array) -> Array:
    """[theta_r, b_r] (m, 6) of M_rr [theta; b] = [F0; E0]; no rotation about an axis without inertia."""
    size = np.sqrt(np.maximum(np.diag(rigid), 0.0))
    size = np.maximum(size, 1e-6 * np.repeat([size[:3].max(), size[3:].max()], 3))
    size[size == 0.0] = 1.0
    inverse = np.linalg.pinv(rigid / np.outer(size, size), rcond=1e-10, hermitian=True)
    return (coupling / size) @ inverse / size


def _inertia(N: Array) -> Array:
    """tr(N + N^T) I - N - N^T over the last two axes."""
    both = N + np.swapaxes(N, -1, -2)
    return np.trace(both, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - both
