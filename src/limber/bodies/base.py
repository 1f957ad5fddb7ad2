"""The interface between bodies and the rest of the library."""

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
    """A number or an array that is a parameter of a body.

    meaning : the text after "<name> of body <body>" in a description.
    whole : the shape of all numbers, if one number stands for equal ones; the shape of `value` if None.
    """

    value: np.ndarray
    meaning: str
    whole: tuple[int, ...] | None = None


@dataclass(frozen=True, eq=False)
class Drawing:
    """What pictures show of a body in addition to its nodes.

    flexible : whether the body is drawn as a line through its nodes, and through `points` if it has few nodes.
        Otherwise it is drawn as bars from its frame to its joints, its nodes and its centre of mass.
    points : further points.
    centre : the centre of mass, if it is to be shown.
    outline : the lines and the surface of the body; with them no other lines are drawn.
    """

    flexible: bool
    points: Shapes
    centre: Array | None
    outline: Outline | None = None


class Body(Frozen, ABC):
    """The base class of all bodies, which are immutable.

    A body has `mass` (kg) and the modal matrices `stiffness` and `damping` (m, m).  Code outside the file of a body
    does not ask for its class.  `io.bodies` finds the reader of a body by its key in the file, and its writer by
    `kind`.
    """

    #: the key of its writer
    kind: ClassVar[str]
    mass: float
    stiffness: Array
    damping: Array
    #: strains and section forces per unit of each mode that were given with the body
    recovery: Recovery | None = None
    #: the effect of loads on its stiffness, if it is known and the model leaves it out
    load_stiffness: LoadStiffness | None = None

    @property
    def modes(self) -> int:
        """The number of modes, m."""
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
        """The node that carries the next body of a chain by default; None is the body frame."""

    @property
    @abstractmethod
    def free_symbols(self) -> frozenset:
        """The symbols in the parameters."""

    @abstractmethod
    def constants(self, inboard: int | None, ruthless: bool) -> BodyConstants:
        """Return the constants in the frame that the kernels use for the body; `inboard` is the node at its joint."""

    @abstractmethod
    def parameters(self) -> Mapping[str, Quantity]:
        """The numbers that a system, a simulation and generated code can change without a new body, by name."""

    @abstractmethod
    def parameter_constants(
        self, given: Mapping[str, Sequence[Any]], inboard: int | None
    ) -> dict[str, list[Any]]:
        """Return the constants that depend on the parameters `given`, as flat lists by their names in `BodyConstants`.

        The given numbers are flat too, and may have any scalar type; scalars that are neither floats nor complex have a
        method `sqrt`.  "inertias" is a factor on the present mass, moments and modal integrals of the body.
        """

    def changed_constants(
        self, new: Body, given: Mapping[str, Sequence[Any]], inboard: int | None
    ) -> dict[str, Any]:
        """Return `parameter_constants` for floats, where `new` is this body after `with_parameters`."""
        return self.parameter_constants(given, inboard)

    @abstractmethod
    def with_parameters(self, given: Mapping[str, ArrayLike]) -> Body:
        """Return the same body with other, checked numbers; the names are those of `parameters()`."""

    def accepts(self, given: Mapping[str, Array]) -> np.ndarray:
        """Return for which numbers `with_parameters` certainly succeeds, (cases,).

        given : finite numbers of many cases by name, (cases, ...).
        """
        return np.zeros(len(next(iter(given.values()))), dtype=bool)

    def factors(self, given: Mapping[str, Sequence[Any]]) -> Mapping[str, Any]:
        """The factors of the mass and the stiffnesses of a body with these parameters, in their scalar type.

        given : as for `parameter_constants`.
        """
        return {}

    @abstractmethod
    def without_modes(self) -> Body:
        """Return the same body, undeformed and rigid."""

    def with_damping(self, damping: Array) -> Body:
        """Return the same body with another modal damping matrix (m, m), symmetric positive semidefinite."""
        made = copy(self)
        object.__setattr__(made, "damping", damping)
        read_only(made)
        return made

    def recovered(self) -> Recovery | None:
        """The strains and section forces per unit of each mode, given or computed; None if the body has none."""
        return self.recovery

    def buckling(self, factors: Mapping[str, Any] | None = None) -> tuple[Array, Any] | None:
        """The axis and the buckling load, N, of a slender body whose model ignores axial loads; None for all others.

        The load is that at which a cantilever like the body buckles.

        factors : those of the body, unless they are given, as floats or, for many cases, arrays (cases,).  The load then
            has the same shape.
        """
        return None

    def tipping(
        self, factors: Mapping[str, Any] | None = None
    ) -> tuple[Array, Array, Array] | None:
        """The root of a beam, place (3,) and axes (3, 3), and its tipping moments (..., 2); None for other bodies.

        At these moments about its y and z axes the beam tips over sideways (`BeamRecipe.tipping_moments`).  The shapes
        of a single beam cannot represent this.  `factors` are those of `buckling`.
        """
        return None

    @property
    def stiffens(self) -> bool:
        """Whether the body has second-order shapes, through which loads and spin change its stiffness."""
        return self.node_set.second is not None

    @property
    def truncated(self) -> bool:
        """Whether the second-order shapes are in truncated form, in which the mass matrix may become indefinite."""
        return False

    @abstractmethod
    def extent(self) -> float:
        """The largest distance of any part of the body from its frame, m; it may be zero."""

    @abstractmethod
    def largest_motion(self) -> tuple[Array, Array]:
        """The largest component of the rotation, rad, and displacement, m, of any point per unit of each mode."""

    @abstractmethod
    def drawing(self) -> Drawing:
        """What pictures show of the body."""
