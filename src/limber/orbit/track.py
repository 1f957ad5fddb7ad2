"""The motion of a system about the planet: that of its centre of mass, or of a node."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from limber import dynamics
from limber.assembly.system import System
from limber.checks import Array
from limber.orbit.orbits import Elements, osculating
from limber.orbit.planet import Planet
from limber.short_repr import short_repr


class Motion(Protocol):
    """The part of a `Result` that is needed: its times, its states, and the systems to which they belong."""

    t: Array
    q: Array
    v: Array

    def parts(self) -> list[tuple[System, np.ndarray, Any]]:
        """The systems of the rows, the numbers of their rows, and the rows."""
        ...


@dataclass(frozen=True, eq=False)
class Track:
    """A motion about a planet: t (n,), position and velocity (n, 3) from its centre, in inertial axes.

    relative : (n, 3), the position in the orbital frame of the reference orbit.
    """

    __repr__ = short_repr

    t: Array
    position: Array
    velocity: Array
    relative: Array
    planet: Planet

    @cached_property
    def elements(self) -> Elements:
        """The osculating elements, arrays (n,)."""
        return osculating(self.position, self.velocity, self.planet)

    @property
    def altitude(self) -> Array:
        """The distance from the centre minus the radius of the planet, (n,), m."""
        return np.linalg.norm(self.position, axis=1) - self.planet.radius


def centre_of_mass(motion: Motion) -> tuple[Array, Array]:
    """Position and velocity (n, 3) of the centre of mass in the world."""
    place, speed = np.empty((len(motion.t), 3)), np.empty((len(motion.t), 3))
    for s, rows, _ in motion.parts():
        q, v = motion.q[rows], motion.v[rows]
        mass = sum(body.mass for body in s.bodies.values())
        weightless = dynamics.potential_energy(s, q)
        for i, pull in enumerate(np.eye(3)):  # the energy in a field of 1 m/s^2 gives the height
            pulled = dynamics.potential_energy(s.with_parameters({"gravity": -pull}), q)
            place[rows, i] = (pulled - weightless) / mass
        speed[rows] = dynamics.momentum(s, q, v)[:, 3:] / mass
    return place, speed


def node_motion(motion: Motion, body: str, node: str | int | None) -> tuple[Array, Array]:
    """Position and velocity (n, 3) of a node in the world."""
    s = motion.parts()[0][0]  # where a node is does not depend on masses
    _, place = dynamics.pose(s, motion.q, body, node)
    J = dynamics.jacobian(s, motion.q, body, node)
    return place, np.einsum("nij,nj->ni", J[:, 3:], motion.v)
