"""What objects look like in a notebook: tables and text in HTML, with every name escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from limber.printable import printable, printable_lines

#: Rows of a table that are shown; a line below it mentions the others.
LISTED = 60


def table(
    title: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    left: Sequence[int] = (0,),
    notes: Iterable[str] = (),
) -> str:
    """A table in HTML.

    title : the line above it.
    heads : one for each column.
    rows : one entry for each column, which is shown as its `str`.
    left : columns of text, by number; the others are numbers and are right-aligned.
    notes : lines below it.
    """
    every = [list(map(str, row)) for row in rows]
    more = [f"... and {len(every) - LISTED} more"] if len(every) > LISTED else []
    lines = ["<div>", f"<strong>{_text(title)}</strong>", "<table>", "<thead>"]
    lines += [_row("th", heads, left), "</thead>", "<tbody>"]
    lines += [_row("td", row, left) for row in every[:LISTED]]
    lines += ["</tbody>", "</table>"]
    lines += [f"<p>{_text(note)}</p>" for note in (*more, *notes)]
    return "\n".join([*lines, "</div>"])


def as_text(owner: Any) -> str:
    """The `_repr_html_` of objects that print as a table: the same text."""
    return f"<pre>{_escaped(printable_lines(str(owner)))}</pre>"


def _row(kind: str, cells: Sequence[str], left: Sequence[int]) -> str:
    styles = ("left" if i in left else "right" for i in range(len(cells)))
    made = (
        f'<{kind} style="text-align: {style}">{_text(cell)}</{kind}>'
        for style, cell in zip(styles, cells)
    )
    return f"<tr>{''.join(made)}</tr>"


def _text(x: str) -> str:
    return _escaped(printable(x))


def _escaped(x: str) -> str:
    from html import escape  # noqa: PLC0415 (2 ms that `import limber` need not take)

    return escape(x)
