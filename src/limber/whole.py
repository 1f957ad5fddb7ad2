"""Files that appear whole or not at all."""

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

    They are written beside it and put in its place at the end: whoever looks finds the old file or the new one,
    also after an error, a full disk or a kill.  A link stays a link to its file; a file that may not be written
    is refused; a device or a pipe is written as it is.
    """
    target = Path(os.path.realpath(path))
    exists = target.exists()
    if exists and not target.is_file():
        with target.open("wb") as stream:
            yield stream
        return
    if exists and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    part = target.with_name(f".{target.name[:60]}.{os.getpid()}-{next(_numbers)}.part")
    try:
        with part.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if exists:
            shutil.copymode(target, part)
        os.replace(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
