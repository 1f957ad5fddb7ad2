"""Loads along beams, compared with those at which they would buckle.

A load N along a beam (positive where it pulls) changes the square of its first bending frequency by the part
N / P, with P = pi^2 EI / (4 L^2) the load at which a cantilever buckles.  A beam without geometric stiffening leaves that
out: it neither buckles nor stiffens.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.evaluate import External, evaluated
from limber.errors import TheoryWarning, warn

#: A beam that carries more than this part of its buckling load along its axis is told about: its first frequency of
#: bending is off by about half of this part.
LOADED = 0.1


@dataclass(frozen=True, eq=False)
class PlainBeams:
    """The beams of a system that have bending modes and no geometric stiffening, as arrays over them."""

    names: tuple[str, ...]
    numbers: np.ndarray  # of the bodies
    axis: Array  # (n, 3) of the beam, from its root, body axes
    critical: Array  # (n,) load at which a cantilever buckles, N

    def loads(self, wrenches: Array) -> Array:
        """The load along each beam at its root, N, positive where it pulls, from `carried_wrenches` (..., bodies, 6)."""
        return -np.einsum("...bi,bi->...b", wrenches[..., self.numbers, 3:], self.axis)


_beams: WeakKeyDictionary[System, PlainBeams] = WeakKeyDictionary()


def plain_beams(system: System) -> PlainBeams:
    """The beams of a system that loads would stiffen or soften if they had geometric stiffening."""
    if system not in _beams:
        found = []
        for name, body in system.bodies.items():
            load = body.buckling()
            if load is not None:
                found.append((name, system.number(name) - 1, *load))
        names, numbers, axes, critical = zip(*found) if found else ((), (), (), ())
        _beams[system] = PlainBeams(
            names,
            np.array(numbers, dtype=np.int64),
            np.array(axes, dtype=float).reshape(-1, 3),
            np.array(critical, dtype=float),
        )
    return _beams[system]


def warn_of_axial_loads(
    system: System, q: Array, v: Array, external: External | None = None
) -> None:
    """Warn of each plain beam whose load along its axis is not small, in equilibrium at (q, v)."""
    beams = plain_beams(system)
    if not beams.names:
        return
    zero = np.zeros(system.nv)
    _, wrenches = evaluated(system, "carried_wrenches", (q, v, zero), external=external)
    loads = beams.loads(wrenches)
    for i in np.flatnonzero(np.abs(loads) > LOADED * beams.critical):
        warn(described(beams.names[i], loads[i], beams.critical[i]), TheoryWarning)


def described(name: str, load: float, critical: float, when: str = "") -> str:
    """The warning about a beam with this load along its axis."""
    part = abs(load) / critical
    off = f"about {50.0 * part:.0f} %" if part < 0.5 else "far"
    if load > 0.0:
        what, effect = "is pulled by", f"its lowest frequency is {off} too low"
    elif part < 1.0:
        what, effect = "is pressed by", f"its lowest frequency is {off} too high"
    else:
        what, effect = "is pressed by", "a real beam would buckle"
    return (
        f"body {name!r} {what} {abs(load):.4g} N along its axis{when}, {part:.2g} of the load at which a cantilever "
        f"like it buckles, {critical:.4g} N. Its linear shapes leave out what this load does to its stiffness: {effect}. "
        f"Make it with geometric_stiffening=True. Below {LOADED:g} of that load no warning comes."
    )
