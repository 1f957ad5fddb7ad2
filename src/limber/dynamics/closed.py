"""Closed systems in functions that do not accept them."""

from __future__ import annotations

from limber.assembly import Assembly, System
from limber.checks import listed
from limber.errors import ArgumentValueError


def refuse_closures(system: System | Assembly, what: str) -> None:
    """Reject a closed system if the result would be that of its tree; `what` is the name of the function."""
    if system.closures:
        count = "closure" if len(system.closures) == 1 else "closures"
        raise ArgumentValueError(
            f"{what} does not take closed systems, and {system.name!r} has the {count} {listed(system.closures)}: the "
            "answer would be that of the open tree. Build the assembly without its closures if the open tree is meant."
        )
