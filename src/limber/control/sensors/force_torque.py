"""Force-torque sensors: what a joint carries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from limber.assembly.pack import Attachment
from limber.assembly.system import System
from limber.bodies import RigidBody
from limber.control.sensors.base import Instant, Reader, Sensor
from limber.dynamics import inverse_dynamics
from limber.errors import ArgumentValueError
from limber.joints import Free

LABELS = ("moment x", "moment y", "moment z", "force x", "force y", "force z")


class ForceTorque(Sensor):
    """The wrench [moment, force] that a body gets through its joint from inboard, N m and N.

    It is in axes of the joint's inboard frame and about its origin: the sensor sits between the parent's node and the
    joint.  Weight, inertia and external forces of all that is outboard are in it.

    Parameters
    ----------
    body : the body whose joint is watched.
    options : those of `Sensor`.
    """

    def __init__(self, body: str, name: str = "force-torque", *, rate: float, **options: Any):
        super().__init__(name, rate=rate, **options)
        self.body = body
        self._freeze()

    def reader(self, system: System) -> Reader:
        """The sensor on a system.

        The system is cut open there: a joint of six freedoms that stands still takes the wrench, which inverse dynamics
        computes.
        """
        system.number(self.body, f"sensor {self.name!r}: body")
        if system.closures:
            raise ArgumentValueError(
                f"sensor {self.name!r}: force-torque sensors are for systems without closures; {system.name!r} has "
                f"{', '.join(map(repr, system.closures))}, whose forces it would have to know."
            )
        opened, cut = opened_at(system, self.body)
        old_q, old_v = places_in(system, opened)
        still = opened.neutral()
        taken = opened.layout[cut].v_joint

        def read(now: Instant):
            # arrays of its own: loops of several runs may share this reader
            q, v, vdot = still.copy(), np.zeros(opened.nv), np.zeros(opened.nv)
            q[old_q], v[old_v], vdot[old_v] = now.q, now.v, now.vdot
            external: Any = now.wrenches or None
            return inverse_dynamics(opened, q, v, vdot, external=external)[taken]

        return Reader(read, LABELS, "N m, N", 6)


def opened_at(system: System, body: str) -> tuple[System, str]:
    """The system with a joint of six freedoms inboard of a body's joint, and the name of the body between them."""
    cut = f"{body} (force-torque sensor)"
    items: list[Attachment] = []
    for name, item in system.attachments.items():
        if name != body:
            items.append(item)
            continue
        items.append(replace(item, name=cut, body=RigidBody(0.0), joint=Free(), inboard=None))
        still = {"offset": np.zeros(3), "rotation": np.eye(3)}
        items.append(replace(item, to=cut, at=None, **still))  # type: ignore[arg-type]
    return (
        System(system.name, tuple(items), system.gravity, system.fidelity, regular=False),
        cut,
    )


def places_in(system: System, opened: System) -> tuple[np.ndarray, np.ndarray]:
    """Where q and v of a system lie in those of the opened one."""
    q, v = np.zeros(system.nq, dtype=int), np.zeros(system.nv, dtype=int)
    for name, old in system.layout.items():
        new = opened.layout[name]
        for target, here, there in (
            (q, old.q_modes, new.q_modes),
            (q, old.q_joint, new.q_joint),
            (v, old.v_modes, new.v_modes),
            (v, old.v_joint, new.v_joint),
        ):
            target[here] = np.arange(there.start, there.stop)
    return q, v
