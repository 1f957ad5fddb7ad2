r"""Mode shapes of beams with shear deformation, rotary inertia or taper, by a spectral Ritz method.

The strains are polynomials of high degree: with Legendre polynomials P_i on the length of the beam,

    curvature kappa = sum a_i P_i,   shear strain gamma = sum b_i P_i,   theta = int kappa,   u = int (theta + gamma)

so all shapes are clamped at x = 0, nothing locks, and slender beams are those without gamma.  The modes are the
stationary values of

    int EI kappa^2 + kGA gamma^2 dx / (int rho A u^2 + rho I theta^2 dx + M u(L)^2 + J theta(L)^2)

where M and J are those of a load at the tip.  The stiffness is nearly diagonal in this basis, and frequencies converge
faster than any power of the degree: to about 1e-12 for the numbers of polynomials used here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Legendre
from numpy.polynomial.legendre import legint, legvander

from limber.bodies.beam_shapes import BeamShape
from limber.bodies.quadrature import gauss_legendre
from limber.checks import Array


@dataclass(frozen=True, eq=False)
class PolynomialShape:
    """A mode whose shape is a polynomial."""

    kind: str
    omega: float
    deflection: Legendre
    angle: Legendre
    rate: Legendre
    shear: Legendre

    def value(self, x: Array) -> Array:
        return self.deflection(x)

    def slope(self, x: Array) -> Array:
        return self.deflection.deriv()(x)

    def turn(self, x: Array) -> Array:
        return self.angle(x)

    def strain(self, x: Array) -> Array:
        return self.rate(x)

    def shear_force(self, x: Array) -> Array:
        return self.shear(x)


def gauss_points(length: float, most: int) -> tuple[Array, Array]:
    """Stations and their shares of the length, for integrals over shapes of up to so many modes of a kind."""
    xi, weight = gauss_legendre(48 + 8 * most)
    return 0.5 * length * (1.0 + xi), 0.5 * weight


def _integral(coefficients: Array, length: float) -> Array:
    """The coefficients of the integrals from 0 to x, column by column."""
    return np.asarray(legint(coefficients, lbnd=-1, scl=0.5 * length), dtype=np.float64)


class _Basis:
    """Polynomials for the strains of `count` modes, and what follows from them by integration."""

    def __init__(self, length: float, count: int):
        degrees = 24 + 4 * count
        self.length = length
        self.strain = np.eye(degrees)
        self.once = legint(self.strain, lbnd=-1, scl=0.5 * length)
        self.twice = legint(self.once, lbnd=-1, scl=0.5 * length)
        self.x, self.share = gauss_points(length, count)

    def at(self, coefficients: np.ndarray, x: Array) -> Array:
        """Values at x of the polynomials whose coefficients are the columns."""
        xi = 2.0 * x / self.length - 1.0
        return legvander(xi, len(coefficients) - 1) @ coefficients

    def series(self, coefficients: Array) -> Legendre:
        return Legendre(coefficients, domain=[0.0, self.length])

    def fit(self, values: Array) -> Array:
        """The coefficients of the polynomials with these values at the Gauss points, column by column."""
        norms = 2.0 * np.arange(len(values)) + 1.0
        return norms[:, None] * (self.at(np.eye(len(values)), self.x).T @ (self.share * values.T).T)


def _square(values: Array, weights: Array) -> Array:
    return values.T @ (weights[:, None] * values)


def _lowest(K: Array, M: Array, count: int) -> tuple[Array, Array]:
    """Frequencies and shapes, normalized with M, from K^-1 M, whose largest eigenvalues are accurate."""
    L = np.linalg.cholesky(K)
    inverse = np.linalg.inv(L)
    compliance, vectors = np.linalg.eigh(inverse @ M @ inverse.T)
    compliance, vectors = compliance[::-1][:count], vectors[:, ::-1][:, :count]
    return compliance**-0.5, inverse.T @ vectors / np.sqrt(compliance)


def bending_shapes(
    kind: str,
    length: float,
    mass: Array,
    EI: Array,
    GA: Array | None,
    rotary: Array,
    load: tuple[float, float],
    count: int,
) -> list[BeamShape]:
    """The first `count` bending modes in one plane, normalized with the load.

    mass, EI, GA, rotary : at `gauss_points(length, count)`; mass and rotary inertia are those of a uniform beam of
    this section and length.
    """
    if not count:
        return []
    basis = _Basis(length, count)
    share, tip = basis.share, np.array([length])
    strain = basis.at(basis.strain, basis.x)
    n = strain.shape[1]
    K = _square(strain, share * length * EI)
    deflections, angles = basis.twice, basis.once
    if GA is not None:
        zero = np.zeros_like(K)
        K = np.block([[K, zero], [zero, _square(strain, share * length * GA)]])
        deflections = np.hstack([deflections, np.vstack([basis.once, np.zeros((1, n))])])
        angles = np.hstack([angles, np.zeros_like(basis.once)])
    u, theta = basis.at(deflections, basis.x), basis.at(angles, basis.x)
    M = _square(u, share * mass) + _square(theta, share * rotary)
    M += _square(basis.at(deflections, tip), np.array([load[0]]))
    M += _square(basis.at(angles, tip), np.array([load[1]]))
    omega, vectors = _lowest(K, M, count)
    shapes: list[BeamShape] = []
    vectors = vectors * np.sign(basis.at(deflections @ vectors, tip)[0])
    ends = basis.at(deflections @ vectors, tip)[0]
    # the shear force carries the inertia of all that is outboard: V' = -omega^2 rho A u, V(L) = omega^2 M u(L)
    inertia = basis.fit((mass[:, None] / length) * (u @ vectors))
    for r, w in enumerate(omega):
        pull = basis.series(inertia[:, r]).integ(lbnd=length)
        shapes.append(
            PolynomialShape(
                kind,
                float(w),
                basis.series(deflections @ vectors[:, r]),
                basis.series(angles @ vectors[:, r]),
                basis.series(vectors[:n, r]),
                w**2 * (load[0] * ends[r] - pull),
            )
        )
    return shapes


def bar_shapes(
    kind: str, length: float, inertia: Array, stiffness: Array, load: float, count: int
) -> list[BeamShape]:
    """Torsion or stretch, normalized with the load; inertia and stiffness at `gauss_points(length, count)`."""
    if not count:
        return []
    basis = _Basis(length, count)
    strain, u = basis.at(basis.strain, basis.x), basis.at(basis.once, basis.x)
    K = _square(strain, basis.share * length * stiffness)
    M = _square(u, basis.share * inertia)
    M += _square(basis.at(basis.once, np.array([length])), np.array([load]))
    omega, vectors = _lowest(K, M, count)
    none = basis.series(np.zeros(1))
    shapes: list[BeamShape] = []
    # as for uniform bars, which start out in the positive direction
    vectors = vectors * np.sign(basis.at(vectors, np.zeros(1))[0])
    for r, w in enumerate(omega):
        value, rate = basis.series(basis.once @ vectors[:, r]), basis.series(vectors[:, r])
        shapes.append(PolynomialShape(kind, float(w), value, none, rate, none))
    return shapes
