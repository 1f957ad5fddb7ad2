"""The elements of a frame: their matrices in its axes, and the forces in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from limber.bodies.section import Section
from limber.bodies.section_forces import SectionForces
from limber.checks import Array
from limber.short_repr import short_repr
from limber.structures.beam_element import (
    collocation,
    compliance,
    element_matrices,
    inertia,
    released,
    section_forces,
)

#: Gauss points of an element, without taper (for which they are exact) and with taper.
POINTS, POINTS_TAPERED = 4, 8
#: Numbers in the largest array of a block of elements.
BLOCK = 4_000_000

#: Sections at both ends of a member, and the part of it that an element is.
Piece = tuple[Section, Section, float, float]


@dataclass(frozen=True, eq=False)
class FrameElements:
    """n elements between nodes of a frame; x of the axes (columns of `axes`) leads from the first to the second."""

    __repr__ = short_repr

    nodes: np.ndarray  # (n, 2)
    axes: Array  # (n, 3, 3)
    offset: (
        Array  # (n, 2, 3) from each node to the end of the element there, in the axes of the frame
    )
    length: Array  # (n,)
    kind: np.ndarray  # (n,) which of the pieces an element is
    compliance: Array  # (pieces, 2, 6, 6) at both ends
    surface: Array  # (pieces, 2, p, 2) points of the surface at both ends
    stress: Array  # (pieces, 2, 4) constants of stress at both ends
    end_forces: (
        Array  # (n, 6, 12) section forces at the second end, of displacements in the element's axes
    )
    unit_geometric: Array  # (n, 6, 12, 12) geometric stiffness of unit section forces at the second end, in the element's axes
    size: int  # nodes of the frame

    def to_local(self) -> Array:
        """(n, 12, 12): displacements and rotations of the ends in the axes of the elements, from those of the nodes."""
        Q = np.zeros((len(self.nodes), 12, 12))
        turn = np.swapaxes(self.axes, 1, 2)
        for end in range(2):
            at = 6 * end
            Q[:, at : at + 3, at : at + 3] = Q[:, at + 3 : at + 6, at + 3 : at + 6] = turn
            x, y, z = self.offset[:, end].T
            zero = np.zeros_like(x)
            swing = np.array([[zero, z, -y], [-z, zero, x], [y, -x, zero]]).transpose(2, 0, 1)
            Q[:, at : at + 3, at + 3 : at + 6] = turn @ swing
        return Q

    def turned(self, matrices: Array) -> Array:
        """(n, 12, 12) matrices of the elements in the axes of the frame, for the degrees of freedom of the nodes."""
        Q = self.to_local()
        return np.swapaxes(Q, 1, 2) @ matrices @ Q

    def assembled(self, matrices: Array) -> sp.csr_array:
        """The matrix of the frame from those of its elements, in their own axes."""
        blocks = self.turned(matrices)
        freedoms = (6 * self.nodes[:, :, None] + np.arange(6)).reshape(-1, 12)
        rows = np.repeat(freedoms, 12, axis=1)
        columns = np.tile(freedoms, (1, 12))
        total = 6 * self.size
        entries = (blocks.ravel(), (rows.ravel(), columns.ravel()))
        return sp.coo_array(entries, shape=(total, total)).tocsr()

    def displacements(self, u: Array) -> Array:
        """(n, 12, k): the displacements of the ends in element axes, from those of the frame (6 nodes, k)."""
        at_nodes = u.reshape(self.size, 2, 3, -1)[self.nodes]  # (n, 2, 2, 3, k)
        moves, turns = at_nodes[:, :, 0], at_nodes[:, :, 1]
        moves = moves + np.cross(turns, self.offset[..., None], axis=2)
        both = np.stack([moves, turns], axis=2)
        local = np.einsum("nji,nefjk->nefik", self.axes, both, optimize=True)
        return local.reshape(len(self.nodes), 12, -1)

    def geometric(self, u: Array) -> sp.csr_array:
        """The geometric stiffness of the section forces at the displacements u of the frame, linear in u."""
        forces = self.end_forces @ self.displacements(np.asarray(u, dtype=float))  # (n, 6, 1)
        matrix = self.assembled(np.einsum("nk,nkij->nij", forces[..., 0], self.unit_geometric))
        nodes, blocks = self._lever_stiffness(forces)
        if nodes.size:
            turns = 6 * nodes[:, None] + np.arange(3, 6)
            rows, columns = np.broadcast_arrays(turns[:, :, None], turns[:, None])
            entries = (blocks.ravel(), (rows.ravel(), columns.ravel()))
            matrix = (matrix + sp.coo_array(entries, shape=matrix.shape)).tocsr()
        return matrix

    def modal_stiffness(self, u: Array, shapes: Array) -> Array:
        """(k, m, m): shapes^T K_g shapes for each column of displacements u (6 nodes, k), of shapes (6 nodes, m)."""
        forces = self.end_forces @ self.displacements(u)  # (n, 6, k)
        moved = self.displacements(shapes)[:, None]
        m = shapes.shape[1]
        total = np.zeros((u.shape[1], m * m))
        size = max(1, BLOCK // max(1, 6 * m * m))
        for start in range(0, len(forces), size):
            part = slice(start, start + size)
            unit = np.swapaxes(moved[part], 2, 3) @ self.unit_geometric[part] @ moved[part]
            total += forces[part].reshape(-1, u.shape[1]).T @ unit.reshape(-1, m * m)
        nodes, blocks = self._lever_stiffness(forces)
        if nodes.size:
            turns = shapes.reshape(self.size, 6, m)[nodes, 3:]
            total += np.einsum("ejr,ejik,eis->krs", turns, blocks, turns, optimize=True).reshape(
                -1, m * m
            )
        return total.reshape(-1, m, m)

    def _lever_stiffness(self, forces: Array) -> tuple[np.ndarray, Array]:
        """Nodes (e,), and stiffness (e, 3, 3, k) against their rotations due to section forces (n, 6, k) at offsets.

        The offsets are rigid.  An end at r from its node moves by theta x (theta x r) / 2 more than theta x r as the
        node rotates by theta.
        """
        at, end = np.nonzero(self.offset.any(axis=2))
        r = self.offset[at, end]
        f = np.where(end, 1.0, -1.0)[:, None, None] * (self.axes[at] @ forces[at, :3])
        outer = np.einsum("ei,ejk->eijk", r, f)
        along = np.einsum("ei,eik->ek", r, f)
        blocks = (
            0.5 * (outer + np.swapaxes(outer, 1, 2)) - np.eye(3)[:, :, None] * along[:, None, None]
        )
        return self.nodes[at, end], blocks

    def forces(self, u: Array) -> SectionForces:
        """Forces and strains at both ends of every element, for u (6 nodes,) or (6 nodes, k)."""
        columns = u.shape[1:]
        second = self.end_forces @ self.displacements(u)
        first = section_forces(self.length, self.length) @ second
        both = np.stack([first, second], axis=1)  # (n, 2, 6, k)
        strains = self.compliance[self.kind] @ both
        shape = (*both.shape[:3], *columns)
        kind = self.kind
        none = np.zeros(both.shape[:3], dtype=bool)
        return SectionForces(
            both.reshape(shape), strains.reshape(shape), self.surface[kind], self.stress[kind], none
        )


def make_elements(
    nodes: np.ndarray,
    axes: Array,
    offset: Array,
    length: Array,
    kind: np.ndarray,
    pieces: list[Piece],
    pins: np.ndarray,
    size: int,
) -> tuple[FrameElements, sp.csr_array, sp.csr_array]:
    """The elements of a frame, and its mass and stiffness matrix; pins (n, 2) says which ends have ball joints."""
    tapered = any(first != second for first, second, _, _ in pieces)
    points = POINTS_TAPERED if tapered else POINTS
    c, _, _ = collocation(points)
    stations = [[_station(piece, part) for part in (*c, 0.0, 1.0)] for piece in pieces]
    S = np.array([[compliance(section) for section in row] for row in stations])
    mu = np.array([[inertia(section) for section in row[:points]] for row in stations])
    most = max(len(section.surface) for row in stations for section in row[points:])
    surface = np.full((len(pieces), 2, most, 2), np.nan)
    for row, table in zip(stations, surface):
        for section, at in zip(row[points:], table):
            if section.surface:
                at[: len(section.surface)] = section.surface
    stress = np.array([[x.stress_constants for x in row[points:]] for row in stations])

    n = len(nodes)
    mass, stiffness = np.empty((2, n, 12, 12))
    geometric = np.empty((n, 6, 12, 12))
    end_forces = np.empty((n, 6, 12))
    for pattern in np.unique(pins, axis=0):
        chosen = np.flatnonzero((pins == pattern).all(axis=1))
        which = kind[chosen]
        plain = element_matrices(length[chosen], S[which, :points], mu[which])
        matrices = released(plain, (bool(pattern[0]), bool(pattern[1])))
        mass[chosen], stiffness[chosen] = matrices.mass, matrices.stiffness
        geometric[chosen], end_forces[chosen] = matrices.geometric, matrices.end_forces
    elements = FrameElements(
        nodes,
        axes,
        offset,
        length,
        kind,
        S[:, points:],
        surface,
        stress,
        end_forces,
        geometric,
        size,
    )
    return elements, elements.assembled(mass), elements.assembled(stiffness)


def _station(piece: Piece, part: float) -> Section:
    """The section at a part of an element."""
    first, second, start, end = piece
    return first.between(second, start + part * (end - start))
