"""An assembly with its modes removed."""

from __future__ import annotations

import numpy as np

from limber.assembly.assembly import Assembly
from limber.bodies import FlexibleBody
from limber.bodies.integrals import MassPoints
from limber.bodies.nodes import Nodes


def without_modes(assembly: Assembly) -> Assembly:
    """The same bodies, undeformed and rigid: same names, nodes, masses, joints and places."""
    rigid = Assembly(assembly.name, assembly.gravity, assembly.fidelity)
    for name, item in assembly.attachments.items():
        body = item.body
        if isinstance(body, FlexibleBody) and body.modes:
            body = _stiff(body)
        place = item.to, item.at, item.offset, item.rotation, item.inboard
        rigid.attach(name, body, item.joint, *place)
    return rigid


def _stiff(body: FlexibleBody) -> FlexibleBody:
    """The body with no modes."""
    points, nodes = body.points, body.nodes
    none = np.zeros((len(points.mass), 3, 0))
    blank = np.zeros((len(nodes.names), 3, 0))
    return FlexibleBody(
        MassPoints(points.mass, points.position, none, none, points.inertia, points.com),
        Nodes(nodes.names, nodes.position, blank, blank),
        np.zeros((0, 0)),
        np.zeros((0, 0)),
    )
