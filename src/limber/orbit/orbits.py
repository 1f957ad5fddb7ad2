"""Orbits: the state of the reference point, given as a state vector, by elements or as a circle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array, array, number, shown
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.orbit.planet import EARTH, Planet


@dataclass(frozen=True)
class Orbit:
    """An orbit, given by the state of its point at one time; `circular`, `elements` or `state` makes it.

    position, velocity : inertial axes, from the centre of the planet, m and m/s.
    epoch : the simulation time at which the point has this state, s.
    """

    position: tuple[float, float, float]
    velocity: tuple[float, float, float]
    planet: Planet = EARTH
    epoch: float = 0.0

    def __post_init__(self) -> None:
        for name in ("position", "velocity"):
            given = array(name, getattr(self, name), (3,), "Inertial axes.")
            object.__setattr__(self, name, tuple(given.tolist()))
        _check_planet(self.planet)
        object.__setattr__(self, "epoch", number("epoch", self.epoch))
        if np.linalg.norm(np.cross(self.position, self.velocity)) == 0.0:
            raise ArgumentValueError(
                "position and velocity must not be parallel: the point would fall through the centre of the planet."
            )

    @property
    def osculating(self) -> Elements:
        """The elements of the two-body orbit through this state."""
        return osculating(np.array(self.position), np.array(self.velocity), self.planet)

    @property
    def period(self) -> float:
        """The period of the two-body orbit, s; infinite for an open orbit."""
        a = float(self.osculating.semi_major)
        return 2.0 * np.pi * np.sqrt(a**3 / self.planet.mu) if a > 0.0 else np.inf


@dataclass(frozen=True)
class Elements:
    """Osculating elements, numbers or arrays; angles in rad, in (-pi, pi] except for the inclination.

    `argument` is the argument of perigee, from the node; `anomaly` is the true anomaly, from perigee.  For a circular
    orbit perigee is taken at the node, and for an equatorial one the node is taken on the x axis.
    """

    semi_major: Array
    eccentricity: Array
    inclination: Array
    node: Array
    argument: Array
    anomaly: Array

    @property
    def latitude(self) -> Array:
        """The argument of latitude, from the node along the orbit, rad."""
        return self.argument + self.anomaly


def state(
    position: ArrayLike, velocity: ArrayLike, *, planet: Planet = EARTH, epoch: float = 0.0
) -> Orbit:
    """The orbit through a position (3,) in m with a velocity (3,) in m/s.

    Both are in inertial axes, with z along the axis of the planet.
    """
    return Orbit(position, velocity, planet, epoch)  # type: ignore[arg-type]


def circular(
    altitude: float,
    inclination: float = 0.0,
    *,
    node: float = 0.0,
    latitude: float = 0.0,
    planet: Planet = EARTH,
    epoch: float = 0.0,
) -> Orbit:
    """A circular orbit: altitude in m above the equatorial radius, angles in rad.

    `latitude` is the angle from the ascending node.
    """
    _check_planet(planet)
    height = number("altitude", altitude, above=-planet.radius)
    return elements(
        planet.radius + height,
        0.0,
        inclination,
        node=node,
        anomaly=latitude,
        planet=planet,
        epoch=epoch,
    )


def elements(
    semi_major: float,
    eccentricity: float = 0.0,
    inclination: float = 0.0,
    *,
    node: float = 0.0,
    argument: float = 0.0,
    anomaly: float = 0.0,
    planet: Planet = EARTH,
    epoch: float = 0.0,
) -> Orbit:
    """An orbit given by its elements: semi-major axis in m, angles in rad.

    Parameters
    ----------
    semi_major : semi-major axis; negative for a hyperbola, whose eccentricity is above 1.
    inclination : between the orbit and the equator.
    node : from the x axis to the ascending node, along the equator.
    argument : from the node to perigee, along the orbit.
    anomaly : the true anomaly at the epoch, from perigee along the orbit.
    """
    _check_planet(planet)
    a, e = number("semi_major", semi_major), number("eccentricity", eccentricity, minimum=0.0)
    if not a * (1.0 - e) > 0.0:
        raise ArgumentValueError(
            f"semi_major={a:g} is inconsistent with eccentricity={e:g}: an ellipse has a positive semi-major axis and an "
            "eccentricity below 1, a hyperbola a negative one and an eccentricity above 1. Define a parabola by its "
            "state, lb.orbit.state(...)."
        )
    angles = {"inclination": inclination, "node": node, "argument": argument, "anomaly": anomaly}
    i, raan, w, nu = (number(name, x) for name, x in angles.items())
    p = a * (1.0 - e**2)
    if not 1.0 + e * np.cos(nu) > 0.0:
        raise ArgumentValueError(f"anomaly={nu:g} is beyond the asymptote of the hyperbola.")
    flat = np.array([np.cos(nu), np.sin(nu), 0.0]) * p / (1.0 + e * np.cos(nu))
    rate = np.array([-np.sin(nu), e + np.cos(nu), 0.0]) * np.sqrt(planet.mu / p)
    R = _about(2, raan) @ _about(0, i) @ _about(2, w)
    return Orbit(R @ flat, R @ rate, planet, epoch)  # type: ignore[arg-type]


def _check_planet(planet: object) -> None:
    """Reject anything that is not a planet."""
    if not isinstance(planet, Planet):
        raise ArgumentTypeError(
            f"planet must be an lb.orbit.Planet, such as lb.orbit.EARTH, got {shown(planet)}."
        )


def _about(axis: int, angle: float) -> Array:
    """The rotation by an angle about a coordinate axis."""
    c, s = np.cos(angle), np.sin(angle)
    j, k = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3)
    R[j, j], R[j, k], R[k, j], R[k, k] = c, -s, s, c
    return R


def osculating(position: Array, velocity: Array, planet: Planet) -> Elements:
    """The elements of the two-body orbits through states (..., 3)."""
    r = np.linalg.norm(position, axis=-1)
    h = np.cross(position, velocity)
    with np.errstate(divide="ignore"):  # that of a parabola is infinite
        semi_major = 1.0 / (2.0 / r - np.sum(velocity**2, axis=-1) / planet.mu)
    pointing = (
        np.cross(velocity, h) / planet.mu - position / r[..., None]
    )  # to perigee, as long as e
    e = np.linalg.norm(pointing, axis=-1)
    size = np.linalg.norm(h, axis=-1)
    inclination = np.arctan2(np.hypot(h[..., 0], h[..., 1]), h[..., 2])
    tilted = np.hypot(h[..., 0], h[..., 1]) > 1e-14 * size
    node = np.where(tilted, np.arctan2(h[..., 0], -h[..., 1]), 0.0)
    along = np.stack([np.cos(node), np.sin(node), np.zeros_like(node)], axis=-1)
    across = np.cross(h / size[..., None], along)

    def angle(x: Array) -> Array:
        return np.arctan2(np.sum(x * across, axis=-1), np.sum(x * along, axis=-1))

    argument = np.where(e > 1e-12, angle(pointing), 0.0)
    turn = angle(position) - argument
    anomaly = np.arctan2(np.sin(turn), np.cos(turn))
    return Elements(semi_major, e, inclination, node, argument, anomaly)
