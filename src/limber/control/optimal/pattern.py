"""Sparse matrices of a fixed pattern: from blocks of values to the elements of compressed columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse

from limber.checks import Array


class Pattern:
    """The sparsity pattern of a matrix; elements that appear more than once are added.

    rows, columns : the places of the elements of each block, arrays of one shape.
    upper : whether elements below the diagonal are left out.
    """

    def __init__(
        self,
        rows: Sequence[np.ndarray],
        columns: Sequence[np.ndarray],
        shape: tuple[int, int],
        upper: bool = False,
    ):
        row, column = (
            np.concatenate([part.ravel() for part in parts]) for parts in (rows, columns)
        )
        self.shape = shape
        self._kept = row <= column if upper else None
        if self._kept is not None:
            row, column = row[self._kept], column[self._kept]
        keys, self._place = np.unique(column * shape[0] + row, return_inverse=True)
        #: The compressed columns: where each begins, and the rows of its elements.
        self.indices = keys % shape[0]
        self.starts = np.searchsorted(keys // shape[0], np.arange(shape[1] + 1))
        self._once = len(keys) == len(row)
        self._order = np.argsort(self._place, kind="stable") if self._once else None

    def __len__(self) -> int:
        return len(self.indices)

    def values(self, blocks: Sequence[Array]) -> Array:
        """The elements, by columns, of blocks in the order in which their places were given."""
        flat = np.concatenate([block.ravel() for block in blocks])
        if self._kept is not None:
            flat = flat[self._kept]
        if self._order is not None:
            return flat[self._order]
        found: Array = np.bincount(self._place, flat, len(self.indices)).astype(float)
        return found

    def matrix(self, values: Array) -> scipy.sparse.csc_matrix:
        """The sparse matrix with these elements."""
        return scipy.sparse.csc_matrix((values, self.indices, self.starts), shape=self.shape)
