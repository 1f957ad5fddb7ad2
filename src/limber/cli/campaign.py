"""`limber campaign`: many cases of a scenario, sampled from distributions."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from limber.cli import exits
from limber.cli.exits import guarded
from limber.cli.output import Debug, Json, escape, note, pairs, print_json, show, table
from limber.errors import ArgumentValueError

if TYPE_CHECKING:
    from limber.campaigns import Campaign, Study


class Engine(StrEnum):
    """Which code evaluates the dynamics."""

    general = "general"
    generated = "generated"
    cuda = "cuda"


#: How many of the worst cases of each quantity are listed.
WORST = 3


def campaign(
    file: Annotated[
        Path, typer.Argument(metavar="STUDY", help="A study (.yaml).", show_default=False)
    ],
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for NAME.zarr and NAME.html.")
    ] = Path("out"),
    case: Annotated[
        int | None,
        typer.Option(metavar="N", help="Run only this case, and print it.", show_default=False),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Number of cases; overrides the file.", min=1, show_default=False
        ),
    ] = None,
    engine: Annotated[
        Engine | None,
        typer.Option(help="Code that runs the cases; overrides the file.", show_default=False),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Number of processes that run cases; one per core by default.", min=1, show_default=False
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="A Dask scheduler, tcp://HOST:PORT, whose workers run the cases.",
            show_default=False,
        ),
    ] = None,
    dask: Annotated[
        bool, typer.Option("--dask", help="Run the cases on a Dask cluster on this machine.")
    ] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Remove the stored results and start again.")
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="With --case, write an HTML page with the motion.", show_default=False),
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:  # fmt: skip
    """Run a study: many cases of a scenario, sampled from distributions, on all cores.

    Results are stored in NAME.zarr as they finish. A campaign that was killed or interrupted continues where it stopped
    when you give the same command again. It is rejected if the study has changed. NAME.html shows distributions, a
    scatter matrix, the worst cases and sensitivities. A case that fails becomes a row that says why.

      limber campaign examples/canadarm_campaign.yaml --samples 50
      limber campaign examples/canadarm_campaign.yaml --samples 50 --case 24 --report case24.html
      limber campaign study.yaml --scheduler tcp://10.0.0.5:8786
    """
    with guarded(json, debug):
        from limber import campaigns  # noqa: PLC0415 (keeps `limber --help` quick)

        if dask and scheduler is not None:
            raise ArgumentValueError("--dask and --scheduler: give only one of the two.")
        if report is not None and case is None:
            raise ArgumentValueError(
                "--report can only be used with --case N; the page of the campaign is in --out."
            )
        study = campaigns.load_study(
            file, samples=samples, engine=None if engine is None else engine.value
        )
        place = out / f"{file.stem}.zarr"
        if case is not None:
            _one(study, study.number(case), report, json)
            return
        done = campaigns.run(study, place, restart, processes, scheduler or dask or None)
        page = done.report(out / f"{file.stem}.html")
        if json:
            print_json(_summary(done) | {"file": file, "store": place, "report": page})
        else:
            show(*_tables(done))
            for remark in done.remarks:
                note(remark)
            typer.echo(f"wrote {place}\nwrote {page}")
        left = int((done.status == "not run").sum())
        if left:
            raise typer.Exit(exits.INTERRUPTED)
        if not (done.status != "failed").any():
            note(f"all cases failed, case 0 with: {done.messages[0]}", "error")
            raise typer.Exit(exits.SIMULATION)


def _one(study: Study, case: int, report: Path | None, as_json: bool) -> None:
    """Run one case alone."""
    result = study.result(case)
    kept = {q.name: q.measure(result) for q in study.quantities}
    found = {
        "case": case,
        "seed": study.seeds[case],
        "variables": study.case(case),
        "quantities": kept,
        "message": result.message,
    }
    if report is not None:
        result.report(report, title=f"{study.name}, case {case}")
        found["report"] = report
    if as_json:
        print_json(found)
        return
    rows = {"seed": str(study.seeds[case]), "end": escape(result.message)}
    rows |= {escape(name): escape(str(x)) for name, x in study.case(case).items()}
    show(pairs(f"Case {case} of {escape(study.name)}", rows))
    show(pairs("Quantities", {escape(name): str(x) for name, x in kept.items()}))
    if report is not None:
        typer.echo(f"wrote {report}")


def _summary(done: Campaign) -> dict[str, Any]:
    """The campaign for --json."""
    status = done.status.tolist()
    return {
        "study": done.study.name,
        "cases": len(done),
        "status": {name: status.count(name) for name in sorted(set(status))},
        "seconds": done.seconds,
        "statistics": done.statistics,
        "requirements": {
            name: {
                "below": x.below,
                "above": x.above,
                "cases": x.cases,
                "met": x.met,
                "fraction": x.fraction,
                "low": x.low,
                "high": x.high,
            }
            for name, x in done.requirements.items()
        },
        "remarks": done.remarks,
        "worst": {
            name: [
                {
                    "case": i,
                    "seed": done.study.seeds[i],
                    "value": x[i],
                    "variables": done.study.case(i),
                    "command": done.command(i),
                }
                for i in done.worst(name, WORST)
            ]
            for name, x in done.numbers.items()
        },
        "sensitivity": {
            name: {key: dict(zip(found.variables, x.tolist())) for key, x in found.values.items()}
            for name, found in ((n, done.sensitivity(n)) for n in done.numbers)
        },
        "failures": done.failures,
    }


def _tables(done: Campaign) -> list[Table]:
    """The campaign for people."""
    status = done.status.tolist()
    counts = ", ".join(f"{status.count(name)} {name}" for name in sorted(set(status)))
    heads = ("min", "median", "mean", "p95", "p99", "max", "deviation")
    made = table(
        f"{escape(done.study.name)}: {len(done)} cases, {counts}; {done.seconds:.3g} s",
        "quantity",
        *heads,
    )
    for name, row in done.statistics.items():
        made.add_row(escape(name), *(f"{row[key]:.4g}" for key in heads))
    worst = table("Worst cases", "quantity", "case", "seed", "value", "command that repeats it")
    worst.columns[-1].justify = "left"
    for name, x in done.numbers.items():
        for i in done.worst(name, WORST):
            command = escape(done.command(i))
            worst.add_row(escape(name), str(i), str(done.study.seeds[i]), f"{x[i]:.6g}", command)
    tables = [made, *_requirements(done), worst, _sensitivities(done)]
    if done.failures:
        failed = table(f"{len(done.failures)} cases failed", "case", "seed", "reason", left=3)
        for i, why in list(done.failures.items())[:10]:
            failed.add_row(str(i), str(done.study.seeds[i]), escape(why))
        tables.append(failed)
    return tables


def _requirements(done: Campaign) -> list[Table]:
    """The requirements of the study, if it has any."""
    if not done.requirements:
        return []
    made = table("Requirements", "quantity", "required", "cases", "met in", "95 % interval")
    for name, x in done.requirements.items():
        made.add_row(
            escape(name), x.limits, f"{x.met} of {x.cases}", f"{100 * x.fraction:.4g} %", x.interval
        )
    return [made]


def _sensitivities(done: Campaign) -> Table:
    """The sensitivities of each quantity, as `Campaign.sensitivity` returns them."""
    found = [done.sensitivity(name) for name in done.numbers]
    kind = found[0].kind if found else "sensitivity"
    made = table(kind[0].upper() + kind[1:], "quantity", *(found[0].variables if found else ()))
    for each in found:
        for key, x in each.values.items():
            title = each.quantity if len(each.values) == 1 else f"{each.quantity}, {key}"
            made.add_row(escape(title), *(f"{value:.3f}" for value in x))
    return made
