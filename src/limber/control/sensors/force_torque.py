"""Force-torque sensors: the wrench that a joint carries."""

from __future__ import annotations

from typing import Any

from limber.assembly.system import System
from limber.control.sensors.base import Instant, Reader, Sensor
from limber.errors import ModelWarning, warn
from limber.simulation.opened_joint import OpenedJoint

LABELS = ("moment x", "moment y", "moment z", "force x", "force y", "force z")


class ForceTorque(Sensor):
    """Measures the wrench [moment, force], N m and N, that acts on a body through its joint from inboard.

    The wrench is in the axes of the joint's inboard frame and about its origin: the sensor sits between the parent's
    node and the joint. The reading includes the weight, inertia and external forces of everything outboard, also those
    of an environment, and the forces of closures there. If the closures are redundant and the reading is not unique,
    the forces of least norm are used, and a ModelWarning says so once.

    Parameters
    ----------
    body : the body whose joint is measured.
    options : those of `Sensor`.
    """

    def __init__(self, body: str, name: str = "force-torque", *, rate: float, **options: Any):
        super().__init__(name, rate=rate, **options)
        self.body = body
        self._freeze()

    def reader(self, system: System) -> Reader:
        """The sensor on a system; closures may change during a run."""
        system.number(self.body, f"sensor {self.name!r}: body")
        joints = {system: OpenedJoint(system, self.body)}
        told: list[str] = []

        def read(now: Instant):
            joint = joints.get(now.system)
            if joint is None:
                joint = joints[now.system] = OpenedJoint(now.system, self.body)
            external: Any = now.wrenches or None
            around = None if now.field is None else (now.field, now.t)
            found, unique = joint.wrench(now.q, now.v, now.vdot, now.tau, external, around)
            if not unique and not told:
                told.append(self.name)
                warn(
                    f"sensor {self.name!r}: the closures of {system.name!r} are redundant, so the load on the joint of "
                    f"{self.body!r} is not unique in this model. The closure forces of least norm are used.",
                    ModelWarning,
                )
            return found

        return Reader(read, LABELS, "N m, N", 6)
