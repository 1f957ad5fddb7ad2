"""Rigid bodies."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from limber.bodies.nodes import Nodes
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
)
from limber.errors import ArgumentTypeError
from limber.frozen import Frozen

WHY = "no distribution of mass has such an inertia. Is it about the centre of mass?"


class RigidBody(Frozen):
    """A rigid body.

    Parameters
    ----------
    mass : kg, not negative.
    com : centre of mass in the body frame, m.
    inertia : inertia about the centre of mass, body axes, kg m^2: a 3 x 3 matrix, or its diagonal (Ixx, Iyy,
        Izz).  It must be that of some distribution of mass, or about one axis only (for motion in a plane,
        rotors, slices of a beam).  None: a point mass.
    nodes : named points of the body, m; other bodies attach there.
    check_inertia : False takes an inertia that no distribution of mass has, one principal moment larger than
        the sum of the others, as files of robots sometimes have it.

    Any of these may be SymPy expressions, for `lb.symbolic.equations`.
    """

    def __init__(
        self,
        mass: float,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
        nodes: Mapping[str, ArrayLike] | None = None,
        check_inertia: bool = True,
    ):
        self.mass = number_or_expression("mass", mass, minimum=0.0)
        self.com = array("com", com, (3,), symbols=True)
        moments = np.zeros((3, 3)) if inertia is None else inertia
        moments = inertias("inertia", moments, ())
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
        self._freeze()

    @property
    def free_symbols(self) -> frozenset:
        """The symbols among its parameters."""
        return frozenset(free_symbols(self.mass, self.com, self.inertia, *self.nodes.values()))

    @property
    def modes(self) -> int:
        """Number of modes: none."""
        return 0

    @property
    def node_set(self) -> Nodes:
        """The nodes as every body has them."""
        n = len(self.nodes)
        position = np.array(list(self.nodes.values())).reshape(n, 3)
        return Nodes(tuple(self.nodes), position, np.zeros((n, 3, 0)), np.zeros((n, 3, 0)))

    def inertia_about_origin(self) -> Array:
        """3 x 3 inertia about the body-frame origin."""
        c = self.com
        return self.inertia + self.mass * (c @ c * np.eye(3) - np.outer(c, c))

    def __repr__(self):
        return f"RigidBody(mass={shown_number(self.mass)}, nodes={list(self.nodes)})"

    def __reduce__(self):
        parts = self.mass, self.com, self.inertia, dict(self.nodes), self.check_inertia
        return RigidBody, parts
