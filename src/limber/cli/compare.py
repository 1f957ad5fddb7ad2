"""`limber compare`: every controller on the Canadarm, a two-link flexible arm and a spacecraft."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from limber.checks import did_you_mean
from limber.cli.exits import guarded
from limber.cli.output import Debug, escape, show, table
from limber.errors import ArgumentValueError


def compare(
    plant: Annotated[
        list[str] | None, typer.Argument(help="canadarm, two-link, spacecraft; all of them unless given.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A controller by its name, again for more of them.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("out"),
    page: Annotated[
        Path | None,
        typer.Option(metavar="MD", help="A page whose tables are replaced, between <!-- table of PLANT --> and <!-- end of PLANT -->."),
    ] = None,
    debug: Debug = False,
) -> None:  # fmt: skip
    """Runs every controller on three plants and tells settling time, residual vibration, peak torque, energy and computing time.

    One run takes seconds to a minute. For instance

      limber compare
      limber compare two-link --only PD --only "patent, impedance"

    `make compare` makes the tables and pictures of docs/guide/comparison.md.
    """
    with guarded(False, debug):
        from limber import comparison  # noqa: PLC0415 (keeps `limber --help` quick)
        from limber.comparison import pictures  # noqa: PLC0415

        known = comparison.plants()
        for name in plant or ():
            if name not in known:
                raise ArgumentValueError(
                    f"there is no plant {name!r} to compare controllers on. {did_you_mean(name, known)}"
                )
        if page is not None and not page.is_file():
            raise ArgumentValueError(f"--page {page}: there is no such file.")
        out.mkdir(parents=True, exist_ok=True)
        for name in plant or known:
            built = known[name]()
            outcomes = comparison.compare(
                built, only or None, told=lambda x: typer.echo(f"{name}: {x.controller}", err=True)  # noqa: B023
            )  # fmt: skip
            made = table(built.title, *pictures.heads(built), left=1)
            for outcome in outcomes:
                made.add_row(*map(escape, pictures.row(built, outcome)))
            show(made)
            if any(outcome.result is not None for outcome in outcomes):
                file = out / f"compare_{name}.png"
                pictures.draw(built, outcomes, file)
                typer.echo(f"wrote {file}")
            if page is not None:
                if not pictures.put(page, built, outcomes):
                    raise ArgumentValueError(
                        f"--page {page}: it has no place for the table: put <!-- table of {name} --> and <!-- end of {name} --> on "
                        "lines of their own."
                    )
                typer.echo(f"wrote the table of {name} into {page}")
