"""XML as a tree whose elements know their places in the file.

Document types are refused, so there are no entities to expand and no files to fetch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from limber.errors import FileError
from limber.io.document import read_bytes

MAX_DEPTH = 100


@dataclass(eq=False)
class Element:
    """One element: its tag, attributes, children, and place in the file."""

    tag: str
    attributes: dict[str, str]
    file: Path
    line: int
    column: int
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> Iterator[Element]:
        """The children with this tag."""
        return (child for child in self.children if child.tag == tag)

    def one(self, tag: str) -> Element | None:
        """The only child with this tag, or None; two are refused."""
        found = list(self.all(tag))
        if len(found) > 1:
            raise found[1].error(f"a second <{tag}> in <{self.tag}>: keep one.")
        return found[0] if found else None

    def get(self, name: str) -> str:
        """The value of an attribute, which is required."""
        if name not in self.attributes:
            raise self.error(f"the attribute {name!r} of <{self.tag}> is missing.")
        return self.attributes[name]

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

    parser.StartDoctypeDeclHandler = doctype
    parser.StartElementHandler = start
    parser.EndElementHandler = end
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
