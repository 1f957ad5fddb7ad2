"""The files that `limber simulate` writes."""

from __future__ import annotations

import json
import os
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


@dataclass(frozen=True)
class Wanted:
    """What to write, and where."""

    out: Path | None = None
    csv: Path | None = None
    report: Path | None = None
    plots: bool = False

    def checked(self) -> Wanted:
        """Refuse before a long run what could not be written after it."""
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
        for option, file in (("--csv", self.csv), ("--report", self.report)):
            if file is not None and (not file.parent.is_dir() or file.is_dir()):
                why = "is a folder" if file.is_dir() else f"the folder {file.parent} does not exist"
                raise typer.BadParameter(f"{file}: {why}.", param_hint=option)
        return self


def write_rows(wanted: Wanted, result: Result) -> list[Path]:
    """Write the numbers that were asked for, first of all, so that nothing later can lose them."""
    tables = [wanted.csv] if wanted.csv is not None else []
    tables += [wanted.out / "result.csv"] if wanted.out is not None else []
    return [write_csv(result, path) for path in tables] if len(result) else []


def write_more(
    wanted: Wanted, case: Case, result: Result, fine: Result, found: dict[str, Any]
) -> list[Path]:
    """Write the summary, the plots and the report that were asked for; `fine` has the rows between too."""
    files: list[Path] = []
    if not len(result):
        return files
    if wanted.out is not None:
        text = json.dumps(plain(found), indent=2, allow_nan=False, ensure_ascii=False)
        files.append(_whole(wanted.out / "summary.json", text + "\n"))
    for make in _pictures(wanted, case, result, fine):
        try:
            files.append(make())
        except (LimberError, ArithmeticError, ValueError) as error:  # numbers that cannot be drawn
            note(f"a picture is left out: {error}")
    return files


def _pictures(wanted: Wanted, case: Case, result: Result, fine: Result):
    """What makes the plots and the report, one after another."""
    reference = case.reference
    if wanted.plots and wanted.out is not None:
        names = ["joints", "speeds", "torques", "energy"]
        names += ["deflection"] if any(b.modes for b in result.system.bodies.values()) else []
        names += ["power"] if len(result) > 2 else []
        names += ["errors"] if reference is not None else []
        if not any(j.dofs for j in result.system.joints.values()):
            names = [
                name for name in names if name not in ("joints", "speeds", "torques", "errors")
            ]
        for name in names:
            path = wanted.out / f"{name}.png"
            options = {"reference": reference} if name in ("joints", "errors") else {}
            rows = fine if name == "power" else result  # work is integrated over them
            yield partial(_plotted, rows, name, path, case.name, options)
    if wanted.report is not None:
        file, text = wanted.report, case.description
        yield lambda: result.report(file, title=case.name, notes=text, reference=reference)


def _plotted(result: Result, name: str, path: Path, title: str, options: dict[str, Any]) -> Path:
    result.plot(name, title=title, path=path, **options)
    return path


def write_csv(result: Result, path: Path) -> Path:
    """t, q, v and tau, a row a time, columns as in `Result.to_pandas`; numbers read back exactly."""
    q, v = result.names()
    heads = ["t", *(f"q.{n}" for n in q), *(f"v.{n}" for n in v), *(f"tau.{n}" for n in v)]
    rows = np.column_stack([result.t, result.q, result.v, result.tau])
    lines = [",".join(_cell(h) for h in heads)]
    lines += [",".join(map(repr, row)) for row in rows.tolist()]
    return _whole(path, "\n".join(lines) + "\n")


def _cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\n\r') else text


def _whole(path: Path, text: str) -> Path:
    """Write a file under another name first: what was there is replaced whole, or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)
    return path
