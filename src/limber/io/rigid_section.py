"""Rigid bodies in files."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from limber.bodies import RigidBody
from limber.bodies.rigid import INDEFINITE
from limber.io.document import Where
from limber.io.fields import Check, Inertia, Name, Vector, named, number, problem
from limber.io.section import Section
from limber.io.written import same


def _inertia_check(value: Any) -> bool | str:
    """How far the inertia is checked."""
    if not isinstance(value, bool) and value != INDEFINITE:
        raise problem(f"must be true, false or {INDEFINITE}; got {named(value)}.")
    return value


class RigidSection(Section):
    """A rigid body: mass (kg), com (m), inertia about com (kg m^2, matrix or its diagonal), nodes."""

    mass: Annotated[float, number(minimum=0.0)]
    com: Vector = (0.0, 0.0, 0.0)
    inertia: Inertia | None = None
    nodes: dict[Name, Vector] | None = None
    check_inertia: Annotated[Any, Check(_inertia_check, {"enum": [True, False, INDEFINITE]})] = True

    def build(self, where: Where) -> RigidBody:
        """The body."""
        with where.checked():
            return RigidBody(self.mass, self.com, self.inertia, self.nodes, self.check_inertia)


def rigid_data(body: RigidBody, expand: bool) -> dict[str, Any]:
    """A rigid body as files write it."""
    data: dict[str, Any] = {"mass": body.mass}
    if not same(body.com, np.zeros(3)):
        data["com"] = body.com
    if not same(body.inertia, np.zeros((3, 3))):
        data["inertia"] = body.inertia
    if body.nodes:
        data["nodes"] = dict(body.nodes)
    if body.check_inertia is not True:
        data["check_inertia"] = body.check_inertia
    return {"rigid": data}
