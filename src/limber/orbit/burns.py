"""Burns: thrust at a node for a limited time, and the propellant that it uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from limber.assembly.system import System
from limber.checks import Array, array, number
from limber.errors import ArgumentTypeError, ArgumentValueError

#: Standard gravity, by which specific impulses are given as times, m/s^2.
G0 = 9.80665


@dataclass(frozen=True)
class Burn:
    """A constant thrust at a node, from a start time for a duration.

    body, node : the place of the thruster; the node None is the body frame.
    thrust : (3,), N, in the axes of the node, which rotate with the deforming body.
    start, duration : s.
    isp : specific impulse, s; the mass flow is |thrust| / (isp g0).
    tank : the rigid body that loses this mass.  None: the mass of the system is constant.  All parts of the tank lose
        mass in proportion, so its centre of mass stays fixed in the body, and its inertia decreases with the mass.  The
        system has the mass before all burns, even in a run that starts after some of them.
    """

    body: str
    thrust: tuple[float, float, float]
    start: float
    duration: float
    node: str | int | None = None
    isp: float | None = None
    tank: str | None = None

    def __post_init__(self) -> None:
        given = array("thrust", self.thrust, (3,), "Axes of the node.")
        object.__setattr__(self, "thrust", tuple(given.tolist()))
        object.__setattr__(self, "start", number("start", self.start))
        object.__setattr__(self, "duration", number("duration", self.duration, above=0.0))
        if (self.isp is None) != (self.tank is None):
            raise ArgumentTypeError(
                "isp and tank belong together: the specific impulse determines how much mass leaves the tank. Give both "
                "or neither."
            )
        if self.isp is not None:
            object.__setattr__(self, "isp", number("isp", self.isp, above=0.0))

    @property
    def end(self) -> float:
        """The time at which the burn ends, s."""
        return self.start + self.duration

    @property
    def flow(self) -> float:
        """The mass flow, kg/s."""
        return 0.0 if self.isp is None else float(np.linalg.norm(self.thrust)) / (self.isp * G0)

    def used(self, t: Array) -> Array:
        """Return the propellant used up to the given times, kg."""
        return self.flow * (np.clip(t, self.start, self.end) - self.start)


def tanks_of(burns: Sequence[Burn]) -> tuple[str, ...]:
    """The bodies that lose mass, in order."""
    return tuple(dict.fromkeys(burn.tank for burn in burns if burn.tank is not None))


def check_tanks(system: System, burns: Sequence[Burn]) -> None:
    """Reject tanks that are not rigid bodies, and burns that use more than there is."""
    for tank in tanks_of(burns):
        system.number(tank, "burns: tank")
        body = system.bodies[tank]
        if body.kind != "rigid":
            raise ArgumentTypeError(
                f"burns: tank {tank!r} is a {body.kind} body; a tank that loses mass must be a RigidBody. Attach one for "
                "the propellant."
            )
        needed = sum(burn.flow * burn.duration for burn in burns if burn.tank == tank)
        if not needed < body.mass:
            raise ArgumentValueError(
                f"burns: they use {needed:g} kg from tank {tank!r}, which has {body.mass:g} kg: shorten them, or fill the "
                "tank."
            )


def masses(system: System, burns: Sequence[Burn], t: Array) -> dict[str, Array]:
    """The masses of the tanks at times, kg."""
    found: dict[str, Array] = {}
    for tank in tanks_of(burns):
        used = [burn.used(t) for burn in burns if burn.tank == tank]
        found[tank] = system.bodies[tank].mass - np.sum(used, axis=0)
    return found
