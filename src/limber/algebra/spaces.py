"""The spaces of stacked vectors between which spatial operators act."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import integer, listed
from limber.errors import ArgumentValueError

if TYPE_CHECKING:
    from limber.algebra.operators import Operators


class Space:
    """Stacked vectors: one block per body (or end), in order."""

    def __init__(self, name: str, labels: Sequence[str], sizes: ArrayLike):
        self.name = name
        self.labels = tuple(labels)
        self.sizes = np.array(sizes, dtype=np.int64)
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)])[:-1].astype(np.int64)
        self.size = int(self.sizes.sum())
        self.family: Operators | None = None  # the operators that act on it

    def index(self, block: int | str) -> int:
        """Return the number of a block, given by number or by the name of its body."""
        if block in self.labels:
            return self.labels.index(block)
        number = integer(block)
        if number is not None and 0 <= number < len(self.labels):
            return number
        raise ArgumentValueError(
            f"block {block!r} is not in the {self.name} space, which has blocks 0 to {len(self.labels) - 1}: "
            f"{listed(self.labels[:8])}{', ...' if len(self.labels) > 8 else ''}."
        )

    def part(self, block: int | str) -> slice:
        """Return the slice of a block in a stacked vector."""
        k = self.index(block)
        return slice(int(self.starts[k]), int(self.starts[k] + self.sizes[k]))

    def __repr__(self):
        return f"{self.name}({self.size})"
