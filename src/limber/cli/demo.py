"""`limber demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option(help="Folder for pictures and report.")] = Path("out"),
    printed: Annotated[
        bool,
        typer.Option("--printed", help="Joint paths of Eq. (44) as printed: they end in motion."),
    ] = False,
) -> None:
    """The slew of the flexible Canadarm (Mohan & Saha, Section 7): tables, their figures, an HTML report."""
    from limber import demo as canadarm  # noqa: PLC0415 (keeps `limber --help` quick)

    canadarm.run(out=out, printed=printed)
