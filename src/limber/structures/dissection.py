"""Nested dissection: an order of elimination for the nodes of a structure.

The nodes are cut into two halves across their longest side.  Those of one half that K connects to the other form the
separator, which is eliminated after both halves; the halves are cut in the same way.  For solids this leaves far fewer
entries in the factor than minimum-degree orderings do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from limber.checks import Array

#: Parts of about this many degrees of freedom are not divided further.
LEAF = 200


@dataclass(frozen=True, eq=False)
class Dissection:
    """Groups of nodes in their order of elimination; a group comes before its parent (-1: none)."""

    groups: list[np.ndarray]
    parents: list[int]


def node_graph(matrix: sp.csr_array, node_of: np.ndarray, nodes: int) -> sp.csr_array:
    """Which nodes the entries of a matrix connect; `node_of` has the node of each row."""
    entries = matrix.tocoo()
    pairs = (node_of[entries.row], node_of[entries.col])
    graph = sp.coo_array((np.ones(entries.nnz, np.int8), pairs), shape=(nodes, nodes)).tocsr()
    graph.data[:] = 1
    return graph


def dissect(position: Array, graph: sp.csr_array, leaf: int) -> Dissection:
    """Dissect the nodes at `position`; parts of up to `leaf` nodes are not cut."""
    groups: list[np.ndarray] = []
    parents: list[int] = []
    marked = np.zeros(len(position), np.int64)

    def touching(part: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Which nodes of a part are connected to the other."""
        marked[other] = 1
        found = graph[part] @ marked > 0
        marked[other] = 0
        return found

    def cut(nodes: np.ndarray) -> int:
        """Dissect some nodes; returns the number of the group that comes last."""
        rest, children = nodes, []
        if nodes.size > leaf:
            x = position[nodes]
            longest = int(np.ptp(x, axis=0).argmax())
            ordered = nodes[np.argsort(x[:, longest], kind="stable")]
            low, high = ordered[: nodes.size // 2], ordered[nodes.size // 2 :]
            at_low, at_high = touching(low, high), touching(high, low)
            if at_low.sum() <= at_high.sum():
                rest, low = low[at_low], low[~at_low]
            else:
                rest, high = high[at_high], high[~at_high]
            children = [cut(part) for part in (low, high) if part.size]
        groups.append(rest)
        parents.append(-1)
        for child in children:
            parents[child] = len(groups) - 1
        return len(groups) - 1

    cut(np.arange(len(position)))
    return Dissection(groups, parents)
