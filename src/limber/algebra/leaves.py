"""The operators of which expressions are made; each is applied by one compiled pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from limber import native
from limber.algebra.operator import (
    ANTICAUSAL,
    CAUSAL,
    FULL,
    MEMORYLESS,
    Identity,
    Operator,
    product,
)
from limber.algebra.spaces import Space
from limber.checks import Array
from limber.errors import ArgumentValueError

GREEK = ("phi", "psi", "tau", "Phi", "Psi", "Delta", "Upsilon", "Omega", "Lambda")


def latex_name(name: str) -> str:
    r"""`E_phi` as \mathcal{E}_{\phi}, `tau_bar` as \bar{\tau}, `D^{-1}` as it is."""
    if name.endswith("_bar"):
        return rf"\bar{{{latex_name(name[:-4])}}}"
    head, _, tail = name.partition("_")
    head = rf"\{head}" if head in GREEK else r"\mathcal{E}" if head == "E" else head
    return f"{head}_{{{latex_name(tail)}}}" if tail else head


def width(x: Array) -> int:
    """Number of columns."""
    return 1 if x.ndim == 1 else x.shape[1]


def block_table(blocks: BlockDiagonal, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The table of `kernels.sweeps`: the offset of each block, and the rows that it reads and writes."""
    columns = [blocks.starts, blocks.codomain.sizes, blocks.domain.sizes, first, second]
    return np.column_stack(columns).astype(np.int64).reshape(-1)


def parent_rows(space: Space, parent: np.ndarray) -> np.ndarray:
    """The first row of the block of each body's parent; -1 on the world."""
    return np.where(parent >= 0, space.starts[parent], -1)


class Leaf(Operator):
    """A named operator that knows how to apply itself and its transpose."""

    def __init__(self, name: str, codomain: Space, domain: Space, structure: str):
        self.name, self.structure = name, structure
        self.codomain, self.domain = codomain, domain

    def apply_transposed(self, x: Array) -> Array:
        """The transpose times a (codomain.size, columns) matrix."""
        raise NotImplementedError

    @cached_property
    def T(self) -> Operator:  # type: ignore[override]
        """The transpose."""
        return Transposed(self)

    def __str__(self):
        return self.name

    def latex(self):
        return latex_name(self.name)


class Transposed(Operator):
    """The transpose of a leaf."""

    def __init__(self, leaf: Leaf):
        self.leaf = leaf
        self.codomain, self.domain = leaf.domain, leaf.codomain
        turned = {CAUSAL: ANTICAUSAL, ANTICAUSAL: CAUSAL}
        self.structure = turned.get(leaf.structure, leaf.structure)

    def apply(self, x):
        return self.leaf.apply_transposed(x)

    @property
    def T(self):
        return self.leaf

    def inv(self):
        return self.leaf.inv().T

    def __str__(self):
        return f"{self.leaf}^T"

    def latex(self):
        return f"{self.leaf.latex()}^T"


class BlockDiagonal(Leaf):
    """A memoryless operator: one block per body."""

    def __init__(self, name: str, codomain: Space, domain: Space, data: Array, starts: np.ndarray):
        super().__init__(name, codomain, domain, MEMORYLESS)
        self.data, self.starts = data, starts
        data.setflags(write=False)

    @classmethod
    def from_blocks(
        cls, name: str, codomain: Space, domain: Space, blocks: Sequence[ArrayLike]
    ) -> BlockDiagonal:
        """From a list of matrices."""
        for k, (block, rows, columns) in enumerate(zip(blocks, codomain.sizes, domain.sizes)):
            if np.shape(block) != (rows, columns):
                raise ArgumentValueError(
                    f"{name}: the block of {codomain.labels[k]!r} must have shape ({rows}, {columns}), got "
                    f"{np.shape(block)}."
                )
        sizes = codomain.sizes * domain.sizes
        starts = np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64)
        parts = [np.asarray(b, dtype=np.float64).ravel() for b in blocks]
        return cls(name, codomain, domain, np.concatenate([np.empty(0), *parts]), starts)

    def of(self, k: int) -> Array:
        """Block k."""
        rows, columns = int(self.codomain.sizes[k]), int(self.domain.sizes[k])
        at = self.starts[k]
        return self.data[at : at + rows * columns].reshape(rows, columns)

    @property
    def blocks(self) -> list[Array]:
        """All blocks, base to tip."""
        return [self.of(k) for k in range(len(self.codomain.sizes))]

    def apply(self, x):
        return self._multiply(0, x, self.codomain)

    def apply_transposed(self, x):
        return self._multiply(1, x, self.domain)

    def _multiply(self, transposed: int, x: Array, target: Space) -> Array:
        y = np.zeros((target.size, *x.shape[1:]))
        run, table = self._compiled
        run(transposed, self.data, table, x.reshape(-1), y.reshape(-1), width(x))
        return y

    @cached_property
    def _compiled(self) -> tuple[Callable, np.ndarray]:
        return native.load("block_multiply"), block_table(
            self, self.domain.starts, self.codomain.starts
        )

    @cached_property
    def _inverse(self) -> BlockDiagonal:
        blocks = [np.linalg.inv(b) for b in self.blocks]
        return BlockDiagonal.from_blocks(f"{self.name}^-1", self.domain, self.codomain, blocks)

    def inv(self):
        """The inverse, block by block."""
        if not np.array_equal(self.codomain.sizes, self.domain.sizes):
            raise ArgumentValueError(f"{self} has blocks that are not square: it has no inverse.")
        return self._inverse

    def map(self, name: str, function: Callable[[Array], ArrayLike]) -> BlockDiagonal:
        """`function` of every block, between the same spaces."""
        blocks = [function(b) for b in self.blocks]
        return BlockDiagonal.from_blocks(name, self.codomain, self.domain, blocks)

    def latex(self):
        head, power, exponent = self.name.partition("^")
        return f"{latex_name(head)}^{{{exponent}}}" if power else super().latex()


