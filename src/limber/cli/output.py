"""What the commands print: tables for people, JSON for scripts, messages beside both."""

from __future__ import annotations

import json
import math
import sys
from typing import Annotated, Any

import numpy as np
import rich.markup
import typer
from rich.console import Console
from rich.table import Table

from limber.printable import printable, printable_lines

#: The options that every command has.
Json = Annotated[
    bool, typer.Option("--json", help="One JSON object on standard output, and nothing else there.")
]
Debug = Annotated[bool, typer.Option("--debug", help="Show where in the code an error came from.")]


def plain(value: Any) -> Any:
    """A value as JSON has it; what is not finite becomes null."""
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, int | str | None) else str(value)


def escape(text: str) -> str:
    """A name in a table: no markup, and nothing that a terminal would obey."""
    return rich.markup.escape(printable(text))


def escape_lines(text: str) -> str:
    """A text of several lines in a table."""
    return "\n".join(map(escape, text.split("\n")))


def print_json(value: Any) -> None:
    """Standard output of a command with --json."""
    typer.echo(json.dumps(plain(value), indent=2, allow_nan=False))


def note(message: str, kind: str = "note") -> None:
    """A message on standard error, not wrapped, so that it can be searched."""
    typer.secho(f"{kind}: ", nl=False, err=True, bold=True, fg="red" if kind == "error" else None)
    typer.echo(printable_lines(message), err=True)


def console() -> Console:
    """Where tables go: a terminal as wide as it is, anything else wide enough for all of a table."""
    if sys.stdout.isatty():
        return Console(highlight=False)
    return Console(highlight=False, width=200)


def table(title: str, *heads: str, left: int = 1) -> Table:
    """An empty table: the first `left` columns to the left, the others to the right."""
    made = Table(title=title)
    for i, head in enumerate(heads):
        made.add_column(head, justify="left" if i < left else "right")
    return made


def show(*tables: Table) -> None:
    """Print tables, each below its title, which may be wider than it."""
    out = console()
    for made in tables:
        title, made.title = made.title, None
        out.print(f"[bold]{title}[/bold]")
        out.print(made)


def pairs(title: str, rows: dict[str, str]) -> Table:
    """A table of names and values."""
    made = Table(title=title, show_header=False)
    made.add_column()
    made.add_column()
    for name, value in rows.items():
        made.add_row(name, value)
    return made
