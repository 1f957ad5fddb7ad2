"""Quantities recovered from the modes of a body: strains of gauges, and forces in its sections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from limber.bodies.beam_parts import load_factors
from limber.bodies.recipe import BeamRecipe
from limber.bodies.section_forces import SectionForces
from limber.checks import Array, array, shown
from limber.errors import ArgumentTypeError
from limber.frozen import read_only
from limber.short_repr import short_repr


@dataclass(frozen=True)
class MemberStations:
    """The stations of a member of a frame, in pairs: both ends of its elements, from its node a to its node b.

    name : name of the member, "a-b".
    ends : the names of its nodes a and b.
    stations : numbers of the stations.
    distance : distance from its end at a to each of them, m.
    """

    name: str
    ends: tuple[str, str]
    stations: tuple[int, ...]
    distance: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Recovery:
    """Linear outputs of m modes; either part may be missing.

    gauges, strain : names, and the strain (g, m) of each gauge per unit of every mode.
    forces : section forces and strains at named stations per unit of every mode, columns (m,).
    nodes : the node at which each station of a frame is.
    members : the members of a frame.
    beam : what the beam with these stations was made from; None for frames.
    """

    __repr__ = short_repr

    gauges: tuple[str, ...] = ()
    strain: Array | None = None
    forces: SectionForces | None = None
    nodes: tuple[str, ...] = ()
    members: tuple[MemberStations, ...] = ()
    beam: BeamRecipe | None = None

    def __post_init__(self) -> None:
        read_only(self)

    def scaled(self, factors: tuple[tuple[str, float], ...]) -> Recovery:
        """Return the recovery of a body whose stiffness is multiplied by factors, named as in the recipe of a beam."""
        if self.forces is None:
            return self
        if self.beam is None:
            whole = dict(factors).get("stiffness", 1.0)
            loads = whole * np.eye(self.forces.forces.shape[-1])
            return replace(self, forces=self.forces.scaled(np.full(6, whole), loads))
        beam = replace(self.beam, factors=factors)
        forces = self.forces.scaled(beam.force_factors(), load_factors(beam))
        return replace(self, beam=beam, forces=forces)

    @property
    def stations(self) -> tuple[str, ...]:
        """The names of the stations."""
        return () if self.forces is None else self.forces.names


def gauge_shapes(strain: Any, columns: int, what: str) -> tuple[tuple[str, ...], Array | None]:
    """Names and shapes (g, columns) of gauges, from a dict or an array; `what` says what the columns are."""
    if strain is None:
        return (), None
    hint = f"Give one number for each of the {columns} {what}."
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
