r"""Comparison of beams with the theory that they approximate.

The modes of the theory come from the Ritz method of `beam_ritz` with more polynomials than the modes need.  Deflections
of the tip under unit loads there come from quadrature:

    force  int (L - x)^2 / EI + 1 / kGA dx,    moment  int 1 / EI dx,    torsion  int 1 / GJ dx,    stretch  int 1 / EA dx
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from limber.bodies import beam_ritz
from limber.bodies.beam import shapes_of, tip_load
from limber.bodies.beam_constants import AlongBeam
from limber.bodies.beam_parts import beam_parts
from limber.bodies.beam_ritz import gauss_points
from limber.bodies.beam_shapes import BeamShape
from limber.bodies.recipe import BeamRecipe
from limber.checks import Array
from limber.structures.comparison import Comparison, StaticLoad, assurance

#: Modes of a kind that the theory computes beyond those that are compared.
MORE = 6


def beam_comparison(recipe: BeamRecipe) -> Comparison:
    """Compare the modes of a beam, by ascending frequency, and its static deflections with beam theory."""
    along, own = shapes_of(recipe)
    counts = dict(recipe.modes)
    exact = sorted(
        (s for kind, n in counts.items() for s in _modes(recipe, along, kind, n)),
        key=lambda s: s.omega,
    )
    if recipe.factors:
        own = _varied(recipe, along, own)
    own = sorted(own, key=lambda s: s.omega)
    omega = np.array([s.omega for s in exact])
    x, share = gauss_points(recipe.length, max(counts.values()) + MORE)
    inner = _product(recipe, along, x, share)
    product = np.array([[inner(a, b) for b in exact] for a in own])
    theory = "Timoshenko's" if not along.root.slender else "Euler and Bernoulli's"
    load = ", with its load at the tip" if recipe.load is not None else ""
    return Comparison(
        full=f"{theory} beam theory",
        held=f"clamped at the root{load}",
        omega=omega,
        own=np.array([s.omega for s in own]),
        mac=assurance(product, omega),
        static=_static(recipe, along, own),
        movable=None,
        remedy="more modes, or load=... of the beam, reduce this error",
    )


@dataclass(frozen=True, eq=False)
class _Scaled:
    """A shape of a changed beam, normalized with its present masses."""

    shape: BeamShape
    omega: float
    size: float

    @property
    def kind(self) -> str:
        return self.shape.kind

    def value(self, x: Array) -> Array:
        return self.size * self.shape.value(x)

    def slope(self, x: Array) -> Array:
        return self.size * self.shape.slope(x)

    def turn(self, x: Array) -> Array:
        return self.size * self.shape.turn(x)

    def strain(self, x: Array) -> Array:
        return self.size * self.shape.strain(x)

    def shear_force(self, x: Array) -> Array:
        return self.size * self.shape.shear_force(x)


def _varied(recipe: BeamRecipe, along: AlongBeam, own: list[BeamShape]) -> list[BeamShape]:
    """The modes of a beam whose numbers were changed while its shapes were kept, each by itself."""
    factors = dict(recipe.factors)
    parts = beam_parts(replace(recipe, factors=()))
    K = factors.get("stiffness", 1.0) * np.sum(
        [factors.get(name, 1.0) * part.stiffness.diagonal() for name, part in parts.items()], axis=0
    )
    x, share = gauss_points(recipe.length, max(n for _, n in recipe.modes) + MORE)
    inner = _product(recipe, along, x, share)
    masses = [inner(shape, shape) for shape in own]
    return [
        _Scaled(shape, float(np.sqrt(k / mass)), mass**-0.5)
        for shape, k, mass in zip(own, K, masses)
    ]


def _modes(recipe: BeamRecipe, along: AlongBeam, kind: str, count: int) -> list[BeamShape]:
    """The first modes of a kind, by more polynomials than they need."""
    if not count:
        return []
    tip = tip_load(recipe.load)
    L, many = recipe.length, count + MORE
    x, _ = gauss_points(L, many)
    if kind in ("torsion", "stretch"):
        names = {"torsion": ("polar", "GJ", tip[1]), "stretch": ("mass", "EA", tip[0])}[kind]
        return beam_ritz.bar_shapes(
            kind, L, along(names[0], x), along(names[1], x), names[2], many
        )[:count]
    GA = along(f"GA{kind}", x) if getattr(along.root, f"GA{kind}") else None
    bends, turns = ("EIz", "rotary_z") if kind == "y" else ("EIy", "rotary_y")
    load = (tip[0], tip[3] if kind == "y" else tip[2])
    return beam_ritz.bending_shapes(
        kind, L, along("mass", x), along(bends, x), GA, along(turns, x), load, many
    )[:count]


def _product(
    recipe: BeamRecipe, along: AlongBeam, x: Array, share: Array
) -> Callable[[BeamShape, BeamShape], float]:
    """a^T M b of two modes, with the load at the tip."""
    tip, end = tip_load(recipe.load), np.array([recipe.length])
    # the inertia of displacement and of rotation, along the beam and at the tip
    inertias = {
        "y": ("mass", "rotary_z", tip[0], tip[3]),
        "z": ("mass", "rotary_y", tip[0], tip[2]),
        "torsion": ("polar", None, tip[1], 0.0),
        "stretch": ("mass", None, tip[0], 0.0),
    }

    def product(a: BeamShape, b: BeamShape) -> float:
        if a.kind != b.kind:
            return 0.0
        moved, turned, at_end, turned_end = inertias[a.kind]
        total = share @ (along(moved, x) * a.value(x) * b.value(x))
        total += at_end * (a.value(end) * b.value(end))[0]
        if turned is not None:
            total += share @ (along(turned, x) * a.turn(x) * b.turn(x))
            total += turned_end * (a.turn(end) * b.turn(end))[0]
        return float(total)

    return product


def _static(recipe: BeamRecipe, along: AlongBeam, own: list[BeamShape]) -> tuple[StaticLoad, ...]:
    """Deflections of the tip, without those that the numbers of the beam do not determine."""
    L = recipe.length
    x, share = gauss_points(L, 8)
    share = share * L

    def compliance(name: str, weight: Array | float = 1.0) -> float:
        return float(share @ (weight / along(name, x)))

    end = np.array([L])
    sums = {
        (kind, what): sum(
            float(getattr(s, what)(end)[0]) ** 2 / s.omega**2 for s in own if s.kind == kind
        )
        for kind in ("y", "z", "torsion", "stretch")
        for what in ("value", "turn")
    }
    root, found = along.root, []
    if root.EA:
        found.append(("force along x", compliance("EA"), sums["stretch", "value"]))
    for kind, bends in (("y", "EIz"), ("z", "EIy")):
        if getattr(root, bends):
            shear = compliance(f"GA{kind}") if getattr(root, f"GA{kind}") else 0.0
            total = compliance(bends, (L - x) ** 2) + shear
            found.append((f"force along {kind}", total, sums[kind, "value"]))
    if root.GJ:
        found.append(("moment about x", compliance("GJ"), sums["torsion", "value"]))
    for kind, bends, axis in (("z", "EIy", "y"), ("y", "EIz", "z")):
        if getattr(root, bends):
            found.append((f"moment about {axis}", compliance(bends), sums[kind, "turn"]))
    return tuple(StaticLoad("tip", *row) for row in found)
