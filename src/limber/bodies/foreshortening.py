"""Foreshortening: how far the points of a bent beam move towards its root.

A beam whose axis keeps its length while it bends by u_y(x), u_z(x) has, to second order,

    u_x(x) = -1/2 int_0^x (u_y'^2 + u_z'^2) dx  =  1/2 eta^T B(x) eta,   B_rs(x) = -int_0^x (y_r' y_s' + z_r' z_s') dx

This term stiffens a beam under spin or tension, and softens it under compression.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.polynomial import legendre

from limber.bodies.quadrature import gauss_legendre
from limber.checks import Array


def foreshortening(length: float, slopes: Callable[[Array], Array], x: Array, order: int) -> Array:
    """(n, 3, m, m): B at the stations x of a beam along x.

    slopes : gives (k, 2, m), the slopes y' and z' of the m modes at k stations.
    order : of the Gauss quadrature and of the Legendre series by which the running integral is computed.
    """
    xi, weight = gauss_legendre(order)
    slope = slopes(0.5 * length * (1.0 + xi))
    products = np.einsum("kcr,kcs->krs", slope, slope)
    degree = np.arange(order)
    # the last coefficients would alias; those of smooth shapes are zero to rounding
    series = (degree + 0.5)[:, None] * (legendre.legvander(xi, order - 1) * weight[:, None]).T
    coefficients = np.tensordot(series, products, 1)
    running = legendre.legint(coefficients, lbnd=-1.0, axis=0) * (0.5 * length)
    values = legendre.legvander(2.0 * x / length - 1.0, order) @ running.reshape(order + 1, -1)
    B = np.zeros((x.size, 3, *products.shape[1:]))
    B[:, 0] = -values.reshape(x.size, *products.shape[1:])
    B[x == 0.0] = 0.0
    return B
