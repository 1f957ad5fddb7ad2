r"""Displacements, rotations and strains inside plate triangles, in terms of their 18 degrees of freedom.

The degrees of freedom of each corner are u, v, w and the rotations about x, y and the normal z; fields are arrays (e, q, ..., 18) at q
points.  The normal turns by beta_x = theta_y and beta_y = -theta_x.  Bending is that of the discrete Kirchhoff-Mindlin
triangle (I. Katili, International Journal for Numerical Methods in Engineering 36, 1993): beta varies quadratically,

    beta = sum_i lambda_i beta_i + sum_k 4 lambda_i lambda_j t_k delta_k

and along each edge k of length L the shear strain is constant, gamma_k = -2/3 phi_k delta_k with
phi = 12 D / (D_s L^2), which gives delta_k.  It does not lock: for a thin plate it is the discrete Kirchhoff triangle.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from limber.checks import Array
from limber.structures.triangles import EDGES, Triangles

U, V, W, TX, TY, TZ = range(6)


def _freedom(corner: int, which: int) -> Array:
    return np.eye(18)[6 * corner + which]


@dataclass(frozen=True, eq=False)
class PlateFields:
    """Fields of triangles with `softness` 12 D / D_s, m^2."""

    triangles: Triangles
    softness: Array  # (e,)

    @cached_property
    def _edge(self) -> tuple[Array, Array]:
        """(e, 3, 18): delta and gamma of each edge."""
        length, t = self.triangles.edges
        delta = np.zeros((*length.shape, 18))
        phi = self.softness[:, None] / length**2
        for k, (i, j, _) in enumerate(EDGES):
            L = length[:, k, None]
            chord = _freedom(j, W) - _freedom(i, W)
            turn = self._along(i, t[:, k]) + self._along(j, t[:, k])
            delta[:, k] = -1.5 / (L * (1.0 + phi[:, k, None])) * (chord + 0.5 * L * turn)
        return delta, -2.0 / 3.0 * phi[:, :, None] * delta

    @staticmethod
    def _along(corner: int, t: Array) -> Array:
        """(e, 18): beta of a corner along t (e, 2)."""
        return t[:, :1] * _freedom(corner, TY) - t[:, 1:] * _freedom(corner, TX)

    def turns(self, points: Array) -> Array:
        """(e, q, 2, 18): beta."""
        _, t = self.triangles.edges
        delta, _ = self._edge
        field = np.zeros((len(t), len(points), 2, 18))
        for i in range(3):
            field[:, :, 0] += np.multiply.outer(points[:, i], _freedom(i, TY))
            field[:, :, 1] -= np.multiply.outer(points[:, i], _freedom(i, TX))
        for k, (i, j, _) in enumerate(EDGES):
            bubble = 4.0 * points[:, i] * points[:, j]
            field += np.einsum("q,ec,ef->eqcf", bubble, t[:, k], delta[:, k])
        return field

    def turn_slopes(self, points: Array) -> Array:
        """(e, q, 2, 2, 18): the derivatives of beta (first index) by x and y (second)."""
        _, t = self.triangles.edges
        slope = self.triangles.slopes
        delta, _ = self._edge
        field = np.zeros((len(t), len(points), 2, 2, 18))
        for i in range(3):
            field[:, :, 0] += np.multiply.outer(slope[:, None, i], _freedom(i, TY))
            field[:, :, 1] -= np.multiply.outer(slope[:, None, i], _freedom(i, TX))
        for k, (i, j, _) in enumerate(EDGES):
            bubble = 4.0 * _product_slope(points, slope, i, j)
            field += np.einsum("eqd,ec,ef->eqcdf", bubble, t[:, k], delta[:, k])
        return field

    def curvatures(self, points: Array) -> Array:
        """(e, q, 3, 18): beta_x,x, beta_y,y and beta_x,y + beta_y,x."""
        s = self.turn_slopes(points)
        return np.stack([s[:, :, 0, 0], s[:, :, 1, 1], s[:, :, 0, 1] + s[:, :, 1, 0]], axis=2)

    def shear(self, points: Array) -> Array:
        """(e, q, 2, 18): gamma_xz, gamma_yz, with the constant shear strain of each edge."""
        length, _ = self.triangles.edges
        slope = self.triangles.slopes
        _, gamma = self._edge
        field = np.zeros((len(length), len(points), 2, 18))
        for k, (i, j, _) in enumerate(EDGES):
            whitney = _outer(points[:, i], slope[:, j]) - _outer(points[:, j], slope[:, i])
            field += np.einsum("eqd,ef->eqdf", whitney, length[:, k, None] * gamma[:, k])
        return field

    def displacements(self, points: Array) -> tuple[Array, Array]:
        """(e, q, 3, 18) and (e, q, 3, 2, 18): u, v, w and their slopes.

        w is cubic with the slopes of the corners, u and v are quadratic with edges that bend as the corners turn.
        """
        length, t = self.triangles.edges
        slope = self.triangles.slopes
        _, gamma = self._edge
        e, q = len(length), len(points)
        field, slopes = np.zeros((e, q, 3, 18)), np.zeros((e, q, 3, 2, 18))

        def add(component: int, value: Array, gradient: Array, coefficient: Array) -> None:
            field[:, :, component] += np.einsum("q,ef->eqf", value, coefficient)
            slopes[:, :, component] += np.einsum("eqd,ef->eqdf", gradient, coefficient)

        ones = np.ones((e, 1))
        for i in range(3):
            flat = np.broadcast_to(slope[:, None, i], (e, q, 2))
            for component in (U, V, W):
                add(component, points[:, i], flat, ones * _freedom(i, component))
        bubble = points.prod(axis=1)
        bubble_slope = sum(_outer(points[:, j] * points[:, k], slope[:, i]) for j, k, i in EDGES)
        for k, (i, j, _) in enumerate(EDGES):
            L, edge = length[:, k, None], t[:, k]
            product, product_slope = (
                points[:, i] * points[:, j],
                _product_slope(points, slope, i, j),
            )
            bend = 0.5 * L * (_freedom(i, TZ) - _freedom(j, TZ))
            add(U, product, product_slope, -edge[:, 1:] * bend)
            add(V, product, product_slope, edge[:, :1] * bend)
            chord = _freedom(j, W) - _freedom(i, W)
            rise = L * (gamma[:, k] - self._along(i, edge)) - chord
            fall = chord - L * (gamma[:, k] - self._along(j, edge))
            for a, coefficient in ((i, rise), (j, fall)):
                value = points[:, a] * product + 0.5 * bubble
                gradient = points[:, a, None] * product_slope + _outer(product, slope[:, a])
                add(W, value, gradient + 0.5 * bubble_slope, coefficient)
        return field, slopes


def _outer(values: Array, slope: Array) -> Array:
    """(e, q, 2) of (q,) and (e, 2)."""
    return values[None, :, None] * slope[:, None]


def _product_slope(points: Array, slope: Array, i: int, j: int) -> Array:
    """(e, q, 2): the gradient of lambda_i lambda_j."""
    return _outer(points[:, j], slope[:, i]) + _outer(points[:, i], slope[:, j])
