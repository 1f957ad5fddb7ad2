"""The few numbers from which a beam was made."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
        """(6,): by what the section forces of a mode were multiplied: N, Vy, Vz, Mx, My, Mz.

        Shear forces are those of the shear strains or, in a beam without these, follow from the moments.
        """
        f = dict(self.factors)
        GA = self.GA if self.section is None else check_sections("section", self.section)[0].kGA
        shear = ("GAy", "GAz") if GA else ("EIz", "EIy")
        parts = [f.get(name, 1.0) for name in ("EA", *shear, "GJ", "EIy", "EIz")]
        return f.get("stiffness", 1.0) * np.array(parts)

    def bending_stiffness(self) -> float | None:
        """The least EI of the planes with bending modes, N m^2; None without such modes."""
        counts, factors = dict(self.modes), dict(self.factors)
        planes = [i for i, kind in enumerate(("z", "y")) if counts[kind]]
        scale = [factors.get("stiffness", 1.0) * factors.get(name, 1.0) for name in ("EIy", "EIz")]
        if isinstance(self.section, Section):
            ends: list = [self.section.EI]
        else:
            ends = [x.EI for x in self.section] if self.section else [self.EI]
        return min((scale[i] * EI[i] for EI in ends for i in planes), default=None)
