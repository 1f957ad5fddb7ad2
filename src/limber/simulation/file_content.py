"""The content of a result file, in either format: a heading, rows, and an ending."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.errors import ArgumentValueError, FileError
from limber.integrators import context as R
from limber.io.files import file_path
from limber.simulation.events import Happened
from limber.simulation.result import Result, Statistics
from limber.simulation.samples import Samples
from limber.simulation.topology import TopologyChange
from limber.version import __version__

#: The version of the format of both kinds of result files, and the earlier one that is read as well: it has no changes of
#: topology, which an earlier version of Limber would not know.
FORMAT, EARLIER = 3, 2
#: The suffixes that the name of a result file may have; it may also have none.
SUFFIXES = (".h5", ".hdf5", ".hdf", "")
#: The arrays with one row for each time, by name: a function gives the shape of a row for a system and a heading.
ROWS: dict[str, Callable[[System, dict[str, Any]], tuple[int, ...]]] = {
    "t": lambda s, known: (),
    "q": lambda s, known: (s.nq,),
    "v": lambda s, known: (s.nv,),
    "tau": lambda s, known: (s.nv,),
    "wrenches": lambda s, known: (6 * len(_keys(known)),),
    "supplied": lambda s, known: (known["supplied"],),
    "stage": lambda s, known: (),
    "environment_forces": lambda s, known: (known["environment"],),
    "tank_masses": lambda s, known: (len(json.loads(known["tanks"])),),
}
#: What the heading of older files does not have, and what it stands for there.
ABSENT = {"driven": "[]", "environment": 0, "tanks": "[]"}
#: The rows that older files do not have: they are zero.
LATER_ROWS = ("stage", "environment_forces", "tank_masses")


def result_path(path: Any, name: str = "path") -> Path:
    """The path of a result file; a suffix that belongs to another kind of file is rejected."""
    where = file_path(path, name)
    if where.suffix.lower() not in SUFFIXES:
        raise ArgumentValueError(
            f"{where.name!r} is not the name of a result file: save writes HDF5 to a file whose name ends in .h5 or "
            ".hdf5. For tables for other programs, use result.to_pandas() and its to_csv, to_excel and so on."
        )
    return where


def shapes(system: System, known: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """The shape of a row of each array in a file with this heading."""
    return {name: shape(system, known) for name, shape in ROWS.items()}


def _keys(known: dict[str, Any]) -> list[tuple]:
    """The bodies and nodes at which wrenches acted."""
    return [(body, node) for body, node in json.loads(known["external"])]


def rows_of(result: Result) -> dict[str, Array]:
    """The arrays of a result by name; their shapes are checked."""
    rows = {}
    for name, shape in shapes(result.system, _known_of(result)).items():
        given = getattr(result, name)
        values = np.asarray(np.empty((len(result), 0)) if given is None else given, dtype=float)
        if values.shape != (len(result), *shape):
            raise ArgumentValueError(
                f"{name} of the result has shape {values.shape}; {len(result)} rows of {result.system.name!r} have shape "
                f"{(len(result), *shape)}."
            )
        rows[name] = values
    return rows


def _known_of(result: Result) -> dict[str, Any]:
    """The part of the heading that determines the shapes of the rows and what they mean."""
    supplied = 0 if result.supplied is None else R.FLOWS
    return {
        "external": json.dumps(list(result.external), default=int),
        "supplied": supplied,
        "driven": json.dumps(list(result.driven)),
        "environment": 0 if result.environment is None else result.system.nv,
        "tanks": json.dumps(list(result.masses)),
    }


def heading(result: Result) -> dict[str, Any]:
    """The heading, known before the first row: version, model (the text of a model file), where wrenches act, driven joints."""
    from limber.io.export import model_data, model_text  # noqa: PLC0415

    model = model_text(model_data(result.system), "model.yaml")
    return {"format": FORMAT, "limber": __version__, "model": model, **_known_of(result)}


def ending(result: Result) -> str:
    """The ending, known after the last row, as JSON: events, statistics and message."""
    known = {
        "events": [[float(event.t), event.name] for event in result.events],
        "statistics": vars(result.statistics),
        "message": result.message,
    }
    return json.dumps(known, default=lambda number: number.item())


def result_of(
    system: System,
    known: dict[str, Any],
    rows: dict[str, Array],
    changes: tuple[TopologyChange, ...],
    signals: Mapping[str, Samples],
    text: str | None,
    message: str = "",
) -> Result:
    """Make a result from the parts of a file; the ending is `text`, and `message` is used for a file without one."""
    t, q, v, tau, wrenches, supplied, stage, environment, masses = (rows[name] for name in ROWS)
    external = {key: wrenches[:, 6 * i : 6 * i + 6] for i, key in enumerate(_keys(known))}
    events: tuple[Happened, ...] = ()
    statistics = Statistics(0, 0, 0, 0.0)
    if text is not None:
        end = json.loads(text)
        events = tuple(Happened(at, name) for at, name in end["events"])
        statistics, message = Statistics(**end["statistics"]), end["message"]
    return Result(
        system,
        t,
        q,
        v,
        tau,
        events,
        statistics,
        message,
        external,
        supplied if known["supplied"] else None,
        tuple(json.loads(known["driven"])),
        signals,
        changes,
        stage.astype(int),
        environment if known["environment"] else None,
        dict(zip(json.loads(known["tanks"]), masses.T)),
    )


def system_of(model: str, path: Path) -> System:
    """Build the system from the model in a result file."""
    from limber.io.document import Document  # noqa: PLC0415
    from limber.io.model import build_model  # noqa: PLC0415

    document = Document(path, model)
    return build_model(document.data, document.root, path.stem).build()


def unwritten(path: Path, error: OSError, more: str = "") -> FileError:
    """The error to raise for a file that cannot be written."""
    return FileError(f"{path}: cannot be written: {error.strerror or error}.{more}", str(path))
