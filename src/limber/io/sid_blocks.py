"""The text of Standard Input Data: nested blocks of entries, and the matrices in them as Taylor series.

A block opens with its name on a line (`mdCM`) or with `new node = 7`, and ends with `end mdCM` or `end node`.
Entries are `key = value` or `m0( 1, 2) = value`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from limber.checks import Array, shown
from limber.io.sources import Source, number, whole_number

_ENTRY = re.compile(r"([a-z]\w*)\s*(?:\(([\d\s,]*)\))?\s*", re.IGNORECASE)
_DEEPEST = 20


@dataclass
class Entry:
    """One line `key (indices) = value`."""

    key: str
    indices: tuple[int, ...]
    text: str
    line: int


@dataclass
class Block:
    """A block: its name, what follows `=` in `new name = ...`, its entries and the blocks in it."""

    name: str
    value: str
    line: int
    entries: list[Entry] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)

    def all(self, name: str) -> list[Block]:
        """The blocks of a name."""
        return [block for block in self.blocks if block.name == name.lower()]


def parse_blocks(source: Source) -> Block:
    """The block `part`; a line before it is a comment."""
    lines = source.text().splitlines()
    start = next(
        (i for i, text in enumerate(lines) if text.split()[:1] in (["part"], ["PART"])), None
    )
    if start is None:
        raise source.error("there is no line 'part': this is not a Standard Input Data (SID) file.")
    root = Block("", "", 0)
    stack = [root]
    for line, raw in enumerate(lines[start:], start + 1):
        text = raw.strip()
        if not text:
            continue
        left, equals, right = (x.strip() for x in text.partition("="))
        words = left.lower().split()
        if words[:1] == ["end"] and len(words) == 2 and not equals:
            if len(stack) == 1 or stack[-1].name != words[1]:
                open_now = (
                    f"'{stack[-1].name}' of line {stack[-1].line}" if len(stack) > 1 else "none"
                )
                raise source.error(
                    f"{shown(text)} ends a block that is not open; open is {open_now}.", line
                )
            stack.pop()
        elif (words[:1] == ["new"] and len(words) == 2) or (
            not equals and re.fullmatch(r"\w+", left)
        ):
            if len(stack) > _DEEPEST:
                raise source.error(f"blocks are more than {_DEEPEST} deep.", line)
            block = Block(words[-1], right, line)
            stack[-1].blocks.append(block)
            stack.append(block)
        else:
            match = _ENTRY.fullmatch(left)
            if not equals or not match or len(stack) == 1:
                raise source.error(
                    f"must be an entry 'key = value' of a block, got {shown(text)}.", line
                )
            indices = tuple(
                whole_number(source, x, line, "an index", 100_000)
                for x in (match[2].split(",") if match[2] is not None else ())
            )
            stack[-1].entries.append(Entry(match[1].lower(), indices, right, line))
    if len(stack) > 1:
        raise source.error(
            f"the block '{stack[-1].name}' of line {stack[-1].line} does not end: the file is cut off.",
            stack[-1].line,
        )
    parts = root.all("part")
    if len(parts) != 1 or len(root.blocks) != 1:
        raise source.error(f"must have one block 'part', got {len(root.blocks)} blocks.")
    return parts[0]


@dataclass(frozen=True, eq=False)
class Taylor:
    """A matrix as a series in the modal coordinates: M0 + sum_k M1[:, k, :] q_k."""

    M0: Array  # (rows, columns)
    M1: Array | None  # (rows, modes, columns); None if the series ends with M0


def read_taylor(source: Source, block: Block, rows: int, columns: int, modes: int) -> Taylor:
    """The series of a block that must be rows x columns; one of higher order than 1 keeps its first two terms."""
    header = {e.key: e for e in block.entries if not e.indices}
    for key, need in (("nrow", rows), ("ncol", columns), ("nq", modes)):
        if key not in header:
            raise source.error(f"{block.name} has no entry {key}.", block.line)
        entry = header[key]
        got = whole_number(source, entry.text, entry.line, key)
        if got != need and not (key == "nq" and got == 0):
            raise source.error(f"{key} of {block.name} must be {need}, got {got}.", entry.line)
    structure = _header(source, block, header, "structure", 3)
    order = _header(source, block, header, "order", 0)
    if structure not in (0, 1, 2, 3, 4):
        raise source.error(
            f"structure of {block.name} must be 0 to 4, got {structure}.", block.line
        )
    if order > 1:
        source.ignore(f"terms of order 2 and more of {block.name}")
    M0 = np.eye(rows, columns) if structure == 4 else np.zeros((rows, columns))
    M1 = np.zeros((rows, modes, columns)) if order >= 1 else None
    seen: set[tuple[str, tuple[int, ...]]] = set()
    for entry in block.entries:
        if not entry.indices or entry.key not in ("m0", "m1"):
            if entry.key not in ("order", "nrow", "ncol", "nq", "nqn", "structure"):
                source.ignore(f"{entry.key} of {block.name}")
            continue
        target = M0 if entry.key == "m0" else M1
        if target is None:
            raise source.error(f"{block.name} of order 0 has an entry m1.", entry.line)
        index = tuple(i - 1 for i in entry.indices)
        if len(index) != target.ndim or any(not 0 <= i < n for i, n in zip(index, target.shape)):
            size = " x ".join(map(str, target.shape))
            raise source.error(
                f"{entry.key}{entry.indices} of {block.name} is outside its {size} numbers.",
                entry.line,
            )
        if (entry.key, index) in seen:
            raise source.error(
                f"{entry.key}{entry.indices} of {block.name} occurs twice.", entry.line
            )
        seen.add((entry.key, index))
        value = number(
            source, entry.text, entry.line, f"{entry.key}{entry.indices} of {block.name}"
        )
        if structure == 0 and entry.key == "m0" and value:
            raise source.error(f"{block.name} of structure 0 (zero) has a number.", entry.line)
        if structure == 1 and entry.key == "m0" and index[0] != index[1] and value:
            raise source.error(
                f"{block.name} of structure 1 (diagonal) has a number off its diagonal.", entry.line
            )
        target[index] = value
        if structure == 2 and entry.key == "m0" and ("m0", index[::-1]) not in seen:
            target[index[::-1]] = value
    return Taylor(M0, M1)


def _header(source: Source, block: Block, header: dict[str, Entry], key: str, default: int) -> int:
    """A whole number of the block."""
    if key not in header:
        return default
    return whole_number(source, header[key].text, header[key].line, f"{key} of {block.name}")


def write_taylor(
    out: list[str], name: str, M0: Array, M1: Array | None, modes: int, indent: int
) -> None:
    """The lines of a block; zeros are left out."""
    rows, columns = M0.shape
    if M1 is None and not np.any(M0):
        structure = 0
    elif M1 is None and rows == columns and np.array_equal(M0, np.eye(rows)):
        structure = 4
    elif M1 is None and rows == columns and np.array_equal(M0, np.diag(np.diag(M0))):
        structure = 1
    else:
        structure = 3
    pad = " " * indent
    out.append(f"{pad}{name}")
    for key, value in (
        ("order", 0 if M1 is None else 1), ("nrow", rows), ("ncol", columns), ("nq", modes), ("nqn", 0),
        ("structure", structure),
    ):  # fmt: skip
        out.append(f"{pad}     {key:<16} = {value:6d}")
    for label, matrix in (("m0", M0 if structure != 4 else None), ("m1", M1)):
        if matrix is None:
            continue
        for index in np.argwhere(matrix):
            place = ", ".join(f"{i + 1:3d}" for i in index)
            value = repr(float(matrix[tuple(index)])).replace("e", "D")
            out.append(f"{pad}     {label}({place}) = {value}")
    out.append(f"{pad}end {name}")
