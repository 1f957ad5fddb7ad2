"""What every body is to the rest of the library."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from limber.bodies.constants import BodyConstants
from limber.bodies.nodes import Nodes
from limber.bodies.shapes import Shapes
from limber.checks import Array
from limber.frozen import Frozen


@dataclass(frozen=True, eq=False)
class Quantity:
    """A number or an array of a body that generated code can take as an argument."""

    value: np.ndarray
    meaning: str  # what follows "<name> of body <body>" in a description


@dataclass(frozen=True, eq=False)
class Drawing:
    """What a picture shows of a body besides its nodes.

    flexible : it is drawn as a line through its nodes, and through `points` where the nodes are few;
        otherwise as bars that reach from its frame to its joints, its nodes and its mass centre.
    points : further points.
    centre : the mass centre, if it is to be shown.
    """

    flexible: bool
    points: Shapes
    centre: Array | None


class Body(Frozen, ABC):
    """The base of all bodies: immutable, with `mass` (kg) and the modal matrices `stiffness`, `damping` (m, m).

    Nothing outside a body's own file asks which class it is of.  Its reader and its writer in `io.bodies` are
    found by the key that names it in a file and by `kind`.
    """

    #: by which its writer is found
    kind: ClassVar[str]
    mass: float
    stiffness: Array
    damping: Array

    @property
    def modes(self) -> int:
        """Number of modes, m."""
        return self.stiffness.shape[0]

    @property
    @abstractmethod
    def modal_mass(self) -> Array:
        """The mass matrix (m, m) of the modes at rest."""

    @property
    @abstractmethod
    def node_set(self) -> Nodes:
        """The nodes with their mode shapes."""

    @property
    @abstractmethod
    def end_node(self) -> str | None:
        """The node that carries the next body of a chain unless another is named; None is the body frame."""

    @property
    @abstractmethod
    def free_symbols(self) -> frozenset:
        """The symbols among its parameters."""

    @abstractmethod
    def constants(self, inboard: int | None, ruthless: bool) -> BodyConstants:
        """Its constants in the frame that its row of the kernels uses, with `inboard` the node at its joint."""

    @abstractmethod
    def parameters(self) -> Mapping[str, Quantity]:
        """What generated code can take as arguments, by name."""

    @abstractmethod
    def parameter_constants(
        self, given: Mapping[str, Sequence[Any]], inboard: int | None
    ) -> dict[str, list[Any]]:
        """The constants that change when parameters are `given`, flat, by their names in `BodyConstants`.

        The numbers given may be of any type of scalar.
        """

    @abstractmethod
    def without_modes(self) -> Body:
        """The same body, undeformed and rigid."""

    @abstractmethod
    def extent(self) -> float:
        """A length of its size, seen from its frame, m; it may be zero."""

    @abstractmethod
    def largest_motion(self) -> tuple[Array, Array]:
        """The largest component of rotation, rad, and of displacement, m, of any point by one unit of each mode."""

    @abstractmethod
    def drawing(self) -> Drawing:
        """What a picture shows of it."""
