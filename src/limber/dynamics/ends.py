"""Ends: one or several nodes of a system, such as hands and tools."""

from __future__ import annotations

from collections.abc import Sequence

from limber.assembly.system import System
from limber.checks import shown
from limber.errors import ArgumentTypeError

End = tuple[str, "str | int | None"]
Ends = End | Sequence[End]


def checked_ends(
    system: System, ends, argument: str = "ends"
) -> tuple[tuple[str, int | None], ...]:
    """The ends as (body, number of the node or None), from one ("body", node) or a sequence of them."""
    several = ends
    if isinstance(ends, tuple) and len(ends) == 2 and isinstance(ends[0], str):
        several = [ends]
    wrong = not isinstance(several, list | tuple) or not several
    if wrong or not all(isinstance(e, list | tuple) and len(e) == 2 for e in several):
        raise ArgumentTypeError(
            f'{argument} must be a list of ("body", node), as in [("link", "tip")], or one of them, got {shown(ends)}.'
        )
    found = []
    for body, node in several:
        system.number(body, f"{argument}: body")
        found.append((str(body), system.node_number(body, node, f"{argument}: node")))
    return tuple(found)
