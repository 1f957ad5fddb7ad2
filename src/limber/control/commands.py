"""Checks of the commands that controllers return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array, numbers, shown
from limber.errors import ArgumentValueError
from limber.simulation.table import joint_speeds

if TYPE_CHECKING:
    from limber.control.loop import Loop


def checked_command(loop: Loop, t: float, command: Any) -> Array:
    """Check the size of a command and copy it: one number for each channel, or (nv,) without actuators."""
    named = type(loop.controller.controller).__name__
    return _fitted(loop, f"the command of {named} at t = {t:.6g} s", command)


def checked_initial(loop: Loop, given: ArrayLike) -> Array:
    """Check the command that acts before the first one; it has the same shape."""
    return _fitted(loop, "initial", numbers("initial", given, "one number for each of a command"))


def _fitted(loop: Loop, what: str, command: Any) -> Array:
    values = np.array(command, dtype=float)
    if loop.actuators:
        if values.shape != (len(loop.channels),):
            raise ArgumentValueError(
                f"{what} must be {len(loop.channels)} numbers, one for each channel of the "
                f"actuators ({', '.join(loop.channels)}); got {shown(command)}."
            )
        return values
    nv = loop.system.nv
    if values.shape == (nv,):
        return values
    joints = joint_speeds(loop.system)
    if values.shape != (len(joints),):
        raise ArgumentValueError(
            f"{what} must be {nv} numbers, or {len(joints)} for the joints alone; got {shown(command)}."
        )
    full = np.zeros(nv)
    full[joints] = values
    return full
