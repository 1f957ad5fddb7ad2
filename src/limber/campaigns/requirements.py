"""Requirements: in what part of the cases a quantity stays within limits, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from limber.checks import Array, number
from limber.errors import ArgumentValueError

#: The confidence of intervals.
CONFIDENCE = 0.95
#: Samples of which the cases are not drawn from the distributions, so that their fractions are no probabilities.
NO_PROBABILITY = ("grid", "listed", "saltelli")


@dataclass(frozen=True)
class Requirement:
    """How many cases meet a requirement on a quantity: that it is below, or above, a limit.

    A case that failed, or in which the quantity is nan, does not meet it.

    quantity : its name.
    below, above : the limits; None where there is none.
    cases, met : the number of cases that ran, and of those that meet the requirement.
    low, high : the exact 95 % interval (Clopper and Pearson) of the probability that a case meets it, for cases that are
        drawn independently; nan for samples that are no random ones.
    """

    quantity: str
    below: float | None
    above: float | None
    cases: int
    met: int
    low: float
    high: float

    @property
    def fraction(self) -> float:
        """The part of the cases that meet the requirement."""
        return self.met / self.cases if self.cases else float("nan")

    @property
    def limits(self) -> str:
        """The requirement as text."""
        if self.above is None:
            return f"< {self.below:g}"
        return (
            f"> {self.above:g}"
            if self.below is None
            else f"between {self.above:g} and {self.below:g}"
        )

    @property
    def interval(self) -> str:
        """The interval as text, in percent."""
        if np.isnan(self.low):
            return ""
        return f"{100 * self.low:.4g} to {100 * self.high:.4g} %"

    def __str__(self) -> str:
        text = f"{self.quantity} {self.limits}: met in {self.met} of {self.cases} cases"
        if np.isnan(self.low):
            return text
        return f"{text}, {100 * self.fraction:.4g} %, with 95 % confidence {self.interval}"


def requirement(
    quantity: str, x: Array, ran: np.ndarray, below: Any, above: Any, random: bool
) -> Requirement:
    """Count the cases that meet a requirement.

    x : (cases,), the quantity; nan where a case failed.
    ran : (cases,), whether a case was run, even if it failed.
    random : whether the cases are drawn from distributions.
    """
    if below is None and above is None:
        raise ArgumentValueError("a requirement needs below=... or above=..., or both.")
    high = None if below is None else float(number("below", below))
    low = None if above is None else float(number("above", above))
    if low is not None and high is not None and not low < high:
        raise ArgumentValueError(f"above={low:g} must be less than below={high:g}.")
    meets = ran & ~np.isnan(x)
    if high is not None:
        meets &= x < high
    if low is not None:
        meets &= x > low
    cases, met = int(ran.sum()), int(meets.sum())
    bounds = interval(met, cases) if random and cases else (np.nan, np.nan)
    return Requirement(quantity, high, low, cases, met, *bounds)


def interval(met: int, cases: int) -> tuple[float, float]:
    """The interval of Clopper and Pearson (1934) for the probability of an event that occurred in some of the cases."""
    from scipy.special import betaincinv  # noqa: PLC0415 (slow to import)

    tail = 0.5 * (1.0 - CONFIDENCE)
    low = float(betaincinv(met, cases - met + 1, tail)) if met else 0.0
    high = float(betaincinv(met + 1, cases - met, 1.0 - tail)) if met < cases else 1.0
    return low, high
