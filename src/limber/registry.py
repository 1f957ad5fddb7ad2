"""Public names of a lower layer whose work is done in a higher one.

Imports go downward only, yet `Result.plot` belongs to `limber.simulation` and is drawn by `limber.plotting`, which
is above it.  The lower layer looks up such a name here when it is used.  `limber/__init__.py` registers where each
is implemented; that module is imported at the first use.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

#: Name to the place of its implementation, "module:attribute".
_places: dict[str, str] = {}


def register(places: Mapping[str, str]) -> None:
    """Say where names are implemented: {"Result.plot": "limber.plotting:plot"}."""
    _places.update(places)


def registered(name: str) -> Any:
    """The implementation of a name; its module is imported now."""
    module, attribute = _places[name].split(":")
    return getattr(import_module(module), attribute)
