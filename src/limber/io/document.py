"""Reading a file, with errors that point to a place in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from limber.errors import FileError, LimberError
from limber.io.files_read import note_read
from limber.io.yaml_tree import MAX_BYTES, Node, TreeError, parse

Key = str | int
#: A longer message is cut to this number of characters.
LONGEST = 1000


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """The content of a regular file of bounded size."""
    try:
        if path.is_dir():
            raise FileError(f"{path}: this is a folder, not a file.", str(path))
        if not path.exists():
            raise FileError(f"{path}: there is no such file.", str(path))
        if not path.is_file():
            raise FileError(f"{path}: this is not a regular file.", str(path))
        if path.stat().st_size > limit:
            raise FileError(
                f"{path}: larger than {limit // 2**20} MiB. Put large arrays into an .npz file next to it.",
                str(path),
            )
        note_read(path)
        return path.read_bytes()
    except (OSError, ValueError) as error:
        if isinstance(error, FileError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"{path}: cannot be read: {reason}.", str(path)) from None


def read_text(path: Path) -> str:
    """The content of a UTF-8 file."""
    data = read_bytes(path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileError(
            f"{path}:{line}: not text in UTF-8 (byte {error.start}). Is it the right file?",
            str(path),
            line,
        ) from None


class Document:
    """One YAML file: its values and the place of each of them."""

    def __init__(self, path: Path, text: str | None = None):
        self.path = path
        try:
            self.tree = parse(read_text(path) if text is None else text)
        except TreeError as error:
            place = f"{path}:{error.line}:{error.column}"
            raise FileError(f"{place}: {error}", str(path), error.line, error.column) from None
        self.data: Any = self.tree.plain()

    @property
    def root(self) -> Where:
        """The place of the whole content."""
        return Where(self, ())

    def walk(self, path: Sequence[Key]) -> tuple[tuple[Key, ...], int, int]:
        """The part of `path` that exists in the file, with line and column of its end.

        Keys that the file leaves out in a short form (`rotation: [[...]]` for `matrix`) are skipped.
        """
        node: Node = self.tree
        known: list[Key] = []
        line, column = node.line, node.column
        for key in path:
            if isinstance(node.value, dict) and str(key) in node.keys:
                line, column = node.keys[str(key)]
                node = node.value[str(key)]
            elif isinstance(node.value, list) and isinstance(key, int) and key < len(node.value):
                node = node.value[key]
                line, column = node.line, node.column
            else:  # This key is left out by a short form.
                continue
            known.append(key)
        return tuple(known), line, column


@dataclass(frozen=True)
class Where:
    """A place in a document, for errors."""

    document: Document
    path: tuple[Key, ...]

    def __truediv__(self, key: Key) -> Where:
        return Where(self.document, (*self.path, key))

    @property
    def folder(self) -> Path:
        """The folder to which the names of files in this document are relative."""
        return self.document.path.parent

    def has(self, key: str) -> bool:
        """Whether the file has this entry here."""
        return len(self.document.walk((*self.path, key))[0]) == len(self.path) + 1

    def error(self, message: str, *more: Key) -> FileError:
        """An error at this place, or at the deepest existing place along `more`."""
        known, line, column = self.document.walk((*self.path, *more))
        file, key = str(self.document.path), dotted(known)
        message = message if len(message) <= LONGEST else f"{message[:LONGEST]} ..."
        text = f"{file}:{line}:{column}: {key}{': ' if key else ''}{message}"
        return FileError(text, file, line, column, key)

    @contextmanager
    def checked(
        self, *under: str, places: Mapping[str, tuple[Key, ...]] = MappingProxyType({})
    ) -> Iterator[None]:
        """Add the place in the file to errors raised inside the block.

        under : sections in which the entry that a message names is searched.
        places : where the file has what messages call by these names.
        """
        try:
            with np.errstate(all="ignore"):
                yield
        except FileError as error:
            if error.line is None:  # The error concerns another file that is named here.
                raise self.error(str(error)) from error
            raise
        except LimberError as error:
            # The message names the entry: by its first word, or as the option that a joint does not take.
            names = re.findall(r"^\w+|(?<= takes no )\w+", str(error))
            for name in names:
                if name in places:
                    raise self.error(str(error), *places[name]) from error
            for section in (*((s,) for s in under), ()):
                here = Where(self.document, (*self.path, *section))
                for name in names:
                    if here.has(name):
                        raise here.error(str(error), name) from error
            body = re.search(r"body '([^']+)'", str(error))
            raise self.error(str(error), *(("bodies", body[1]) if body else ())) from error
        except (ArithmeticError, np.linalg.LinAlgError, MemoryError) as error:
            raise self.error(
                f"cannot be computed with these numbers ({error}). Are the units SI, and are the sizes sensible?"
            ) from error


def dotted(path: Sequence[Key]) -> str:
    """A path of keys as text: bodies.arm.joint.compound[1]."""
    text = ""
    for key in path:
        if isinstance(key, int):
            text += f"[{key}]"
        else:
            simple = re.fullmatch(r"[\w-]{1,60}", key)
            text += ("." if text else "") + (key if simple else repr(key[:60]))
    return text
