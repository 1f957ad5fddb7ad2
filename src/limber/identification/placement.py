r"""Sensor placement: the choice of the few candidates that determine parameters best.

Solves    max over choices of log det F ("D"), or min of trace F^-1 ("A"),    F = sum of the Fisher informations of the
          chosen
Given     experiments, and sensors with their noise
How       sensors are added one at a time, each the best one, then exchanged one for another as long as that helps
          (Fedorov; Atkinson, Donev & Tobias, Optimum Experimental Designs, 12)
Cost      one evaluation of all derivatives; the choice itself takes milliseconds
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from limber.assembly.system import System
from limber.checks import Array, listed, shown, whole
from limber.control.sensors.base import Sensor
from limber.errors import ArgumentValueError
from limber.identification.expected import Expected, described, slopes_of_readings
from limber.identification.experiment import Experiment
from limber.identification.information import without
from limber.identification.readings import checked

#: Relative changes of parameters are known to this before any sensor is chosen, so that one sensor can be better than another
#: where several are needed to determine all parameters.
BEFORE = 1e3
#: An exchange must improve the criterion by this much.
BETTER = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Placement:
    """Chosen sensors. It prints as a table.

    chosen : names, in the order in which they were chosen.
    expected : what they would determine together.
    all : what all candidates would determine.
    """

    chosen: tuple[str, ...]
    expected: Expected
    all: Expected

    def __repr__(self) -> str:
        return f"Placement({listed(self.chosen)}; print it for the table)"

    def __str__(self) -> str:
        names = self.expected.names
        width = max(map(len, ("std. error of", *names)))
        lines = [f"chosen: {listed(self.chosen)}"]
        lines.append(f"{'std. error of':{width}}{'with these':>13}{'with all':>13}")
        for name in names:
            cells = (self.expected.standard_errors[name], self.all.standard_errors[name])
            lines.append(f"{name:{width}}" + "".join(f"{x:13.3g}" for x in cells))
        return "\n".join(lines)


def place_sensors(
    system: System,
    parameters: Any,
    experiments: Experiment | Sequence[Experiment],
    candidates: Sequence[Sensor],
    count: int,
    *,
    fixed: Sensor | Sequence[Sensor] = (),
    criterion: str = "D",
    noise: Mapping[str, Any] | None = None,
) -> Placement:
    """Choose the `count` candidates that determine the parameters best in given experiments.

    Parameters
    ----------
    parameters, noise : as for `lb.identify`. No search is made: the sensitivities are evaluated where it would start.
    experiments : as for `expected`.
    candidates : sensors with distinct names; one with several numbers counts as one.
    count : how many to choose.
    fixed : sensors that are used in any case.
    criterion : "D" minimizes the volume of the error ellipsoid (log det F), "A" the sum of the squared relative errors.
    """
    given = [fixed] if isinstance(fixed, Sensor) else list(fixed)
    tried = checked(system, candidates, "candidates")
    score = score_of(criterion)
    k = whole("count", count, 1)
    if k > len(tried):
        raise ArgumentValueError(f"count is {k}, but there are {len(tried)} candidates.")
    unknowns, slopes, priors = slopes_of_readings(system, parameters, experiments, [*given, *tried], noise)  # fmt: skip
    n = len(unknowns)

    def rows(names: Sequence[str]) -> Array:
        return np.vstack([np.zeros((0, slopes[0][1].shape[1])), *(x for name, x in slopes if name in names)])  # fmt: skip

    always = [one.name for one in given]
    known = np.vstack([priors, np.eye(priors.shape[1]) / BEFORE])

    def value(names: Sequence[str]) -> float:
        J = np.vstack([rows([*always, *names]), known])
        return score(without(J[:, :n], J[:, n:]))

    names = [one.name for one in tried]
    chosen: list[str] = []
    for _ in range(k):
        left = [name for name in names if name not in chosen]
        chosen.append(max(left, key=lambda name: value([*chosen, name])))
    best, improved = value(chosen), True
    while improved:
        improved = False
        for i in range(k):
            for name in names:
                if name in chosen:
                    continue
                other = [*chosen[:i], name, *chosen[i + 1 :]]
                if (found := value(other)) > best + BETTER:
                    chosen, best, improved = other, found, True

    def told(which: Sequence[str]) -> Expected:
        J = rows([*always, *which])
        return described(unknowns, without(J[:, :n], J[:, n:]), np.vstack([J, priors]))

    return Placement(tuple(chosen), told(chosen), told(names))


def score_of(criterion: Any) -> Any:
    """The score as a function of the sensitivities; larger is better."""
    if criterion not in ("D", "A"):
        raise ArgumentValueError(f'criterion must be "D" or "A", got {shown(criterion)}.')
    return _d_optimal if criterion == "D" else _a_optimal


def _d_optimal(J: Array) -> float:
    """log det J^T J."""
    sizes = np.linalg.svd(J, compute_uv=False)
    with np.errstate(divide="ignore"):
        return 2.0 * float(np.log(sizes).sum()) if len(sizes) == J.shape[1] else -np.inf


def _a_optimal(J: Array) -> float:
    """-log trace (J^T J)^-1."""
    sizes = np.linalg.svd(J, compute_uv=False)
    with np.errstate(divide="ignore"):
        return -float(np.log((1.0 / sizes**2).sum())) if len(sizes) == J.shape[1] else -np.inf
