"""The wrench that a joint carried over time: what its bearings hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from limber.checks import Array
from limber.errors import ArgumentValueError, ModelWarning, warn
from limber.simulation.opened_joint import OpenedJoint

if TYPE_CHECKING:
    from limber.simulation.result import Result


def joint_wrench(result: Result, body: str) -> Array:
    """The wrench through the joint of a body, (n, 6); see `Result.joint_wrench`."""
    system = result.system
    name = system.body_of(body)
    if result.environment is not None:
        raise ArgumentValueError(
            "joint_wrench: the forces of an environment act in this result, which stores only their generalized forces. "
            f"Measure at the joint of {name!r} during the run, with a sensor lb.control.ForceTorque({name!r}, rate=...)."
        )
    found, unique = np.empty((len(result), 6)), True
    for at_that_time, rows, part in result.parts():
        joint = OpenedJoint(at_that_time, name)
        if not at_that_time.closures:
            wrenches: Any = dict(part.external) or None
            found[rows] = joint.of_motion(part.q, part.v, part.vdot, wrenches)
            continue
        for i, row in enumerate(rows):
            acting: Any = {end: wrench[i] for end, wrench in part.external.items()} or None
            found[row], sure = joint.wrench(part.q[i], part.v[i], part.vdot[i], part.tau[i], acting)
            unique = unique and sure
    if not unique:
        warn(
            f"joint_wrench: the closures of {system.name!r} are redundant, so what the joint of {name!r} carries is not "
            "unique in this model. The closure forces of least norm are used.",
            ModelWarning,
        )
    return found