class Shift(Leaf):
    """S: identities at (parent, child), from the space of the parents to the bodies (Eq. (5.2) of
    Rodriguez & Kreutz)."""

    def __init__(self, codomain: Space, domain: Space, parent: np.ndarray):
        super().__init__("S", codomain, domain, CAUSAL)
        self.parent = parent

    def apply(self, x):
        return self._run(0, x, self.codomain)

    def apply_transposed(self, x):
        return self._run(1, x, self.domain)

    def _run(self, transposed: int, x: Array, target: Space) -> Array:
        y = np.zeros((target.size, *x.shape[1:]))
        run, table = self._compiled
        run(transposed, table, x.reshape(-1), y.reshape(-1), width(x))
        return y

    @cached_property
    def _compiled(self) -> tuple[Callable, np.ndarray]:
        parents = parent_rows(self.codomain, self.parent)
        nothing = np.zeros_like(parents)
        columns = [nothing, self.domain.sizes, nothing, self.domain.starts, parents]
        return native.load("tree_shift"), np.column_stack(columns).reshape(-1)


class Transition(Leaf):
    """phi or psi: (I - S Delta)^{-1}, applied by one sweep."""

    def __init__(self, name: str, shift: Shift, delta: BlockDiagonal):
        super().__init__(name, shift.codomain, shift.codomain, CAUSAL)
        self.shift, self.delta = shift, delta

    def apply(self, x):
        return self._sweep(0, x)

    def apply_transposed(self, x):
        return self._sweep(1, x)

    def _sweep(self, transposed: int, x: Array) -> Array:
        z = x.copy()
        run, data, table = self._compiled
        run(transposed, data, table, z if z.ndim == 1 else z.reshape(-1), width(z))
        return z

    @cached_property
    def _compiled(self) -> tuple[Callable, Array, np.ndarray]:
        parents = parent_rows(self.domain, self.shift.parent)
        table = block_table(self.delta, self.domain.starts, parents)
        return native.load("tree_sweep"), self.delta.data, table

    def inv(self):
        """I - S Delta (Eqs. (a.10), (a.11) of Rodriguez & Kreutz)."""
        return Identity(self.domain) - product([self.shift, self.delta])


class EndMap(Leaf):
    """B(ends): carries wrenches at nodes, world axes, to their bodies (Rodriguez, Jain & Kreutz, (2.13))."""

    def __init__(self, codomain: Space, domain: Space, body: list[int], blocks: list[Array]):
        super().__init__("B", codomain, domain, CAUSAL)
        self.body, self.end_blocks = body, blocks

    def apply(self, x):
        y = np.zeros((self.codomain.size, *x.shape[1:]))
        for e, (k, block) in enumerate(zip(self.body, self.end_blocks)):
            y[self.codomain.part(k)] += block @ x[6 * e : 6 * e + 6]
        return y

    def apply_transposed(self, x):
        y = np.empty((self.domain.size, *x.shape[1:]))
        for e, (k, block) in enumerate(zip(self.body, self.end_blocks)):
            y[6 * e : 6 * e + 6] = block.T @ x[self.codomain.part(k)]
        return y


class Matrix(Leaf):
    """A small dense operator, between ends or closure rows.

    inverse : its inverse if it is known, such as a pseudo-inverse.
    meaning : the expression that it equals, for simplification.
    """

    def __init__(
        self,
        name: str,
        codomain: Space,
        domain: Space,
        data: Array,
        inverse: Array | None = None,
        meaning: Operator | None = None,
    ):
        super().__init__(name, codomain, domain, FULL)
        self.data, self.meaning = data, meaning
        self._inverse = inverse
        data.setflags(write=False)

    def apply(self, x):
        return self.data @ x

    def apply_transposed(self, x):
        return self.data.T @ x

    def inv(self):
        """The inverse; a pseudo-inverse if it was made with one."""
        if self.data.shape[0] != self.data.shape[1]:
            return super().inv()  # which rejects it
        known = self._inverse
        found = np.linalg.inv(self.data).astype(np.float64) if known is None else known
        name = f"({self.name})^-1" if " " in self.name else f"{self.name}^-1"
        return Matrix(name, self.domain, self.codomain, found, self.data)

    def latex(self):
        inner = self.name.removesuffix("^-1").strip("()")
        text = r"\,".join(
            f"{latex_name(x[:-2])}^T" if x.endswith("^T") else latex_name(x) for x in inner.split()
        )
        if not self.name.endswith("^-1"):
            return text
        return rf"\left({text}\right)^{{-1}}" if " " in inner else f"{text}^{{-1}}"


class Named(Leaf):
    """An expression under a name of its own."""

    def __init__(self, name: str, expression: Operator):
        super().__init__(name, expression.codomain, expression.domain, expression.structure)
        self.expression = expression

    def apply(self, x):
        return self.expression.apply(x)

    def apply_transposed(self, x):
        return self.expression.T.apply(x)

    def inv(self):
        return self.expression.inv()
