"""Section forces and strains of beams, mode by mode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.bodies.base import Body
from limber.bodies.beam import shapes_of
from limber.bodies.beam_constants import AlongBeam
from limber.bodies.beam_parts import load_factors
from limber.bodies.flexible import FlexibleBody
from limber.bodies.recipe import BeamRecipe
from limber.bodies.section import check_sections
from limber.bodies.section_forces import SectionForces
from limber.bodies.stations import along_beam, in_frame
from limber.checks import Array, array, shown
from limber.errors import ArgumentTypeError

#: The section forces and strains of each kind of mode.
COMPONENTS_OF = {"y": (1, 5), "z": (2, 4), "torsion": (3,), "stretch": (0,)}
#: The stiffness of every component; a shear stiffness of zero means no shear deformation.
STIFFNESSES = ("EA", "GAy", "GAz", "GJ", "EIy", "EIz")


def beam_forces(body: FlexibleBody, x: ArrayLike | None = None) -> SectionForces:
    """Return the section forces and strains of a beam per unit of each mode: stations (n,), columns (m,).

    At modal coordinates eta they are `beam_forces(body).forces @ eta`, in the axes of the beam.  Moments follow from
    the curvatures of the exact shapes; shear forces include the inertia of the mode outboard of the station.
    Components for which the beam has no modes are zero here, and `absent` lists them.  Strain gauges, Kalman filters and
    linear models have these forces, which depend on the state alone and converge with the number of modes.
    `Result.section_forces` has those of equilibrium.

    Parameters
    ----------
    body : a beam made by `lb.beam`.
    x : (n,) stations along the beam, m.  None: those of its nodes.
    """
    recipe = beam_of(body)
    if recipe is None:
        raise ArgumentTypeError(f"body must be a beam made by lb.beam, got {shown(body)}.")
    at = None if x is None else array("x", x, ("n",))
    return _forces(recipe, *along_beam(body.nodes.names, recipe.length, at, "the beam"))


def beam_of(body: Body) -> BeamRecipe | None:
    """Return what a beam was made from, even if its damping or place has changed; None for other bodies."""
    recipe = getattr(body, "recipe", None)
    recovery = getattr(body, "recovery", None)
    return recovery.beam if recipe is None and recovery is not None else recipe


def section_forces_of(body: Body, at: Any, owner: str) -> SectionForces:
    """Return the section forces of a body per unit of each mode, at some or all stations; `owner` is for messages."""
    recipe = beam_of(body)
    if recipe is not None and body.modes:
        return _forces(recipe, *along_beam(body.node_set.names, recipe.length, at, owner))
    recovery = body.recovered()
    if recovery is None or recovery.forces is None:
        raise ArgumentTypeError(
            f"{owner} has no section forces: only beams made by lb.beam and bodies reduced from frames have them, "
            f"got {shown(body)}. For other bodies, define strain gauges with strain=... in "
            "FlexibleBody.from_nodes or Structure.reduce."
        )
    return in_frame(recovery, at, owner)


def compliances(along: AlongBeam, x: Array) -> Array:
    """(n, 6): the strains due to unit section forces at x; zero where the beam is rigid for lack of a stiffness."""
    stiffness = np.stack([along(name, x) for name in STIFFNESSES], axis=1)
    return np.where(stiffness > 0.0, 1.0 / np.where(stiffness > 0.0, stiffness, 1.0), 0.0)


def _forces(recipe: BeamRecipe, at: Array, names: Sequence[str]) -> SectionForces:
    along, shapes = shapes_of(replace(recipe, factors=()))
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
    absent = np.ones((at.size, 6), dtype=bool)
    for kind, count in recipe.modes:
        if count:
            absent[:, COMPONENTS_OF[kind]] = False
    surface, constants = _sections(recipe.section, at / recipe.length)
    nominal = SectionForces(forces, strains, surface, constants, absent, tuple(names))
    if not recipe.factors:
        return nominal
    return nominal.scaled(recipe.force_factors(), load_factors(recipe))


def _sections(section, parts: Array) -> tuple[Array, Array]:
    """(n, p, 2) and (n, 4): points of the surface along the beam, and the stress constants there."""
    if section is None:
        return np.zeros((parts.size, 0, 2)), np.full((parts.size, 4), np.nan)
    first, second = check_sections("section", section)
    here = [first.between(second, part) for part in parts.tolist()]
    points = np.array([x.surface for x in here], dtype=float).reshape(parts.size, -1, 2)
    return points, np.array([x.stress_constants for x in here]).reshape(-1, 4)
