"""Options with positive numbers."""

from __future__ import annotations

from typing import Any

import typer


def positive(text: str, metavar: str = "S") -> Any:
    """An option with a finite positive number."""
    return typer.Option(metavar=metavar, help=text, callback=_checked, show_default=False)


def _checked(value: float | None) -> float | None:
    if value is not None and not 0.0 < value < float("inf"):
        raise typer.BadParameter(f"must be a finite number above zero, got {value:g}.")
    return value
