"""An assembly or a system as a table, for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from limber.assembly.closures import Closure, Relation
from limber.assembly.pack import Attachment
from limber.notebook import table

HEADS = ("body", "kind", "mass, kg", "modes", "joint", "on")


def described(
    title: str, attachments: Mapping[str, Attachment], closures: Mapping[str, Closure | Relation]
) -> str:
    """A row for each body, and a line for each closure."""
    rows = [
        (
            name, type(item.body).__name__, _mass(item.body.mass), item.body.modes or "",
            type(item.joint).__name__, _place(item, attachments),
        )
        for name, item in attachments.items()
    ]  # fmt: skip
    notes = [f"{name}: {_closure(closure, attachments)}" for name, closure in closures.items()]
    return table(title, HEADS, rows, left=(0, 1, 4, 5), notes=notes)


def _mass(mass: Any) -> str:
    """A number, or an expression of symbols."""
    return f"{mass:.6g}" if isinstance(mass, (int, float)) else str(mass)


def _place(item: Attachment, attachments: Mapping[str, Attachment]) -> str:
    return _node(item.to, item.at, attachments)


def _closure(closure: Closure | Relation, attachments: Mapping[str, Attachment]) -> str:
    if isinstance(closure, Relation):
        terms = (f"{factor:g} {body}[{k}]" for (body, k), factor in closure.terms.items())
        return f"{' + '.join(terms)} = {closure.value:g}"
    a, b = (_node(end.body, end.node, attachments) for end in (closure.a, closure.b))
    return f"{type(closure.joint).__name__} from {a} to {b}"


def _node(body: str, node: int | None, attachments: Mapping[str, Attachment]) -> str:
    """A body, or a node of it by its name."""
    if body == "world" or node is None:
        return body
    return f"{body}, {attachments[body].body.node_set.names[node]}"
