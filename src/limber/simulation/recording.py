"""Writing the rows of a run while it proceeds, to a file that can be read at any moment.

`run.h5.part` grows next to `run.h5`, which is not touched.  When the run has ended, its complete result is
written to `run.h5`, and the other file is removed.

    a line that names the format
    blocks: kind (4 bytes), size of the content (8 bytes), content, seal (32 bytes)
        HEAD    what is known before the first row, as JSON: limber, model, rows (shapes by name)
        ROWS    rows, array by array, little-endian float64
        CHNG    a change of topology, as JSON (`file_changes`); it comes before the rows after it
        SGNL    samples of one signal of a controller (`file_signals`)
        DONE    what is known after the last row, as JSON

The seal is a digest of the block and of the previous seal.  A reader accepts blocks as long as their seals are
correct, so all rows before the point at which a run was killed or a file was damaged can be read.
"""

from __future__ import annotations

import json
import os
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from limber.checks import Array
from limber.errors import FileError, ModelWarning, warn
from limber.simulation import hdf5
from limber.simulation.file_changes import changes_read, changes_text
from limber.simulation.file_content import (
    ABSENT,
    EARLIER,
    FORMAT,
    LATER_ROWS,
    ending,
    heading,
    result_of,
    result_path,
    rows_of,
    shapes,
    system_of,
    unwritten,
)
from limber.simulation.file_signals import add_block, new_blocks
from limber.simulation.result import Result
from limber.simulation.samples import Samples
from limber.whole import refuse_unwritable

try:
    import fcntl
except ImportError:  # Windows does not let two programs write one file anyway.
    fcntl = None  # type: ignore[assignment]

SIGNATURE = b"Limber run, format "
HEAD, SEAL = struct.Struct("<4sQ"), 32
#: The least time between two writes in s, and the largest number of rows in a block.
PAUSE, MOST = 0.2, 2_000


def part_of(path: Path) -> Path:
    """The path of the file that grows next to a result file during a run."""
    real = Path(os.path.realpath(path))
    return real.with_name(real.name + ".part")


class Recording:
    """The file of a run in progress.  `with` closes it; after an error the rows so far stay in it."""

    def __init__(self, path: str | PathLike, so_far: Callable[[], Result]):
        hdf5.library()  # before the run, not after it
        self.path = result_path(path, "save")
        self.part = part_of(self.path)
        try:
            refuse_unwritable(self.path)
        except OSError as error:
            raise unwritten(self.path, error) from None
        self._so_far = so_far
        result = so_far()
        self._known = heading(result)
        self._file = _claimed(self.path, self.part)
        #: The size of the file, the number of its rows and its last seal.  They change in one assignment: a write
        #: that was interrupted before it is done again at the same place.
        self._done = (0, 0, b"")
        self._changes = 0  # how many changes of topology were written
        self._samples: dict[str, int] = {}  # of each signal, how many were written
        self._over = False  # whether no more rows can come
        self._last = time.monotonic()
        try:
            self._write([SIGNATURE + b"%d\n" % FORMAT], 0, b"")
            known = self._known | {"rows": shapes(result.system, self._known)}
            self._add(b"HEAD", [json.dumps(known).encode()], 0)
        except BaseException:
            self._file.close()
            self.part.unlink(missing_ok=True)
            raise

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if error is not None and not self._over:
                self._keep(self._so_far())
        except FileError as another:
            if error is not None:
                error.add_note(str(another))
        finally:
            self._file.close()

    def keep(self) -> None:
        """Write the new rows, unless the last write was less than PAUSE seconds ago."""
        if time.monotonic() - self._last >= PAUSE:
            self._keep(self._so_far())
            self._last = time.monotonic()

    def finish(self, result: Result) -> None:
        """Put the result in its place; if that fails, it is in `result` of the error, and its rows stay here."""
        self._so_far = lambda: result
        try:
            try:
                hdf5.write(result, self.path, self._known)
            except FileError as error:
                self._keep(result)
                self._add(b"DONE", [ending(result).encode()], len(result))
                self._over = True
                raise FileError(
                    f"{error} The result is in error.result, and in {self.part}, which Result.load reads as well.",
                    error.file,
                ) from None
            self._over = True
            self._file.close()
            self.part.unlink(missing_ok=True)
        except BaseException as error:
            error.result = result  # type: ignore[attr-defined]
            raise

    def _keep(self, result: Result) -> None:
        for text in changes_text(result.system, result.changes, self._changes):
            self._add(b"CHNG", [text.encode()], self._done[1])
            self._changes += 1
        for name, count, content in new_blocks(result.signals, self._samples):
            self._add(b"SGNL", [content], self._done[1])
            self._samples[name] = count
        rows = rows_of(result)
        while (first := self._done[1]) < len(result):
            last = min(first + MOST, len(result))
            columns = [np.ascontiguousarray(x[first:last], dtype="<f8") for x in rows.values()]
            self._add(b"ROWS", [x.data.cast("B") for x in columns if x.size], last)

    def _add(self, kind: bytes, content: list, rows: int) -> None:
        """Write a block; the file has `rows` rows afterwards."""
        head = HEAD.pack(kind, sum(map(len, content)))
        seal = _seal(self._done[2], head, *content)
        self._write([head, *content, seal], rows, seal)

    def _write(self, pieces: list, rows: int, seal: bytes) -> None:
        end = self._done[0]
        try:
            self._file.seek(end)
            for piece in pieces:
                left = memoryview(piece)
                while left:
                    left = left[self._file.write(left) :]
        except OSError as error:
            self._over = True
            with suppress(OSError):
                self._file.truncate(end)
            _, rows, begun = self._done
            more = " The result so far is in error.result" if begun else ""
            more += f", and its rows up to then are in {self.part}" if rows else ""
            raise unwritten(self.path, error, f"{more}." if more else "") from None
        self._done = end + sum(map(len, pieces)), rows, seal


