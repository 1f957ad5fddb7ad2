"""The arrays of a system (`limber.kernels.layout`)."""

from __future__ import annotations

from dataclasses import dataclass, field
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

    @cached_property
    def nudged(self) -> np.ndarray:
        """`const` with every number changed by the part NUDGE or half of it, up or down; see `native.state_checks`."""
        steps = np.random.default_rng(0).choice([-1.0, -0.5, 0.5, 1.0], self.const.size)
        nudged = self.const * (1.0 + NUDGE * steps)
        nudged.setflags(write=False)
        return nudged


def whole_rows(lists: list[int]) -> list[int]:
    """Lists that go behind the rows of `topo`, filled up to whole rows."""
    return lists + [0] * (-len(lists) % L.COLUMNS)
