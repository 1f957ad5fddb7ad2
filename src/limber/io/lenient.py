"""How the readers of robot files handle impossible inertias and joints that move no mass, and the messages about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from limber.bodies import RigidBody
from limber.bodies.rigid import INDEFINITE
from limber.checks import Array, listed
from limber.errors import LimberError
from limber.io.xml_tree import Element

#: The armature that a lenient reader gives to a joint that moves no mass, kg m^2 or kg.
ARMATURE = 1e-6
#: What to do about a file that is rejected.
ADVICE = (
    "Correct the file, or read it with lenient=True (`lenient: true` in a model file, --lenient on the command line), "
    "which keeps it"
)


def link_body(
    mass: float, com: Array, inertia: Array, element: Element, name: str, lenient: bool
) -> RigidBody:
    """The body of a link; an error names the link and its place in the file."""
    checks: list[bool | Literal["indefinite"]] = [True, False]
    for check in [*checks, INDEFINITE] if lenient else checks:
        try:
            return RigidBody(mass, com, inertia, check_inertia=check)
        except LimberError as error:
            refused = error
    advice = "" if lenient or mass < 0.0 else f" {ADVICE}."
    raise element.error(f"link {name!r}: {refused}{advice}") from refused


def inertia_notes(bodies: Mapping[str, RigidBody]) -> list[str]:
    """The warnings about inertias that are kept although no body has them."""
    notes = []
    strange = [name for name, body in bodies.items() if body.check_inertia is False]
    if strange:
        notes.append(
            f"the inertias of links {listed(strange)} are kept, although no mass distribution has them: one principal "
            "moment is larger than the sum of the others"
        )
    negative = {
        name: float(np.linalg.eigvalsh(body.inertia).min())
        for name, body in bodies.items()
        if body.check_inertia == INDEFINITE
    }
    if negative:
        moments = "; ".join(f"{name!r} {moment:.3g}" for name, moment in negative.items())
        notes.append(
            "lenient: negative principal moments of inertia, which no body has, are kept as they are, in kg m^2: "
            f"{moments}"
        )
    return notes


def armature_notes(joints: Sequence[str]) -> list[str]:
    """The warnings about joints that were given an armature."""
    if not joints:
        return []
    if len(joints) == 1:
        what, whose = (
            f"joint {joints[0]!r} moves no mass and is given an armature",
            "its acceleration is",
        )
    else:
        what = f"joints {listed(joints)} move no mass and are given armatures"
        whose = "their accelerations are"
    return [f"lenient: {what} of {ARMATURE:g} kg m^2, or kg, so that {whose} defined"]
