"""The file that a command works on: a model, a scenario, or a robot file from another tool."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from limber import io
from limber.assembly import Assembly, System
from limber.checks import Array
from limber.errors import FileError, LimberError
from limber.io.files_read import files_read

if TYPE_CHECKING:
    from limber.scenarios.scenario import Scenario

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="A model (.yaml), a scenario (.yaml) or a robot (.urdf, .sdf, MuJoCo .xml).", show_default=False
    ),
]  # fmt: skip
Lenient = Annotated[
    bool,
    typer.Option("--lenient", help="Accept a robot file (.urdf, .sdf) with small errors, and report them."),
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Subject:
    """The content of a file. kind: as `io.file_kind` returns it; inputs: all files that were read for it."""

    kind: str
    file: Path
    name: str
    assembly: Assembly
    system: System
    inputs: tuple[Path, ...]
    scenario: Scenario | None = None

    @property
    def q0(self) -> Array:
        """The initial configuration; for a model, the neutral one."""
        return self.system.neutral() if self.scenario is None else self.scenario.q0


def read(path: Path, lenient: bool = False) -> Subject:
    """Read a file. Anything wrong with it, or with its model, raises a FileError."""
    try:
        with files_read() as inputs:
            kind = io.file_kind(path)
            if kind == "study":
                raise FileError(
                    f"{path}: this is a study of many cases: run it with `limber campaign {path}`.",
                    str(path),
                )
            case = _scenario(path) if kind == "scenario" else None
            if lenient and case is not None:
                raise typer.BadParameter(
                    f"{path} is a scenario: write `model: {{file: ..., lenient: true}}` there.",
                    param_hint="--lenient",
                )
            assembly = io.load(path, lenient=lenient) if case is None else case.assembly
        if case is None:
            system = assembly.build()
            return Subject(kind, path, assembly.name, assembly, system, (path, *inputs))
        return Subject(kind, path, case.name, assembly, case.system, (path, *inputs), case)
    except FileError:
        raise
    except LimberError as error:
        raise FileError(f"{path}: {error}", str(path)) from error


def _scenario(path: Path) -> Scenario:
    from limber.scenarios import load_scenario  # noqa: PLC0415 (keeps `limber --help` quick)

    return load_scenario(path)
