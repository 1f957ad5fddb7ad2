r"""The motion of a node as rows that act on the degrees of freedom of a structure.

A node with 6 degrees of freedom moves as they say.  A node without rotations, such as a node of a solid, moves as the
rigid body that fits the displacements of a patch of nodes best, in the sense of least squares:

    sum_k |u_k - d - theta x (x_k - x)|^2 = min

A force and a moment at such a node are spread over the patch by the transposed rows (an RBE3 element).  A group of
nodes moves in the same way, as one node in its middle.  If the nodes lie on a line, as at the edge of a plate, and have
rotations, these count as well, times the root mean square l of the distances from the middle:

    sum_k |u_k - d - theta x (x_k - x)|^2 + l^2 |theta_k - theta|^2 = min
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from limber.checks import Array, listed
from limber.errors import ModelError
from limber.structures.rigid import rigid_motions

if TYPE_CHECKING:
    from limber.structures.structure import Structure

#: A patch is as good as on a line if its inertia about some axis is less than this fraction of that about others.
FLAT = 1e-6
#: A motion of which less than this fraction is new follows from others.
IMPLIED = 1e-9


class NodeRows:
    """Rows (6, N) of nodes and groups: displacement x, y, z, then rotation about x, y, z.

    patches : the nodes that move a node without rotations, by node; by default itself and those to which K connects it.
    """

    def __init__(self, structure: Structure, patches: Mapping[int, Sequence[int]]):
        self.structure = structure
        self.places = structure.places
        self.patches = patches
        active = structure.active.reshape(len(structure), structure.freedoms)
        #: nodes whose own degrees of freedom include all rotations
        self.turning = active.all(axis=1) & (structure.freedoms == 6)

    def rows(self, place: int) -> sp.csr_array:
        """Displacement and rotation of a node or group, (6, N)."""
        members = self.places.members(place)
        if len(members) > 1:
            return self._fitted(place, np.array(sorted(members)))
        node = members[0]
        if self.turning[node] and node not in self.patches:
            at = 6 * node + np.arange(6)
            size = self.structure.K.shape[0]
            return sp.csr_array((np.ones(6), (np.arange(6), at)), shape=(6, size))
        return self._fitted(node, self._patch(node))

    def _fitted(self, place: int, patch: np.ndarray) -> sp.csr_array:
        """The rows of the rigid body that fits the motion of the nodes of a patch best."""
        s, name = self.structure, self.places.name(place)
        at = self.places.position([place])[0]
        freedoms = 3
        fit = _rigid_fit(s.position[patch], at, freedoms)
        if fit is None and self.turning[patch].all():
            freedoms = 6
            fit = _rigid_fit(s.position[patch], at, freedoms)
        if fit is None:
            nodes = f"{listed(s.names[k] for k in patch[:8])}{', ...' if len(patch) > 8 else ''}"
            if place < len(s):
                raise ModelError(
                    f"the rotation of node {name!r} cannot be determined: it has no rotational degrees of freedom of its "
                    f"own, and its neighbours, {nodes}, do not span a rigid body (three that are not on a line do). Give "
                    "its neighbours "
                    "in patches={node: [nodes]}."
                )
            raise ModelError(
                f"the rotation of the group {name!r} cannot be determined: its nodes, {nodes}, have no rotational degrees "
                "of freedom of their own and do not span a rigid body (three that are not on a line do). Make the group "
                "larger, or name "
                f"its nodes one by one, as structure.group({name!r}) gives them."
            )
        columns = (s.freedoms * patch[:, None] + np.arange(freedoms)).ravel()
        return sp.csr_array(
            (fit.ravel(), (np.repeat(np.arange(6), columns.size), np.tile(columns, 6))),
            shape=(6, s.K.shape[0]),
        )

    def stacked(self, nodes: Sequence[int]) -> sp.csr_array:
        """The rows of several nodes, (6 k, N)."""
        if not len(nodes):
            return sp.csr_array((0, self.structure.K.shape[0]))
        return sp.vstack([self.rows(node) for node in nodes], format="csr")

    def _patch(self, node: int) -> np.ndarray:
        if node in self.patches:
            return np.unique(np.array(self.patches[node], dtype=np.int64))
        s = self.structure
        K, f = s.K, s.freedoms
        columns = K.indices[K.indptr[f * node] : K.indptr[f * node + 3]]
        return np.unique(np.append(columns // f, node))


def independent_rows(rows: Array) -> list[int]:
    """The rows (k, N) that do not depend on those before them; rows of zeros are among them."""
    kept, basis = [], np.zeros((0, rows.shape[1]))
    for i, row in enumerate(rows):
        size = np.linalg.norm(row)
        rest = row / size if size > 0.0 else row
        for _ in range(2):
            rest = rest - (basis @ rest) @ basis
        new = np.linalg.norm(rest)
        if size > 0.0 and new <= IMPLIED:
            continue
        kept.append(i)
        if size > 0.0:
            basis = np.vstack([basis, rest / new])
    return kept


def _rigid_fit(position: Array, at: Array, freedoms: int) -> Array | None:
    """(6, freedoms * k): displacement and rotation at a point of the rigid body that fits k nodes; None if none does."""
    motions = rigid_motions(position, freedoms, at)[:, [3, 4, 5, 0, 1, 2]]
    arms = position - position.mean(axis=0)
    spread = np.linalg.eigvalsh(arms.T @ arms)
    if freedoms == 3 and spread[1] <= FLAT * max(spread[2], np.finfo(float).tiny):
        return None
    length = np.sqrt(max(spread.sum() / len(position), np.finfo(float).tiny))
    weight = np.tile(np.repeat([1.0, length], 3)[:freedoms], len(position))
    return np.asarray(np.linalg.pinv(weight[:, None] * motions) * weight, dtype=np.float64)
