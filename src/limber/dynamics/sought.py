"""Cut joints with coordinates of their own, which are sought from the position of their ends (`kernels.cut_joint`).

Where the search misses them, the rows of such a closure are those of another position.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.closures import Closure
from limber.assembly.cut_joints import cut_joint_rows
from limber.assembly.system import System
from limber.dynamics.closing import SLIGHT
from limber.dynamics.evaluate import evaluated
from limber.dynamics.rows import fine_units, undeformed, worst
from limber.errors import ModelWarning, warn
from limber.kernels.layout import COMPOUND

_rows: WeakKeyDictionary[System, np.ndarray] = WeakKeyDictionary()


def sought_rows(system: System) -> np.ndarray:
    """The numbers of the rows of closures whose coordinates are sought."""
    if system not in _rows:
        found = [
            np.arange(system.rows)[rows]
            for name, rows in system.closure_rows.items()
            if isinstance(closure := system.closures[name], Closure)
            and cut_joint_rows(closure.joint).kind == COMPOUND
        ]
        _rows[system] = np.concatenate([np.zeros(0, dtype=int), *found])
    return _rows[system]


def evaluated_or_told(
    system: System, name: str, given: tuple, *, key: Hashable, **options: Any
) -> Any:
    """What `evaluated` gives, q being the first of the inputs; where coordinates are sought, no state takes the short way past
    `warn_where_missed`."""
    sought = bool(system.closures) and sought_rows(system).size > 0
    found = evaluated(system, name, given, key=None if sought else key, **options)
    if sought:
        warn_where_missed(system, given[0])
    return found


def warn_where_missed(system: System, q: ArrayLike) -> None:
    """Warn of closures whose coordinates are sought, and which are not met at q, (..., nq)."""
    rows = sought_rows(system)
    if not rows.size:
        return
    if system.fidelity == "ruthless":  # its rows are those of the undeformed geometry
        q = undeformed(system, np.asarray(q))
    off = np.zeros((*np.shape(q)[:-1], system.rows))
    off[..., rows] = evaluated(system, "violations", (q,))[..., rows]
    off = off.reshape(-1, system.rows)
    parts = np.abs(off / fine_units(system)).max(axis=1, initial=0.0)
    if parts.max(initial=0.0) > SLIGHT:
        state = int(parts.argmax())
        which = f" of state {state}" if len(off) > 1 else ""
        warn(
            f"the closure {worst(system, off[state])} at q{which}, so that accelerations and forces are those of another "
            "position. Either q does not meet it, which lb.project mends, or the angles of its joint were not found: they are "
            "sought from its neutral position, and may be missed more than a radian away from it. In that case give the part "
            "between its ends a small mass, attach it, and close the loop by one of its joints.",
            ModelWarning,
        )
