"""Systems whose tanks have lost mass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from limber.assembly.system import System


def drained(system: System, masses: Mapping[str, float]) -> System:
    """The system with other masses of tanks, and inertias in proportion."""
    given: dict[str, Any] = {}
    for body, mass in masses.items():
        tank: Any = system.bodies[body]
        if mass != tank.mass:
            given |= {f"{body}.mass": mass, f"{body}.inertia": tank.inertia * (mass / tank.mass)}
    return system.with_parameters(given) if given else system
