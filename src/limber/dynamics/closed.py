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
            f"{what} does not support closed systems, but {system.name!r} has the {count} "
            f"{listed(system.closures)}: the result would be that of the open tree. If you want the open tree, "
            f"build the assembly without its closures.{mimics(system)}"
        )


def mimics(system: System | Assembly) -> str:
    """How relations of a robot file are left out, a sentence for messages; empty where there are none."""
    if not any(isinstance(closure, Relation) for closure in system.closures.values()):
        return ""
    return (
        " To ignore the mimic joints of a URDF file, use read_urdf with mimic=False, or urdf: {file: ..., "
        "mimic: false} in a model file."
    )
