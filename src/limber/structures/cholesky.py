r"""Sparse Cholesky factorization by the multifrontal method.

Solves    A x = b with A = L L^T symmetric and positive definite
Given     A and the nested dissection of its nodes
Computes  L, in dense blocks: [L11; L21] for the columns of each group
Sweep     groups in their order of elimination; a group adds the remainder of its elimination to its parent
Cost      for n degrees of freedom, about n^(4/3) numbers and n^2 multiplications for a solid block, far less for
          slender ones; nearly all in the dense products of LAPACK and BLAS

A pivot that is not positive shows that something is not held: `NotHeldError` has its row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import blas, lapack

from limber.checks import Array
from limber.structures.dissection import LEAF, dissect, node_graph

#: A pivot below this fraction of its diagonal entry is rounding.
PIVOT = 1e-13

#: Runs of fewer consecutive rows than this are slower to add one by one than by indices.
RUN = 8


class NotHeldError(Exception):
    """A matrix that is not positive definite; `row` is the row at which this shows."""

    def __init__(self, row: int):
        super().__init__(row)
        self.row = row


@dataclass(frozen=True, eq=False)
class _Block:
    """The columns `start:end` of L: rows `start:end` (triangular), and the rows `below`."""

    start: int
    end: int
    below: np.ndarray
    L11: Array
    L21: Array


def _add(front: Array, at: np.ndarray, update: Array) -> None:
    """Add the lower triangle of a matrix to the rows and columns `at`, ascending, of another, run by run if they are
    long."""
    starts = np.concatenate([[0], np.flatnonzero(np.diff(at) != 1) + 1])
    if at.size < RUN * starts.size:
        front[at[:, None], at] += update
        return
    ends = np.append(starts[1:], at.size)
    runs = list(zip(starts.tolist(), ends.tolist(), at[starts].tolist()))
    for k, (a, b, column) in enumerate(runs):
        for c, d, row in runs[k:]:
            front[row : row + d - c, column : column + b - a] += update[c:d, a:b]


class Cholesky:
    """The factor of a sparse matrix.

    node_of : the node of each row of A.
    position : (n, 3) positions of the nodes, which determine the order of elimination.
    advanced : called with the fraction of the work that is done, from 0 to 1.
    """

    def __init__(
        self,
        A: sp.csr_array,
        node_of: np.ndarray,
        position: Array,
        advanced: Callable[[float], None] = lambda part: None,
    ):
        per_node = max(1, round(A.shape[0] / len(position)))
        graph = node_graph(A, node_of, len(position))
        tree = dissect(position, graph, max(1, LEAF // per_node))
        group_of = np.empty(len(position), np.int64)
        for i, group in enumerate(tree.groups):
            group_of[group] = i
        #: rows of A in their order of elimination
        self.order = np.argsort(group_of[node_of], kind="stable")
        ends = np.cumsum(np.bincount(group_of[node_of], minlength=len(tree.groups)))
        self.blocks: list[_Block] = []
        self._factor(A, tree.parents, ends, advanced)

    @property
    def entries(self) -> int:
        """The number of entries of L."""
        return sum(block.L11.size + block.L21.size for block in self.blocks)

    def _factor(self, A, parents, ends, advanced) -> None:
        lower = sp.tril(A[self.order][:, self.order]).tocsc()
        diagonal = lower.diagonal()
        local = np.empty(A.shape[0], np.int64)  # row -> row of the front
        left: list[list[tuple[np.ndarray, Array]]] = [[] for _ in parents]
        start = 0
        for i, (parent, end) in enumerate(zip(parents, ends.tolist())):
            width = end - start
            entries = slice(lower.indptr[start], lower.indptr[end])
            rows = lower.indices[entries]
            below = np.unique(np.concatenate([rows, *(r for r, _ in left[i])]))
            below = below[below >= end]
            local[start:end] = np.arange(width)
            local[below] = width + np.arange(below.size)
            front = np.zeros((width + below.size,) * 2, order="F")
            columns = np.repeat(np.arange(width), np.diff(lower.indptr[start : end + 1]))
            front[local[rows], columns] = lower.data[entries]
            for r, update in left[i]:
                _add(front, local[r], update)
            left[i] = []
            if width:
                update = self._eliminate(front, start, end, below, diagonal[start:end])
            else:
                update = front
            if below.size:
                left[parent].append((below, update))
            start = end
            advanced((i + 1) / len(parents))

    def _eliminate(self, front, start, end, below, diagonal) -> Array:
        """Eliminate the first rows of a front; return the remainder, in its lower triangle."""
        width = end - start
        L11, info = lapack.dpotrf(front[:width, :width], lower=1, clean=1)
        if info > 0:
            raise NotHeldError(int(self.order[start + info - 1]))
        pivots = np.diag(L11) ** 2
        if np.any(pivots <= PIVOT * diagonal):
            raise NotHeldError(int(self.order[start + int((pivots / diagonal).argmin())]))
        L21, update = np.zeros((0, width)), front[:0, :0]
        if below.size:
            L21 = blas.dtrsm(1.0, L11, front[width:, :width], side=1, lower=1, trans_a=1)
            update = blas.dsyrk(-1.0, L21, beta=1.0, c=front[width:, width:], lower=1)
        self.blocks.append(_Block(start, end, below, L11, L21))
        return update

    def solve(self, b: Array) -> Array:
        """x with A x = b, for b (N, k)."""
        x = np.ascontiguousarray(b[self.order])
        for block in self.blocks:
            part = x[block.start : block.end]
            part[:] = blas.dtrsm(1.0, block.L11, part.T, side=1, lower=1, trans_a=1).T
            if block.below.size:
                x[block.below] -= block.L21 @ part
        for block in reversed(self.blocks):
            part = x[block.start : block.end]
            if block.below.size:
                part -= block.L21.T @ x[block.below]
            part[:] = blas.dtrsm(1.0, block.L11, part.T, side=1, lower=1, trans_a=0).T
        result = np.empty_like(x)
        result[self.order] = x
        return result
