"""`limber schema`: prints the JSON schemas of the files."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from limber.cli.exits import guarded
from limber.cli.output import Debug, Json, print_json


class Kind(StrEnum):
    """The kinds of files."""

    model = "model"
    scenario = "scenario"
    side = "side"
    study = "study"


def schema(
    kind: Annotated[
        Kind,
        typer.Argument(
            help="A model, a scenario, the side file with the flexible links of a URDF (side), or a study."
        ),
    ] = Kind.model,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Print the JSON schema of a kind of file, which editors use for completion and checks. The output is always JSON.

    limber schema scenario > scenario.schema.json
    """
    with guarded(True, debug):
        from limber import campaigns, scenarios  # noqa: PLC0415 (keeps `limber --help` quick)

        print_json(campaigns.schema() if kind is Kind.study else scenarios.schema(kind.value))
