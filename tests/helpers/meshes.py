"""Meshes of plates and bars, without any library."""

import numpy as np


def sheet(cells, size, kind="quad", distort=0.0, seed=0):
    """Points (n, 2) and cells of a rectangle; inner points are moved by up to `distort` cells."""
    (nx, ny), (a, b) = cells, size
    x, y = np.meshgrid(np.linspace(0, a, nx + 1), np.linspace(0, b, ny + 1), indexing="ij")
    points = np.column_stack([x.ravel(), y.ravel()])
    inside = np.all((points > 1e-9) & (points < np.array(size) - 1e-9), axis=1)
    move = np.random.default_rng(seed).uniform(-distort, distort, points.shape)
    points += move * inside[:, None] * np.array([a / nx, b / ny])
    k = np.arange(len(points)).reshape(nx + 1, ny + 1)
    quads = np.stack([k[:-1, :-1], k[1:, :-1], k[1:, 1:], k[:-1, 1:]], axis=-1).reshape(-1, 4)
    if kind == "quad":
        return points, quads
    return points, np.vstack([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])


def bar(cells, size, kind="hex"):
    """A mesh of scikit-fem of a box from the origin, with named faces ("left" at x = 0)."""
    import skfem

    grids = [np.linspace(0.0, s, n + 1) for n, s in zip(cells, size)]
    family = skfem.MeshHex if kind == "hex" else skfem.MeshTet
    return family.init_tensor(*grids).with_defaults()
