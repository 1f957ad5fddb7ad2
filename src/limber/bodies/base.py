"""The interface of bodies to the rest of the library."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from limber.bodies.constants import BodyConstants
from limber.bodies.load_stiffness import LoadStiffness
from limber.bodies.nodes import Nodes
from limber.bodies.outline import Outline
from limber.bodies.recovery import Recovery
from limber.bodies.shapes import Shapes
from limber.checks import Array
from limber.frozen import Frozen, read_only


@dataclass(frozen=True, eq=False)
class Quantity:
    """A number or an array of a body that is a parameter of it.

    meaning : the text after "<name> of body <body>" in a description.
    whole : the shape of all numbers, where one number stands for equal ones; the shape of `value` if None.
    """

    value: np.ndarray
    meaning: str
    whole: tuple[int, ...] | None = None


@dataclass(frozen=True, eq=False)
class Drawing:
    """What a picture shows of a body besides its nodes.

    flexible : whether the body is drawn as a line through its nodes, and through `points` if it has few nodes.
        Otherwise it is drawn as bars from its frame to its joints, its nodes and its mass centre.
    points : further points.
    centre : the mass centre, if it is to be shown.
    outline : the lines and the surface of the body; with them no other lines are drawn.
    """

    flexible: bool
    points: Shapes
    centre: Array | None
    outline: Outline | None = None


class Body(Frozen, ABC):
    """The base of all bodies: immutable, with `mass` (kg) and the modal matrices `stiffness`, `damping` (m, m).

    Code outside the file of a body does not ask for its class.  Its reader in `io.bodies` is found by its key in the
    file, and its writer by `kind`.
    """

    #: the key of its writer
    kind: ClassVar[str]
    mass: float
    stiffness: Array
    damping: Array
    #: strains and section forces by its modes that were given with it
    recovery: Recovery | None = None
    #: what loads would add to its stiffness, where that is known and its model leaves it out
    load_stiffness: LoadStiffness | None = None

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
        """The node that carries the next body of a chain by default; None stands for the body frame."""

    @property
    @abstractmethod
    def free_symbols(self) -> frozenset:
        """The symbols among its parameters."""

    @abstractmethod
    def constants(self, inboard: int | None, ruthless: bool) -> BodyConstants:
        """The constants in the frame that the kernels use for the body; `inboard` is the node at its joint."""

    @abstractmethod
    def parameters(self) -> Mapping[str, Quantity]:
        """The numbers that can change without a new body, by name: in a system, a simulation and generated code."""

    @abstractmethod
    def parameter_constants(
        self, given: Mapping[str, Sequence[Any]], inboard: int | None
    ) -> dict[str, list[Any]]:
        """The constants that depend on the parameters `given`, as flat lists by their names in `BodyConstants`.

        The given numbers are flat too, and may have any scalar type; those that are neither floats nor complex have a method
        `sqrt`.
        "inertias" is a factor on the mass, the moments and all modal integrals of the body as they are.
        """

    def changed_constants(
        self, new: Body, given: Mapping[str, Sequence[Any]], inboard: int | None
    ) -> dict[str, Any]:
        """`parameter_constants` of floats, where `with_parameters` has made `new` of them."""
        return self.parameter_constants(given, inboard)

    @abstractmethod
    def with_parameters(self, given: Mapping[str, ArrayLike]) -> Body:
        """The same body with other numbers, checked; names are those of `parameters()`."""

    @abstractmethod
    def without_modes(self) -> Body:
        """The same body, undeformed and rigid."""

    def with_damping(self, damping: Array) -> Body:
        """The same body with another modal damping matrix (m, m), symmetric positive semidefinite."""
        made = copy(self)
        object.__setattr__(made, "damping", damping)
        read_only(made)
        return made

    def recovered(self) -> Recovery | None:
        """Strains and section forces by its modes, given with it or computed; None if it has none."""
        return self.recovery

    def buckling(self) -> tuple[Array, float] | None:
        """The axis of a slender body whose model does not depend on the load along it, and the load, N, at which a
        cantilever like it buckles; None for all others."""
        return None

    def tipping(self) -> tuple[Array, Array, Array] | None:
        """Place (3,) and axes (3, 3) of the root of a beam, and the moments (2,) about its y and z axis at which it tips over
        sideways (`BeamRecipe.tipping_moments`), which no shapes of one beam have; None for all others."""
        return None

    @property
    def stiffens(self) -> bool:
        """Whether it has second-order shapes, by which loads and spin change its stiffness."""
        return self.node_set.second is not None

    @property
    def truncated(self) -> bool:
        """Whether its second-order shapes are in truncated form, in which the mass matrix may become indefinite."""
        return False

    @abstractmethod
    def extent(self) -> float:
        """The largest distance of its parts from its frame, m; it may be zero."""

    @abstractmethod
    def largest_motion(self) -> tuple[Array, Array]:
        """The largest component of the rotation, rad, and displacement, m, of any point per unit of each mode."""

    @abstractmethod
    def drawing(self) -> Drawing:
        """What a picture shows of the body."""
