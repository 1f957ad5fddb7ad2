"""Crash-safe logs: rows of numbers in a memory-mapped file.

A row is in the file as soon as it is written, and counts when it is complete. A process that is killed, by any signal,
leaves all rows up to then; only a power failure may lose rows that the system had not yet written to disk.

    offset  type       what
    0       char[8]    "LIMBRLOG"
    8       uint32     version, 1
    12      uint32     where the rows begin, in bytes
    16      uint64     complete rows
    24      uint64     numbers in a row
    32      uint32     length of the text
    36      text       JSON, UTF-8: what is in a row, [[name, [label, ...], unit], ...], and `about`
    ...     float64[]  rows, little-endian
"""

from __future__ import annotations

import json
import mmap
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from limber.checks import Array
from limber.errors import FileError
from limber.short_repr import short_repr
from limber.simulation.samples import Samples

MAGIC, VERSION = b"LIMBRLOG", 1
_HEAD, _ROWS = struct.Struct("<8sIIQQI"), struct.Struct("<Q")
_ROWS_AT, PAGE = 16, 4096
#: Room is made for multiples of this many rows, which are whole pages.
ROWS = 4096

#: A part of a row: its name, the labels of its numbers, and their unit.
Part = tuple[str, Sequence[str], str]


class LogWriter:
    """Writes a log: fill `row`, then `commit`.

    rows : the number of rows reserved at the beginning of the run; more are added when needed, which takes a moment.
    """

    def __init__(self, path: str | PathLike, parts: Sequence[Part], rows: int, about: Mapping):
        self.path = Path(path)
        text = json.dumps(
            {"parts": [[n, list(labels), u] for n, labels, u in parts], "about": dict(about)}
        ).encode()
        self._first = -(-(_HEAD.size + len(text)) // PAGE) * PAGE
        self._width = sum(len(labels) for _, labels, _ in parts)
        self.rows = 0
        self._file = open(self.path, "w+b")  # noqa: SIM115 (it is closed by `close`)
        os.ftruncate(self._file.fileno(), self._first)
        self._head = mmap.mmap(self._file.fileno(), self._first)
        self._head[_HEAD.size : _HEAD.size + len(text)] = text
        _HEAD.pack_into(self._head, 0, MAGIC, VERSION, self._first, 0, self._width, len(text))
        self._begin = self._end = 0  # the rows that the present table has
        self._map: mmap.mmap | None = None
        self._make_room(max(rows, 1))

    def _make_room(self, rows: int) -> None:
        """Map further rows after the existing ones."""
        begin, count = self._end, -(-rows // ROWS) * ROWS
        at, size = self._first + 8 * self._width * begin, 8 * self._width * count
        os.ftruncate(self._file.fileno(), at + size)
        self._map = mmap.mmap(self._file.fileno(), size, offset=at)
        self._table = np.frombuffer(self._map, "<f8", count * self._width).reshape(
            count, self._width
        )
        self._table[:] = 0.0  # every page is there before it is needed
        self._begin, self._end = begin, begin + count
        self.row = self._table[0]

    def commit(self) -> None:
        """Mark the row as complete."""
        self.rows += 1
        _ROWS.pack_into(self._head, _ROWS_AT, self.rows)
        if self.rows == self._end:
            self._make_room(ROWS)
        else:
            self.row = self._table[self.rows - self._begin]

    def close(self) -> None:
        """Truncate the file to what was written."""
        if self._file.closed:
            return
        self._head.flush()
        os.ftruncate(self._file.fileno(), self._first + 8 * self._width * self.rows)
        self._file.close()


@dataclass(frozen=True, eq=False)
class RunLog:
    """A log that was read: `about` describes the run, t are the times, and `signals` has each part of the rows over
    time.
    """

    __repr__ = short_repr

    about: dict[str, Any]
    t: Array
    signals: dict[str, Samples]

    def __getitem__(self, name: str) -> Array:
        """The numbers of a part, (rows, width), or (rows,) if it has only one."""
        y = self.signals[name].y
        return y[:, 0] if y.shape[1] == 1 else y

    def __len__(self) -> int:
        return len(self.t)


def read_log(path: str | PathLike) -> RunLog:
    """Read a log file. For a run that is still going on or was killed, return the rows written so far.

    path : of the file, such as plant.log in the folder passed to a run as `log`.
    """
    file = Path(path)
    try:
        data = file.read_bytes()
    except OSError as error:
        raise FileError(f"{file}: the log cannot be read: {error.strerror}.", str(file)) from None
    if len(data) < _HEAD.size or data[:8] != MAGIC:
        raise FileError(f"{file}: this is not a log of a real-time run.", str(file))
    _, version, first, rows, width, length = _HEAD.unpack_from(data)
    if version != VERSION:
        raise FileError(
            f"{file}: this version of Limber does not know version {version} of logs.", str(file)
        )
    text = json.loads(data[_HEAD.size : _HEAD.size + length])
    rows = min(rows, max(0, len(data) - first) // (8 * width))
    table = np.frombuffer(data, "<f8", rows * width, first).reshape(rows, width).copy()
    signals, at = {}, 0
    for name, labels, unit in text["parts"]:
        part = table[:, at : at + len(labels)]
        signals[name] = Samples(table[:, 0], part, tuple(labels), unit)
        at += len(labels)
    return RunLog(text["about"], table[:, 0], signals)
