"""Writing YAML: mappings in block style, arrays in rows, and numbers with all their digits."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from limber.errors import ArgumentValueError
from limber.io.yaml_tree import scalar

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_WIDTH = 96


def number(value: float) -> str:
    """A number as text that reads back bit for bit."""
    if value == math.inf:
        return ".inf"
    return repr(int(value)) if isinstance(value, (int, np.integer)) else repr(float(value))


def words(value: str) -> str:
    """Text, with quotes where YAML needs them."""
    if _BARE.fullmatch(value) and isinstance(scalar(value, True), str):
        return value
    parts = []
    for c in value:
        code = ord(c)
        if 0xD800 <= code <= 0xDFFF:
            raise ArgumentValueError(
                f"the name {value!r} contains half a character (a lone surrogate) and cannot be written."
            )
        if c in '"\\':
            parts.append("\\" + c)
        elif 0x20 <= code < 0x7F:
            parts.append(c)
        else:
            parts.append(
                f"\\x{code:02x}"
                if code < 0x100
                else f"\\u{code:04x}"
                if code < 0x10000
                else f"\\U{code:08x}"
            )
    return '"' + "".join(parts) + '"'


def flow(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{words(k)}: {flow(x)}" for k, x in value.items()) + "}"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return words(value) if isinstance(value, str) else number(value)


def emit(data: dict[str, Any], indent: int = 0) -> list[str]:
    """The lines of a mapping."""
    pad = "  " * indent
    lines = []
    for key, value in data.items():
        head = f"{pad}{words(key)}:"
        line = f"{head} {flow(value)}"
        flat = isinstance(value, dict) and not any(_nested(x) for x in value.values())
        if isinstance(value, dict) and value and (len(line) > _WIDTH or not flat):
            lines += [head, *emit(value, indent + 1)]
        elif _nested(value) and len(line) > _WIDTH:
            rows = (flow(row) for row in value)
            lines += [head, *(f"{pad}  - {row}" for row in rows)]
        else:
            lines.append(line)
    return lines


def _nested(value: Any) -> bool:
    """Whether a value is more than a number, a word, or a row of these."""
    if isinstance(value, dict):
        return any(isinstance(x, (dict, list, tuple, np.ndarray)) for x in value.values())
    if isinstance(value, np.ndarray):
        return value.ndim > 1
    return isinstance(value, (list, tuple)) and any(
        isinstance(x, (list, tuple, dict, np.ndarray)) for x in value
    )
