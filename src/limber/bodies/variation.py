r"""Flexible bodies with other numbers and the same mode shapes.

A variation multiplies the density and the stiffnesses of a body by factors.  The shapes, and thus the meaning of the
modal coordinates, remain those of the nominal body, and the modal matrices follow exactly:

    inertias     mu times those of the nominal body: its mass, its moments, and all of its modal integrals
    stiffness    s sum_i f_i K_i,  K_i the part of K due to the stiffness i of a beam (`beam_parts`)
    damping      a matrix is kept; a beam made with damping ratios zeta keeps these, D_rr = 2 zeta_r sqrt(K_rr mu_r)

A factor on all stiffnesses or on all masses does not change the mode shapes of any structure.  A factor on one
stiffness does not change those of a uniform beam without shear deformation either, because its two planes, torsion and
stretch are independent.  So the varied body is the one that would be made with these numbers, except for the
normalization of its modes: a new beam has modal masses of one, and this one has mu.  The shapes of other bodies would
change; keeping them is an approximation (of second order in the change for frequencies).  The same holds for a beam
with shapes due to a `load`, which does not change with its mass.  The polar inertia of a beam does not change with its
stiffnesses, even if it was computed from them.

Numbers may be floats, complex numbers, or of any scalar type whose elements have a method `sqrt`.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from limber.bodies.base import Quantity
from limber.bodies.recipe import damping_matrix
from limber.checks import Array, array, number, repeated, suggestion
from limber.errors import ArgumentValueError
from limber.frozen import with_changes

if TYPE_CHECKING:
    from limber.bodies.flexible import FlexibleBody

#: Parameters that stand for others, and the others.
PAIRS = {"EI": ("EIy", "EIz"), "GA": ("GAy", "GAz")}
#: Parameters that cannot be combined with others that already define everything: a stiffness matrix leaves no EI, and keeps
#: the damping matrix as it is.
EXCLUDED = {
    "mass_scale": ("mass",),
    "stiffness_scale": ("stiffness",),
    "damping_scale": ("damping", "stiffness"),
    "damping_ratio": ("damping", "stiffness"),
    **dict.fromkeys(("EI", "GA", "GJ", "EA"), ("stiffness",)),
    **{part: (pair, "stiffness") for pair, parts in PAIRS.items() for part in parts},
}
#: Parameters that may be zero; the others that are not matrices must be greater than that.
MAY_BE_ZERO = ("damping_scale", "damping_ratio")
_UNITS = {"EI": "N m^2", "GJ": "N m^2", "EA": "N", "GA": "N"}


@dataclass(frozen=True, eq=False)
class Variation:
    """The differences from the nominal body.

    factors : of "mass", of the stiffnesses of a beam by name, and of "stiffness" and "damping" as a whole.
    ratios : damping ratios of a beam, or None for those that it was made with.
    stiffness, damping : matrices that replace those of the nominal body, or None.
    """

    factors: Mapping[str, Any]
    ratios: Array | None = None
    stiffness: Array | None = None
    damping: Array | None = None

    def factor(self, name: str) -> Any:
        """One of the factors."""
        return self.factors.get(name, 1.0)


NONE = Variation({})


def quantities(body: FlexibleBody) -> dict[str, Quantity]:
    """The parameters of a flexible body with their values."""
    nominal, variation = body.nominal, body.variation
    f = variation.factor
    found = {
        "mass": Quantity(np.array(body.mass), ", kg; its density changes, all inertias with it"),
        "mass_scale": Quantity(np.array(f("mass")), ": mass over nominal mass"),
    }
    if not body.modes:
        return found
    found |= {
        "stiffness": Quantity(np.array(body.stiffness), ": modal stiffness K"),
        "stiffness_scale": Quantity(np.array(f("stiffness")), ": stiffness over nominal stiffness"),
        "damping": Quantity(np.array(body.damping), ": modal damping D"),
        "damping_scale": Quantity(np.array(f("damping")), ": damping over nominal damping"),
    }
    if variation.stiffness is None:
        values = {name: f(name) * part.root for name, part in nominal.beam_parts.items()}
        for name, value in values.items():
            found[name] = Quantity(np.array(value), f", {_UNITS[name.rstrip('yz')]}, at the root")
        for pair, parts in PAIRS.items():
            both = np.array([values[name] for name in parts if name in values])
            if both.size:
                words = f", {_UNITS[pair]}: {' and '.join(x for x in parts if x in values)}, at the root"
                found[pair] = _one_or_all(both, words)
    ratios = _ratios(nominal, variation)
    if ratios is not None:
        found["damping_ratio"] = _one_or_all(ratios, " of its modes")
    return found


def _one_or_all(values: Array, meaning: str) -> Quantity:
    """A quantity of equal numbers, given by one, or of several."""
    same = bool((values == values[0]).all())
    return Quantity(np.array(values[0]) if same else values, meaning, values.shape)


def _ratios(nominal: FlexibleBody, variation: Variation) -> Array | None:
    """The damping ratios of a beam that has them, (m,)."""
    if variation.damping is not None or nominal.recipe is None:
        return None
    if variation.ratios is not None:
        return variation.ratios
    own = np.array(nominal.recipe.damping)
    return own if own.ndim == 1 else None


def excluded(names: Iterable[str]) -> tuple[str, str] | None:
    """Two of these parameters that exclude each other, if there are any; the first one determines everything."""
    given = dict.fromkeys(names)  # in their order
    return next(((x, name) for name in given for x in EXCLUDED.get(name, ()) if x in given), None)


def varied_by(body: FlexibleBody, given: Mapping[str, Any]) -> Variation:
    """The variation of a body with further parameters, whose numbers are of any scalar type: arrays, or flat lists."""
    old = body.variation
    both = excluded(given)
    if both is not None:
        raise ArgumentValueError(
            f"{both[0]} and {both[1]} are both given, but the first already defines everything: remove one of "
            "them."
        )
    factors = dict(old.factors)
    stiffness, damping, ratios = old.stiffness, old.damping, old.ratios
    for name, value in given.items():
        flat = np.ravel(_objects(value))
        if name == "mass":
            factors["mass"] = flat[0] / body.nominal.mass
        elif name in ("mass_scale", "stiffness_scale", "damping_scale"):
            factors[name.removesuffix("_scale")] = flat[0]
        elif name == "stiffness":
            stiffness = _mirrored(flat, body.modes)
            factors = {k: x for k, x in factors.items() if k == "mass"}
            damping, ratios = (body.damping if damping is None else damping), None
        elif name == "damping":
            damping, ratios = _mirrored(flat, body.modes), None
            factors.pop("damping", None)
        elif name == "damping_ratio" and _ratios(body.nominal, old) is not None:
            ratios = flat if flat.size == body.modes else np.repeat(flat, body.modes)
        elif stiffness is None and name in body.nominal.stiffness_parameters:
            parts = body.nominal.stiffness_parameters[name]
            values = flat if flat.size == len(parts) else np.repeat(flat, len(parts))
            for (part, root), x in zip(parts.items(), values):
                factors[part] = x / root
        else:
            raise ArgumentValueError(_unknown(body, name))
    return Variation(factors, ratios, stiffness, damping)


def _mirrored(flat: np.ndarray, modes: int) -> np.ndarray:
    """The symmetric matrix (modes, modes) with the upper triangle of the numbers of a matrix."""
    square = flat.reshape(modes, modes)
    upper = np.arange(modes)[:, None] <= np.arange(modes)
    return np.where(upper, square, square.T)


def _unknown(body: FlexibleBody, name: str) -> str:
    """The message about a parameter that a body does not have."""
    names = quantities(body)
    return f"{name} is not one of its parameters, which are {', '.join(names)}.{suggestion(name, names)}"


def stiffness_parameters(nominal: FlexibleBody) -> dict[str, dict[str, float]]:
    """The parameters of a beam that are stiffnesses: those that each of them changes, with their nominal values."""
    roots = {name: part.root for name, part in nominal.beam_parts.items()}
    found = {name: {name: root} for name, root in roots.items()}
    for pair, parts in PAIRS.items():
        there = {name: roots[name] for name in parts if name in roots}
        if there:
            found[pair] = there
    return found


def _objects(value: Any) -> np.ndarray:
    """Numbers of any scalar type as an array of floats or of objects."""
    if isinstance(value, np.ndarray):
        return value
    plain = isinstance(value, float | int) or all(isinstance(x, float | int) for x in value)
    return np.array(value, dtype=float if plain else object)


def matrices(nominal: FlexibleBody, variation: Variation) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and damping (m, m) of a body in the scalar type of its variation."""
    f = variation.factor
    K: np.ndarray = nominal.stiffness if variation.stiffness is None else variation.stiffness
    if variation.factors.keys() - {"mass", "damping", "stiffness"}:
        parts = nominal.beam_parts.items()
        K = sum((part.stiffness * _zero_dimensional(f(name)) for name, part in parts), np.zeros(()))
    if "stiffness" in variation.factors:
        K = K * _zero_dimensional(f("stiffness"))
    D: np.ndarray = nominal.damping if variation.damping is None else variation.damping
    ratios = _ratios(nominal, variation)
    if ratios is not None and (variation.factors or variation.ratios is not None):
        return K, _by_ratios(nominal, ratios * _zero_dimensional(f("damping")), K, f("mass"))
    if "damping" in variation.factors:
        D = D * _zero_dimensional(f("damping"))
    return K, D


