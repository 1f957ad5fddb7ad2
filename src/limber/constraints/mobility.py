"""The degrees of freedom that closures leave, and which closures are redundant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array, numbers
from limber.constraints.residual import check_closed
from limber.dynamics.evaluate import evaluated
from limber.dynamics.rows import RowSpace, row_space
from limber.dynamics.sought import warn_where_missed
from limber.errors import ArgumentValueError
from limber.notebook import as_text

if TYPE_CHECKING:
    from limber.assembly.system import System

#: A component of a unit combination of multipliers below this counts as zero.
NONE = 1e-7


@dataclass(frozen=True, eq=False)
class Freedoms:
    """The degrees of freedom of a closed system at one configuration.

    number : the number of degrees of freedom.
    basis : (nv, number), speeds that the closures allow, orthonormal with respect to the mass matrix.
    jacobian : (rows, nv), the closure rows A; speeds v satisfy the closures if A v = 0.
    rank : the number of independent rows.
    redundant : names of the closures that take part in a dependence of rows, and how many rows of each are redundant if
        the others are kept.
    """

    number: int
    basis: Array
    jacobian: Array
    rank: int
    redundant: dict[str, int]

    def __repr__(self):
        return (
            f"Freedoms(number={self.number}, rank={self.rank} of {len(self.jacobian)} closure rows)"
        )

    _repr_html_ = as_text

    def __str__(self):
        count = "1 degree of freedom" if self.number == 1 else f"{self.number} degrees of freedom"
        text = f"{count}; {self.rank} of {len(self.jacobian)} closure rows are independent."
        if self.redundant:
            parts = ", ".join(f"{rows} of {name!r}" for name, rows in self.redundant.items())
            text += f" Redundant rows, which may be left out: {parts}."
        return text


def freedoms(system: System, q: ArrayLike) -> Freedoms:
    """The degrees of freedom that closures leave at q, by a singular value decomposition of their rows: O(N^3).

    Rows are dependent if closures are redundant, as in a planar mechanism closed by a spatial joint, or in a
    singular configuration.  Accelerations are unique nevertheless; see `constraint_forces` for the forces.
    """
    check_closed(system, "freedoms")
    q = numbers("q", q, f"({system.nq},)")
    if q.shape != (system.nq,):
        raise ArgumentValueError(f"q must have shape ({system.nq},), got {q.shape}.")
    space = row_space(system, q)
    warn_where_missed(system, q)
    redundant = {}
    for name, rows in system.closure_rows.items():
        part = space.null[rows]
        count = int(np.linalg.matrix_rank(part, NONE)) if part.size else 0
        if count:
            redundant[name] = count
    order = [name for name in system.closures if name in redundant]
    return Freedoms(
        system.nv - space.rank, space.basis, space.A, space.rank, {n: redundant[n] for n in order}
    )


def loose_components(system: System, q: Array, space: RowSpace) -> dict[str, np.ndarray]:
    """By closure, the components of its wrench on end b that are not unique, for closures that have any."""
    wrenches = np.abs(evaluated(system, "wrenches", (q, space.null.T))).max(axis=0)
    size = wrenches.max(initial=0.0)
    found = {}
    for name, wrench in zip(system.closure_rows, wrenches):
        components = wrench > NONE * size
        if components.any():
            found[name] = components
    return found
