"""Closure forces and residuals over time, including closures that were active only in some stages of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from limber.assembly.closures import Relation
from limber.checks import Array, shown
from limber.constraints import constraint_forces, constraint_residual
from limber.constraints.residual import check_closed
from limber.errors import ArgumentValueError

if TYPE_CHECKING:
    from limber.simulation.result import Result


def closure_rows(result: Result) -> dict[str, slice]:
    """The columns of residuals that belong to each closure that was ever active."""
    if not result.changes:
        return dict(result.system.closure_rows)
    sizes: dict[str, int] = {}
    for system in result.systems:
        for name, rows in system.closure_rows.items():
            sizes[name] = max(sizes.get(name, 0), rows.stop - rows.start)
    ends = np.cumsum(list(sizes.values())).tolist()
    return {n: slice(end - sizes[n], end) for n, end in zip(sizes, ends)}


def forces_of_closures(result: Result, name: str | None) -> Any:
    """The forces of the closures on their ends b: {name: (n, 6)}, or one of them; nan where they are not active."""
    closures = {n: c for system in result.systems for n, c in system.closures.items()}
    if name is not None and name not in closures:
        known = ", ".join(map(repr, closures)) or "none"
        raise ArgumentValueError(
            f"name={shown(name)} is not a closure of {result.system.name!r}; its closures are: {known}."
        )
    if not closures:
        check_closed(result.system, "constraint_forces")
    found = {
        n: np.full((len(result),) if isinstance(c, Relation) else (len(result), 6), np.nan)
        for n, c in closures.items()
        if name in (None, n)
    }
    for system, rows, part in result.parts():
        if not system.closures or not found.keys() & system.closures.keys():
            continue
        external: Any = dict(part.external) or None
        forces = constraint_forces(system, part.q, part.v, part.forces, external=external)
        for n in found.keys() & forces.keys():
            found[n][rows] = forces[n]
    return found if name is None else found[name]


def residual_of_closures(result: Result) -> tuple[Array, Array]:
    """The residuals of the closures, (n, rows) in position and in velocity; nan where they are not active."""
    if not result.changes:
        return constraint_residual(result.system, result.q, result.v)  # type: ignore[return-value]
    columns = result.closure_rows
    width = max((at.stop for at in columns.values()), default=0)
    found = np.full((2, len(result), width), np.nan)
    for system, rows, part in result.parts():
        if system.closures:
            off = constraint_residual(system, part.q, part.v)
            for name, at in system.closure_rows.items():
                to = columns[name].start + np.arange(at.stop - at.start)
                for k in range(2):
                    found[k][np.ix_(rows, to)] = off[k][:, at]
    return found[0], found[1]
