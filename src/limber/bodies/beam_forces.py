"""Section forces and strains of beams, mode by mode."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.bodies.base import Body
from limber.bodies.beam import shapes_of
from limber.bodies.flexible import FlexibleBody
from limber.bodies.recipe import BeamRecipe
from limber.bodies.recovery import chosen_stations
from limber.bodies.section import check_sections
from limber.bodies.section_forces import SectionForces
from limber.checks import Array, array, shown
from limber.errors import ArgumentTypeError, ArgumentValueError


def beam_forces(body: FlexibleBody, x: ArrayLike | None = None) -> SectionForces:
    """Forces and strains in a beam by one unit of each of its modes: stations (n,), columns (m,).

    Those at modal coordinates eta are `beam_forces(body).forces @ eta`, in the axes of the beam.  Moments follow from
    the curvatures of the exact shapes; shear forces carry the inertia of the mode outboard of the station.

    Parameters
    ----------
    body : a beam made by `lb.beam`.
    x : (n,) stations along the beam, m.  None: those of its nodes.
    """
    recipe = getattr(body, "recipe", None)
    if not isinstance(recipe, BeamRecipe):
        raise ArgumentTypeError(
            f"body must be a beam made by lb.beam (and placed once at most), got {shown(body)}."
        )
    length = recipe.length
    at = np.linspace(0.0, length, recipe.elements + 1) if x is None else array("x", x, ("n",))
    if at.size and not (at.min() >= 0.0 and at.max() <= length * (1.0 + 1e-12)):
        raise ArgumentValueError(f"x must be from 0 to the length {length:g}, got {shown(x)}.")
    along, shapes = shapes_of(recipe)
    forces, strains = np.zeros((2, at.size, 6, len(shapes)))
    for r, shape in enumerate(shapes):
        strain = shape.strain(at)
        if shape.kind == "stretch":
            strains[:, 0, r], forces[:, 0, r] = strain, along("EA", at) * strain
        elif shape.kind == "torsion":
            strains[:, 3, r], forces[:, 3, r] = strain, along("GJ", at) * strain
        else:
            # a positive slope in the x-z plane is a negative turn about y
            shear, turn, sign, EI = (1, 5, 1.0, "EIz") if shape.kind == "y" else (2, 4, -1.0, "EIy")
            strains[:, turn, r] = sign * strain
            forces[:, turn, r] = sign * along(EI, at) * strain
            strains[:, shear, r] = shape.slope(at) - shape.turn(at)
            forces[:, shear, r] = shape.shear_force(at)
    return SectionForces(forces, strains, _surface(recipe.section, at / length))


def section_forces_of(body: Body, at: Any, owner: str) -> SectionForces:
    """Section forces of a body by its modes, at some or all of its stations; `owner` is for messages.

    Stations of beams may also be distances along them, m.
    """
    recovery = body.recovered()
    if recovery is None or recovery.forces is None:
        raise ArgumentTypeError(
            f"{owner} has no section forces: beams of lb.beam and bodies reduced from frames have them, got {shown(body)}. "
            "Strain gauges of other bodies are given as strain=... of FlexibleBody.from_nodes or Structure.reduce."
        )
    names = isinstance(at, str) or (
        isinstance(at, list | tuple) and any(isinstance(x, str) for x in at)
    )
    if getattr(body, "recipe", None) is not None and at is not None and not names:
        return beam_forces(body, np.atleast_1d(np.asarray(at, dtype=float)))  # type: ignore[arg-type]
    return chosen_stations(recovery, at, owner)


def _surface(section, parts: Array) -> Array:
    """(n, p, 2): points of the surface along the beam."""
    if section is None:
        return np.zeros((parts.size, 0, 2))
    first, second = check_sections("section", section)
    points = [first.between(second, part).surface for part in parts.tolist()]
    return np.array(points, dtype=float).reshape(parts.size, -1, 2)
