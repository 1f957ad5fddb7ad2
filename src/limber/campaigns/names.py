"""Names of variables and quantities, which become array names in stores and datasets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from limber.checks import shown
from limber.errors import ArgumentTypeError, ArgumentValueError

#: What campaigns have for every case besides variables and quantities.
OF_CASES = ("case", "seed", "status", "message")
#: What datasets of campaigns with histories have besides.
OF_HISTORIES = ("t", "q", "v", "time", "coordinate", "speed")
#: Names that no folder of a store can have.
OF_FOLDERS = (".", "..", "zarr.json")


def refuse_taken(kind: str, names: Iterable[Any], histories: bool) -> None:
    """Reject names of variables or quantities (`kind` says which) that already have another meaning."""
    taken = (*OF_CASES, *OF_FOLDERS, *(OF_HISTORIES if histories else ()))
    for name in names:
        if not isinstance(name, str) or not name:
            raise ArgumentTypeError(f"the name of a {kind} must be text, got {shown(name)}.")
        if name in taken or name.startswith("history_") or "/" in name:
            raise ArgumentValueError(
                f"{name!r} is a name that the store uses itself: choose another name for the {kind}."
            )


def refuse_shared(variables: Iterable[str], quantities: Iterable[str]) -> None:
    """Reject names that variables and quantities share, since both become arrays of one store or dataset."""
    for name in sorted(set(variables) & set(quantities)):
        raise ArgumentValueError(
            f"{name!r} is the name of both a variable and a quantity: rename one of them."
        )
