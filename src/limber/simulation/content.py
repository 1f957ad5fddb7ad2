"""What is in the file of a result, whatever its format: rows, a heading before them, an ending after them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from limber.assembly import Assembly
from limber.assembly.system import System
from limber.checks import Array
from limber.errors import ArgumentValueError, FileError
from limber.simulation.events import Happened
from limber.simulation.result import Result, Statistics

#: Of both kinds of files.
FORMAT = 2
#: The arrays of a `Result` with one row a time, by name, and the shape of such a row.
ROWS: dict[str, Callable[[System], tuple[int, ...]]] = {
    "t": lambda s: (),
    "q": lambda s: (s.nq,),
    "v": lambda s: (s.nv,),
    "tau": lambda s: (s.nv,),
}


def shapes(system: System) -> dict[str, tuple[int, ...]]:
    """The shapes of a row of every array."""
    return {name: shape(system) for name, shape in ROWS.items()}


def rows_of(result: Result) -> dict[str, Array]:
    """The arrays of a result, checked."""
    rows = {}
    for name, shape in shapes(result.system).items():
        values = np.asarray(getattr(result, name), dtype=float)
        if values.shape != (len(result), *shape):
            raise ArgumentValueError(
                f"{name} of the result has shape {values.shape}; {len(result)} rows of {result.system.name!r} have shape "
                f"{(len(result), *shape)}."
            )
        rows[name] = values
    return rows


def heading(system: System) -> dict[str, Any]:
    """What is known before the first row: who writes, and the model as the text of a model file."""
    from limber import __version__  # noqa: PLC0415
    from limber.io.export import model_data, model_text  # noqa: PLC0415

    model = model_text(model_data(assembly_of(system)), "model.yaml")
    return {"format": FORMAT, "limber": __version__, "model": model}


def ending(result: Result) -> str:
    """What is known after the last row, as JSON: events, statistics, message."""
    known = {
        "events": [[float(event.t), event.name] for event in result.events],
        "statistics": vars(result.statistics),
        "message": result.message,
    }
    return json.dumps(known, default=lambda number: number.item())


def with_ending(system: System, rows: dict[str, Array], text: str) -> Result:
    """The result of a file that is whole."""
    known = json.loads(text)
    events = tuple(Happened(t, name) for t, name in known["events"])
    statistics = Statistics(**known["statistics"])
    return Result(system, **rows, events=events, statistics=statistics, message=known["message"])


def system_of(model: str, path: Path) -> System:
    """The system of the model in a file."""
    from limber.io.document import Document  # noqa: PLC0415
    from limber.io.model import build_model  # noqa: PLC0415

    document = Document(path, model)
    return build_model(document.data, document.root, path.stem).build()


def assembly_of(system: System) -> Assembly:
    """The description of a system."""
    assembly = Assembly(system.name, system.gravity, fidelity=system.fidelity)
    for name, item in system.attachments.items():
        assembly.attach(
            name, item.body, item.joint, item.to, item.at, item.offset, item.rotation, item.inboard
        )
    return assembly


def unwritten(path: Path, error: OSError, more: str = "") -> FileError:
    """The error of a file that cannot be written."""
    return FileError(f"{path}: cannot be written: {error.strerror or error}.{more}", str(path))
