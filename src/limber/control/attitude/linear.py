"""The linear model of a floating system for an attitude loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import shown
from limber.control.attitude.rigid import free_hub
from limber.control.linear_model import LinearModel
from limber.control.linearize import linearize
from limber.dynamics import pose
from limber.errors import ArgumentTypeError

#: Entries below this fraction of the largest one do not couple states.
COUPLED = 1e-12


def attitude_model(
    system: System, hub: str, wheels: Sequence[str] = (), *, q: ArrayLike | None = None
) -> LinearModel:
    """Return a linear model from torques to small rotations and rates of a hub at rest, for `margins` and `lqr_gain`.

    Parameters
    ----------
    hub : the rigid body with a Free joint.
    wheels : the wheels whose motor torques are the inputs; without them the inputs are three torques on the hub.
    q : the configuration; neutral by default.

    The outputs are the rotation and the angular velocity of the hub in its own axes, which are the inputs of
    `AttitudeController.linear()`; those of `lb.linearize` are in world axes. Motions that affect nothing else are left
    out: those of the centre of mass, and the angles and speeds of wheels without damping. No attitude loop controls
    them, and with them no loop would count as stable.
    """
    free_hub(system, hub, "attitude_model")
    if isinstance(wheels, str) or not isinstance(wheels, Sequence):
        raise ArgumentTypeError(f"wheels must be a list of names, got {shown(wheels)}.")
    inputs: list[Any] = list(wheels) or [("torque", hub, i) for i in range(3)]
    outputs = [("rotation", hub, None), ("angular_velocity", hub, None)]
    rest = np.zeros(system.nv)
    at = system.neutral() if q is None else q
    model = linearize(system, at, rest, rest, inputs=inputs, outputs=outputs)
    model = replace(model, C=np.kron(np.eye(2), pose(system, at, hub)[0].T) @ model.C)
    size = np.abs(model.A) > COUPLED * np.abs(model.A).max()
    seen = np.abs(model.C).max(axis=0) > COUPLED
    # a state counts if an output shows it, or another state that counts depends on it
    while True:
        more = seen | size[seen].any(axis=0)
        if (more == seen).all():
            break
        seen = more
    names = tuple(name for name, keep in zip(model.states, seen) if keep)
    called = model.inputs if len(wheels) else tuple(f"torque {hub} {axis}" for axis in "xyz")
    T = None if model.T is None else model.T[:, seen]
    return replace(
        model, A=model.A[np.ix_(seen, seen)], B=model.B[seen], C=model.C[:, seen], states=names, inputs=called, T=T
    )  # fmt: skip
