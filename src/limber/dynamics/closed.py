"""Closed systems in functions that do not accept them."""

from __future__ import annotations

from limber.assembly import Assembly, System
from limber.assembly.closures import Relation
from limber.checks import listed
from limber.errors import ArgumentValueError


def refuse_closures(system: System | Assembly, what: str) -> None:
    """Reject a closed system if the result would be that of its tree; `what` is the name of the function."""
    if system.closures:
        count = "closure" if len(system.closures) == 1 else "closures"
        raise ArgumentValueError(
            f"{what} does not take closed systems, and {system.name!r} has the {count} {listed(system.closures)}: the "
            f"answer would be that of the open tree. Build the assembly without its closures if the open tree is meant.{mimics(system)}"
        )


def mimics(system: System | Assembly) -> str:
    """How relations of a robot file are left out, a sentence for messages; empty where there are none."""
    if not any(isinstance(closure, Relation) for closure in system.closures.values()):
        return ""
    return " Mimic joints of a URDF file are left out by mimic=False of read_urdf, or urdf: {file: ..., mimic: false} in a model."
