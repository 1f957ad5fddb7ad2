"""Which freedoms of a system may move."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from limber.assembly.system import System
from limber.checks import shown
from limber.errors import ArgumentTypeError, ArgumentValueError


def free_speeds(system: System, locked: Iterable[str]) -> np.ndarray:
    """Indices of v that may move if the joints of the bodies in `locked` do not."""
    if isinstance(locked, str):
        raise ArgumentTypeError(
            f"locked must be a list of body names, got the string {locked!r}: use [{locked!r}]."
        )
    try:
        bodies = list(locked)
    except TypeError:
        raise ArgumentTypeError(
            f"locked must be a list of body names, got {shown(locked)}."
        ) from None
    keep = np.ones(system.nv, dtype=bool)
    for body in bodies:
        system.number(body, "locked: body")
        keep[system.layout[body].v_joint] = False
    if not keep.any():
        raise ArgumentValueError(
            f"locked={shown(bodies)} leaves none of the {system.nv} speeds of {system.name!r} free to move. Lock "
            "fewer joints."
        )
    return np.flatnonzero(keep)
