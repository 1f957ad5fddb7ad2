"""Which degrees of freedom of a system may move."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from limber.assembly.system import System
from limber.checks import Array, shown
from limber.errors import ArgumentTypeError, ArgumentValueError


def _named(locked: Iterable[str], argument: str) -> list[str]:
    """The names of bodies, in a list."""
    if isinstance(locked, str):
        raise ArgumentTypeError(
            f"{argument} must be a list of body names, got the string {locked!r}: use [{locked!r}]."
        )
    try:
        return list(locked)
    except TypeError:
        raise ArgumentTypeError(
            f"{argument} must be a list of body names, got {shown(locked)}."
        ) from None


def locked_speeds(system: System, locked: Iterable[str], argument: str = "locked") -> np.ndarray:
    """For each speed, whether it belongs to the joint of one of the bodies in `locked`."""
    held = np.zeros(system.nv, dtype=bool)
    for body in _named(locked, argument):
        held[system.layout[system.body_of(body, f"{argument}: body")].v_joint] = True
    return held


def locked_joints(system: System, locked: Iterable[str]) -> tuple[int, ...]:
    """The numbers of the bodies in `locked` whose joints can move, in the order of the system."""
    bodies = [system.body_of(name, "locked: body") for name in _named(locked, "locked")]
    numbers = {system.number(body) for body in bodies}
    dofs = [joint.dofs for joint in system.joints.values()]
    return tuple(k for k in sorted(numbers) if dofs[k - 1])


def modal_speeds(system: System) -> np.ndarray:
    """For each speed, whether it is that of a mode of a body."""
    modal = np.zeros(system.nv, dtype=bool)
    for where in system.layout.values():
        modal[where.v_modes] = True
    return modal


def free_speeds(system: System, locked: Iterable[str]) -> np.ndarray:
    """Indices of v that may move if the joints of the bodies in `locked` do not."""
    locked = _named(locked, "locked")
    keep = ~locked_speeds(system, locked)
    if not keep.any():
        raise ArgumentValueError(
            f"locked={shown(locked)} leaves none of the {system.nv} speeds of {system.name!r} free to move. Lock "
            "fewer joints."
        )
    return np.flatnonzero(keep)


def undeformed(system: System, q: Array) -> Array:
    """The same configuration with all modal coordinates zero."""
    q = np.array(q, dtype=float)
    for where in system.layout.values():
        q[..., where.q_modes] = 0.0
    return q
