"""The parts of the modal stiffness of a beam, each proportional to one of its stiffnesses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from limber.bodies.beam_ritz import gauss_points
from limber.bodies.recipe import BeamRecipe
from limber.checks import Array

#: What resists the modes of each kind: strains of bending, torsion or stretch, and shear strains.
STIFFNESSES_OF = {"y": ("EIz", "GAy"), "z": ("EIy", "GAz"), "torsion": ("GJ", None), "stretch": ("EA", None)}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Part:
    """The part (m, m) of a modal stiffness that is proportional to one stiffness of a beam, with its value at the root."""

    root: float
    stiffness: Array


def beam_parts(recipe: BeamRecipe) -> Mapping[str, Part]:
    """The parts of the stiffness of a nominal beam, by the names of its stiffnesses; their sum is its stiffness."""
    from limber.bodies.beam import along_of, mode_kinds, shapes_of  # noqa: PLC0415 (it is above this module)

    along, counts = along_of(recipe), dict(recipe.modes)
    kinds = np.array(mode_kinds(counts))
    _, shapes = shapes_of(recipe)
    K = np.diag([s.omega**2 for s in shapes])
    found: dict[str, Part] = {}
    for kind, (strain, shear) in STIFFNESSES_OF.items():
        mine = kinds == kind
        if not mine.any():
            continue
        whole = np.where(np.outer(mine, mine), K, 0.0)
        part = whole
        if shear is not None and getattr(along.root, shear):
            x, share = gauss_points(recipe.length, max(counts.values()))
            rates = np.array([s.strain(x) if s.kind == kind else np.zeros_like(x) for s in shapes])
            part = (rates * (recipe.length * share * along(strain, x))) @ rates.T
            found[shear] = Part(getattr(along.root, shear), whole - part)
        found[strain] = Part(getattr(along.root, strain), part)
    return MappingProxyType(found)


def load_factors(recipe: BeamRecipe) -> Array:
    """(m, m): nominal^-1 K, by which a beam whose stiffnesses were multiplied by factors takes loads on its modes.

    A beam that is held at one end is statically determinate: the modal loads K eta determine its section forces,
    whatever its stiffness is.  So those at eta are the ones of the nominal beam at nominal^-1 K eta.
    """
    parts, known = beam_parts(replace(recipe, factors=())), dict(recipe.factors)
    nominal: Array = np.sum([part.stiffness for part in parts.values()], axis=0)
    changed: Array = np.sum([known.get(name, 1.0) * part.stiffness for name, part in parts.items()], axis=0)  # fmt: skip
    return known.get("stiffness", 1.0) * np.array(np.linalg.solve(nominal, changed), dtype=float)
