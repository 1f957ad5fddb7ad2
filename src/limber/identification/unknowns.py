"""The unknowns of an identification: numbers of the model with initial guesses, bounds and priors, in scaled variables.

A positive number p, such as a mass or a stiffness, is estimated as z = log(p / start), every other one as z = (p -
start) / scale.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from limber.assembly import parameters as table
from limber.assembly.system import System
from limber.checks import Array, number, shown
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.identification.sensitivity import Number

#: Quantities that are greater than zero, and those that are not below zero.
POSITIVE = (
    "mass", "mass_scale", "stiffness_scale", "EI", "EIy", "EIz", "GJ", "EA", "GA", "GAy", "GAz", "joint_stop_stiffness",
)  # fmt: skip
NOT_NEGATIVE = (
    "damping_scale", "damping_ratio", "joint_armature", "joint_stiffness", "joint_damping", "joint_friction",
    "joint_static_friction",
)  # fmt: skip
#: Matrices that are symmetric: one number stands for two of their elements.
SYMMETRIC = ("inertia", "stiffness", "damping")

_WITH_PLACE = re.compile(r"^(?P<name>.+)\[(?P<place>\d+(?:\s*,\s*\d+)*)\]$")


@dataclass(frozen=True)
class Unknown:
    """How a parameter is estimated.

    start : the initial guess; by default the value of the system.
    bounds : (lowest, highest); None for none.
    prior : (mean, standard deviation), prior knowledge as a Gaussian distribution.
    scale : "log" for positive numbers, "linear" for all; by default chosen by the kind of the parameter.
    """

    start: float | None = None
    bounds: tuple[float | None, float | None] = (None, None)
    prior: tuple[float, float] | None = None
    scale: str | None = None


@dataclass(frozen=True, eq=False)
class Sought:
    """One unknown number of the model.

    name : as shown in results, such as "tool.com[0]".
    number : its parameter and its place.
    start : the initial guess.
    low, high : bounds of the number, infinite for none.
    prior : (mean, standard deviation), or None.
    log : whether z is a logarithm.
    unit : the change of the number per unit of z at the start.
    sized : whether something tells the size of the number; otherwise the search finds a unit (`Problem.find_units`).
    """

    name: str
    number: Number
    start: float
    low: float
    high: float
    prior: tuple[float, float] | None
    log: bool
    unit: float
    sized: bool = True

    def value(self, z: float) -> float:
        """The number at z."""
        return self.start * math.exp(z) if self.log else self.start + self.unit * z

    def slope(self, z: float) -> float:
        """Its derivative with respect to z."""
        return self.value(z) if self.log else self.unit

    def scaled(self, value: float) -> float:
        """z for a value of the number."""
        if not self.log:
            return (value - self.start) / self.unit
        return math.log(value / self.start) if value > 0.0 else -math.inf

    @property
    def range(self) -> tuple[float, float]:
        """The bounds of z."""
        return self.scaled(self.low), self.scaled(self.high)


def sought(system: System, given: Any) -> list[Sought]:
    """The unknown numbers named by `parameters` of `identify`."""
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, Mapping | Iterable):
        raise ArgumentTypeError(
            f'parameters must be names, as in ["link.EI", "tool.mass"], or map them to Unknown(...), got {shown(given)}.'
        )
    items = given.items() if isinstance(given, Mapping) else ((name, None) for name in given)
    found: list[Sought] = []
    for name, given_how in items:
        how = Unknown() if given_how is None else given_how
        if not isinstance(how, Unknown):
            raise ArgumentTypeError(
                f"parameters[{name!r}] must be lb.identification.Unknown(start=..., bounds=..., prior=...) or None, got {shown(how)}."
            )
        found += _of_parameter(system, name, how)
    if not found:
        raise ArgumentValueError("parameters is empty: give at least one parameter.")
    names = [one.name for one in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ArgumentValueError(f"parameters has {', '.join(twice)} more than once.")
    return found


def _of_parameter(system: System, name: Any, how: Unknown) -> list[Sought]:
    parsed = _WITH_PLACE.match(name) if isinstance(name, str) else None
    parameter = table.find(system, parsed["name"] if parsed else name)
    value, quantity = np.asarray(parameter.value), parameter.quantity
    if quantity == "rotation":
        raise ArgumentValueError(
            f"parameter {name!r} is a rotation matrix, whose elements cannot change independently: identify other numbers."
        )
    symmetric = quantity in SYMMETRIC and value.ndim == 2
    places = [tuple(map(int, i)) for i in np.ndindex(value.shape)]
    if symmetric:
        places = [place for place in places if place[0] <= place[1]]
    if parsed:
        place = tuple(int(i) for i in parsed["place"].split(","))
        if symmetric:
            place = tuple(sorted(place))
        if place not in places:
            raise ArgumentValueError(
                f"parameter {name!r}: {parameter.name} has shape {value.shape}, and no element {list(place)}."
            )
        places = [place]
    if len(places) > 1 and how != Unknown():
        raise ArgumentValueError(
            f"parameter {name!r} has {len(places)} numbers: give the start, bounds and prior of each of them, as in "
            f'"{name}{_place(places[0])}".'
        )
    size = float(np.abs(value).max(initial=0.0))
    return [
        _sought(
            f"{parameter.name}{_place(at)}",
            (parameter.name, at),
            float(value[at]),
            size,
            quantity,
            how,
        )
        for at in places
    ]


def _place(place: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, place))}]" if place else ""


def _sought(
    name: str, of: Number, value: float, size: float, quantity: str, how: Unknown
) -> Sought:
    """An unknown number; `size` is that of the largest number of its parameter."""
    start = value if how.start is None else number(f"start of {name!r}", how.start)
    prior = None
    if how.prior is not None:
        if not isinstance(how.prior, Sequence | np.ndarray) or len(how.prior) != 2:
            raise ArgumentTypeError(
                f"prior of {name!r} must be (mean, standard deviation), got {shown(how.prior)}."
            )
        prior = (
            number(f"mean of the prior of {name!r}", how.prior[0]),
            number(f"standard deviation of the prior of {name!r}", how.prior[1], above=0.0),
        )
    if how.scale not in (None, "log", "linear"):
        raise ArgumentValueError(
            f'scale of {name!r} must be "log" or "linear", got {shown(how.scale)}.'
        )
    log = how.scale == "log" or (how.scale is None and quantity in POSITIVE)
    least = 0.0 if quantity in (*POSITIVE, *NOT_NEGATIVE) or log else -math.inf
    if not isinstance(how.bounds, Sequence | np.ndarray) or len(how.bounds) != 2:
        raise ArgumentTypeError(
            f"bounds of {name!r} must be (lowest, highest), None for none, got {shown(how.bounds)}."
        )
    low, high = (
        default if x is None else number(f"bounds of {name!r}", x)
        for x, default in zip(how.bounds, (least, math.inf))
    )
    if log and not start > 0.0:
        raise ArgumentValueError(
            f"start of {name!r} must be greater than 0, got {start:g}: its logarithm is estimated. Give start=..., or "
            'scale="linear".'
        )
    if not low <= start <= high or not low < high:
        raise ArgumentValueError(
            f"start of {name!r}, {start:g}, must lie within its bounds, {low:g} to {high:g}."
        )
    width = high - low if math.isfinite(high - low) else 0.0
    sizes = (abs(start), prior[1] if prior else 0.0, width, size)
    unit = next((x for x in sizes if x > 0.0), 0.0)
    return Sought(name, of, start, low, high, prior, log, unit or 1.0, unit > 0.0)


def with_numbers(system: System, unknowns: Sequence[Sought], values: Iterable[float]) -> System:
    """The system with these values of the unknown numbers."""
    changed: dict[str, Array] = {}
    for one, value in zip(unknowns, values):
        name, place = one.number
        parameter = table.find(system, name)
        x = changed.setdefault(name, np.array(parameter.value, dtype=float))
        x[place] = value
        if len(place) == 2 and parameter.quantity in SYMMETRIC:
            x[place[::-1]] = value
    return system.with_parameters(changed)
