"""Results in HDF5 files, with the model inside.

A file that is written while a simulation runs can be read at any time, also after the program was
killed: rows are appended in HDF5's single-writer mode and flushed stretch by stretch.

    t (n,), q (n, nq), v (n, nv), tau (n, nv)        the rows
    event_times (k,), event_names (k,)               events
    attributes: format, limber, model (a model file, as text), steps, rejected, evaluations, seconds, message
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from limber.assembly import Assembly
from limber.assembly.system import System
from limber.checks import shown
from limber.errors import ArgumentTypeError, FileError, MissingExtraError
from limber.simulation.events import Happened
from limber.simulation.result import Result, Statistics

FORMAT = 1


def _h5py() -> Any:
    try:
        import h5py  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            'result files need h5py: pip install "limber-dynamics[data]".'
        ) from error
    return h5py


def assembly_of(system: System) -> Assembly:
    """The description of a system."""
    assembly = Assembly(system.name, system.gravity, fidelity=system.fidelity)
    for name, item in system.attachments.items():
        assembly.attach(
            name, item.body, item.joint, item.to, item.at, item.offset, item.rotation, item.inboard
        )
    return assembly


class Writer:
    """A result file that grows with a run."""

    def __init__(self, path: str | PathLike, system: System):
        from limber import __version__  # noqa: PLC0415
        from limber.io.export import model_data, model_text  # noqa: PLC0415

        self.path = _path(path)
        self._rows = 0
        try:
            self._file = _h5py().File(self.path, "w", libver="latest")
        except OSError as error:
            raise FileError(f"{self.path}: cannot be written: {error}.", str(self.path)) from error
        attributes = self._file.attrs
        attributes["format"] = FORMAT
        attributes["limber"] = __version__
        attributes["model"] = model_text(model_data(assembly_of(system)), "model.yaml")
        for name, width in (("t", 0), ("q", system.nq), ("v", system.nv), ("tau", system.nv)):
            shape = (0, width) if width else (0,)
            limit = (None, *shape[1:])
            self._file.create_dataset(name, shape, "f8", maxshape=limit, chunks=(256, *shape[1:]))
        self._file.swmr_mode = True

    def append(self, t, q, v, tau) -> None:
        """Add rows, and make them safe."""
        if not len(t):
            return
        for name, values in (("t", t), ("q", q), ("v", v), ("tau", tau)):
            data = self._file[name]
            data.resize(self._rows + len(t), axis=0)
            data[self._rows :] = values
        self._rows += len(t)
        self._file.flush()

    def finish(self, result: Result) -> None:
        """Add what is known at the end, and close."""
        self.close()
        h5py = _h5py()
        with h5py.File(self.path, "r+", libver="latest") as file:
            file["event_times"] = np.array([e.t for e in result.events], dtype=float)
            names = [e.name for e in result.events]
            file.create_dataset(
                "event_names", data=names, dtype=h5py.string_dtype(), shape=(len(names),)
            )
            for name, value in vars(result.statistics).items():
                file.attrs[name] = value
            file.attrs["message"] = result.message

    def close(self) -> None:
        """Close the file as it is."""
        self._file.close()


def save(result: Result, path: str | PathLike) -> None:
    """Write a result to an HDF5 file, model included; `load` gives it back bit for bit."""
    writer = Writer(path, result.system)
    writer.append(result.t, result.q, result.v, result.tau)
    writer.finish(result)


def load(path: str | PathLike) -> Result:
    """The result of a file; of a run that was killed, what it had written."""
    from limber.io.document import Document  # noqa: PLC0415
    from limber.io.model import build_model  # noqa: PLC0415

    where = _path(path)
    h5py = _h5py()
    if not where.is_file():
        raise FileError(f"{where}: there is no such file.", str(where))
    _refuse_truncated(where)
    try:
        file = h5py.File(where, "r")
    except OSError:
        try:
            file = h5py.File(where, "r", libver="latest", swmr=True)  # its writer did not close it
        except OSError as error:
            raise FileError(f"{where}: this is no result file: {error}.", str(where)) from error
    with file:
        if file.attrs.get("format") != FORMAT:
            raise FileError(f"{where}: this is no result file of format {FORMAT}.", str(where))
        needed = [n for n in ("t", "q", "v", "tau") if n not in file]
        needed += [n for n in ("model",) if n not in file.attrs]
        if "event_times" in file:
            kept = ("steps", "rejected", "evaluations", "seconds", "message")
            needed += [n for n in kept if n not in file.attrs]
        if needed:
            raise FileError(f"{where}: this result file lacks {', '.join(needed)}.", str(where))
        document = Document(where, file.attrs["model"])
        system = build_model(document.data, document.root, where.stem).build()
        rows = min(len(file[name]) for name in ("t", "q", "v", "tau"))
        t, q, v, tau = (np.array(file[name][:rows]) for name in ("t", "q", "v", "tau"))
        widths = (q.shape[1:], v.shape[1:], tau.shape[1:])
        if widths != ((system.nq,), (system.nv,), (system.nv,)):
            raise FileError(f"{where}: its rows do not fit its model: {widths}.", str(where))
        if "event_times" not in file:
            return Result(system, t, q, v, tau, message="the run did not end")
        events = zip(file["event_times"][:], file["event_names"].asstr()[:])
        steps, rejected, evaluations = (
            int(file.attrs[n]) for n in ("steps", "rejected", "evaluations")
        )
        statistics = Statistics(steps, rejected, evaluations, float(file.attrs["seconds"]))
        happened = tuple(Happened(float(at), str(name)) for at, name in events)
        return Result(system, t, q, v, tau, happened, statistics, str(file.attrs["message"]))


def _refuse_truncated(path: Path) -> None:
    """Refuse a file that is shorter than it says: HDF5 may look for its end without end."""
    with path.open("rb") as file:
        head = file.read(36)
    if head[:8] == b"\x89HDF\r\n\x1a\n" and head[8] in (2, 3):
        end = int.from_bytes(head[28:36], "little")
        if path.stat().st_size < end:
            raise FileError(
                f"{path}: the file is cut off: {path.stat().st_size} of {end} bytes.", str(path)
            )


def _path(path: Any) -> Path:
    if not isinstance(path, str | PathLike):
        raise ArgumentTypeError(f"path must be the path of a file, got {shown(path)}.")
    return Path(path)
