"""Warnings about configurations that violate closures whose coordinates are searched for (`charts`)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.charts import known_to_be_met, singular_joint, sought
from limber.dynamics.closing import SLIGHT
from limber.dynamics.evaluate import evaluated
from limber.dynamics.freedoms import undeformed
from limber.dynamics.rows import fine_units, worst
from limber.errors import ModelWarning, warn


def evaluated_or_told(
    system: System, name: str, given: tuple, *, key: Hashable, **options: Any
) -> Any:
    """The result of `evaluated`, with q as the first input and with `warn_where_missed`."""
    found = evaluated(system, name, given, key=key, **options)
    if system.closures:
        warn_where_missed(system, given[0])
    return found


def _missed(system: System, q: ArrayLike) -> tuple[Array, Array]:
    """The violations of closures with searched coordinates at q.

    They are (states, rows), and the largest in units of the rows, (states,).
    """
    violations = evaluated(system, "violations", (q,)).reshape(-1, system.rows)
    off = np.zeros_like(violations)
    for closure in sought(system):
        off[:, closure.rows] = violations[:, closure.rows]
    return off, np.abs(off / fine_units(system)).max(axis=1, initial=0.0)


def warn_where_missed(system: System, q: ArrayLike) -> None:
    """Warn of closures whose coordinates are sought, and which are not met at q, (..., nq), or whose joint is singular there."""
    if not sought(system) or known_to_be_met(system, np.asarray(q)):
        return
    off, parts = _missed(system, q)
    if system.fidelity == "ruthless" and parts.max(initial=0.0) > SLIGHT:
        # its rows are those of the undeformed geometry: what meets the closures in either is where they hold
        parts = np.minimum(parts, _missed(system, undeformed(system, np.asarray(q)))[1])
    if parts.max(initial=0.0) > SLIGHT:
        state = int(parts.argmax())
        which = f" of state {state}" if len(off) > 1 else ""
        warn(
            f"the closure {worst(system, off[state])} at q{which}: no coordinates of its cut joint were found "
            "that match the position of its ends, so the result is that of another position. lb.project(system, "
            "q) finds a configuration that satisfies it.",
            ModelWarning,
        )
    singular = singular_joint(system, np.reshape(q, (-1, system.nq)))
    if singular is not None:
        name, state = singular
        which = f" of state {state}" if len(off) > 1 else ""
        warn(
            f"the cut joint of the closure {name!r} is singular at q{which}: parts of it allow the same motion "
            "there, for instance because its links are stretched out, so its constraints are not fully "
            "determined. Results that depend on the closure are meaningless at such a position; a millionth of a "
            "radian away they are right.",
            ModelWarning,
        )
