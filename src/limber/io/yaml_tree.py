"""YAML text as a tree of plain values that know their places in the file.

A file contains only data: tags are rejected, so nothing is constructed or executed.  It has one document, its keys are
text and occur once, and nesting, size and the expansion of aliases are bounded.  Plain scalars follow the core
schema of YAML 1.2: `1e5` is a number; `yes`, `010` and `2024-01-01` are text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

#: Bounds on the content of a file; larger arrays belong in an .npz next to it.
MAX_BYTES = 64 * 2**20
MAX_DEPTH = 40
MAX_ALIASED = 100_000

_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, Any] = {"": None, "~": None}
_WORDS |= dict.fromkeys(("null", "Null", "NULL"))
_WORDS |= dict.fromkeys(("true", "True", "TRUE"), True)
_WORDS |= dict.fromkeys(("false", "False", "FALSE"), False)
_WORDS |= {s + form: float(s + "inf") for s in ("", "+", "-") for form in (".inf", ".Inf", ".INF")}
_WORDS |= {form: float("nan") for form in (".nan", ".NaN", ".NAN")}


class TreeError(Exception):
    """An error with its place; `document` turns it into a FileError."""

    def __init__(self, message: str, line: int, column: int):
        super().__init__(message)
        self.line, self.column = line, column


@dataclass(eq=False)
class Node:
    """A value in the file: a scalar, or a list or mapping of nodes.  Lines and columns count from 1."""

    value: Any
    line: int
    column: int
    size: int = 1
    keys: dict[str, tuple[int, int]] = field(
        default_factory=dict
    )  # the place of each key of a mapping

    def plain(self) -> Any:
        """The value as dicts, lists, text, numbers, booleans and None."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value


def scalar(text: str, plain: bool) -> Any:
    """The value of a scalar; a quoted scalar is text."""
    if not plain:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > 400:
        return text
    if _INT.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def parse(text: str) -> Node:
    """The tree of one YAML document."""
    import yaml  # noqa: PLC0415 (only when files are read)

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Builder(yaml).build(yaml.parse(text, Loader=loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        context = f" {error.context}" if error.context else ""
        raise TreeError(f"not valid YAML: {error.problem}{context}.", line, column) from None
    except yaml.YAMLError as error:
        words = " ".join(str(error).split())
        line = text.count("\n", 0, getattr(error, "position", 0) or 0) + 1
        raise TreeError(f"not valid YAML: {words}.", line, 1) from None


class _Builder:
    """Builds the tree from the parser's events, without recursion."""

    def __init__(self, yaml: Any):
        self.yaml = yaml
        self.root: Node | None = None
        self.stack: list[Node] = []
        self.pending: list[tuple[str, int, int] | None] = []  # the key whose value comes next
        self.anchors: dict[str, Node] = {}
        self.aliased = 0

    def build(self, events: Any) -> Node:
        yaml = self.yaml
        documents = 0
        for event in events:
            line, column = event.start_mark.line + 1, event.start_mark.column + 1
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise TreeError(
                        "a second document starts here, but a file must contain only one.",
                        line,
                        column,
                    )
            elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
                self._close()
            elif isinstance(event, yaml.AliasEvent):
                self._alias(event.anchor, line, column)
            elif isinstance(event, yaml.NodeEvent):
                self._open(event, line, column)
        if self.root is None or (self.root.value is None and self.root.size == 1):
            raise TreeError("the file is empty.", 1, 1)
        return self.root

    def _open(self, event: Any, line: int, column: int) -> None:
        yaml = self.yaml
        if event.tag not in (None, "!"):
            raise TreeError(
                f"the tag {event.tag!r} is not allowed, because files contain plain data. Remove it.",
                line,
                column,
            )
        is_scalar = isinstance(event, yaml.ScalarEvent)
        if is_scalar and self._expects_key():
            if event.anchor:
                raise TreeError("an anchor on a key is not allowed.", line, column)
            if event.value == "<<" and not event.style:
                raise TreeError(
                    "merge keys (<<) are not supported: write the entries out.", line, column
                )
            self._key(event.value, line, column)
            return
        if is_scalar:
            node = Node(scalar(event.value, event.implicit[0] and not event.style), line, column)
        else:
            if len(self.stack) >= MAX_DEPTH:
                raise TreeError(f"nested more than {MAX_DEPTH} levels deep.", line, column)
            if self._expects_key():
                raise TreeError("a key must be text, not a list or mapping.", line, column)
            node = Node({} if isinstance(event, yaml.MappingStartEvent) else [], line, column)
        if event.anchor:
            self.anchors[event.anchor] = node
        self._place(node)
        if not is_scalar:
            self.stack.append(node)
            self.pending.append(None)

    def _alias(self, name: str, line: int, column: int) -> None:
        node = self.anchors.get(name)
        if node is None:
            raise TreeError(f"the alias *{name} has no anchor &{name} before it.", line, column)
        if any(node is outer for outer in self.stack):
            raise TreeError(f"the alias *{name} is inside its own anchor.", line, column)
        if self._expects_key():
            raise TreeError("a key must be text, not an alias.", line, column)
        self.aliased += node.size
        if self.aliased > MAX_ALIASED:
            raise TreeError(
                f"aliases expand to more than {MAX_ALIASED} values: write the data out, or put them in an .npz file.",
                line,
                column,
            )
        self._place(Node(node.value, line, column, node.size, node.keys))

    def _expects_key(self) -> bool:
        return bool(self.stack) and isinstance(self.stack[-1].value, dict) and not self.pending[-1]

    def _key(self, text: str, line: int, column: int) -> None:
        keys = self.stack[-1].keys
        if text in keys:
            raise TreeError(
                f"the key {shortened(text)} occurs a second time (first on line {keys[text][0]}): keep one.",
                line,
                column,
            )
        keys[text] = line, column
        self.pending[-1] = text, line, column

    def _place(self, node: Node) -> None:
        if not self.stack:
            self.root = node
            return
        parent = self.stack[-1]
        pending = self.pending[-1]
        if isinstance(parent.value, list):
            parent.value.append(node)
        elif pending:
            parent.value[pending[0]] = node
            self.pending[-1] = None
        parent.size += node.size

    def _close(self) -> None:
        node = self.stack.pop()
        self.pending.pop()
        if self.stack:
            self.stack[-1].size += node.size - 1


def shortened(text: str) -> str:
    """Text as a message shows it."""
    line = repr(text)
    return line if len(line) <= 60 else f"{line[:57]}..."
