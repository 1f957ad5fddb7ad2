"""The choice of modes: by number, by frequency or by effective mass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from limber.checks import Array, array, did_you_mean, integer, number, shown
from limber.errors import ArgumentTypeError, ArgumentValueError, ModelError
from limber.structures.eigen import LowestModes

#: The most modes that a band or an effective mass may ask for.
MOST = 500

#: Directions of effective mass: of acceleration along, and of angular acceleration about the axes.
DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")

_FORMS = (
    'a number of modes, {"band": (low, high)} in rad/s, or {"effective_mass": fraction of the total}, together with '
    '"directions" if not all of ("x", "y", "z") are meant'
)


@dataclass(frozen=True)
class Choice:
    """The requested modes; one of `count`, `band` and `part` is given."""

    count: int | None = None
    band: tuple[float, float] | None = None
    part: float | None = None
    directions: tuple[str, ...] = ("x", "y", "z")


def mode_choice(modes: Any) -> Choice:
    """The argument `modes` of `reduce`, checked."""
    count = integer(modes)
    if count is not None:
        if count < 0:
            raise ArgumentValueError(f"modes must not be negative, got {count}.")
        return Choice(count=count)
    if not isinstance(modes, dict):
        raise ArgumentTypeError(f"modes must be {_FORMS}, got {shown(modes)}.")
    known = ("band", "effective_mass", "directions")
    for key in modes:
        if key not in known:
            raise ArgumentValueError(
                f"modes has the unknown key {key!r}. {did_you_mean(str(key), known)}"
            )
    if ("band" in modes) == ("effective_mass" in modes) or ("band" in modes and len(modes) > 1):
        raise ArgumentValueError(f"modes must be {_FORMS}, got {shown(modes)}.")
    if "band" in modes:
        low, high = array('modes["band"]', modes["band"], (2,), "(low, high) in rad/s.")
        if not 0.0 <= low < high:
            raise ArgumentValueError(
                f'modes["band"] must be (low, high) with 0 <= low < high, got {shown(modes["band"])}.'
            )
        return Choice(band=(float(low), float(high)))
    part = number('modes["effective_mass"]', modes["effective_mass"], above=0.0)
    if part >= 1.0:
        raise ArgumentValueError(
            f'modes["effective_mass"] must be a fraction of the total below 1, such as 0.95, got {part:g}.'
        )
    directions = tuple(modes.get("directions", ("x", "y", "z")))
    for d in directions:
        if d not in DIRECTIONS:
            raise ArgumentValueError(
                f'modes["directions"] has {d!r}; directions are {", ".join(DIRECTIONS)}.'
            )
    return Choice(part=part, directions=directions)


def chosen_modes(
    choice: Choice,
    modes: LowestModes,
    effective: Callable[[Array], Array],
    advanced: Callable[[float], None],
) -> tuple[Array, Array, Array]:
    """omega^2, shapes and accuracy of the requested modes.

    effective : the fractions of the total mass (k, 6) that shapes (N, k) have in each of `DIRECTIONS`, nan
        if there is no inertia.
    """
    if choice.count is not None:
        found = modes.find(choice.count, advanced)
        if found[0].size < choice.count:
            raise ModelError(
                f"modes requests {choice.count} modes, but with its supports the structure has only {found[0].size}. "
                "Request fewer."
            )
        return found
    count = 10
    while True:
        value, shapes, accuracy = modes.find(count, advanced)
        complete = value.size < count  # there are no more
        wanted = _wanted(choice, value, shapes, effective, complete)
        if wanted is not None:
            return value[wanted], shapes[:, wanted], accuracy[wanted]
        if complete:
            raise _out_of_reach(choice, value.size, effective(shapes).sum(axis=0))
        if count >= MOST:
            raise ModelError(
                f"modes={_asked(choice)} needs more than {MOST} modes: the highest of them has {np.sqrt(value[-1]):.6g} "
                "rad/s. Request less, or give the number of modes."
            )
        count = min(2 * count, MOST)


def _wanted(choice: Choice, value, shapes, effective, complete: bool) -> np.ndarray | slice | None:
    """Which of the modes are requested; None if they do not suffice."""
    if choice.band is not None:
        low, high = choice.band
        omega = np.sqrt(value)
        if not complete and omega[-1] <= high:
            return None
        inside = (omega >= low) & (omega <= high)
        if not inside.any():
            raise ModelError(
                f"modes={_asked(choice)} finds no mode: no frequency is in that band; the lowest are "
                f"{', '.join(f'{x:.6g}' for x in omega[:4])} rad/s."
            )
        return inside
    parts = effective(shapes)[:, [DIRECTIONS.index(d) for d in choice.directions]]
    sums = np.cumsum(
        np.nan_to_num(parts, nan=1.0), axis=0
    )  # without inertia nothing is to be reached
    reached = sums.min(axis=1) >= (choice.part or 0.0)
    return slice(0, int(reached.argmax()) + 1) if reached.any() else None


def _asked(choice: Choice) -> str:
    if choice.band is not None:
        return f'{{"band": ({choice.band[0]:g}, {choice.band[1]:g})}}'
    return f'{{"effective_mass": {choice.part:g}}}'


def _out_of_reach(choice: Choice, count: int, sums: Array) -> ModelError:
    reached = ", ".join(f"{sums[DIRECTIONS.index(d)]:.3g} in {d}" for d in choice.directions)
    return ModelError(
        f"modes={_asked(choice)} cannot be reached: all {count} modes of the structure together have {reached} of the "
        "total mass. Mass at clamped nodes does not count. Request less, or fewer directions."
    )
