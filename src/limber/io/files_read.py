"""A record of the files that were read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_lists: ContextVar[tuple[list[Path], ...]] = ContextVar("lists of files that were read", default=())


@contextmanager
def files_read() -> Iterator[list[Path]]:
    """A list of all files that are read within the block, including those that other files name."""
    found: list[Path] = []
    token = _lists.set((*_lists.get(), found))
    try:
        yield found
    finally:
        _lists.reset(token)


def note_read(path: Path) -> None:
    """Add a file to the lists of `files_read`."""
    for found in _lists.get():
        if path not in found:
            found.append(path)
