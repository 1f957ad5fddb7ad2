"""The energy balance of a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from limber.checks import Array
from limber.errors import ArgumentValueError
from limber.notebook import as_text

if TYPE_CHECKING:
    from limber.simulation.result import Result


@dataclass(frozen=True, eq=False, repr=False)
class PowerAudit:
    """The energy balance since the first row; every array is (n,), in J.  It prints as a table of the totals.

    energy : kinetic and potential energy.
    work, external : the work of the torques, including those that prescribed motions require, and of the external
        wrenches and the environment.
    dissipation : the work of the dampers, the friction and the stops of modes and joints, which is negative.
    actions : the energy that the actions of events added instantaneously, except for changes of topology.
    impacts : the energy that changes of topology added, which is negative, because their impulses dissipate energy.
    residual : the change of `energy` minus all of these, which is the integration error.
    """

    energy: Array
    work: Array
    external: Array
    dissipation: Array
    actions: Array
    impacts: Array
    residual: Array

    @property
    def accuracy(self) -> float:
        """The largest residual, divided by the largest energy that was exchanged."""
        parts = (self.work, self.external, self.dissipation, self.actions, self.impacts)
        exchanged = max(
            float(np.abs(x).max(initial=0.0)) for x in (self.energy - self.energy[0], *parts)
        )
        largest = float(np.abs(self.residual).max(initial=0.0))
        return largest / exchanged if exchanged > 0.0 else 0.0

    def __repr__(self) -> str:
        return f"PowerAudit({len(self.energy)} rows, accuracy {self.accuracy:.3g}; print it for the table)"

    def __str__(self) -> str:
        rows = {
            "energy at the start": self.energy[0],
            "energy at the end": self.energy[-1],
            "work of torques": self.work[-1],
            "work of external forces": self.external[-1],
            "work of dampers, friction, stops": self.dissipation[-1],
            "work of actions of events": self.actions[-1],
            **({"work of impacts": self.impacts[-1]} if self.impacts.any() else {}),
            "residual at the end": self.residual[-1],
            "largest residual": np.abs(self.residual).max(),
        }
        width = max(map(len, rows))
        return "\n".join(f"{name:{width}}  {value:12.6g} J" for name, value in rows.items())

    _repr_html_ = as_text


def audited(result: Result) -> PowerAudit:
    """The change of energy of a result, and the work of everything that changes it."""
    if result.supplied is None or not len(result):
        raise ArgumentValueError(
            "power_audit needs the rows of a simulation, which records the energy supplied; this result has "
            + ("no rows." if result.supplied is not None else "no such record.")
        )
    supplied = result.supplied - result.supplied[0]
    energy = result.energy
    work, external, dissipation, actions = supplied.T
    by_stage = np.cumsum([0.0, *(x.energy for x in result.changes)])
    impacts = by_stage[result.stage] - by_stage[result.stage[0]]
    residual = energy - energy[0] - supplied.sum(axis=1) - impacts
    return PowerAudit(energy, work, external, dissipation, actions, impacts, residual)