def _zero_dimensional(x: Any) -> np.ndarray:
    """A number of any scalar type as an array, so that arrays leave products to its elements."""
    made = np.empty((), float if isinstance(x, float | int) else object)
    made[()] = x
    return made


def _by_ratios(nominal: FlexibleBody, ratios: Array, K: np.ndarray, mass: Any) -> np.ndarray:
    """D of damping ratios (m,).

    The modal mass of a beam made with a load is one with the load, which does not become heavier with the beam.
    """
    if K.dtype == float and ratios.dtype == float and isinstance(mass, float):
        return np.diag(2.0 * ratios * np.sqrt(K.diagonal() * (1.0 + (mass - 1.0) * nominal.modal_mass.diagonal())))  # fmt: skip
    modal = [(mass - 1.0) * g + 1.0 for g in nominal.modal_mass.diagonal().tolist()]
    found = [
        2.0 * zeta * _root(k * mu) if not isinstance(zeta, float) or zeta else 0.0
        for zeta, k, mu in zip(ratios.tolist(), np.diag(K).tolist(), modal)
    ]
    D = np.zeros(K.shape, dtype=float if all(isinstance(x, float) for x in found) else object)
    D[np.diag_indices(len(found))] = found
    return D


def _root(x: Any) -> Any:
    """The square root of a number of any scalar type."""
    if isinstance(x, complex):
        return cmath.sqrt(x)
    return math.sqrt(x) if isinstance(x, float) else x.sqrt()


