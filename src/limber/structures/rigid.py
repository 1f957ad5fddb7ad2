"""Rigid-body motions of a structure as vectors of its degrees of freedom."""

from __future__ import annotations

import numpy as np

from limber.checks import Array


def rigid_motions(position: Array, freedoms: int, about: Array) -> Array:
    """(freedoms * n, 6): unit rotations about the axes x, y, z through the point `about`, then unit translations.

    Node j moves by theta x (position[j] - about) + d and, if it has 6 degrees of freedom, rotates by theta.
    """
    n = len(position)
    motions = np.zeros((n, freedoms, 6))
    for i, axis in enumerate(np.eye(3)):
        motions[:, :3, i] = np.cross(axis, position - about)
        motions[:, i, 3 + i] = 1.0
    if freedoms == 6:
        motions[:, 3:, :3] = np.eye(3)
    return motions.reshape(freedoms * n, 6)
