"""The environment of free-flyers in orbit: gravity of a planet with its gradient."""

from limber.orbit.environment import Environment, OrbitalFrame
from limber.orbit.orbits import Elements, Orbit, circular, elements, osculating, state
from limber.orbit.planet import EARTH, Planet
from limber.orbit.track import Track

__all__ = [
    "EARTH",
    "Elements",
    "Environment",
    "Orbit",
    "OrbitalFrame",
    "Planet",
    "Track",
    "circular",
    "elements",
    "osculating",
    "state",
]
