"""The environment of free-flyers in orbit: gravity of a planet with its gradient, drag, burns, propellant and slosh."""

from limber.orbit.air import EARTH_AIR, Atmosphere, Drag, Face, density_table, exponential
from limber.orbit.burns import G0, Burn
from limber.orbit.environment import Environment, OrbitalFrame
from limber.orbit.orbits import Elements, Orbit, circular, elements, osculating, state
from limber.orbit.planet import EARTH, Planet
from limber.orbit.slosh import Slosh
from limber.orbit.track import Track

__all__ = [
    "EARTH",
    "EARTH_AIR",
    "G0",
    "Atmosphere",
    "Burn",
    "Drag",
    "Elements",
    "Environment",
    "Face",
    "Orbit",
    "OrbitalFrame",
    "Planet",
    "Slosh",
    "Track",
    "circular",
    "density_table",
    "elements",
    "exponential",
    "osculating",
    "state",
]
