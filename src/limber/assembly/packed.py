"""The arrays of a system (`limber.kernels.layout`)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from limber.kernels import layout as L
from limber.native.status import NUDGE

if TYPE_CHECKING:
    from limber.assembly.loops import Loops


@dataclass(frozen=True, eq=False)
class Packed:
    """The arrays of one system at one fidelity."""

    topo: np.ndarray
    const: np.ndarray
    records: list[dict[int | None, int]]  # per row of topo: node number -> node record in const
    #: a bound of Omega Gamma of a ruthless system, the ratio of what its modes carry to their own mass
    load: float = 0.0
    #: the closures
    loops: Loops | None = None
    #: scratch arrays for reuse, by extra size
    pools: dict = field(default_factory=dict)
    #: where numbers depend on the masses of a body, by its row (`assembly.modal.inertial`); other numbers share it
    inertial: dict[int, list] = field(default_factory=dict)
    #: the same system with other driven joints, by the numbers of the bodies
    variants: dict[tuple[int, ...], Packed] = field(default_factory=dict)

    def with_driven(self, bodies: tuple[int, ...]) -> Packed:
        """Return the same system with prescribed motion of the joints of these bodies; it shares `const`.

        See `kernels.driven`.
        """
        if not bodies:
            return self
        if bodies not in self.variants:
            topo = self.topo.copy()
            for k in bodies:
                row = k * L.COLUMNS
                topo[row + L.DRIVEN] = topo[L.WORK_SIZE]
                topo[L.WORK_SIZE] += L.DRIVE_RECORD * topo[row + L.DOFS]
            topo.setflags(write=False)
            self.variants[bodies] = replace(self, topo=topo, pools={}, variants={})
        return self.variants[bodies]

    @cached_property
    def nudged(self) -> np.ndarray:
        """Return `const` with every number changed by the fraction NUDGE or half of it, up or down.

        See `native.state_checks`.
        """
        steps = np.random.default_rng(0).choice([-1.0, -0.5, 0.5, 1.0], self.const.size)
        nudged = self.const * (1.0 + NUDGE * steps)
        nudged.setflags(write=False)
        return nudged


def whole_rows(lists: list[int]) -> list[int]:
    """Lists that go behind the rows of `topo`, filled up to whole rows."""
    return lists + [0] * (-len(lists) % L.COLUMNS)
