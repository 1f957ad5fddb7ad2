"""Objects of many arrays in one line."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

#: Values whose text is longer than this are shown by their kind and size.
LONG = 40


def short_repr(owner: Any) -> str:
    """The `__repr__` of dataclasses with arrays: their shapes instead of their numbers, and short values as they are."""
    shown = [
        f"{field.name}{_text(value)}"
        for field in fields(owner)
        if field.repr and (value := getattr(owner, field.name)) is not None
    ]
    return f"{type(owner).__name__}({', '.join(shown)})"


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f" {value.shape}"
    text = repr(value)
    if len(text) <= LONG and "\n" not in text:
        return f"={text}"
    return f": {len(value)}" if hasattr(value, "__len__") else f": {type(value).__name__}"
