"""Warnings about configurations that violate closures whose coordinates are searched for (`charts`)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
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
    """Warn of closures whose coordinates are searched for, and which are not satisfied at q, (..., nq), or whose joint is singular there."""
    if not sought(system) or known_to_be_met(system, np.asarray(q)):
        return
    off, parts = _missed(system, q)
    if system.fidelity == "ruthless" and parts.max(initial=0.0) > SLIGHT:
        # its rows are those of the undeformed geometry: what satisfies the closures in either is where they hold
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
    states = np.reshape(q, (-1, system.nq))
    tell_singular(
        system, states, [f" of state {i}" if len(off) > 1 else "" for i in range(len(states))]
    )


def tell_singular(system: System, q: Array, when: Sequence[str]) -> bool:
    """Warn of a cut joint that is singular at one of the configurations q, (states, nq), and return whether there is one.

    Closures must have been evaluated there last.
    when : what to call each state in words, after "singular at q".
    """
    found = singular_joint(system, q)
    if found is None:
        return False
    name, state = found
    warn(
        f"the cut joint of the closure {name!r} is singular at q{when[state]}: parts of it allow the same motion "
        "there, for instance because its links are stretched out, so its constraints are not fully "
        "determined. Results that depend on the closure are meaningless at such a position; they are valid again a "
        "millionth of a radian away.",
        ModelWarning,
    )
    return True


def warn_on_the_way(system: System, t: Array, q: Array) -> bool:
    """Warn once if a cut joint is singular in one of the rows q, (rows, nq), of a run at the times t; return whether."""
    if not (len(q) and system.closures and sought(system)):
        return False
    evaluated(system, "violations", (q,))  # this seeks the coordinates of cut joints in all rows
    return tell_singular(system, q, [f" at t = {time:.6g} s" for time in t])
