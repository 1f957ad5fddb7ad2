"""The files that `limber simulate` writes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import typer

from limber.cli.case import Case
from limber.cli.output import note, plain
from limber.errors import LimberError
from limber.simulation import Result
from limber.whole import refuse_unwritable, replacing

#: The pictures of --plots.
PICTURES = ("joints", "speeds", "torques", "energy", "deflection", "power", "errors")
#: Rows of a table that are made into text at once.
SEVERAL = 10_000


@dataclass(frozen=True)
class Outputs:
    """What to write, and where."""

    out: Path | None = None
    csv: Path | None = None
    report: Path | None = None
    plots: bool = False
    video: Path | None = None

    @property
    def files(self) -> list[tuple[str, Path]]:
        """Every file that may be written, with the option that requests it."""
        single = (("--csv", self.csv), ("--report", self.report), ("--video", self.video))
        files = [(option, file) for option, file in single if file is not None]
        if self.out is not None:
            names = ["result.csv", "summary.json", *(f"{p}.png" for p in PICTURES if self.plots)]
            files += [("--out", self.out / name) for name in names]
        return files

    def checked(self) -> Outputs:
        """Reject, before a long run, outputs that cannot be written after it."""
        if self.plots and self.out is None:
            raise typer.BadParameter(
                "needs --out FOLDER, where the pictures go.", param_hint="--plots"
            )
        if self.report is not None and self.report.suffix.lower() not in (".html", ".htm"):
            raise typer.BadParameter(f"{self.report} must end in .html.", param_hint="--report")
        if self.out is not None:
            if self.out.exists() and not self.out.is_dir():
                raise typer.BadParameter(f"{self.out} is a file, not a folder.", param_hint="--out")
            self.out.mkdir(parents=True, exist_ok=True)
        if self.video is not None:
            if self.video.suffix.lower() not in (".mp4", ".gif"):
                raise typer.BadParameter(
                    f"{self.video} must end in .mp4 or .gif.", param_hint="--video"
                )
            if self.video.suffix.lower() == ".mp4":
                from limber.plotting.video import ffmpeg  # noqa: PLC0415

                ffmpeg()
        single = (("--csv", self.csv), ("--report", self.report), ("--video", self.video))
        for option, file in single:
            if file is not None and (not file.parent.is_dir() or file.is_dir()):
                why = "is a folder" if file.is_dir() else f"the folder {file.parent} does not exist"
                raise typer.BadParameter(f"{file}: {why}.", param_hint=option)
        options: dict[str, str] = {}
        for option, file in self.files:
            refuse_unwritable(file)
            other = options.setdefault(os.path.realpath(file), option)
            if other != option:
                raise typer.BadParameter(
                    f"{file} is already written by {other}: give another name.", param_hint=option
                )
        return self


def refuse_inputs(outputs: Iterable[tuple[str, Path]], inputs: Iterable[Path]) -> None:
    """Reject outputs that would overwrite a file that the command reads, under any name; outputs come with their
    option.
    """
    there = [path for path in inputs if path.exists()]
    for option, file in outputs:
        if file.exists() and any(os.path.samefile(file, path) for path in there):
            raise typer.BadParameter(
                f"{file} is read by this command and would be lost: give another name.",
                param_hint=option,
            )


def write_rows(outputs: Outputs, result: Result) -> list[Path]:
    """Write the requested numbers first, so that no later failure can lose them."""
    tables = [outputs.csv] if outputs.csv is not None else []
    tables += [outputs.out / "result.csv"] if outputs.out is not None else []
    written: list[Path] = []
    failed: list[OSError] = []
    for path in tables if len(result) else []:
        try:
            written.append(write_csv(result, path))
        except OSError as error:  # the other table may be on another disk
            failed.append(error)
    if failed:
        raise failed[0]
    return written


def write_more(outputs: Outputs, case: Case, result: Result, found: dict[str, Any]) -> list[Path]:
    """Write the requested summary, plots, report and video."""
    files: list[Path] = []
    if not len(result):
        return files
    if outputs.out is not None:
        text = json.dumps(plain(found), indent=2, allow_nan=False, ensure_ascii=False)
        files.append(outputs.out / "summary.json")
        with replacing(files[-1]) as stream:
            stream.write((text + "\n").encode())
    for make in _pictures(outputs, case, result):
        try:
            files.append(make())
        except (LimberError, ArithmeticError, ValueError) as error:  # numbers that cannot be drawn
            note(f"a picture is left out: {error}")
    return files


def _pictures(outputs: Outputs, case: Case, result: Result):
    """What makes the plots, the report and the video, one after another."""
    reference = case.reference
    if outputs.plots and outputs.out is not None:
        names = ["joints", "speeds", "torques", "energy"]
        names += ["deflection"] if any(b.modes for b in result.system.bodies.values()) else []
        names += ["power"] if len(result) > 2 else []
        names += ["errors"] if reference is not None else []
        if not any(j.dofs for j in result.system.joints.values()):
            names = [
                name for name in names if name not in ("joints", "speeds", "torques", "errors")
            ]
        for name in names:
            path = outputs.out / f"{name}.png"
            options = {"reference": reference} if name in ("joints", "errors") else {}
            yield partial(_plotted, result, name, path, case.name, options)
    if outputs.report is not None:
        file, text = outputs.report, case.description
        yield lambda: result.report(file, title=case.name, notes=text, reference=reference)
    if outputs.video is not None:
        film = outputs.video
        yield lambda: result.animate(film, title=case.name)


def _plotted(result: Result, name: str, path: Path, title: str, options: dict[str, Any]) -> Path:
    result.plot(name, title=title, path=path, **options)
    return path


def write_csv(result: Result, path: Path) -> Path:
    """t, q, v and tau, a row a time, columns as in `Result.to_pandas`; numbers read back exactly."""
    q, v = result.names()
    heads = ["t", *(f"q.{n}" for n in q), *(f"v.{n}" for n in v), *(f"tau.{n}" for n in v)]
    with replacing(path) as stream:
        stream.write((",".join(map(_cell, heads)) + "\n").encode())
        for first in range(0, len(result), SEVERAL):
            part = result[first : first + SEVERAL]
            rows = np.column_stack([part.t, part.q, part.v, part.tau]).tolist()
            stream.write("".join(",".join(map(repr, row)) + "\n" for row in rows).encode())
    return path


def _cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\n\r') else text
