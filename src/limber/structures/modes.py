"""Normal modes of the full structure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from limber.checks import Array
from limber.frozen import read_only
from limber.notebook import as_text
from limber.short_repr import short_repr
from limber.structures.choice import DIRECTIONS, mode_choice
from limber.structures.matrices import warn_of_rounding
from limber.structures.reduce import Reduction
from limber.structures.threads import one_thread

if TYPE_CHECKING:
    from limber.structures.structure import Node, Structure


@dataclass(frozen=True, eq=False)
class StructureModes:
    """Normal modes of a structure, in ascending order of frequency; they print as a table.

    omega : (k,) frequencies, rad/s.
    shapes : (n, 6, k) or (n, 3, k) degrees of freedom of the nodes, with modal mass 1.
    effective_mass : (k, 6) fractions of the total mass along x, y, z and of the inertia about x, y, z through the
        (first) clamped node, or the origin, that react to accelerations of the frame; nan about an axis without
        inertia.
    accuracy : (k,) |K^-1 M phi - phi/omega^2| omega^2/|phi| in M; the frequency is more accurate than that.
    """

    __repr__ = short_repr

    omega: Array
    shapes: Array
    effective_mass: Array
    accuracy: Array

    def __post_init__(self):
        read_only(self)

    def __str__(self) -> str:
        width = 40
        head = "mode   rad/s       Hz          of mass"
        lines = [f"{head:<{width}}" + "".join(f"{d:>8}" for d in DIRECTIONS)]
        for i, (omega, parts) in enumerate(zip(self.omega, self.effective_mass), start=1):
            left = f"{i:4d}   {omega:<10.6g}  {omega / (2.0 * np.pi):<10.6g}"
            lines.append(f"{left:<{width}}" + "".join(f"{x:8.3f}" for x in parts))
        total = self.effective_mass.sum(axis=0)
        lines.append(f"{' sum':<{width}}" + "".join(f"{x:8.3f}" for x in total))
        return "\n".join(lines)

    _repr_html_ = as_text


def structure_modes(
    structure: Structure,
    modes: int | dict,
    *,
    clamped: Node | Iterable[Node] | None,
    pinned: Node | Iterable[Node] | None,
    loads: Mapping[Node, Any] | None,
    patches: Mapping[Node, Iterable[Node]] | None,
    progress: bool | None,
) -> StructureModes:
    """`Structure.modes`, which documents the arguments."""
    work = Reduction(structure, clamped, pinned, (), "normal", loads, patches, progress)
    choice = mode_choice(modes)
    with work.progress, one_thread():
        value, shapes, accuracy = work.normal_modes(work.support(), choice)
    omega = np.sqrt(value)
    warn_of_rounding(structure.K, omega, shapes)
    per_node = structure.freedoms
    return StructureModes(
        omega,
        shapes.reshape(len(structure), per_node, -1),
        work.effective_mass(shapes),
        accuracy,
    )
