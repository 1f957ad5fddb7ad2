"""`limber compare`: every controller on the Canadarm, a two-link flexible arm, a spacecraft and two arms with one
object.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from limber.checks import did_you_mean
from limber.cli.exits import guarded
from limber.cli.output import Debug, escape, note, show, table
from limber.errors import ArgumentValueError


def compare(
    plant: Annotated[
        list[str] | None, typer.Argument(help="canadarm, two-link, spacecraft or two-arms; all of them by default.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Run only this controller; may be repeated.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("out"),
    page: Annotated[
        Path | None,
        typer.Option(metavar="MD", help="Replace the tables in this page, between <!-- table of PLANT --> and <!-- end of PLANT -->."),
    ] = None,
    tune: Annotated[
        bool, typer.Option("--tune", help="Instead, try several settings of each controller and print the results; this takes an hour.")
    ] = False,
    debug: Debug = False,
) -> None:  # fmt: skip
    """Run every controller on four plants; print settling time, residual vibration, peak torque, energy and computing
    time.

    Each controller runs on the plant that it was designed for, and on one with different stiffnesses and masses. One
    run takes seconds to a minute. Examples:

      limber compare
      limber compare two-link --only PD --only "patent, impedance"
      limber compare spacecraft --tune --only LQG

    `make compare` makes the tables and pictures of docs/guide/comparison.md.
    """
    with guarded(False, debug):
        from limber import comparison  # noqa: PLC0415 (keeps `limber --help` quick)
        from limber.comparison import pictures  # noqa: PLC0415

        known = comparison.plants()
        for name in plant or ():
            if name not in known:
                raise ArgumentValueError(
                    f"there is no plant {name!r} for the comparison. {did_you_mean(name, known)}"
                )
        if page is not None and not page.is_file():
            raise ArgumentValueError(f"--page {page}: there is no such file.")
        if tune:
            for name in plant or known:
                _tune(comparison, pictures, known[name](), only)
            return
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
            for outcome in outcomes:
                if outcome.changed_failure:
                    note(f"{outcome.controller} on the changed plant: {outcome.changed_failure}")
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


def _tune(comparison: Any, pictures: Any, plant: Any, only: list[str] | None) -> None:
    """Print every setting that is tried for each controller and its results, the best first."""
    for name in only or plant.entries:
        trials = comparison.tune(
            plant, name, lambda x: typer.echo(f"{plant.name}: {name} {x.settings}", err=True)  # noqa: B023
        )  # fmt: skip
        made = table(
            f"{plant.title}: {name}", "settings", "score s", *pictures.heads(plant)[1:], left=1
        )
        for trial in trials:
            settings = ", ".join(f"{key} {value:g}" for key, value in trial.settings.items())
            figures = pictures.row(plant, trial.outcome)[1:]
            made.add_row(settings or "none", f"{trial.score:.4g}", *map(escape, figures))
        show(made)
