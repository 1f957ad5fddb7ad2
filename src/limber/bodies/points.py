r"""Mass points: the small rigid bodies that carry the mass of a flexible body, and their modal integrals.

Every mass point j is a small rigid body: mass m_j, position l_j = l0_j + gamma_j eta, rotation
exp(x_j~) with x_j = lambda_j eta, mass centre at c_j from the point and inertia I_j about it, both
turned by exp(x_j~).  Its angular velocity relative to the body is Tl(x_j) lambda_j eta_dot.  The blocks of
M_m are expanded in eta: G and the coupling F, E to first order, the rigid block (J, m p) to second order.
For point masses (c = 0, I = 0) the expansion is exact.  At eta = 0 the equations of motion are
those of the nodal rigid bodies for any w and eta_dot.  The expansion of m p goes one order further than
that of E, which makes gravity the gradient of a potential.  The integrals are those of Jain & Rodriguez,
Appendix C, with the terms of Tl that their Eq. (86) leaves out.

Points with second-order shapes, l_j = l0_j + gamma_j eta + 1/2 eta^T B_j eta, are exact in the same sense: their
masses enter with every product of gamma and B, through the few `CurvedPoints` that stand for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from limber.bodies.curved import curved_points
from limber.bodies.integrals import LEVI_CIVITA, ModalIntegrals, dyad, upper
from limber.bodies.shapes import Shaped, Shapes
from limber.checks import Array
from limber.short_repr import short_repr

#: Numbers in the arrays of one part of a sum over points.
PART = 200_000


@dataclass(frozen=True, eq=False)
class MassPoints(Shaped):
    """n small rigid bodies and the mode shapes at them."""

    __repr__ = short_repr

    mass: Array  # (n,)
    shapes: Shapes
    inertia: Array  # (n, 3, 3) about the point, body axes
    com: Array  # (n, 3) from the point to its mass centre

    def total(self):
        """The mass of all points."""
        return self.mass.sum() if self.mass.dtype == object else float(self.mass.sum())

    def integrals(self) -> ModalIntegrals:
        """The constants of M_m(eta)."""
        if self.shapes.second is None:
            return _Sums(self).integrals()
        centred = self.at_mass_centres()
        curved = curved_points(centred.mass, centred.shapes)
        return replace(_Sums(centred).integrals(), curved=curved)

    def at_mass_centres(self) -> MassPoints:
        """The same bodies, each referred to its mass centre, exact to second order in eta.

        The mass centre is at l + exp(x~) c = l0 + c + (gamma_r + lambda_r x c) eta_r + 1/2 (B_rs + c2_rs) eta_r eta_s with
        c2_rs = (lambda_r x (lambda_s x c) + lambda_s x (lambda_r x c)) / 2.
        """
        if not np.any(self.com):
            return self
        c, t = self.com, np.swapaxes(self.rotation, 1, 2)
        c1 = np.cross(t, c[:, None])  # (n, m, 3)
        c2 = np.cross(t[:, :, None], c1[:, None])  # (n, m, m, 3)
        c2 = 0.5 * (c2 + np.swapaxes(c2, 1, 2))
        square = np.einsum("ni,ni->n", c, c)[:, None, None] * np.eye(3)
        own = self.mass[:, None, None] * (square - c[:, :, None] * c[:, None, :])
        second = np.moveaxis(c2, 3, 1)
        second = second if self.shapes.second is None else self.shapes.second + second
        shapes = Shapes(
            self.position + c, self.translation + np.swapaxes(c1, 1, 2), self.rotation, second
        )
        return MassPoints(self.mass, shapes, self.inertia - own, np.zeros_like(c))

    def placed(self, R: Array, shift: Array) -> MassPoints:
        """The points in another frame, in which the old origin lies at `shift` and the old axes are the columns of R."""
        return MassPoints(
            self.mass,
            self.shapes.placed(R, shift),
            R @ self.inertia @ R.T,
            np.einsum("ij,nj->ni", R, self.com),
        )

    def scaled(self, factor: float) -> MassPoints:
        """The points with their masses and inertias multiplied by a factor."""
        made = MassPoints(factor * self.mass, self.shapes, factor * self.inertia, self.com)
        made.mass.setflags(write=False)
        made.inertia.setflags(write=False)
        return made

    def without_modes(self) -> MassPoints:
        """The same points of the undeformed body."""
        return replace(self, shapes=self.shapes.without_modes())

    def numbers(self) -> list[Array]:
        """All arrays, for a search for symbols."""
        return [self.mass, self.inertia, self.com, *self.shapes.numbers()]


class _Sums:
    """The sums over points that are the modal integrals; second-order shapes are not in them."""

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
        self.J0 = upper(
            np.einsum("n,nij->ij", mass, 0.5 * dyad(l, l) + dyad(l, c)) + inertia.sum(axis=0)
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

        tilde = np.einsum("ijk,nrj->nrik", LEVI_CIVITA, t)  # (n, m, 3, 3): lambda_r~
        turned = np.einsum("nrij,njk->nrik", tilde, inertia)
        turned = turned + np.swapaxes(turned, -1, -2)  # lambda~ I - I lambda~
        J1 = np.einsum("n,nrij->rij", mass, dyad((l + c)[:, None], a) + dyad(l[:, None], c1))
        self.J1 = upper(J1 + turned.sum(axis=0))

        # whether any point that turns has an inertia or an offset mass centre; otherwise S2, G1 and the
        # symmetric part of F1 vanish
        self.rotary = bool(np.any(c1) or np.any(t[np.any(inertia, axis=(1, 2))]))
        self.S2 = np.zeros((m, m, 3), scalar)
        self.G1 = np.zeros((m, m, m), scalar)
        self.F1 = -_cross_of(_products(mass, p1, a))
        self.J2 = _dyad_of(_products(mass, a, a))
        if self.rotary:
            fields = [mass, l, inertia, a, t, c1, tilde, turned]
            for at in _parts(len(mass), m):
                self._add_rotary(*(x[at] for x in fields))

    def integrals(self) -> ModalIntegrals:
        """The sums as modal integrals."""
        plain = self.mass, self.S0, self.J0, self.E0, self.F0, self.J1, self.G0, self.F1
        return ModalIntegrals(*plain, upper(self.J2), self.S2, self.G1)

    def _add_rotary(self, mass, l, inertia, a, t, c1, tilde, turned):
        """Add the second-order integrals of points that turn; their axis is the first one, then come r and s."""
        mass = mass[:, None, None, None]
        # c2[r, s] = (lambda_r x (lambda_s x c) + lambda_s x (lambda_r x c)) / 2
        c2 = np.cross(t[:, :, None], c1[:, None])
        c2 = 0.5 * (c2 + np.swapaxes(c2, 1, 2))
        self.S2 += (mass * c2).sum(axis=0)
        Ts = np.cross(t[:, None], t[:, :, None])  # [r, s] lambda_s x lambda_r
        TsI = Ts @ inertia[:, None]
        F1 = mass * (np.cross(l[:, None, None], c2) + np.cross(c1[:, None], a[:, :, None]))
        self.F1 += (F1 + 0.5 * TsI).sum(axis=0) + np.einsum("nsij,nrj->rsi", turned, t)
        pull = np.einsum("nrsi,nqi->rqs", mass * c2, a)
        half = pull - 0.5 * np.einsum("nrsj,nqj->rqs", TsI, t)
        self.G1 += half + np.swapaxes(half, 0, 1)
        J2 = dyad(a[:, :, None], c1[:, None]) + dyad(c1[:, :, None], a[:, None])
        self.J2 += (mass[..., None] * (J2 + dyad(l[:, None, None], c2))).sum(axis=0)
        twice = np.einsum("nrij,nsjk->nrsik", tilde, tilde)
        bent = 0.5 * (twice + np.swapaxes(twice, 1, 2)) @ inertia[:, None, None]
        bent = bent.sum(axis=0)
        cross = np.einsum("nrij,nsjk->rsik", tilde @ inertia[:, None], tilde)
        cross = cross + np.swapaxes(cross, 0, 1)
        self.J2 += bent + np.swapaxes(bent, -1, -2) - cross


def _products(mass: Array, x: Array, y: Array) -> Array:
    """(m, m, 3, 3): the sums over points of mass x_r y_s^T.

    They are added one after another, not by BLAS, whose rounding differs from one machine to another.
    """
    m = x.shape[1]
    total = np.zeros((m, m, 3, 3), x.dtype)
    for at in _parts(len(mass), m):
        terms = x[at, :, None, :, None] * y[at, None, :, None, :]
        total += (mass[at, None, None, None, None] * terms).sum(axis=0)
    return total


def _parts(n: int, m: int) -> Iterator[slice]:
    """The parts of n points in which their arrays (n, m, m, 3, 3) are not too large."""
    step = max(1, PART // max(1, 9 * m * m))
    return (slice(i, i + step) for i in range(0, n, step))


def _cross_of(N: Array) -> Array:
    """The sums of x_r x y_s from those of x_r y_s^T."""
    return np.einsum("ijk,...jk->...i", LEVI_CIVITA, N)


def _dyad_of(N: Array) -> Array:
    """The sums of dyad(x_r, y_s) from those of x_r y_s^T."""
    trace = np.einsum("...ii->...", N)
    return 2.0 * trace[..., None, None] * np.eye(3) - N - np.swapaxes(N, -1, -2)
