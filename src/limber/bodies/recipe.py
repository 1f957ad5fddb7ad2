"""What a beam was made from: a few numbers that stand for many."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BeamRecipe:
    """The arguments of `beam`, and where it was put by `placed`; plain numbers only.

    `beam` makes the same numbers from the same recipe, bit for bit, with the same versions of NumPy and
    SciPy; model files hold the recipe unless told otherwise.
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
