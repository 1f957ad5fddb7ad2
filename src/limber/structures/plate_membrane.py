r"""The membrane part of a plate triangle: the optimal triangle with drilling freedoms.

C. A. Felippa, "A study of optimal membrane triangles with drilling freedoms", Computer Methods in Applied Mechanics and
Engineering 192 (2003).  Freedoms are u, v and the rotation about the normal at each corner.  Its stiffness

    K = (1/V) L E L^T + 3/4 beta_0 T^T K_theta T

has a basic part, which passes the patch test, and a higher-order part that is exact for bending in the plane of
rectangles of any aspect ratio.
"""

from __future__ import annotations

import numpy as np

from limber.checks import Array
from limber.structures.triangles import Triangles

#: Weight of the drilling rotations in the lumping of forces, and the numbers of the natural strains.
ALPHA = 1.5
BETA = (1.0, 2.0, 1.0, 0.0, 1.0, -1.0, -1.0, -1.0, -2.0)


def mean_strain(triangles: Triangles) -> Array:
    """(e, 3, 9): eps_x, eps_y, gamma_xy as the mean over the triangle."""
    L = np.zeros((len(triangles.xy), 9, 3))
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        xi, xj, xk = (triangles.xy[:, c, 0] for c in (i, j, k))
        yi, yj, yk = (triangles.xy[:, c, 1] for c in (i, j, k))
        at = 3 * i
        L[:, at, 0] = L[:, at + 1, 2] = yj - yk
        L[:, at + 1, 1] = L[:, at, 2] = xk - xj
        L[:, at + 2, 0] = ALPHA / 6.0 * (yj - yk) * ((yi - yk) - (yj - yi))
        L[:, at + 2, 1] = ALPHA / 6.0 * (xk - xj) * ((xk - xi) - (xi - xj))
        L[:, at + 2, 2] = ALPHA / 3.0 * ((xk - xi) * (yi - yk) - (xi - xj) * (yj - yi))
    return 0.5 * L.transpose(0, 2, 1) / triangles.area[:, None, None]


def membrane_stiffness(triangles: Triangles, E: Array, nu: float) -> Array:
    """(e, 9, 9) for the stiffness E (3, 3) per length of eps_x, eps_y, gamma_xy."""
    area = triangles.area
    B = mean_strain(triangles)
    basic = B.transpose(0, 2, 1) @ E @ B * area[:, None, None]
    T = _hierarchical_turns(triangles)
    natural = _natural_strains(triangles)
    higher = np.zeros((len(area), 3, 3))
    for Q in natural:
        higher += Q.transpose(0, 2, 1) @ E @ Q
    scale = 0.75 * max(0.5 * (1.0 - 4.0 * nu**2), 0.01) * area
    return basic + scale[:, None, None] * (T.transpose(0, 2, 1) @ higher @ T)


def _differences(triangles: Triangles) -> tuple[list[list[Array]], list[list[Array]]]:
    """x[i][j] = x_i - x_j, and y."""
    x, y = triangles.xy[..., 0].T, triangles.xy[..., 1].T
    return [[a - b for b in x] for a in x], [[a - b for b in y] for a in y]


def _hierarchical_turns(triangles: Triangles) -> Array:
    """(e, 3, 9): rotations of the corners less that of the linear triangle."""
    x, y = _differences(triangles)
    area = triangles.area
    T = np.zeros((len(area), 3, 9))
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        T[:, :, 3 * i] = (x[k][j] / (4.0 * area))[:, None]
        T[:, :, 3 * i + 1] = (y[k][j] / (4.0 * area))[:, None]
        T[:, i, 3 * i + 2] = 1.0
    return T


def _natural_strains(triangles: Triangles) -> list[Array]:
    """Three of (e, 3, 3): Cartesian strains in the middles of the edges by the hierarchical rotations."""
    x, y = _differences(triangles)
    area = triangles.area
    l21, l32, l13 = (x[a][b] ** 2 + y[a][b] ** 2 for a, b in ((1, 0), (2, 1), (0, 2)))
    length = np.stack([l21, l32, l13], axis=1)
    b1, b2, b3, b4, b5, b6, b7, b8, b9 = BETA
    tables = (
        ((b1, b2, b3), (b4, b5, b6), (b7, b8, b9)),
        ((b9, b7, b8), (b3, b1, b2), (b6, b4, b5)),
        ((b5, b6, b4), (b8, b9, b7), (b2, b3, b1)),
    )
    factor = (2.0 / 3.0 * area[:, None] / length)[:, :, None]
    corners = [factor * np.array(table) for table in tables]
    to_cartesian = np.stack(
        [
            np.stack([y[1][2] * y[0][2] * l21, y[2][0] * y[1][0] * l32, y[0][1] * y[2][1] * l13], 1),
            np.stack([x[1][2] * x[0][2] * l21, x[2][0] * x[1][0] * l32, x[0][1] * x[2][1] * l13], 1),
            np.stack(
                [
                    (y[1][2] * x[2][0] + x[2][1] * y[0][2]) * l21,
                    (y[2][0] * x[0][1] + x[0][2] * y[1][0]) * l32,
                    (y[0][1] * x[1][2] + x[1][0] * y[2][1]) * l13,
                ],
                1,
            ),
        ],
        axis=1,
    ) / (4.0 * area**2)[:, None, None]  # fmt: skip
    middles = [0.5 * (corners[i] + corners[(i + 1) % 3]) for i in range(3)]
    return [to_cartesian @ Q for Q in middles]
