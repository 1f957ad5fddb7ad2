"""Bodies with their modes removed."""

from __future__ import annotations

import numpy as np

from limber.bodies import FlexibleBody, RigidBody
from limber.bodies.integrals import MassPoints
from limber.bodies.nodes import Nodes


def undeformed(body: RigidBody | FlexibleBody) -> RigidBody | FlexibleBody:
    """The body with no modes: the same mass points and nodes, where they are undeformed."""
    if not isinstance(body, FlexibleBody) or not body.modes:
        return body
    points, nodes = body.points, body.nodes
    none = np.zeros((len(points.mass), 3, 0))
    blank = np.zeros((len(nodes.names), 3, 0))
    return FlexibleBody(
        MassPoints(points.mass, points.position, none, none, points.inertia, points.com),
        Nodes(nodes.names, nodes.position, blank, blank),
        np.zeros((0, 0)),
        np.zeros((0, 0)),
    )