def recorded(stream: BinaryIO, path: Path) -> Result:
    """The complete rows of a file that starts with SIGNATURE; a warning if the file has no end."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    versions = [SIGNATURE + b"%d\n" % version for version in (FORMAT, EARLIER)]
    if stream.readline(100) not in versions:
        raise FileError(
            f"{path}: this file of a run does not have format {FORMAT}: another version of Limber wrote it, or it is "
            "damaged.",
            str(path),
        )
    seal, block = b"", _next(stream, b"", size)
    if block is None or block[0] != b"HEAD":
        raise FileError(
            f"{path}: the run was killed before its first row, or the file is damaged at its start: nothing can be read.",
            str(path),
        )
    _, content, seal = block
    known = ABSENT | json.loads(content)
    system = system_of(known["model"], path)
    row = {n: shape for n, shape in shapes(system, known).items() if n in known["rows"]}
    if known["rows"] != {name: list(shape) for name, shape in row.items()}:
        raise FileError(f"{path}: its rows do not match its model: {known['rows']}.", str(path))
    width = {name: int(np.prod(shape, dtype=int)) for name, shape in row.items()}
    most = (size - stream.tell()) // (8 * sum(width.values()))
    rows = {name: np.empty((most, *shape)) for name, shape in row.items()}
    count, whole = 0, stream.tell()
    texts: list[str] = []
    signals: dict[str, Samples] = {}

    def so_far(text: str | None, message: str = "") -> Result:
        first = _first(rows, count)
        for name in LATER_ROWS:
            first.setdefault(name, np.zeros((count, *shapes(system, known)[name])))
        changes = changes_read(system, texts, path)
        return result_of(system, known, first, changes, signals, text, message)

    while (block := _next(stream, seal, size)) is not None:
        kind, content, seal = block
        whole = stream.tell()
        if kind == b"DONE":
            return so_far(content.decode())
        if kind == b"CHNG":
            texts.append(content.decode())
            continue
        if kind == b"SGNL":
            add_block(content, signals)
            continue
        last = count + len(content) // (8 * sum(width.values()))
        values, at = np.frombuffer(content, dtype="<f8"), 0
        for name, array in rows.items():
            stop = at + width[name] * (last - count)
            array[count:last] = values[at:stop].reshape(array[count:last].shape)
            at = stop
        count = last
    message = f"the run did not end: the file has {count} rows"
    if whole < size:
        message += f"and {size - whole} bytes of an incomplete one"
    warn(f"{path}: {message}.", ModelWarning)
    return so_far(None, message)


def _first(rows: dict[str, Array], count: int) -> dict[str, Any]:
    return {name: array[:count] for name, array in rows.items()}


def _next(stream: BinaryIO, seal: bytes, size: int) -> tuple[bytes, bytes, bytes] | None:
    """Kind, content and seal of the next block, or None if it is incomplete or damaged."""
    head = stream.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    kind, length = HEAD.unpack(head)
    if length + SEAL > size - stream.tell():
        return None
    content = stream.read(length)
    found = _seal(seal, head, content)
    return (kind, content, found) if stream.read(SEAL) == found else None


def _seal(before: bytes, *block: Any) -> bytes:
    digest = sha256(before)
    for piece in block:
        digest.update(piece)
    return digest.digest()


def _claimed(path: Path, part: Path):
    """Open the growing file, emptied and locked against other runs."""
    try:
        file = open(  # noqa: SIM115 (it stays open)
            part, "r+b", buffering=0, opener=lambda p, how: os.open(p, how | os.O_CREAT, 0o666)
        )
    except OSError as error:
        raise unwritten(path, error) from None
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise FileError(
            f"{path}: cannot be written: another run is writing {part}. Use a different file for this one.",
            str(path),
        ) from None
    except OSError:  # The file system has no locks.
        pass
    file.truncate(0)
    return file
