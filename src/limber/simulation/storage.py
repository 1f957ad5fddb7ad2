"""Results in files: `save` and `load`."""

from __future__ import annotations

from os import PathLike

from limber.errors import FileError, ModelWarning, warn
from limber.io.files import file_path
from limber.simulation import hdf5, recording
from limber.simulation.file_content import FORMAT, heading, result_path
from limber.simulation.result import Result


def save(result: Result, path: str | PathLike) -> None:
    """Write a result to an HDF5 file, including the model; `load` restores it bit for bit."""
    hdf5.write(result, result_path(path), heading(result))


def load(path: str | PathLike) -> Result:
    """Read the result of a file; for a run that did not finish, the rows that it had written."""
    where = file_path(path)
    part = recording.part_of(where)
    if part.is_file():
        if where.exists():
            warn(
                f"{where}: next to it is {part}, from a later run that did not end or is still running. This result is "
                "the earlier one; load the other file by its name, or remove it.",
                ModelWarning,
            )
        else:
            where = part
    if not where.is_file():
        what = "this is not a regular file" if where.exists() else "there is no such file"
        raise FileError(f"{where}: {what}.", str(where))
    try:
        with where.open("rb") as stream:
            start = stream.read(max(len(hdf5.SIGNATURE), len(recording.SIGNATURE)))
            if start.startswith(hdf5.SIGNATURE):
                return hdf5.read(stream, where)
            if start.startswith(recording.SIGNATURE):
                return recording.recorded(stream, where)
    except OSError as error:
        raise FileError(
            f"{where}: cannot be read: {error.strerror or error}.", str(where)
        ) from None
    if start.startswith(hdf5.FOREIGN):
        raise FileError(
            f"{where}: this is an HDF5 file, but Limber did not write it in format {FORMAT}. Results of earlier versions "
            "have no digest to check them with: read them with h5py.",
            str(where),
        )
    raise FileError(f"{where}: this is not a result file, or its start is damaged.", str(where))