def checked(body: FlexibleBody, given: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of parameters, checked: masses and stiffnesses positive, damping not negative."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name in ("stiffness", "damping"):
            found[name] = array(name, value, (body.modes, body.modes))
        elif name == "damping_ratio":
            found[name] = repeated(
                name, value, body.modes, "Give one damping ratio, or one per mode."
            )
        elif name in PAIRS:
            there = body.nominal.stiffness_parameters.get(name, {})
            found[name] = repeated(name, value, max(len(there), 1), f"Give one number, or {', '.join(there)}.")  # fmt: skip
        else:
            found[name] = number(name, value)
        smallest = None if name in ("stiffness", "damping") else np.min(found[name])
        above = name not in MAY_BE_ZERO
        if smallest is not None and (smallest < 0.0 or (above and smallest == 0.0)):
            must = "greater than 0" if above else "at least 0"
            raise ArgumentValueError(f"{name} must be {must}, got {smallest:g}.")
    return found


def accepts(given: Mapping[str, Array]) -> np.ndarray:
    """Which numbers of many cases, finite and (cases, ...), certainly pass `checked`, (cases,); no matrices do."""
    good = np.ones(len(next(iter(given.values()))), dtype=bool)
    for name, value in given.items():
        x = value.reshape(len(value), -1)
        positive = x >= 0.0 if name in MAY_BE_ZERO else x > 0.0
        good &= positive.all(axis=1) & (name not in ("stiffness", "damping"))
    return good


def varied(nominal: FlexibleBody, variation: Variation) -> FlexibleBody:
    """The nominal body with a variation of floats."""
    from limber.bodies.flexible import modal_matrices  # noqa: PLC0415 (it is above this module)

    K, D = matrices(nominal, variation)
    if variation.stiffness is not None or variation.damping is not None:
        K, D = modal_matrices(K, D, nominal.modes)
    mu = variation.factor("mass")
    carrier, loads = nominal.carrier, nominal.load_stiffness
    if mu != 1.0:
        carrier = carrier.scaled(mu)
        loads = None if loads is None else loads.scaled(mu)
    recipe, recovery = nominal.recipe, nominal.recovery
    if variation.stiffness is not None:  # the section forces of such a body are unknown
        recipe = None
        recovery = None if recovery is None else replace(recovery, forces=None, beam=None)
    else:
        factors = tuple(
            (name, float(x))
            for name, x in variation.factors.items()
            if name != "damping" and x != 1.0
        )
        if recipe is not None:
            recipe = with_changes(
                recipe, damping=_damping_recipe(nominal, variation, D), factors=factors
            )
        if recovery is not None and recovery.forces is not None:
            recovery = recovery.scaled(factors)
    # the full model does not have these numbers
    moved = variation.stiffness is not None or bool(variation.factors.keys() - {"damping"})
    K.setflags(write=False)
    D.setflags(write=False)
    return nominal.with_numbers(
        variation,
        carrier=carrier,
        stiffness=K,
        damping=D,
        recipe=recipe,
        reduced_from=None if moved else nominal.reduced_from,
        recovery=recovery,
        load_stiffness=loads,
    )


def _damping_recipe(nominal: FlexibleBody, variation: Variation, D: Array) -> Any:
    """The damping of a beam in the form of its recipe."""
    ratios = _ratios(nominal, variation)
    if ratios is None:
        return damping_matrix(D)
    return tuple((ratios * variation.factor("damping")).tolist())
