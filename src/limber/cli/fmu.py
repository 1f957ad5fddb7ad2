"""`limber fmu`: exports a model as a functional mock-up unit for other simulation tools."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from limber.cli.exits import guarded
from limber.cli.linearize import listed
from limber.cli.output import Debug, Json, note, print_json
from limber.cli.subject import File, Lenient, read
from limber.cli.write import refuse_inputs


class Version(StrEnum):
    """Versions of FMI."""

    two = "2"
    three = "3"


def fmu(
    file: File,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FMU",
            help="The file to write; by default FILE with the ending .fmu, in the current folder.",
            show_default=False,
        ),
    ] = None,
    fmi: Annotated[Version, typer.Option(help="Version of FMI.")] = Version.three,
    parameters: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter",
            metavar="NAME",
            help="A number that can be set in the FMU, such as link1.EI, or a pattern such as '*.mass'; may be repeated. "
            "By default masses, beam stiffnesses and joint physics; `none` for no parameters.",
            show_default=False,
        ),
    ] = None,
    nodes: Annotated[
        list[str] | None,
        typer.Option(
            "--node",
            metavar="NODE",
            help=r'A node whose pose and velocity are outputs: link3, or "\[link3, tip]"; may be repeated.',
            show_default=False,
        ),
    ] = None,
    accelerations: Annotated[
        list[str] | None,
        typer.Option(
            "--acceleration",
            metavar="NODE",
            help="A node whose acceleration is an output; written as for --node.",
            show_default=False,
        ),
    ] = None,
    forces: Annotated[
        list[str] | None,
        typer.Option(
            "--force",
            metavar="NODE",
            help="A node where a force and a moment are inputs; written as for --node.",
            show_default=False,
        ),
    ] = None,
    tolerance: Annotated[
        float, typer.Option(metavar="TOL", help="Relative tolerance of co-simulation.")
    ] = 1e-6,
    lenient: Lenient = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Write a model as a functional mock-up unit (FMU), for model exchange and co-simulation.

    The inputs are the joint torques and forces. The outputs are the joint coordinates and speeds and the energies. The
    FMU contains C sources and the binary for this platform; it needs neither Python nor Limber. From a scenario it
    uses the model and the initial state.

      limber fmu examples/canadarm.yaml --node "[link3, tip]"
      limber fmu examples/canadarm_slew.yaml --fmi 2 --parameter "*.EI" --out slew.fmu
    """
    with guarded(json, debug):
        subject = read(file, lenient)
        path = Path(f"{file.stem}.fmu") if out is None else out
        refuse_inputs([("--out", path)], subject.inputs)
        from limber.exchange import fmu as written  # noqa: PLC0415 (traces, constraints)

        case = subject.scenario
        state: dict[str, Any] = {}
        if case is not None:
            state = {"q0": case.q0, "v0": case.v0}
            note(
                "The FMU has the model and the initial state of the scenario. Its torques, controllers, forces and motions are not in "
                "it: joint torques are inputs."
            )
        written(
            subject.system,
            path,
            version=int(fmi.value),
            parameters=None if not parameters else [x for x in parameters if x != "none"],
            nodes=_ends(listed("--node", nodes)),
            accelerations=_ends(listed("--acceleration", accelerations)),
            forces=_ends(listed("--force", forces)),
            tolerance=tolerance,
            **state,
        )
        if json:
            print_json({"file": file, "name": subject.name, "fmi": fmi.value, "out": path})
        else:
            typer.echo(f"wrote {path}: FMI {fmi.value}, model exchange and co-simulation")


def _ends(given: list | None) -> list:
    """Convert nodes from the command line to the form that `exchange.fmu` accepts."""
    return [x if isinstance(x, str) else tuple(x) for x in given or []]
