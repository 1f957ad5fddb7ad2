"""XML as a tree whose elements know their places in the file.

Document types are rejected, so there are no entities to expand and no files to fetch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

import numpy as np

from limber.checks import Array
from limber.errors import FileError
from limber.io.document import read_bytes

MAX_DEPTH = 100


@dataclass(eq=False)
class Element:
    """One element: its tag, attributes, children, text, and place in the file."""

    tag: str
    attributes: dict[str, str]
    file: Path
    line: int
    column: int
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, tag: str) -> Iterator[Element]:
        """The children with this tag."""
        return (child for child in self.children if child.tag == tag)

    def one(self, tag: str) -> Element | None:
        """The only child with this tag, or None; two are an error."""
        found = list(self.all(tag))
        if len(found) > 1:
            raise found[1].error(f"there is a second <{tag}> in <{self.tag}>: keep one.")
        return found[0] if found else None

    def get(self, name: str) -> str:
        """The value of an attribute, which is required."""
        if name not in self.attributes:
            raise self.error(f"the attribute {name!r} of <{self.tag}> is missing.")
        return self.attributes[name]

    def numbers(self, name: str, count: int | None, default: str | None = None) -> Array:
        """The numbers of an attribute; `count` None takes any number of them, but not none."""
        words = self.attributes.get(name, default)
        if words is None:
            words = self.get(name)
        return self.parsed(f"{name} of <{self.tag}>", words, count)

    def number(self, name: str, default: str | None = None) -> float:
        """The number of an attribute."""
        return float(self.numbers(name, 1, default)[0])

    def parsed(self, what: str, words: str, count: int | None) -> Array:
        """Parse numbers from text; `what` is their name in the message."""
        try:
            values = np.array([float(x) for x in words.split()])
        except ValueError:
            values = np.full(1, math.nan)
        right = values.size > 0 if count is None else values.size == count
        if not right or not np.isfinite(values).all() or "_" in words:
            many = "finite numbers" if count is None else f"{count} finite numbers"
            expected = "a finite number" if count == 1 else many
            raise self.error(f"{what} must be {expected}, got {words[:60]!r}.")
        return values

    def error(self, message: str) -> FileError:
        """An error at this element."""
        text = f"{self.file}:{self.line}:{self.column}: {message}"
        return FileError(text, str(self.file), self.line, self.column, self.tag)


def parse_xml(path: Path) -> Element:
    """The root element of an XML file."""
    data = read_bytes(path)
    parser = expat.ParserCreate()
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    roots: list[Element] = []
    stack: list[Element] = []

    def refuse(message: str) -> FileError:
        line, column = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1
        return FileError(f"{path}:{line}:{column}: {message}", str(path), line, column)

    def doctype(*_: object) -> None:
        raise refuse("a document type (<!DOCTYPE ...>) is not allowed: remove it.")

    def start(tag: str, attributes: dict[str, str]) -> None:
        if len(stack) >= MAX_DEPTH:
            raise refuse(f"nested more than {MAX_DEPTH} levels deep.")
        place = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1
        element = Element(tag, attributes, path, *place)
        (stack[-1].children if stack else roots).append(element)
        stack.append(element)

    def end(_: str) -> None:
        stack.pop()

    def characters(data: str) -> None:
        if stack:
            stack[-1].text += data

    parser.StartDoctypeDeclHandler = doctype
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters
    parser.buffer_text = True
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        line, column = error.lineno, error.offset + 1
        text = f"{path}:{line}:{column}: not valid XML: {expat.ErrorString(error.code)}."
        raise FileError(text, str(path), line, column) from None
    except (LookupError, ValueError) as error:  # Python does not know the encoding.
        if isinstance(error, FileError):
            raise
        raise FileError(f"{path}: not valid XML: {error}.", str(path)) from None
    return roots[0]
