r"""Modal integrals: the constants of M_m(eta).

Every mass point j is a small rigid body: mass m_j, position l_j = l0_j + gamma_j eta, rotation
exp(x_j~) with x_j = lambda_j eta, mass centre at c_j from the point and inertia I_j about it, both
turned by exp(x_j~).  Its angular velocity relative to the body is Tl(x_j) lambda_j eta_dot.  The
blocks of

    T = 1/2 [eta_dot; w; v]^T M_m(eta) [eta_dot; w; v]

are expanded in eta: G and the coupling F, E to first order, the rigid block (J, m p) to second order.
For point masses (c = 0, I = 0) the expansion is exact.  At eta = 0 the equations of motion are
those of the nodal rigid bodies for any w and eta_dot.  The expansion of m p goes one order further than
that of E, which makes gravity the gradient of a potential.  The integrals are those of Jain & Rodriguez,
Appendix C, with the terms of Tl that their Eq. (86) leaves out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from limber.bodies.shapes import Shaped, Shapes
from limber.checks import Array
from limber.frozen import read_only

#: An integral smaller than this part of its natural size is rounding error.
ROUNDING = 64.0 * np.finfo(float).eps

_LEVI_CIVITA = np.zeros((3, 3, 3))
for _i, _j, _k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    _LEVI_CIVITA[_i, _j, _k], _LEVI_CIVITA[_j, _i, _k] = 1.0, -1.0


@dataclass(frozen=True, eq=False)
class MassPoints(Shaped):
    """n small rigid bodies and the mode shapes at them."""

    mass: Array  # (n,)
    shapes: Shapes
    inertia: Array  # (n, 3, 3) about the point, body axes
    com: Array  # (n, 3) from the point to its mass centre


def _dyad(a: Array, b: Array) -> Array:
    """2 a.b I - a b^T - b a^T over the last axis: twice the inertia of a unit mass when a = b."""
    outer = a[..., :, None] * b[..., None, :]
    return 2.0 * np.einsum("...i,...i->...", a, b)[..., None, None] * np.eye(3) - (
        outer + np.swapaxes(outer, -1, -2)
    )


def _upper(S: Array) -> Array:
    """Symmetric matrices (..., 3, 3) as (..., 6): xx, xy, xz, yy, yz, zz."""
    return S[..., (0, 0, 0, 1, 1, 2), (0, 1, 2, 1, 2, 2)]


def _moments(J: Array, F: Array) -> Array:
    """N (..., 3, 3) with J = tr(N + N^T) I - N - N^T (given as (..., 6)) and F~ = N - N^T."""
    quarter = 0.25 * (J[..., 0] + J[..., 3] + J[..., 5])
    full = J[..., (0, 1, 2, 1, 3, 4, 2, 4, 5)].reshape(*J.shape[:-1], 3, 3)
    tilde = np.einsum("ijk,...j->...ik", _LEVI_CIVITA, F)
    return quarter[..., None, None] * np.eye(3) - 0.5 * (full - tilde)


class ModalIntegrals:
    """The constants of M_m(eta) of one body, from its mass points.

    mass, S0 (3), J0 (6); per mode E0, F0 (m, 3), J1 (m, 6); G0 (m, m), F1 (m, m, 3) with
    F1[r, s] the coefficient of eta_s in F_r, J2 (m, m, 6), S2 (m, m, 3), G1 (m, m, m) with
    G1[r, q, s] the coefficient of eta_s in G_rq.  N0 (m, 3, 3) and N1 (m, m, 3, 3) combine J1, F0 and J2, F1
    in the matrices of `kernels.modal`.
    """

    def __init__(self, points: MassPoints):
        fields = [
            points.mass, points.position, points.translation, points.rotation, points.inertia, points.com
        ]  # fmt: skip
        scalar = object if any(x.dtype == object for x in fields) else float  # symbolic or numeric
        mass, l, a, t, inertia, c = (x.astype(scalar) for x in fields)
        # node axis first, then modes, then components: a = gamma, t = lambda
        a, t = np.swapaxes(a, 1, 2), np.swapaxes(t, 1, 2)
        m = a.shape[1]

        self.mass = mass.sum() if scalar is object else float(mass.sum())
        self.S0 = np.einsum("n,ni->i", mass, l + c)
        self.J0 = _upper(
            np.einsum("n,nij->ij", mass, 0.5 * _dyad(l, l) + _dyad(l, c)) + inertia.sum(axis=0)
        )

        c1 = np.cross(t, c[:, None])  # (n, m, 3): rate of the turned offset
        p1 = a + c1  # rate of the mass centre
        It = np.einsum("nij,nrj->nri", inertia, t)
        self.E0 = np.einsum("n,nri->ri", mass, p1)
        self.F0 = np.einsum("n,nri->ri", mass, np.cross(l[:, None], p1) + np.cross(c[:, None], a))
        self.F0 += It.sum(axis=0)
        self.G0 = np.einsum("n,nri,nsi->rs", mass, a, a)
        mixed = np.einsum("n,nri,nsi->rs", mass, a, c1)
        self.G0 += mixed + mixed.T + np.einsum("nri,nsi->rs", t, It)

        tilde = np.einsum("ijk,nrj->nrik", _LEVI_CIVITA, t)  # (n, m, 3, 3): lambda_r~
        turned = np.einsum("nrij,njk->nrik", tilde, inertia)
        turned = turned + np.swapaxes(turned, -1, -2)  # lambda~ I - I lambda~
        J1 = np.einsum("n,nrij->rij", mass, _dyad((l + c)[:, None], a) + _dyad(l[:, None], c1))
        self.J1 = _upper(J1 + turned.sum(axis=0))

        # whether any point that turns has an inertia or an offset mass centre; otherwise S2, G1 and the
        # symmetric part of F1 vanish
        self.rotary = bool(np.any(c1) or np.any(t[np.any(inertia, axis=(1, 2))]))
        self.S2 = np.zeros((m, m, 3), scalar)
        self.G1 = np.zeros((m, m, m), scalar)
        self.F1 = np.zeros((m, m, 3), scalar)
        J2 = np.zeros((m, m, 3, 3), scalar)
        for point in zip(mass, l, inertia, a, t, c1, p1, tilde, turned):
            self._add_point(J2, *point)
        self.J2 = _upper(J2)
        self.N0, self.N1 = _moments(self.J1, self.F0), _moments(self.J2, self.F1)
        if scalar is float:
            self._drop_rounding()
        read_only(self)

    def _drop_rounding(self) -> None:
        """Set integrals to zero that are zero by orthogonality or symmetry, except for rounding.

        Each is compared with the bound that the Cauchy-Schwarz inequality gives.  Sums over many points leave
        about 1e-15 of that bound instead of a zero, and zeros cost nothing in generated code.
        """
        mode = np.sqrt(np.maximum(np.diag(self.G0), 0.0))
        pair = np.outer(mode, mode)
        turn = mode * np.sqrt(self.J0[[0, 3, 5]].sum())
        for values, bound in (
            (self.G0, pair),
            (self.F1, pair[..., None]),
            (self.J2, pair[..., None]),
            (self.E0, mode[:, None] * np.sqrt(self.mass)),
            (self.F0, turn[:, None]),
            (self.J1, turn[:, None]),
            (self.N0, turn[:, None, None]),
            (self.N1, pair[..., None, None]),
        ):
            values[np.abs(values) <= ROUNDING * bound] = 0.0

    def _add_point(self, J2, mass, l, inertia, a, t, c1, p1, tilde, turned):
        """Second-order integrals of one point; r and s are the first two axes."""
        self.F1 += mass * np.cross(a[None, :], p1[:, None])
        J2 += mass * _dyad(a[:, None], a[None, :])
        if not self.rotary:
            return
        # c2[r, s] = (lambda_r x (lambda_s x c) + lambda_s x (lambda_r x c)) / 2
        c2 = np.cross(t[:, None], c1[None, :])
        c2 = 0.5 * (c2 + np.swapaxes(c2, 0, 1))
        self.S2 += mass * c2
        Ts = np.cross(t[None, :], t[:, None])  # [r, s] lambda_s x lambda_r
        self.F1 += mass * (np.cross(l, c2) + np.cross(c1[None, :], a[:, None]))
        self.F1 += np.einsum("sij,rj->rsi", turned, t) + 0.5 * Ts @ inertia
        pull = np.einsum("rsi,qi->rqs", c2, a)
        spin = np.einsum("rsi,ij,qj->rqs", Ts, inertia, t)
        half = mass * pull - 0.5 * spin
        self.G1 += half + np.swapaxes(half, 0, 1)
        J2 += mass * (
            _dyad(a[:, None], c1[None, :]) + _dyad(c1[:, None], a[None, :]) + _dyad(l, c2)
        )
        twice = np.einsum("rij,sjk->rsik", tilde, tilde)
        bent = 0.5 * (twice + np.swapaxes(twice, 0, 1)) @ inertia
        cross = np.einsum("rij,jk,skl->rsil", tilde, inertia, tilde)
        cross = cross + np.swapaxes(cross, 0, 1)
        J2 += bent + np.swapaxes(bent, -1, -2) - cross

    def rigid_block(self) -> Array:
        """M_rr(0), 6 x 6."""
        p = np.einsum("ijk,j->ik", _LEVI_CIVITA, self.S0)
        J = self.J0[[0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(3, 3)
        return np.block([[J, p], [p.T, self.mass * np.eye(3)]])

    def mass_matrix(self) -> Array:
        """M_m(0), (m + 6) x (m + 6), modes first."""
        coupling = np.hstack([self.F0, self.E0])
        return np.block([[self.G0, coupling], [coupling.T, self.rigid_block()]])
