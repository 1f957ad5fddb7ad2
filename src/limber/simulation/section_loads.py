"""Section forces for which a beam has no modes, from the equilibrium of everything outboard of the section.

The beam is cut there (`bodies.beam_cuts`), and inverse dynamics gives the force that keeps the cut closed in the actual
motion, with the inertia, the weight and the external forces of everything outboard, including closure forces.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from limber import dynamics
from limber.assembly.system import System
from limber.bodies.beam import shapes_of
from limber.bodies.beam_cuts import cut_beam
from limber.bodies.beam_forces import beam_of, compliances
from limber.bodies.recipe import BeamRecipe
from limber.bodies.section_forces import COMPONENTS, SectionForces
from limber.bodies.stations import along_beam
from limber.checks import Array
from limber.dynamics.closure_loads import loads_in_motion
from limber.errors import ModelWarning, warn
from limber.simulation.tanks import drained

if TYPE_CHECKING:
    from limber.simulation.result import Result

#: The number of sections that are cut at the same time.
CUTS = 12


def completed(result: Result, body: str, at: Any, forces: SectionForces) -> SectionForces:
    """Section forces of a body over time at the stations `at`, including those that no mode has."""
    absent = forces.absent[0] if len(forces.absent) else np.zeros((0, 6), dtype=bool)
    if not absent.any():
        return forces
    of = result.system.bodies[body]
    recipe = beam_of(of)
    if recipe is None:
        missing = ", ".join(COMPONENTS[i] for i in np.flatnonzero(absent.any(axis=0)))
        warn(
            f"no mode of body {body!r} has these section forces in some of its members: {missing}. They are nan there, as "
            "are the strains and stresses computed from them. To obtain them, reduce the frame with more modes, or with "
            'method="static-correction" and interface=... at the nodes that carry loads.',
            ModelWarning,
        )
        return forces
    if result.environment is not None:
        missing = ", ".join(COMPONENTS[i] for i in np.flatnonzero(absent.any(axis=0)))
        warn(
            f"no mode of body {body!r} has these section forces: {missing}. They are computed from the inertia, torques "
            "and external forces of everything outboard and do not include what the environment does there: gravity, "
            "drag and burns. If that matters, give the beam modes for them, such as stretch and torsion.",
            ModelWarning,
        )
    x, _ = along_beam(of.node_set.names, recipe.length, at, f"body {body!r}")
    components = np.flatnonzero(absent.any(axis=0)).tolist()
    carried = np.zeros(forces.forces.shape)
    for start in range(0, x.size, CUTS):
        part = slice(start, start + CUTS)
        carried[:, part, components] = _carried(result, body, recipe, x[part], components)
    along, _ = shapes_of(recipe)
    return forces.with_absent(carried, carried * compliances(along, x))


def _carried(
    result: Result, body: str, recipe: BeamRecipe, x: Array, components: list[int]
) -> Array:
    """(n, stations, k): some of the section forces at x (stations,), by number."""
    system = result.system
    cut = cut_beam(recipe, tuple(x.tolist()), tuple(components))
    items = tuple(
        replace(item, body=cut) if name == body else item
        for name, item in system.attachments.items()
    )
    opened = System(system.name, items, system.gravity, "full", regular=False)
    count = x.size * len(components)
    q, v, vdot = (
        _widened(values, where.stop, count)
        for values, where in (
            (result.q, system.layout[body].q_modes),
            (result.v, system.layout[body].v_modes),
            (result.vdot, system.layout[body].v_modes),
        )
    )
    tau = np.empty_like(v)
    for closed, rows, part in result.parts():
        external: Any = dict(part.external) or None
        if closed.closures:
            given = part.q, part.v, result.vdot[rows], part.forces
            external = loads_in_motion(closed, *given, external)
        masses = {tank: float(x[0]) for tank, x in part.masses.items()}
        tau[rows] = dynamics.inverse_dynamics(
            drained(opened, masses), q[rows], v[rows], vdot[rows], external=external
        )
    end = opened.layout[body].v_modes.stop
    return -tau[:, end - count : end].reshape(-1, x.size, len(components))


def _widened(rows: Array, at: int, count: int) -> Array:
    """Rows with so many zeros inserted."""
    return np.hstack([rows[:, :at], np.zeros((len(rows), count)), rows[:, at:]])
