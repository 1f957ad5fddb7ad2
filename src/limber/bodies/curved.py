r"""Curved points: the part of a body's mass that moves on curved paths as its modes grow.

Mass points with second-order shapes move by l = l0 + gamma eta + 1/2 eta^T B eta.  Their kinetic energy is

    T = 1/2 sum_j m_j |U_j V|^2,   U_j = [gamma_j + B_j eta, -l_j~, I],   V = [eta_dot; w; v]

With q_i an orthonormal basis of the functions sqrt(m_j) B_j over the points, the products that contain B need only
the components of every quantity along these q_i; those without B are in the ordinary modal integrals.  So a few
points i with

    e_i = sum_j q_ij sqrt(m_j),   l0_i = sum_j q_ij sqrt(m_j) l0_j,   gamma_i and B_i likewise,

give every product with B exactly: three for a uniform beam with two modes
in each plane, whatever the number of mass points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from limber.bodies.shapes import Shapes
from limber.checks import Array
from limber.short_repr import short_repr

#: A function that differs from its projection on the basis by less than this fraction is in its span.
SPANNED = 1e-13
#: A component smaller than this fraction of the whole is rounding error.
ROUNDING = 1e-15


@dataclass(frozen=True, eq=False)
class CurvedPoints:
    """A few points with U = [gamma + B eta, -l~, e I]; T is the sum of weight |U V|^2 / 2."""

    __repr__ = short_repr

    weight: Array  # (n,)
    unit: Array  # (n,) e
    position: Array  # (n, 3)
    translation: Array  # (n, 3, m)
    second: Array  # (n, 3, m, m)

    def __len__(self) -> int:
        return len(self.weight)

    def placed(self, R: Array, shift: Array) -> CurvedPoints:
        """The points in another frame, in which the old origin lies at `shift` and the old axes are the columns of R."""
        return CurvedPoints(
            self.weight,
            self.unit,
            self.position @ R.T + np.outer(self.unit, shift),
            np.einsum("ij,njm->nim", R, self.translation),
            np.einsum("ij,njrs->nirs", R, self.second),
        )


def curved_points(mass: Array, shapes: Shapes) -> CurvedPoints | None:
    """The curved points that stand for point masses (n,) with second-order shapes; None if all paths are straight."""
    B = shapes.second
    if B is None or not np.any(B):
        return None
    given = mass, shapes.position, shapes.translation, B
    if any(x.dtype == object for x in given):
        # symbols: the points themselves
        bent = np.array([bool(np.any(b)) for b in B])
        weight, position, translation, second = (x[bent] for x in given)
        return CurvedPoints(weight, np.ones(len(weight)), position, translation, second)
    root = np.sqrt(mass)
    Q = _basis((root[:, None, None, None] * B)[:, :, *np.triu_indices(shapes.modes)])
    unit, position, translation, second = (
        _components(Q, x * root.reshape(-1, *[1] * (x.ndim - 1)))
        for x in (np.ones_like(mass), shapes.position, shapes.translation, B)
    )
    return CurvedPoints(np.ones(Q.shape[1]), unit, position, translation, second)


def _basis(functions: Array) -> Array:
    """Orthonormal columns that span the functions (n, 3, pairs) of n points, as few as needed.

    Every function counts by its own size, so that modes of any scale are represented equally well.
    """
    from scipy.linalg import qr  # noqa: PLC0415 (slow to import)

    columns = functions.reshape(len(functions), -1)
    size = np.linalg.norm(columns, axis=0)
    columns = columns[:, size > ROUNDING * size.max()] / size[size > ROUNDING * size.max()]
    Q, R, _ = qr(columns, mode="economic", pivoting=True)
    left = np.abs(np.diag(R))
    return Q[:, left > SPANNED * left[0]]


def _components(Q: Array, values: Array) -> Array:
    """The components (n', ...) of values (n, ...) along the columns of Q, without rounding errors."""
    found = np.tensordot(Q.T, values, 1)
    size = np.sqrt(np.einsum("n...,n...->...", values, values))
    found[np.abs(found) <= ROUNDING * size] = 0.0
    return found
