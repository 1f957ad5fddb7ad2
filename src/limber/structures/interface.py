r"""The motion of a node as rows that act on the freedoms of a structure.

A node with 6 freedoms moves as they say.  Of a node without rotations, as those of solids, the motion is that of the
rigid body which fits the displacements of a patch of nodes best, in the sense of least squares:

    sum_k |u_k - d - theta x (x_k - x)|^2 = min

A force and a moment at such a node are spread over the patch by the transposed rows (an RBE3 element).
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

#: A patch is as good as on a line if its inertia about some axis is less than this part of that about others.
FLAT = 1e-6


class NodeRows:
    """Rows (6, N) of nodes: displacement x, y, z, then rotation about x, y, z.

    patches : nodes that move a node without rotations, by node; by default those that K connects it to, and itself.
    """

    def __init__(self, structure: Structure, patches: Mapping[int, Sequence[int]]):
        self.structure = structure
        self.patches = patches
        active = structure.active.reshape(len(structure), structure.freedoms)
        #: nodes whose own freedoms include all rotations
        self.turning = active.all(axis=1) & (structure.freedoms == 6)

    def rows(self, node: int) -> sp.csr_array:
        """Displacement and rotation of a node, (6, N)."""
        s = self.structure
        size = s.K.shape[0]
        if self.turning[node] and node not in self.patches:
            at = 6 * node + np.arange(6)
            return sp.csr_array((np.ones(6), (np.arange(6), at)), shape=(6, size))
        patch = self._patch(node)
        fit = _rigid_fit(s.position[patch], s.position[node])
        if fit is None:
            raise ModelError(
                f"the rotation of node {s.names[node]!r} cannot be determined: it has no rotation freedoms of its own, and its "
                f"neighbours, {listed(s.names[k] for k in patch[:8])}{', ...' if len(patch) > 8 else ''}, do not span a rigid body "
                "(three that are not on a line do). Give its neighbours in patches={node: [nodes]}."
            )
        columns = (s.freedoms * patch[:, None] + np.arange(3)).ravel()
        return sp.csr_array(
            (fit.ravel(), (np.repeat(np.arange(6), columns.size), np.tile(columns, 6))),
            shape=(6, size),
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


def _rigid_fit(position: Array, at: Array) -> Array | None:
    """(6, 3 k): displacement and rotation at a point of the rigid body that fits k displacements; None if none does."""
    motions = rigid_motions(position, 3, at)[:, [3, 4, 5, 0, 1, 2]]
    arms = position - position.mean(axis=0)
    spread = np.linalg.eigvalsh(arms.T @ arms)
    if spread[1] <= FLAT * max(spread[2], np.finfo(float).tiny):
        return None
    return np.asarray(np.linalg.pinv(motions), dtype=np.float64)
