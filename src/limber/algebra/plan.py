"""The cost of applying an expression: its passes, their directions and their operation counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from limber.algebra.leaves import (
    BlockDiagonal,
    EndMap,
    Leaf,
    Matrix,
    Named,
    Shift,
    Transition,
    Transposed,
)
from limber.algebra.operator import Identity, Inverse, Operator, Product, Scaled, Sum, Zero
from limber.algebra.simplify import simplify
from limber.notebook import as_text


@dataclass(frozen=True)
class Step:
    """One pass over the bodies: its operator, its direction, and its multiplications and additions."""

    operator: str
    direction: str  # "in place", "tip to base" or "base to tip"
    multiplications: int
    additions: int


@dataclass(frozen=True)
class Plan:
    """The passes of an expression on one vector, as written and simplified."""

    expression: Operator
    simplified: Operator
    before: tuple[Step, ...]
    after: tuple[Step, ...]

    _repr_html_ = as_text

    def __str__(self):
        lines = []
        for title, expression, steps in (
            ("as written", self.expression, self.before),
            ("simplified", self.simplified, self.after),
        ):
            lines.append(f"{title}: {expression}")
            for step in steps:
                lines.append(
                    f"  {step.operator:14s} {step.direction:12s} {step.multiplications:8d} mul "
                    f"{step.additions:8d} add"
                )
            mul, add = (sum(getattr(s, k) for s in steps) for k in ("multiplications", "additions"))
            lines.append(f"  {sweeps(steps)} sweeps, {mul} multiplications, {add} additions")
        return "\n".join(lines)


def sweeps(steps: tuple[Step, ...]) -> int:
    """How many of the steps are sweeps."""
    return sum(step.direction != "in place" for step in steps)


def plan(expression: Operator) -> Plan:
    """The passes of an expression as written and simplified."""
    simple = simplify(expression)
    return Plan(expression, simple, tuple(steps(expression)), tuple(steps(simple)))


def steps(expression: Operator) -> list[Step]:
    """The passes in order, the rightmost operator first; structural zeros of the blocks are not counted."""
    if isinstance(expression, Product):
        return [s for factor in reversed(expression.factors) for s in steps(factor)]
    if isinstance(expression, Sum):
        size = expression.codomain.size
        found = [s for term in expression.terms for s in steps(term)]
        return [*found, Step("+", "in place", 0, size * (len(expression.terms) - 1))]
    if isinstance(expression, Scaled):
        size = 0 if abs(expression.factor) == 1.0 else expression.codomain.size
        found = steps(expression.operator)
        return [*found, Step(f"{expression.factor:g}", "in place", size, 0)] if size else found
    if isinstance(expression, (Identity, Zero)):
        return []
    if isinstance(expression, Inverse):
        return steps(expression.solved())
    if isinstance(expression, Transposed):
        return _leaf_steps(expression.leaf, True)
    assert isinstance(expression, Leaf)
    return _leaf_steps(expression, False)


def _leaf_steps(leaf: Leaf, transposed: bool) -> list[Step]:
    name = f"{leaf}^T" if transposed else str(leaf)
    way = "base to tip" if transposed else "tip to base"
    if isinstance(leaf, Named):
        return steps(leaf.expression.T if transposed else leaf.expression)
    if isinstance(leaf, BlockDiagonal):
        full = int(np.count_nonzero(leaf.data))
        rows = leaf.domain.size if transposed else leaf.codomain.size
        return [Step(name, "in place", full, max(full - rows, 0))]
    if isinstance(leaf, Transition):
        moving = [b for b, p in zip(leaf.delta.blocks, leaf.shift.parent) if p >= 0]
        full = int(sum(np.count_nonzero(b) for b in moving))
        return [Step(name, way, full, full)]
    if isinstance(leaf, Shift):
        size = 0 if transposed else int(leaf.domain.sizes[leaf.parent >= 0].sum())
        return [Step(name, way, 0, size)]
    if isinstance(leaf, Matrix):
        full = int(np.count_nonzero(leaf.data))
        return [Step(name, "in place", full, full)]
    assert isinstance(leaf, EndMap)
    full = int(sum(np.count_nonzero(b) for b in leaf.end_blocks))
    return [Step(name, "in place", full, full)]
