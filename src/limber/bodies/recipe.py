"""The few numbers from which a beam was made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from limber.bodies.section import Section, check_sections
from limber.checks import Array

#: Ratios of the modes, or the rows of their damping matrix.
Damping = tuple[float, ...] | tuple[tuple[float, ...], ...]


def damping_matrix(D: Array) -> Damping:
    """A damping matrix (m, m) as a recipe has it."""
    return tuple(tuple(row) for row in D.tolist())


@dataclass(frozen=True)
class BeamRecipe:
    """The arguments of `beam` and of `placed`, as plain numbers.

    factors : of "mass", of "stiffness" as a whole and of stiffnesses by name, by which the beam was changed while its
        mode shapes were kept.

    `beam` makes the same numbers from the same recipe, bit for bit, with the same versions of NumPy and
    SciPy.  Model files hold the recipe by default.
    """

    length: float
    mass: float | None
    EI: tuple[float, float] | None
    GJ: float | None
    EA: float | None
    GA: tuple[float, float] | None
    modes: tuple[tuple[str, int], ...]
    elements: int
    damping: Damping
    polar_inertia: float | None
    rotary_inertia: tuple[float, float] | None
    load: tuple[float, float | tuple[float, ...]] | None
    section: Section | tuple[Section, Section] | None = None
    offset: tuple[float, ...] | None = None
    rotation: tuple[tuple[float, ...], ...] | None = None
    geometric_stiffening: bool = False
    factors: tuple[tuple[str, float], ...] = ()

    def placed(self, R: Array, shift: Array) -> BeamRecipe:
        """The same beam in another frame, in which the old origin lies at `shift` and the old axes are the columns of R."""
        offset = np.zeros(3) if self.offset is None else np.array(self.offset)
        rotation = np.eye(3) if self.rotation is None else np.array(self.rotation)
        return replace(
            self,
            offset=tuple((R @ offset + shift).tolist()),
            rotation=tuple(map(tuple, (R @ rotation).tolist())),
        )

    def force_factors(self) -> Array:
        """(6,): the factors of the stiffnesses against N, Vy, Vz, Mx, My, Mz.

        A beam without shear strains has those of bending in place of the factors for shear.
        """
        GA = self.GA if self.section is None else check_sections("section", self.section)[0].kGA
        shear = ("GAy", "GAz") if GA else ("EIz", "EIy")
        return np.array(self._factors(None, "EA", *shear, "GJ", "EIy", "EIz"))

    def _factors(self, factors: Mapping[str, Any] | None, *names: str) -> list[Any]:
        """The factors of the stiffnesses of these names, among `factors` or, if None, those of the recipe."""
        known: Mapping[str, Any] = dict(self.factors) if factors is None else factors
        return [known.get("stiffness", 1.0) * known.get(name, 1.0) for name in names]

    def bending_stiffness(self, factors: Mapping[str, Any] | None = None) -> Any:
        """The smallest EI of the planes with bending modes, N m^2; None without such modes.

        factors : those of the recipe, unless they are given, as floats or, for many cases, arrays (cases,).
        """
        counts = dict(self.modes)
        planes = [i for i, kind in enumerate(("z", "y")) if counts[kind]]
        scale = self._factors(factors, "EIy", "EIz")
        if isinstance(self.section, Section):
            ends: list = [self.section.EI]
        else:
            ends = [x.EI for x in self.section] if self.section else [self.EI]
        return (
            reduce(np.minimum, [scale[i] * EI[i] for EI in ends for i in planes])
            if planes
            else None
        )

    def tipping_moments(self, factors: Mapping[str, Any] | None = None) -> Array:
        """(..., 2): the moments about y and z at the root, N m, at which a force at the tip tips the beam over sideways.

        They are Prandtl's 4.013 sqrt(EI GJ) / L of a cantilever, with the sideways EI.  The curvature due to the force
        increases them by 1 / sqrt(1 - EI / EI of the bending).  They are infinite if they are not known or do not
        exist: without GJ, without modes in the sideways plane, and if that plane is the stiffer one.  `factors` are
        those of `bending_stiffness`.
        """
        sections = self.section if isinstance(self.section, tuple) else (self.section,)
        each = [(x.EI, x.GJ) if x is not None else (self.EI, self.GJ) for x in sections]
        counts = dict(self.modes)
        *by_EI, by_GJ = self._factors(factors, "EIy", "EIz", "GJ")
        found = np.full((*np.broadcast_shapes(*map(np.shape, (*by_EI, by_GJ))), 2), np.inf)
        for EI, GJ in each:
            for about, sideways in ((0, "y"), (1, "z")):
                if EI is None or GJ is None or not counts[sideways]:
                    continue
                main, side = by_EI[about] * EI[about], by_EI[1 - about] * EI[1 - about]
                softer = np.where(side < main, side / main, 0.0)
                root = np.sqrt(side * by_GJ * GJ / (1.0 - softer))
                moment = np.where(side < main, 4.013 * root / self.length, np.inf)
                found[..., about] = np.minimum(found[..., about], moment)
        return found
