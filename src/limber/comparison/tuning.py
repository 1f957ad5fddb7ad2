"""How the settings of each controller are chosen, by the same rule for all.

A controller has one or two numbers that say how hard it works. All combinations of the values in `Entry.tried` run on
the plant that the controller knows, and on the changed one. The sum of both settling times decides; among those within
2 % of the smallest sum, the remaining error on the known plant decides. A run that does not settle counts as its whole
duration, and once more for each power of ten by which the error exceeds the tolerance. Settings whose run on the
changed plant fails are ranked last, by the error on the known plant.

Settings that are worse on the known plant alone than the best so far on both do not run on the changed one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from limber.comparison.figures import Figures
from limber.comparison.plant import Entry, Plant
from limber.comparison.running import Outcome, run

#: Settings whose score is below this multiple of the best one count as alike.
ALIKE = 1.02


@dataclass(frozen=True, eq=False)
class Trial:
    """A controller with certain settings.

    score : s, lower is better; inf for a failed run.
    error : the remaining error on the known plant.
    """

    settings: dict[str, Any]
    score: float
    error: float
    outcome: Outcome


def tune(plant: Plant, name: str, told: Callable[[Trial], Any] | None = None) -> list[Trial]:
    """Try all settings of a controller, and return the trials, the best first.

    told : called with each trial as it finishes.
    """
    entry = plant.entries[name]
    tried = entry.tried if isinstance(entry, Entry) else {}
    found, best = [], math.inf
    for values in itertools.product(*tried.values()):
        settings = dict(zip(tried, values))

        def hopeful(known: Figures) -> bool:
            return _late(plant, known.settling, known.final_error) <= ALIKE * best  # noqa: B023

        trial = _trial(plant, settings, run(plant, name, changed=hopeful, **settings))
        found.append(trial)
        best = min(best, trial.score if trial.outcome.changed is not None else math.inf)
        if told is not None:
            told(trial)
    return ranked(found)


def ranked(trials: list[Trial]) -> list[Trial]:
    """The trials, the best first; those without a run on the changed plant are last."""
    whole = [x.score for x in trials if x.outcome.changed is not None]
    near = ALIKE * min(whole, default=math.inf)

    def rank(x: Trial) -> tuple[bool, bool, float]:
        return x.outcome.changed is None, x.score > near, x.error if x.score <= near else x.score

    return sorted(trials, key=rank)


def _trial(plant: Plant, settings: dict[str, Any], outcome: Outcome) -> Trial:
    f = outcome.figures
    if f is None:
        return Trial(settings, math.inf, math.inf, outcome)
    score = _late(plant, f.settling, f.final_error)
    if outcome.changed is not None:
        score += _late(plant, f.changed_settling, f.changed_error)
    return Trial(settings, score, f.final_error, outcome)


def _late(plant: Plant, settling: float, error: float) -> float:
    if math.isfinite(settling):
        return settling
    above = error / plant.tolerance if math.isfinite(error) else 1e6
    return plant.duration * (1.0 + max(0.0, math.log10(max(above, 1.0))))
