"""Flat triangles: area coordinates, edges and quadrature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from limber.bodies.quadrature import gauss_legendre
from limber.checks import Array

#: Corners of the edges of a triangle, and the corner opposite.
EDGES = ((0, 1, 2), (1, 2, 0), (2, 0, 1))


@dataclass(frozen=True, eq=False)
class Triangles:
    """e triangles with corners `xy` (e, 3, 2), counterclockwise."""

    xy: Array

    @property
    def area(self) -> Array:
        """(e,)."""
        return 0.5 * np.linalg.det(self.xy[:, 1:] - self.xy[:, :1])

    @property
    def slopes(self) -> Array:
        """(e, 3, 2): the gradients of the area coordinates."""
        ends = self.xy[:, [1, 2, 0]], self.xy[:, [2, 0, 1]]
        x, y = np.moveaxis(ends[1] - ends[0], 2, 0)
        return np.stack([-y, x], axis=2) / (2.0 * self.area[:, None, None])

    @property
    def edges(self) -> tuple[Array, Array]:
        """Lengths (e, 3) and directions (e, 3, 2) of the edges."""
        span = np.stack([self.xy[:, j] - self.xy[:, i] for i, j, _ in EDGES], axis=1)
        length = np.linalg.norm(span, axis=2)
        return length, span / length[:, :, None]


def quadrature(degree: int) -> tuple[Array, Array]:
    """Area coordinates (q, 3) and weights (q,) of sum 1 that integrate polynomials of an even degree exactly."""
    x, w = gauss_legendre(degree // 2 + 1)
    x, w = 0.5 * (1.0 + x), 0.5 * w
    a, b = (c.ravel() for c in np.meshgrid(x, x, indexing="ij"))
    weight = 2.0 * np.outer(w, w).ravel() * (1.0 - a)
    return np.column_stack([a, (1.0 - a) * b, (1.0 - a) * (1.0 - b)]), weight
