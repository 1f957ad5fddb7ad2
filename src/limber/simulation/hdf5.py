"""Finished results as HDF5 files.

    t (n,), q (n, nq), ...      the rows, one dataset for every entry of `file_content.ROWS`
    signal0.t, signal0.y, ...   what a sampled controller measured and commanded (`file_signals`)
    attributes                  those of `file_content.heading`, ending (events, statistics and message, as JSON), and
                                changes (of topology, a list of JSON texts, as JSON)

The file starts with a user block of 512 bytes, which HDF5 skips.  It holds the size of the file and a digest of all
bytes after the block.  A file is read only if both are correct, so the HDF5 library, which may hang on a damaged
file, never sees one.

The library only makes the layout of a file, in memory and without the rows; this module writes the bytes.  So the
library, which may crash after a failed write, never writes to a disk, and no row is held twice.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from limber.checks import Array
from limber.errors import FileError, MissingExtraError
from limber.interrupts import interrupts_wait
from limber.simulation.file_changes import changes_read, changes_text
from limber.simulation.file_content import (
    ABSENT,
    EARLIER,
    FORMAT,
    LATER_ROWS,
    ROWS,
    ending,
    result_of,
    rows_of,
    shapes,
    system_of,
    unwritten,
)
from limber.simulation.file_signals import signal_arrays, signals_read, signals_text
from limber.simulation.result import Result
from limber.whole import replacing

#: The size of the user block in bytes, the least that HDF5 allows, and the number of bytes read or written at once.
BLOCK, PIECE = 512, 2**20
SIGNATURE = b"Limber result, format "
#: The first bytes of any HDF5 file without a user block.
FOREIGN = b"\x89HDF\r\n\x1a\n"


def library() -> Any:
    """Import h5py, or say how to install it."""
    try:
        import h5py  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            'result files need h5py: pip install "limber-dynamics[data]".'
        ) from error
    return h5py


def write(result: Result, path: Path, known: dict[str, Any]) -> None:
    """Write a result and its `file_content.heading`; an existing file is replaced once everything is written."""
    rows = rows_of(result)
    changes = json.dumps(changes_text(result.system, result.changes))
    known = known | {"ending": ending(result), "changes": changes}
    if result.signals:
        rows |= signal_arrays(result.signals)
        known["signals"] = signals_text(result.signals)
    layout, places = _laid_out(rows, known)
    digest = sha256()
    try:
        with replacing(path) as stream:
            stream.write(bytes(BLOCK))
            for piece in _pieces(layout, places, rows):
                digest.update(piece)
                stream.write(piece)
            stream.seek(0)
            stream.write(_block(layout.size, digest.hexdigest()))
    except OSError as error:
        raise unwritten(path, error) from None


def read(stream: BinaryIO, path: Path) -> Result:
    """Read a file that starts with SIGNATURE; one that differs in any byte from what was written is a FileError."""
    _check(stream, path)
    with library().File(stream, "r") as file:
        needed = ("model", "external", "supplied", "ending")
        lacking = [n for n in needed if n not in file.attrs]
        lacking += [n for n in ROWS if n not in file and n not in LATER_ROWS]
        if lacking:
            raise FileError(f"{path}: this result file lacks {', '.join(lacking)}.", str(path))
        known = {name: file.attrs[name] for name in needed} | {
            name: file.attrs.get(name, absent) for name, absent in ABSENT.items()
        }
        known |= {name: int(known[name]) for name in ("supplied", "environment")}
        system = system_of(known["model"], path)
        rows = {name: np.array(file[name][...], dtype=float) for name in ROWS if name in file}
        for name in LATER_ROWS:
            rows.setdefault(name, np.zeros((len(rows["t"]), *shapes(system, known)[name])))
        found = {name: values.shape for name, values in rows.items()}
        if found != {
            name: (len(rows["t"]), *shape) for name, shape in shapes(system, known).items()
        }:
            raise FileError(f"{path}: its rows do not match its model: {found}.", str(path))
        changes = changes_read(system, json.loads(file.attrs.get("changes", "[]")), path)
        signals = signals_read(file.attrs.get("signals", "[]"), file)
        return result_of(system, known, rows, changes, signals, known["ending"])


def _block(size: int, digest: str, version: int = FORMAT) -> bytes:
    text = (
        f"{SIGNATURE.decode()}{version}\n{size} bytes; what follows the first {BLOCK} is an HDF5 file\n"
        f"sha256 of what follows: {digest}\n"
    )
    return text.encode().ljust(BLOCK, b"\0")


def _check(stream: BinaryIO, path: Path) -> None:
    """Reject a file that was damaged or changed after it was written."""
    stream.seek(0)
    block = stream.read(BLOCK)
    known = re.match(rb"%s(\d+)\n(\d+) bytes;.*\n.*: ([0-9a-f]{64})\n" % SIGNATURE, block)
    version = EARLIER if known is not None and int(known[1]) == EARLIER else FORMAT
    if known is None or block != _block(int(known[2]), known[3].decode(), version):
        other = re.match(rb"%s(\d+)\n" % SIGNATURE, block)
        if other is not None and int(other[1]) > FORMAT:
            raise FileError(
                f"{path}: written by a later version of Limber, in format {int(other[1])}; this one reads format {FORMAT}.",
                str(path),
            )
        raise FileError(f"{path}: the start of this result file is damaged.", str(path))
    size = stream.seek(0, io.SEEK_END)
    if size < int(known[2]):
        raise FileError(f"{path}: the file is cut off: {size} of {int(known[2])} bytes.", str(path))
    digest = sha256()
    stream.seek(BLOCK)
    while piece := stream.read(PIECE):
        digest.update(piece)
    if digest.hexdigest() != known[3].decode():
        raise FileError(
            f"{path}: this result file is damaged, or another program changed it: its bytes are not those that Limber "
            "wrote. Use another copy if there is one; HDF5 tools may still read parts of this one.",
            str(path),
        )


def _laid_out(rows: dict[str, Array], attributes: dict[str, Any]) -> tuple[_Layout, dict[str, int]]:
    """The layout of the file without the values of its rows, and the offset of each array of rows."""
    h5py = library()
    layout, places = _Layout(), {}
    room = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    room.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    room.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    # HDF5 calls the methods of the layout and would mistake an interrupt inside them for one of its own errors.
    with interrupts_wait(), h5py.File(layout, "w", userblock_size=BLOCK) as file:
        for name, value in attributes.items():
            file.attrs[name] = value
        for name, values in rows.items():
            space = h5py.h5s.create_simple(values.shape)
            made = h5py.h5d.create(file.id, name.encode(), h5py.h5t.IEEE_F64LE, space, room)
            if values.size:
                places[name] = made.get_offset()
    return layout, places


def _pieces(layout: _Layout, places: dict[str, int], rows: dict[str, Array]) -> Iterator[Any]:
    """The bytes after the user block, in order."""
    at = BLOCK
    for name, start in sorted(places.items(), key=lambda place: place[1]):
        yield layout.between(at, start)
        values = rows[name]
        several = max(1, PIECE * len(values) // values.nbytes)
        for first in range(0, len(values), several):
            yield np.ascontiguousarray(values[first : first + several], dtype="<f8").data.cast("B")
        at = start + values.nbytes
    yield layout.between(at, layout.size)


class _Layout(io.RawIOBase):
    """A file in memory that HDF5 writes to; the parts that are never written take no memory."""

    def __init__(self):
        self.size = 0
        self._at = 0
        self._written: list[tuple[int, bytes]] = []

    def between(self, start: int, stop: int) -> bytearray:
        """The bytes from `start` to `stop`; those that were never written are zero."""
        found = bytearray(stop - start)
        for at, data in self._written:
            first, last = max(at, start), min(at + len(data), stop)
            if first < last:
                found[first - start : last - start] = data[first - at : last - at]
        return found

    def readable(self) -> bool:
        """Part of the interface of `io`."""
        return True

    def writable(self) -> bool:
        """Part of the interface of `io`."""
        return True

    def seekable(self) -> bool:
        """Part of the interface of `io`."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Part of the interface of `io`."""
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        return self._at

    def tell(self) -> int:
        """Part of the interface of `io`."""
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Part of the interface of `io`."""
        view = memoryview(buffer).cast("B")
        view[:] = self.between(self._at, self._at + len(view))
        self._at += len(view)
        return len(view)

    def write(self, data: Any) -> int:
        """Part of the interface of `io`."""
        self._written.append((self._at, bytes(data)))
        self._at += len(data)
        self.size = max(self.size, self._at)
        return len(data)

    def truncate(self, size: int | None = None) -> int:
        """Part of the interface of `io`."""
        self.size = self._at if size is None else size
        return self.size
