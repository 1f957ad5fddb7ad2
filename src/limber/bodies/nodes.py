"""Nodes: the points of a body that other things can refer to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from limber.bodies.shapes import Shaped, Shapes
from limber.checks import integer, shown, suggestion
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.short_repr import short_repr


@dataclass(frozen=True, eq=False)
class Nodes(Shaped):
    """n points with names and mode shapes."""

    __repr__ = short_repr

    names: tuple[str, ...]
    shapes: Shapes

    def with_body_frame(self) -> Nodes:
        """The same nodes followed by the origin of the body frame, which does not move with the modes."""
        origin = Shapes.still(np.zeros((1, 3)), self.shapes.modes)
        return replace(self, shapes=Shapes.joined([self.shapes, origin]))

    def index(self, argument: str, node: str | int, owner: str) -> int:
        """The number of a node given by name or number; `argument` and `owner` are for the message."""
        n = len(self.shapes)
        if isinstance(node, str):
            if node in self.names:
                return self.names.index(node)
            known = ", ".join(map(repr, self.names[:12])) or "none"
            more = ", ..." if len(self.names) > 12 else ""
            raise ArgumentValueError(
                f"{argument}={node!r} is not a node of {owner}; its nodes are: {known}{more}."
                f"{suggestion(node, self.names)}"
            )
        i = integer(node)
        if i is None:
            raise ArgumentTypeError(
                f"{argument} must be a node name or number of {owner}, got {shown(node)}."
            )
        if str(i) in self.names and self.names.index(str(i)) != i:
            raise ArgumentValueError(
                f"{argument}={shown(i)} is ambiguous: {owner} has a node named {str(i)!r}, which is not node number "
                f"{shown(i)} (counting from 0). Give the name as a string, {str(i)!r}, or the number of that node, "
                f"{self.names.index(str(i))}."
            )
        if not 0 <= i < n:
            known = f"has {n} nodes, 0 to {n - 1}" if n else "has no nodes"
            raise ArgumentValueError(f"{argument}={shown(i)} is out of range: {owner} {known}.")
        return i


def node_names(names: Sequence[str] | None, n: int) -> tuple[str, ...]:
    """Names of n nodes, checked; "0", "1", ... unless given."""
    if names is None:
        return tuple(str(j) for j in range(n))
    try:
        listed = [] if isinstance(names, str) else list(names)
    except TypeError:
        listed = []
    if not listed:
        raise ArgumentTypeError(f"names must be a list of {n} strings, got {shown(names)}.")
    texts = all(isinstance(s, str) and s for s in listed)
    if not texts or len(listed) != n or len(set(listed)) != n:
        raise ArgumentValueError(
            f"names must be {n} different non-empty strings, one per node, got {len(listed)}: {shown(listed)}."
        )
    return tuple(listed)
