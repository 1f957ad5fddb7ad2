"""Files that appear complete or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import BinaryIO

_numbers = count()


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """A stream whose bytes become the file at `path` when the block ends.

    The bytes are written to a file next to it, which replaces it at the end: readers find either the old file or
    the new one, even after an error, a full disk or a kill.  A link remains, and its target is replaced.  A file that
    may not be written is rejected.  A device or a pipe is written directly.
    """
    target = Path(os.path.realpath(path))
    refuse_unwritable(path)
    exists = target.exists()
    if exists and not target.is_file():
        with target.open("wb") as stream:
            yield stream
        return
    part = target.with_name(f".{target.name[:60]}.{os.getpid()}-{next(_numbers)}.part")
    try:
        with part.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if exists:
            shutil.copymode(target, part)
        os.replace(part, target)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if (
            isinstance(error, OSError)
            and error.errno is not None
            and error.filename in (None, str(part))
        ):
            error.filename = str(path)
        raise


def refuse_unwritable(path: str | os.PathLike) -> None:
    """Raise the OSError that `replacing` would raise at its start; for use before the work whose result it writes."""
    target = Path(os.path.realpath(path))
    needed = [target] if target.exists() else []
    needed += [target.parent] if target.is_file() or not target.exists() else []
    code = 0
    if target.is_dir():
        code = errno.EISDIR
    elif not target.parent.is_dir():
        code = errno.ENOENT
    elif not all(os.access(place, os.W_OK) for place in needed):
        code = errno.EACCES
    if code:
        raise OSError(code, os.strerror(code), str(path))
