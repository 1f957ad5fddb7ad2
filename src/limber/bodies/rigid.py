"""Rigid bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike

from limber.bodies.base import Body, Drawing, Quantity
from limber.bodies.constants import BodyConstants
from limber.bodies.nodes import Nodes
from limber.bodies.shapes import Shapes
from limber.checks import (
    Array,
    array,
    distributable,
    flag,
    free_symbols,
    inertias,
    number_or_expression,
    semidefinite,
    shown,
    shown_number,
    suggestion,
    surely_distributable,
    symmetric,
)
from limber.errors import ArgumentTypeError, ArgumentValueError

#: The value of `check_inertia` that accepts negative principal moments.
INDEFINITE: Final = "indefinite"
WHY = "no mass distribution has this inertia. Check that it is about the centre of mass."


class RigidBody(Body):
    """A rigid body.

    Parameters
    ----------
    mass : kg, not negative.
    com : centre of mass in the body frame, m.
    inertia : inertia about the centre of mass in body axes, kg m^2: a 3 x 3 matrix, or its diagonal (Ixx, Iyy, Izz).
        It must be physically possible, that of some distribution of mass, or about one axis only (for motion in a
        plane, rotors, slices of a beam).  None: a point mass.
    nodes : named points of the body, m, at which other bodies attach.
    check_inertia : False also accepts an inertia that no distribution of mass has, with one principal moment larger
        than the sum of the others; robot files sometimes contain such inertias.  "indefinite" accepts negative
        principal moments as well; `build()` then rejects the system only if its mass matrix is not positive definite.

    Any of these may be SymPy expressions, for `lb.symbolic.equations`.
    """

    kind = "rigid"

    def __init__(
        self,
        mass: float,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
        nodes: Mapping[str, ArrayLike] | None = None,
        check_inertia: bool | Literal["indefinite"] = True,
    ):
        self.mass = number_or_expression("mass", mass, minimum=0.0)
        self.com = array("com", com, (3,), symbols=True)
        moments = np.zeros((3, 3)) if inertia is None else inertia
        moments = inertias("inertia", moments, ())
        if isinstance(check_inertia, str) and check_inertia == INDEFINITE:
            self.check_inertia: bool | Literal["indefinite"] = INDEFINITE
            self.inertia = symmetric("inertia", moments)
        else:
            self.check_inertia = flag("check_inertia", check_inertia)
            if self.check_inertia:
                self.inertia = distributable("inertia", moments, self.mass, WHY)
            else:
                self.inertia = semidefinite("inertia", moments, WHY)
        if nodes is not None and not isinstance(nodes, Mapping):
            raise ArgumentTypeError(
                f"nodes must map names to points, as in {{'tip': (1, 0, 0)}}, got {shown(nodes)}."
            )
        for name in nodes or ():
            if not isinstance(name, str) or not name:
                raise ArgumentTypeError(f"nodes: a name must be a non-empty string, got {name!r}.")
        points = {
            str(k): array(f"nodes[{k!r}]", p, (3,), symbols=True) for k, p in (nodes or {}).items()
        }
        self.nodes: Mapping[str, Array] = MappingProxyType(points)
        self.stiffness = self.damping = np.zeros((0, 0))
        self._freeze()

    @property
    def free_symbols(self) -> frozenset:
        """The symbols in the parameters."""
        return frozenset(free_symbols(self.mass, self.com, self.inertia, *self.nodes.values()))

    @property
    def modal_mass(self) -> Array:
        """An empty mass matrix, because there are no modes."""
        return np.zeros((0, 0))

    @property
    def end_node(self) -> None:
        """None: the body frame carries the next body of a chain unless a node is named."""
        return None

    @property
    def node_set(self) -> Nodes:
        """The nodes in the form common to all bodies."""
        n = len(self.nodes)
        position = np.array(list(self.nodes.values())).reshape(n, 3)
        return Nodes(tuple(self.nodes), Shapes.still(position))

    def inertia_about_origin(self) -> Array:
        """The 3 x 3 inertia about the origin of the body frame."""
        c = self.com
        return self.inertia + self.mass * (c @ c * np.eye(3) - np.outer(c, c))

    def constants(self, inboard: int | None, ruthless: bool) -> BodyConstants:
        """Return the constants in the frame of the inboard node, or in the body frame if there is none."""
        nodes = self.node_set.with_body_frame()
        shift = self._origin(inboard)
        moved = RigidBody(self.mass, self.com - shift, self.inertia, check_inertia=INDEFINITE)
        J = moved.inertia_about_origin()[(0, 0, 0, 1, 1, 2), (0, 1, 2, 1, 2, 2)]
        shifted = Shapes.still(nodes.position - shift)
        return BodyConstants(Nodes(nodes.names, shifted), self.mass, self.mass * moved.com, J)

    def parameters(self) -> Mapping[str, Quantity]:
        """The mass, the centre of mass and the inertia."""
        return {
            "mass": Quantity(np.array(self.mass), ", kg"),
            "com": Quantity(np.array(self.com), ": centre of mass, body axes, m"),
            "inertia": Quantity(
                np.array(self.inertia), " about its centre of mass, body axes, kg m^2"
            ),
        }

    def parameter_constants(
        self, given: Mapping[str, Sequence[Any]], inboard: int | None
    ) -> dict[str, list[Any]]:
        """Return mass, first moment and inertia about the origin, I - m c~ c~, if any parameter is given."""
        own = {name: known.value.ravel().tolist() for name, known in self.parameters().items()}
        if not own.keys() & given.keys():
            return {}
        (mass,), com, inertia = (given.get(name, own[name]) for name in ("mass", "com", "inertia"))
        x, y, z = (c - float(s) for c, s in zip(com, self._origin(inboard)))
        mx, my, mz = mass * x, mass * y, mass * z
        xx, xy, xz, _, yy, yz, _, _, zz = inertia
        about_origin = [
            xx + my * y + mz * z,
            xy - mx * y,
            xz - mx * z,
            yy + mx * x + mz * z,
            yz - my * z,
            zz + mx * x + my * y,
        ]
        return {"mass": [mass], "moment": [mx, my, mz], "inertia": about_origin}

    def with_parameters(self, given: Mapping[str, ArrayLike]) -> RigidBody:
        """Return the same body with another mass, centre of mass or inertia."""
        own: dict[str, Any] = {"mass": self.mass, "com": self.com, "inertia": self.inertia}
        for name in given:
            if name not in own:
                raise ArgumentValueError(
                    f"{name} is not a parameter of a rigid body, which has {', '.join(own)}.{suggestion(name, own)}"
                )
        return RigidBody(**(own | dict(given)), nodes=self.nodes, check_inertia=self.check_inertia)

    def accepts(self, given: Mapping[str, Array]) -> np.ndarray:
        """Return which masses and inertias of many cases are certainly possible, (cases,)."""
        good = np.ones(len(next(iter(given.values()))), dtype=bool)
        if "mass" in given:
            good &= given["mass"] >= 0.0
        if (
            "inertia" in given or self.check_inertia
        ):  # whether an inertia is small depends on the mass
            good &= surely_distributable(given.get("inertia", self.inertia[None]))
        return good

    def _origin(self, inboard: int | None) -> Array:
        """The origin of the frame that the constants refer to, in the body frame."""
        return np.zeros(3) if inboard is None else self.node_set.position[inboard]

    def without_modes(self) -> RigidBody:
        """Return the body itself."""
        return self

    def extent(self) -> float:
        """The largest of the radius of gyration and the distances of the centre of mass and the nodes."""
        lengths = [np.linalg.norm(place) for place in (self.com, *self.nodes.values())]
        if self.mass > 0.0:
            lengths.append(np.sqrt(max(np.trace(self.inertia), 0.0) / self.mass))
        return float(max(lengths))

    def largest_motion(self) -> tuple[Array, Array]:
        """Empty arrays, because there are no modes."""
        return np.zeros(0), np.zeros(0)

    def drawing(self) -> Drawing:
        """Bars, and the centre of mass if the body has mass."""
        centre = self.com if self.mass > 0.0 else None
        return Drawing(False, Shapes.still(np.zeros((0, 3))), centre)

    def __repr__(self):
        return f"RigidBody(mass={shown_number(self.mass)}, nodes={list(self.nodes)})"

    def __reduce__(self):
        parts = self.mass, self.com, self.inertia, dict(self.nodes), self.check_inertia
        return RigidBody, parts
