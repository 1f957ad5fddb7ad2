"""Compiled code kept on disk, in $LIMBER_CACHE_DIR or else the user's cache folder.

No answer depends on the cache.  Every entry ends with a digest of its content, so that a damaged entry counts
as missing and is made again and replaced.  Folders that cannot be written are still read.  Code that cannot
be kept is compiled again by the next process; a `CacheWarning` says so once.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import uuid
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from limber.errors import CacheWarning, warn

#: The number of bytes of the digest at the end of an entry.
SEAL = 16

_REMEDY = "Set LIMBER_CACHE_DIR to a writable folder with free space."


def folders() -> list[Path]:
    """The folders that are searched for entries; new entries are kept in the first that can be written.

    The user's folder is one of them if $LIMBER_CACHE_DIR is not set or cannot be written.
    """
    given = os.environ.get("LIMBER_CACHE_DIR")
    found = [Path(given)] if given else []
    user = _user_folder()
    if user is not None and not (found and _may_be_written(found[0])):
        found.append(user / "limber")
    return found


def find(name: str) -> Path | None:
    """The file of an entry, or None if there is none that is undamaged."""
    return next((path for path, _ in _whole(name)), None)


def read(name: str) -> bytes | None:
    """The content of an entry, or None if there is none that is undamaged."""
    return next((content for _, content in _whole(name)), None)


def keep(name: str, content: bytes) -> Path | None:
    """Write an entry and return its file, or None if no folder takes it.

    Several processes may do this at once: each writes its own file and renames it to its final name in one step.
    """
    failed: list[str] = []
    for folder in folders():
        try:
            _write(folder / name, content + _digest(content))
        except OSError as error:
            failed.append(f"{folder} ({error.strerror or error})")
            continue
        if failed:
            _warn(
                f"compiled code is cached in {folder} because the preferred folder cannot be used: {failed[0]}. "
                f"{_REMEDY}"
            )
        return folder / name
    where = (
        f"in {' or '.join(failed)}" if failed else "anywhere, because this user has no home folder"
    )
    _warn(
        f"compiled code cannot be cached {where}: every process will compile it again. Results are not "
        f"affected. {_REMEDY}"
    )
    return None


def _user_folder() -> Path | None:
    """The cache folder of this user, or None for a user without a home folder."""
    variable = {"win32": "LOCALAPPDATA", "darwin": None}.get(sys.platform, "XDG_CACHE_HOME")
    if variable and os.environ.get(variable):
        return Path(os.environ[variable])
    try:
        home = Path.home()
    except RuntimeError:
        return None
    parts = {"win32": ("AppData", "Local"), "darwin": ("Library", "Caches")}
    return home.joinpath(*parts.get(sys.platform, (".cache",)))


def _may_be_written(folder: Path) -> bool:
    """Whether this user may write to a folder or, if it does not exist, to the one in which it would be made."""
    there = next(x for x in (folder.absolute(), *folder.absolute().parents) if os.path.exists(x))
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=SEAL).digest()


def _whole(name: str) -> Iterator[tuple[Path, bytes]]:
    """The undamaged files of an entry with their contents."""
    for folder in folders():
        path = folder / name
        try:
            sealed = path.read_bytes()
        except OSError:
            continue
        content, seal = sealed[:-SEAL], sealed[-SEAL:]
        if seal == _digest(content):
            yield path, content


def _write(path: Path, sealed: bytes) -> None:
    """Write a file so that it appears complete or not at all; other users may read it if the umask allows it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
    try:
        part.write_bytes(sealed)
        os.replace(part, path)
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


@cache
def _warn(text: str) -> None:
    """Give a warning once per process."""
    warn(text, CacheWarning)
