"""Output of the commands: tables for people, JSON for scripts, and messages on standard error."""

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
    bool, typer.Option("--json", help="Print one JSON object on standard output, and nothing else.")
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


def plain(value: Any) -> Any:
    """Convert a value for JSON; numbers that are not finite become null."""
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
    """Escape a name for a table: no markup and no control characters for the terminal."""
    return rich.markup.escape(printable(text))


def escape_lines(text: str) -> str:
    """Escape a text of several lines for a table."""
    return "\n".join(map(escape, text.split("\n")))


def print_json(value: Any) -> None:
    """Print a value as JSON on standard output."""
    typer.echo(json.dumps(plain(value), indent=2, allow_nan=False))


def note(message: str, kind: str = "note") -> None:
    """Print a message on standard error, without wrapping, so that it can be searched."""
    typer.secho(f"{kind}: ", nl=False, err=True, bold=True, fg="red" if kind == "error" else None)
    typer.echo(printable_lines(message), err=True)


def console() -> Console:
    """The console for tables: as wide as the terminal, or wide enough for a whole table if there is none."""
    if sys.stdout.isatty():
        return Console(highlight=False)
    return Console(highlight=False, width=200)


def table(title: str, *heads: str, left: int = 1) -> Table:
    """Make an empty table. The first `left` columns are left-aligned, the others right-aligned."""
    made = Table(title=title)
    for i, head in enumerate(heads):
        made.add_column(head, justify="left" if i < left else "right")
    return made


def show(*tables: Table) -> None:
    """Print tables, each below its title, which may be wider than the table."""
    out = console()
    for made in tables:
        title, made.title = made.title, None
        out.print(f"[bold]{title}[/bold]")
        out.print(made)


def pairs(title: str, rows: dict[str, str]) -> Table:
    """Make a table of names and values."""
    made = Table(title=title, show_header=False)
    made.add_column()
    made.add_column()
    for name, value in rows.items():
        made.add_row(name, value)
    return made
