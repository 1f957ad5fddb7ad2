"""Distributions of variables, which map uniform numbers between 0 and 1 to values.

A distribution is written in the same way in files and in Python, {"uniform": [0.8, 1.2]}. Each is defined by its
quantile function, so all samples (random, Latin hypercube, Sobol) are made in the unit cube and mapped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from limber.campaigns.records import digest
from limber.checks import did_you_mean, listed, shown
from limber.errors import ArgumentTypeError, ArgumentValueError

#: The continuous distributions, with the names of their numbers.
CONTINUOUS: dict[str, tuple[str, ...]] = {
    "uniform": ("low", "high"),
    "loguniform": ("low", "high"),
    "normal": ("mean", "deviation"),
    "lognormal": ("median", "sigma"),
    "triangular": ("low", "mode", "high"),
    "beta": ("a", "b", "low", "high"),
    "exponential": ("mean",),
}
DISCRETE = ("choice", "steps")
#: Options that can be combined with a distribution.
OPTIONS = ("within", "weights")
#: Where the quantiles of a distribution of SciPy are compared.
PROBABILITIES = np.linspace(0.0005, 0.9995, 1000)


@dataclass(frozen=True, eq=False)
class Distribution:
    """The distribution of one variable.

    record : the distribution in the form used in files.
    quantile : maps numbers from 0 to 1 to values; None for a discrete distribution.
    values, cumulative : for a discrete distribution, its values and their cumulative probabilities.
    """

    record: Any
    quantile: Callable[[np.ndarray], np.ndarray] | None = None
    values: tuple[Any, ...] = ()
    cumulative: tuple[float, ...] = ()

    @property
    def discrete(self) -> bool:
        """Whether the distribution is discrete."""
        return self.quantile is None

    def at(self, u: np.ndarray) -> list[Any]:
        """The values for numbers from 0 to 1 (quantiles)."""
        if self.quantile is not None:
            return np.asarray(self.quantile(u), dtype=float).tolist()
        chosen = np.searchsorted(self.cumulative, u, side="right")
        return [self.values[min(i, len(self.values) - 1)] for i in chosen.tolist()]


def distribution(name: str, given: Any) -> Distribution:
    """Make the distribution of a variable.

    given : {"uniform": [low, high]} and so on; a list or an array of equally likely values; or a frozen distribution of
        `scipy.stats`.
    """
    if hasattr(given, "ppf"):
        return _of_scipy(name, given)
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if isinstance(given, Sequence) and not isinstance(given, str):
        given = {"choice": list(given)}
    known = [*CONTINUOUS, *DISCRETE]
    if not isinstance(given, Mapping):
        raise ArgumentTypeError(
            f"vary[{name!r}] must be a distribution such as {{'uniform': [0.8, 1.2]}}, a list of values, or a frozen "
            f"distribution of scipy.stats; got {shown(given)}."
        )
    for key in given:
        if key not in known and key not in OPTIONS:
            raise ArgumentValueError(
                f"vary[{name!r}]: {shown(key)} is not a distribution. {did_you_mean(str(key), [*known, *OPTIONS])}"
            )
    kinds = [key for key in given if key in known]
    if len(kinds) != 1:
        raise ArgumentValueError(
            f"vary[{name!r}] needs one of {', '.join(known)}; got {' and '.join(kinds) or 'none'}."
        )
    (kind,) = kinds
    if kind in DISCRETE:
        return _discrete(name, kind, given)
    return _continuous(name, kind, given)


def _of_scipy(name: str, given: Any) -> Distribution:
    kind = getattr(getattr(given, "dist", None), "name", None)
    if kind is None:
        raise ArgumentTypeError(
            f"vary[{name!r}] must be a frozen distribution such as scipy.stats.norm(1.0, 0.1), got {shown(given)}."
        )
    one = np.shape(given.ppf(0.5)) == ()
    quantiles = np.asarray(given.ppf(PROBABILITIES)) if one else np.array([np.nan])
    if not np.isfinite(quantiles).all():
        raise ArgumentValueError(
            f"vary[{name!r}] must be a distribution of one finite number, but scipy.stats.{kind} with these arguments is "
            "not."
        )
    # arguments do not distinguish all distributions; histograms, for instance, have none
    return Distribution({"scipy": kind, "quantiles": digest(quantiles.tobytes())}, given.ppf)


def _numbers(name: str, kind: str, given: Any, names: tuple[str, ...]) -> list[float]:
    """The numbers of a distribution, given as a list or by their names."""
    if isinstance(given, Mapping):
        if set(given) != set(names):
            raise ArgumentValueError(
                f"vary[{name!r}].{kind} needs {', '.join(names)}; got {listed(given)}."
            )
        given = [given[key] for key in names]
    if len(names) == 1 and not isinstance(given, Sequence):
        given = [given]
    plain = isinstance(given, Sequence | np.ndarray) and not isinstance(given, str)
    if not plain or len(given) != len(names):
        raise ArgumentValueError(
            f"vary[{name!r}].{kind} must be [{', '.join(names)}], got {shown(given)}."
        )
    for x in given:
        if isinstance(x, bool) or not isinstance(x, int | float | np.number) or not np.isfinite(x):
            raise ArgumentValueError(
                f"vary[{name!r}].{kind} must be finite numbers, got {shown(x)}."
            )
    return [float(x) for x in given]


def _continuous(name: str, kind: str, given: Mapping[str, Any]) -> Distribution:
    numbers = _numbers(name, kind, given[kind], CONTINUOUS[kind])
    if "weights" in given:
        raise ArgumentValueError(
            f"vary[{name!r}]: weights can only be used with choice, not with {kind}."
        )
    wrong = _wrong(kind, numbers)
    if wrong:
        raise ArgumentValueError(f"vary[{name!r}].{kind} = {numbers}: {wrong}.")
    record: dict[str, Any] = {kind: numbers}
    frozen = _frozen(kind, numbers)
    if "within" not in given:
        return Distribution(record, frozen.ppf)
    low, high = _numbers(name, "within", given["within"], ("low", "high"))
    record["within"] = [low, high]
    # beyond the median probabilities count from the other end, where they are small and have all of their digits
    upper = frozen.cdf(low) > 0.5
    first, last = (frozen.sf(x) if upper else frozen.cdf(x) for x in (low, high))
    if first == last:
        raise ArgumentValueError(
            f"vary[{name!r}].within = [{low:g}, {high:g}] does not overlap with {kind} {numbers}."
        )
    quantile = frozen.isf if upper else frozen.ppf
    return Distribution(record, lambda u: np.clip(quantile(first + u * (last - first)), low, high))


def _wrong(kind: str, x: list[float]) -> str:
    """A description of errors in the numbers of a distribution."""
    if kind in ("uniform", "loguniform") and not x[0] < x[1]:
        return "low must be less than high"
    if kind == "loguniform" and not x[0] > 0.0:
        return "low must be greater than zero"
    if kind == "normal" and not x[1] > 0.0:
        return "the deviation must be greater than zero"
    if kind == "lognormal" and not (x[0] > 0.0 and x[1] > 0.0):
        return "median and sigma must be greater than zero"
    if kind == "triangular" and not (x[0] <= x[1] <= x[2] and x[0] < x[2]):
        return "low, mode and high must increase"
    if kind == "beta" and not (x[0] > 0.0 and x[1] > 0.0 and x[2] < x[3]):
        return "a and b must be greater than zero, and low less than high"
    if kind == "exponential" and not x[0] > 0.0:
        return "the mean must be greater than zero"
    return ""


def _frozen(kind: str, x: list[float]) -> Any:
    """The distribution of SciPy."""
    from scipy import stats  # noqa: PLC0415 (slow to import)

    if kind == "uniform":
        return stats.uniform(x[0], x[1] - x[0])
    if kind == "loguniform":
        return stats.loguniform(x[0], x[1])
    if kind == "normal":
        return stats.norm(x[0], x[1])
    if kind == "lognormal":
        return stats.lognorm(x[1], scale=x[0])
    if kind == "triangular":
        return stats.triang((x[1] - x[0]) / (x[2] - x[0]), x[0], x[2] - x[0])
    if kind == "beta":
        return stats.beta(x[0], x[1], x[2], x[3] - x[2])
    return stats.expon(scale=x[0])


def _discrete(name: str, kind: str, given: Mapping[str, Any]) -> Distribution:
    if "within" in given:
        raise ArgumentValueError(
            f"vary[{name!r}]: within can only be used with {', '.join(CONTINUOUS)}."
        )
    if kind == "steps":
        first, last, count = _numbers(name, kind, given[kind], ("first", "last", "number"))
        if count < 2 or count != int(count):
            raise ArgumentValueError(
                f"vary[{name!r}].steps: the number must be a whole number of at least 2, got {count:g}."
            )
        values: list[Any] = np.linspace(first, last, int(count)).tolist()
    else:
        values = given[kind].tolist() if hasattr(given[kind], "tolist") else given[kind]
        if not isinstance(values, Sequence) or isinstance(values, str) or not len(values):
            raise ArgumentValueError(
                f"vary[{name!r}].choice must be a list of values, got {shown(values)}."
            )
        values = [x.item() if isinstance(x, np.generic) else x for x in values]
    weights = np.ones(len(values))
    if "weights" in given:
        names = tuple(f"weight of {shown(x)}" for x in values)
        weights = np.array(_numbers(name, "weights", given["weights"], names))
        if not (weights >= 0.0).all() or not weights.sum() > 0.0:
            raise ArgumentValueError(
                f"vary[{name!r}].weights must not be negative, and at least one must be above zero."
            )
    record: dict[str, Any] = {kind: [first, last, int(count)] if kind == "steps" else values}
    record |= {"weights": weights.tolist()} if "weights" in given else {}
    cumulative = np.cumsum(weights / weights.sum())
    return Distribution(record, None, tuple(values), tuple(cumulative.tolist()))
