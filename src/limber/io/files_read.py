"""Which files were read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_lists: ContextVar[tuple[list[Path], ...]] = ContextVar("lists of files that were read", default=())


@contextmanager
def files_read() -> Iterator[list[Path]]:
    """A list that gets every file read within the block: the one asked for, and those that it names."""
    found: list[Path] = []
    token = _lists.set((*_lists.get(), found))
    try:
        yield found
    finally:
        _lists.reset(token)


def note_read(path: Path) -> None:
    """Remember that a file is read."""
    for found in _lists.get():
        if path not in found:
            found.append(path)
