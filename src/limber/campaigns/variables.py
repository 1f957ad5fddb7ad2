"""Variables of a campaign: what is sampled, and what it sets.

A variable sets a parameter of the model (`System.parameters`), or an entry of the scenario file, by its own name; or it
sets or scales several of them under a name of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from limber.campaigns.distributions import Distribution, distribution
from limber.checks import Array, shown
from limber.errors import ArgumentTypeError, ArgumentValueError


@dataclass(frozen=True, eq=False)
class Variable:
    """A sampled variable.

    sets, scales : the entries that are set to the value, and those that are multiplied by it.
    """

    name: str
    distribution: Distribution
    sets: tuple[str, ...]
    scales: tuple[str, ...]

    @property
    def record(self) -> dict[str, Any]:
        """The variable in the form used in files."""
        return {
            **self.distribution.record,
            **({"sets": list(self.sets)} if self.sets not in ((), (self.name,)) else {}),
            **({"scales": list(self.scales)} if self.scales else {}),
        }


def variables_of(vary: Any) -> dict[str, Variable]:
    """The variables of `vary`, {name: distribution}."""
    if not isinstance(vary, Mapping):
        raise ArgumentTypeError(
            f'vary must map names to distributions, as in {{"link1.EI": {{"uniform": [8e4, 1.2e5]}}}}; got {shown(vary)}.'
        )
    return {name: _variable(name, given) for name, given in vary.items()}


def _variable(name: Any, given: Any) -> Variable:
    if not isinstance(name, str) or not name:
        raise ArgumentTypeError(f"vary: a name must be text, got {shown(name)}.")
    sets: tuple[str, ...] = ()
    scales: tuple[str, ...] = ()
    if isinstance(given, Mapping):
        given = dict(given)
        sets, scales = (_names(name, key, given.pop(key, ())) for key in ("sets", "scales"))
    return Variable(name, distribution(name, given), sets if sets or scales else (name,), scales)


def _names(name: str, key: str, given: Any) -> tuple[str, ...]:
    given = [given] if isinstance(given, str) else given
    if not isinstance(given, list | tuple) or not all(isinstance(x, str) for x in given):
        raise ArgumentTypeError(
            f"vary[{name!r}].{key} must be a list of names, got {shown(given)}."
        )
    return tuple(given)


def column(values: list[Any]) -> np.ndarray:
    """The values of a variable in all cases as an array: numbers (cases, ...), or text; other values are written as
    JSON.
    """
    plain = all(not isinstance(x, bool | str | Mapping) for x in values)
    if plain:
        try:
            return np.array(values, dtype=float)
        except (TypeError, ValueError):
            pass
    return np.array([x if isinstance(x, str) else json.dumps(x) for x in values], dtype=object)


def scaled(what: str, nominal: Any, factor: Any) -> Any:
    """A nominal value times a factor."""
    try:
        found: Array = np.asarray(nominal, dtype=float) * float(factor)
    except (TypeError, ValueError):
        raise ArgumentValueError(
            f"{what} is {shown(nominal)}, which cannot be scaled by {shown(factor)}."
        ) from None
    return found.tolist()
