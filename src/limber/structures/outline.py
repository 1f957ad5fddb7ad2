r"""Outlines of structures: points on their lines and surfaces, and how the degrees of freedom move them.

Points between the nodes of a frame are on the deformed lines of its members: with x along an element and xi = x / L,

    v = (1 - 3 xi^2 + 2 xi^3) v1 + L (xi - 2 xi^2 + xi^3) theta1 + (3 xi^2 - 2 xi^3) v2 + L (xi^3 - xi^2) theta2

across it, and linear in xi along and about it.  An end with a ball joint has the slope of an end without moment.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from limber.bodies.outline import Outline, coarser
from limber.bodies.shapes import Shapes
from limber.checks import Array

if TYPE_CHECKING:
    from limber.structures.frame_elements import FrameElements
    from limber.structures.stiffening import UnitLoads
    from limber.structures.structure import Structure

#: The most lines, and the most triangles, of the outline of a body, and the most numbers of its second-order shapes.
MOST, MOST_NUMBERS = 20_000, 4_000_000
#: A member is drawn by so many lines if there are not too many members for it.
LINES, MOST_LINES = 8, 2000


@dataclass(frozen=True, eq=False)
class OutlineRows:
    """p points of a structure, in its axes, with the rows (6 p, N) that give their displacements and rotations."""

    position: Array
    rows: sp.csr_array
    edges: np.ndarray
    triangles: np.ndarray

    def outline(self, origin: Array, phi: Array, loads: UnitLoads | None) -> Outline:
        """The outline of a body with shapes phi (N, m) and the second-order displacements that `loads` found."""
        p, m = len(self.position), phi.shape[1]
        most = MOST if loads is None else min(MOST, 2 * MOST_NUMBERS // (3 * m * m))
        kept, edges, triangles = coarser(self.position, self.edges, self.triangles, most)
        row = np.arange(6 * p).reshape(p, 6)[kept]
        moves = (self.rows[row.ravel()] @ phi).reshape(-1, 6, m)
        second = None
        if loads is not None:
            second = loads.second_displacements(self.rows[row[:, :3].ravel()])
            second = second.reshape(-1, 3, m, m)
        shapes = Shapes(self.position[kept] - origin, moves[:, :3], moves[:, 3:], second)
        return Outline(shapes, edges, triangles)


def node_outline(structure: Structure) -> OutlineRows | None:
    """The edges and triangles of a structure between its nodes; None if it has neither."""
    edges, triangles = structure.edges, structure.triangles
    if edges is None and triangles is None:
        return None
    return OutlineRows(
        structure.position,
        node_rows(len(structure), structure.freedoms),
        np.zeros((0, 2), np.int64) if edges is None else edges,
        np.zeros((0, 3), np.int64) if triangles is None else triangles,
    )


def node_rows(n: int, freedoms: int) -> sp.csr_array:
    """(6 n, freedoms n): the displacements of n nodes and, if they are degrees of freedom, their rotations."""
    columns = np.arange(freedoms * n)
    rows = 6 * (columns // freedoms) + columns % freedoms
    return sp.csr_array((np.ones(columns.size), (rows, columns)), shape=(6 * n, freedoms * n))


def frame_outline(
    position: Array, elements: FrameElements, pins: np.ndarray, divided: np.ndarray
) -> OutlineRows:
    """The members of a frame.

    Parameters
    ----------
    pins : (n, 2) which ends of the elements have ball joints.
    divided : (n,) the number of elements of the member that each belongs to.
    """
    size = len(position)
    pieces = -(-LINES // divided)
    pieces[pins.all(axis=1)] = 1  # they stay straight
    if pieces.sum() > MOST_LINES:
        pieces[:] = 1
    local = elements.to_local()
    ends = _unpinned(elements.length, pins)
    points, blocks, edges = [position], [], []
    total = size
    for e, (a, b) in enumerate(elements.nodes):
        xi = np.arange(1, pieces[e]) / pieces[e]
        offset = np.any(elements.offset[e] != 0.0, axis=1)
        xi = np.array([0.0] * int(offset[0]) + xi.tolist() + [1.0] * int(offset[1]))
        chain = [a, *range(total, total + len(xi)), b]
        total += len(xi)
        edges += list(pairwise(chain))
        start = position[a] + elements.offset[e, 0]
        along = elements.length[e] * elements.axes[e, :, 0]
        points.append(start + xi[:, None] * along)
        turn = np.kron(np.eye(2), elements.axes[e])
        blocks.append(turn @ _interpolation(xi, elements.length[e]) @ ends[e] @ local[e])
    between = np.concatenate(blocks) if blocks else np.zeros((0, 6, 12))
    owner = np.repeat(np.arange(len(elements.nodes)), [len(block) for block in blocks])
    freedoms = (6 * elements.nodes[owner][:, :, None] + np.arange(6)).reshape(-1, 12)
    rows = np.repeat(np.arange(6 * len(between)), 12)
    columns = np.repeat(freedoms, 6, axis=0).ravel()
    inner = sp.csr_array((between.ravel(), (rows, columns)), shape=(6 * len(between), 6 * size))
    return OutlineRows(
        np.concatenate(points),
        sp.vstack([node_rows(size, 6), inner], format="csr"),
        np.array(edges, dtype=np.int64),
        np.zeros((0, 3), np.int64),
    )


def _unpinned(length: Array, pins: np.ndarray) -> Array:
    """(n, 12, 12): displacements and rotations of the ends of elements from those of their nodes, in their axes."""
    C = np.tile(np.eye(12), (len(length), 1, 1))
    # rotation, the displacement that its slope belongs to, and the sign of that slope
    across = ((5, 1, 1.0), (4, 2, -1.0))
    for e in np.flatnonzero(pins.any(axis=1)):
        a, b = pins[e]
        for end in np.flatnonzero(pins[e]):
            here, there = 6 * end, 6 * (1 - end)
            C[e, here + 3 : here + 6] = 0.0
            if not (a and b):
                C[e, here + 3, there + 3] = 1.0  # it twists as the other end does
            for turn, move, sign in across:
                slope = (1.0 if a and b else 1.5) * sign / length[e]
                C[e, here + turn, move], C[e, here + turn, 6 + move] = -slope, slope
                if not (a and b):
                    C[e, here + turn, there + turn] = -0.5
    return C


def _interpolation(xi: Array, length: float) -> Array:
    """(k, 6, 12): displacement and rotation at parts xi of an element from those of its ends, in its axes."""
    N = np.zeros((len(xi), 6, 12))
    for i in (0, 3):
        N[:, i, i], N[:, i, 6 + i] = 1.0 - xi, xi
    value = (
        1 - 3 * xi**2 + 2 * xi**3,
        length * (xi - 2 * xi**2 + xi**3),
        3 * xi**2 - 2 * xi**3,
        length * (xi**3 - xi**2),
    )
    slope = (
        6 * (xi**2 - xi) / length,
        1 - 4 * xi + 3 * xi**2,
        6 * (xi - xi**2) / length,
        3 * xi**2 - 2 * xi,
    )
    for move, turn, sign in ((1, 5, 1.0), (2, 4, -1.0)):
        columns = (move, turn, 6 + move, 6 + turn)
        for column, v, dv, s in zip(columns, value, slope, (1.0, sign, 1.0, sign)):
            N[:, move, column] = s * v
            N[:, turn, column] = sign * s * dv
    return N
