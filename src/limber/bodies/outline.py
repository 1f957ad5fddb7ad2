"""Outlines: what a body looks like, for pictures.

A body with an outline is drawn by its lines and triangles; others are drawn as lines through their nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from limber.bodies.shapes import Shaped, Shapes
from limber.checks import Array
from limber.short_repr import short_repr

#: Cells along the longest side of a body, at most, when its outline is made coarser.
FINEST = 1000


@dataclass(frozen=True, eq=False)
class Outline(Shaped):
    """Lines (e, 2) and triangles (t, 3) between p points with shapes, by their numbers."""

    __repr__ = short_repr

    shapes: Shapes
    edges: np.ndarray
    triangles: np.ndarray

    def without_modes(self) -> Outline:
        """The outline of the undeformed body."""
        return replace(self, shapes=self.shapes.without_modes())

    def placed(self, R: Array, shift: Array) -> Outline:
        """The outline in another frame, as `Shapes.placed` has it."""
        return replace(self, shapes=self.shapes.placed(R, shift))

    def coarser(self, most: int) -> Outline:
        """The same with at most about `most` lines and as many triangles; its points are some of these."""
        points, edges, triangles = coarser(self.position, self.edges, self.triangles, most)
        if len(points) == len(self.shapes):
            return self
        return Outline(self.shapes[points], edges, triangles)


def coarser(
    position: Array, edges: np.ndarray, triangles: np.ndarray, most: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers of the points that are left, and lines and triangles between them, at most about `most` each.

    Points that share a cell of a grid become one of them, the one nearest to their mean.  The grid is the finest that
    leaves few enough.  Points that belong to no line and no triangle are left out.
    """
    used = np.unique(np.concatenate([edges.ravel(), triangles.ravel()]))
    if max(len(edges), len(triangles)) <= most:
        return used, np.searchsorted(used, edges), np.searchsorted(used, triangles)
    low, high = position[used].min(axis=0), position[used].max(axis=0)
    coarse, fine = 1, FINEST
    while fine - coarse > max(1, coarse // 20):
        middle = (coarse + fine) // 2
        stands_for = _representatives(position, used, low, (high - low).max() / middle)
        parts = (_remaining(x, stands_for) for x in (edges, triangles))
        if max(len(part) for part in parts) <= most:
            coarse = middle
        else:
            fine = middle
    stands_for = _representatives(position, used, low, (high - low).max() / coarse)
    edges, triangles = (_remaining(x, stands_for) for x in (edges, triangles))
    return coarser(position, edges, triangles, max(len(edges), len(triangles)))


def _representatives(position: Array, used: np.ndarray, low: Array, cell: float) -> np.ndarray:
    """(n,): the point that stands for each of the used points; -1 for the others."""
    cells = np.floor((position[used] - low) / cell + 1e-9).astype(np.int64)
    _, group = np.unique(cells, axis=0, return_inverse=True)
    group = group.ravel()
    count = np.bincount(group)
    mean = np.stack([np.bincount(group, x) / count for x in position[used].T], axis=1)
    distance = np.linalg.norm(position[used] - mean[group], axis=1)
    order = np.lexsort((distance, group))
    first = order[np.searchsorted(group[order], np.arange(len(count)))]
    stands_for = np.full(len(position), -1)
    stands_for[used] = used[first][group]
    return stands_for


def _remaining(rows: np.ndarray, stands_for: np.ndarray) -> np.ndarray:
    """Rows of points, each replaced by what stands for it, without those that shrank and without doubles."""
    found = stands_for[rows]
    ordered = np.sort(found, axis=1)
    whole = (np.diff(ordered, axis=1) > 0).all(axis=1)
    _, chosen = np.unique(ordered[whole], axis=0, return_index=True)
    return found[whole][np.sort(chosen)]


def creases(position: Array, triangles: np.ndarray, angle: float = 0.6) -> np.ndarray:
    """(c, 2): the sides of triangles where the surface ends, or bends by more than `angle`, rad."""
    sides = sides_of(triangles)
    normal = np.cross(
        position[triangles[:, 1]] - position[triangles[:, 0]],
        position[triangles[:, 2]] - position[triangles[:, 0]],
    )
    normal /= np.maximum(np.linalg.norm(normal, axis=1), np.finfo(float).tiny)[:, None]
    pairs, which, count = np.unique(sides, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(which.ravel(), kind="stable")
    first = np.searchsorted(which.ravel()[order], np.arange(len(pairs)))
    owner = order % len(triangles)
    double = count == 2
    a, b = owner[first[double]], owner[first[double] + 1]
    sharp = ~double
    sharp[double] = np.abs((normal[a] * normal[b]).sum(axis=1)) < np.cos(angle)
    return pairs[sharp]


def sides_of(triangles: np.ndarray) -> np.ndarray:
    """(3 t, 2): the sides of triangles, the lower number first; first all first sides, and so on."""
    sides: Sequence[np.ndarray] = [triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]
    return np.sort(np.concatenate(sides), axis=1)
