"""Gauss-Legendre quadrature."""

from __future__ import annotations

from functools import cache

from numpy.polynomial.legendre import leggauss

from limber.checks import Array


@cache
def gauss_legendre(count: int) -> tuple[Array, Array]:
    """The points on [-1, 1] and their weights, which integrate polynomials of degree 2 count - 1 exactly."""
    points, weights = leggauss(count)
    points.setflags(write=False)
    weights.setflags(write=False)
    return points, weights
