"""States given by users: where a run starts, and what the action of an event returns."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, array, unit_quaternion
from limber.dynamics.limits import warn_outside_limits
from limber.dynamics.refusals import quaternions


def initial_state(
    system: System, q0: ArrayLike | None, v0: ArrayLike | None
) -> tuple[Array, Array]:
    """The state that a run starts from: q0, v0, or the neutral configuration at rest."""
    q = system.neutral() if q0 is None else coordinates(system, "q0", q0)
    return q, np.zeros(system.nv) if v0 is None else speeds(system, "v0", v0)


def warn_of_start(system: System, q: Array, q0: ArrayLike | None) -> None:
    """Warn if the initial configuration is outside the limits of joints."""
    warn_outside_limits(
        system,
        q,
        f"the configuration that {system.name!r} starts from, {'the neutral one' if q0 is None else 'q0'},",
        "stops push back from the start. Give q0 within the limits.",
    )


def coordinates(system: System, name: str, given: ArrayLike) -> Array:
    """q as given by the user, with its quaternions scaled to unit length."""
    q = np.array(array(name, given, (system.nq,)))
    for body, at in quaternions(system):
        unit_quaternion(f"{name}[{at.start}:{at.stop}], the quaternion of body {body!r},", q[at])
        q[at] /= np.linalg.norm(q[at])
    return q


def speeds(system: System, name: str, given: ArrayLike) -> Array:
    """v as given by the user."""
    return np.array(array(name, given, (system.nv,)))
