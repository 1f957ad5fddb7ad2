"""The planet that a system orbits."""

from __future__ import annotations

from dataclasses import dataclass

from limber.checks import number


@dataclass(frozen=True)
class Planet:
    """A planet whose axis is the z axis of the inertial frame.

    mu : gravitational parameter, m^3/s^2.
    radius : equatorial radius, m; altitudes are above it.
    J2 : second zonal harmonic, with `radius` as its reference radius.
    spin : rate of rotation about the axis, rad/s; the atmosphere rotates with it.
    """

    mu: float
    radius: float
    J2: float = 0.0
    spin: float = 0.0

    def __post_init__(self) -> None:
        for name in ("mu", "radius"):
            object.__setattr__(self, name, number(name, getattr(self, name), above=0.0))
        for name in ("J2", "spin"):
            object.__setattr__(self, name, number(name, getattr(self, name)))

    def oblateness(self, gravity: str) -> float:
        """mu J2 R^2 / 2, m^5/s^2, or zero for the gravity of a point mass."""
        return 0.5 * self.mu * self.J2 * self.radius**2 if gravity == "j2" else 0.0


#: WGS 84 (mu, radius, spin); J2 of EGM96.
EARTH = Planet(mu=3.986004418e14, radius=6378137.0, J2=1.0826266835531513e-3, spin=7.292115e-5)
