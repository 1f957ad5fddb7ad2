"""`limber demo`: runs the slew of the flexible Canadarm."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from limber.cli.exits import guarded
from limber.cli.output import Debug


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the figures and the report.")] = Path("out"),
    printed: Annotated[
        bool,
        typer.Option(
            "--printed",
            help="Use the joint paths of Eq. (44) as printed, which do not end at rest.",
        ),
    ] = False,
    debug: Debug = False,
) -> None:
    """Run the slew of the flexible Canadarm (Mohan & Saha, Section 7): tables, their figures and an HTML report."""
    from limber import demo as canadarm  # noqa: PLC0415 (keeps `limber --help` quick)

    with guarded(False, debug):
        canadarm.run(out=out, printed=printed)
