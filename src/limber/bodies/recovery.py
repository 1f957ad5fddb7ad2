"""What is recovered from the modes of a body: strains of gauges, and forces in its sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from limber.bodies.section_forces import SectionForces
from limber.checks import Array, array, shown
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.frozen import read_only


@dataclass(frozen=True, eq=False)
class Recovery:
    """Linear outputs of m modes; either part may be missing.

    gauges, strain : names, and the strain (g, m) of each by one unit of every mode.
    stations, forces : names (s,), and section forces and strains there by one unit of every mode, columns (m,).
    """

    gauges: tuple[str, ...] = ()
    strain: Array | None = None
    stations: tuple[str, ...] = ()
    forces: SectionForces | None = None

    def __post_init__(self) -> None:
        read_only(self)


def gauge_shapes(strain: Any, columns: int, what: str) -> tuple[tuple[str, ...], Array | None]:
    """Names and shapes (g, columns) of gauges, from a dict or an array; `what` says what the columns are."""
    if strain is None:
        return (), None
    hint = f"One number for each of the {columns} {what}."
    if not isinstance(strain, Mapping):
        table = array("strain", strain, ("g", columns), hint)
        return tuple(map(str, range(len(table)))), table
    for name in strain:
        if not isinstance(name, str) or not name:
            raise ArgumentTypeError(
                f"strain: the name of a gauge must be a non-empty string, got {shown(name)}."
            )
    rows = [array(f"strain[{name!r}]", row, (columns,), hint) for name, row in strain.items()]
    return tuple(strain), np.array(rows).reshape(-1, columns)


def chosen_stations(recovery: Recovery, at: Any, owner: str) -> SectionForces:
    """The forces at some of the stations, one or several by name; None for all."""
    assert recovery.forces is not None
    if at is None:
        return recovery.forces
    wanted: Sequence = [at] if isinstance(at, str) else list(np.atleast_1d(np.asarray(at, object)))
    numbers = []
    for which in wanted:
        if not isinstance(which, str) or which not in recovery.stations:
            known = ", ".join(map(repr, recovery.stations[:8]))
            more = ", ..." if len(recovery.stations) > 8 else ""
            raise ArgumentValueError(
                f"at={shown(which)} is not a station of {owner}; its stations are: {known}{more}."
            )
        numbers.append(recovery.stations.index(which))
    return recovery.forces.chosen(np.array(numbers, dtype=int))
