"""The few numbers from which a beam was made."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BeamRecipe:
    """The arguments of `beam` and of `placed`, as plain numbers.

    `beam` makes the same numbers from the same recipe, bit for bit, with the same versions of NumPy and
    SciPy.  Model files hold the recipe by default.
    """

    length: float
    mass: float
    EI: tuple[float, float] | None
    GJ: float | None
    EA: float | None
    modes: tuple[tuple[str, int], ...]
    elements: int
    damping: tuple[float, ...]
    polar_inertia: float | None
    load: tuple[float, float | tuple[float, ...]] | None
    offset: tuple[float, ...] | None = None
    rotation: tuple[tuple[float, ...], ...] | None = None
    geometric_stiffening: bool = False
