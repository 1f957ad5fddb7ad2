"""Files of other programs: they are read as a whole, and errors name the file, the line and a remedy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from limber.checks import shown
from limber.errors import FileError, LimberError, ModelWarning, warn
from limber.io.document import read_bytes
from limber.io.files import file_path

#: The largest file that is read, in bytes.
LARGEST = 2**31
#: Names in a message before it says "and so on".
NAMED = 5


class Source:
    """A file of another program: its content, its errors, and what it contains that Limber does not support."""

    def __init__(self, path: Any, name: str = "path"):
        self.path: Path = file_path(path, name)
        self._ignored: dict[str, int] = {}

    def bytes(self) -> bytes:
        """The content."""
        return read_bytes(self.path, LARGEST)

    def text(self) -> str:
        """The content as text; comments of old programs may contain any byte except zero."""
        data = self.bytes()
        if b"\0" in data:
            raise self.error(
                f"not a text file (byte {data.index(0)} is zero). Is it the right file, and written as text?"
            )
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError:
            return data.decode("latin-1")

    def beside(self, suffix: str) -> Source:
        """The file of the same name with another suffix, in the same case (upper or lower)."""
        if self.path.suffix.isupper():
            suffix = suffix.upper()
        return Source(self.path.with_suffix(suffix))

    def exists(self) -> bool:
        """Whether there is such a file."""
        return self.path.is_file()

    def error(self, message: str, line: int | None = None) -> FileError:
        """An error of the file, at a line if one is known."""
        place = f"{self.path}:{line}" if line else f"{self.path}"
        return FileError(f"{place}: {message}", str(self.path), line)

    @contextmanager
    def checked(self, remedy: str = "") -> Iterator[None]:
        """Add the name of the file, and `remedy`, to errors that Limber raises inside."""
        try:
            with np.errstate(all="ignore"):
                yield
        except FileError:
            raise
        except LimberError as error:
            raise self.error(f"{error}{remedy and f' {remedy}'}") from error
        except (ArithmeticError, np.linalg.LinAlgError, MemoryError) as error:
            raise self.error(
                f"cannot be computed with these numbers ({shown(error)}). Is the file complete, and are its units "
                "consistent?"
            ) from error

    @contextmanager
    def foreign(self, what: str) -> Iterator[None]:
        """Turn any exception of another library inside into an error of this file; `what` was being read."""
        try:
            with np.errstate(all="ignore"):
                yield
        except LimberError:
            raise
        except Exception as error:
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise self.error(
                f"cannot be read as {what} ({reason}). It may be cut off, damaged or of another kind: write it again."
            ) from None

    def ignore(self, what: str, times: int = 1) -> None:
        """Record something in the file, with its number of occurrences, that Limber does not support."""
        self._ignored[what] = self._ignored.get(what, 0) + times

    def report(self, hint: str = "") -> None:
        """Warn once of everything that was ignored."""
        if self._ignored:
            items = [k if n == 1 else f"{k} ({n} times)" for k, n in self._ignored.items()]
            warn(
                f"{self.path}: ignored: {several(items, 12)}.{hint and f' {hint}'}",
                ModelWarning,
            )


def several(names: Any, most: int = NAMED) -> str:
    """The first names, and how many more there are."""
    names = [str(name) for name in names]
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def number(source: Source, text: str, line: int, what: str) -> float:
    """A finite number in the notation of Fortran or C."""
    try:
        value = float(text.strip().replace("D", "E").replace("d", "e"))
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise source.error(f"{what} must be a finite number, got {shown(text.strip())}.", line)
    return value


def whole_number(source: Source, text: str, line: int, what: str, most: int = 2**31) -> int:
    """A whole number, 0 or more."""
    text = text.strip()
    if not text.isdecimal() or not text.isascii() or len(text) > 18 or int(text) > most:
        raise source.error(f"{what} must be a whole number up to {most}, got {shown(text)}.", line)
    return int(text)
