"""The constants of a body, in the form required by `assembly.pack`."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from limber.bodies.integrals import ModalIntegrals
from limber.bodies.nodes import Nodes
from limber.bodies.points import MassPoints
from limber.bodies.shapes import Shapes
from limber.checks import Array

NO_MODES = MassPoints(
    np.zeros(0), Shapes.still(np.zeros((0, 3))), np.zeros((0, 3, 3)), np.zeros((0, 3))
).integrals()


@dataclass(frozen=True, eq=False)
class BodyConstants:
    """The constants of a body in the frame that its kernel row uses.

    That frame is the body frame or, for rigid and for ruthless bodies, that of the inboard node, because their
    constants can be referred to it beforehand.  The last of `nodes` is the body frame itself.
    """

    nodes: Nodes
    mass: float
    moment: Array  # (3,) first moment of mass
    inertia: Array  # (6,) about the origin: xx, xy, xz, yy, yz, zz
    integrals: ModalIntegrals = NO_MODES
    stiffness: Array = field(default_factory=lambda: np.zeros((0, 0)))
    damping: Array = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def modes(self) -> int:
        """Number of modes."""
        return self.stiffness.shape[0]

    def node(self, number: int | None) -> int:
        """Index in `nodes`; None is the body frame."""
        return len(self.nodes.shapes) - 1 if number is None else number
