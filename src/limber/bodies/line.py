"""The straight line that a body such as a beam lies along, with the mode shapes of its points."""

from __future__ import annotations

import numpy as np

from limber.bodies.base import Body
from limber.bodies.shapes import Shapes

#: At most this many stations along a body.
STATIONS = 24
#: Points lie on a line, and at one place, within this fraction of the size of the body.
NEAR = 1e-6


def line_of(body: Body) -> Shapes | None:
    """The points of a body in order along its line, none twice; None if they do not lie on a line."""
    drawing = body.drawing()
    points = Shapes.joined([body.node_set.shapes, drawing.points])
    if not drawing.flexible:
        points = Shapes.joined([points, Shapes.still(np.zeros((1, 3)))])
    if len(points) < 2 or points.position.dtype == object:
        return None
    middle = points.position - points.position.mean(axis=0)
    size = float(np.abs(middle).max())
    _, _, axes = np.linalg.svd(middle, full_matrices=False)
    along = middle @ axes[0]
    if size == 0.0 or np.abs(middle - np.outer(along, axes[0])).max() > NEAR * size:
        return None
    if axes[0][np.abs(axes[0]).argmax()] < 0.0:
        along = -along
    order = np.argsort(along, kind="stable")
    apart = np.append(True, np.diff(along[order]) > NEAR * size)
    order = order[apart]
    every = -(-len(order) // STATIONS)
    chosen = np.unique(np.append(np.arange(0, len(order), every), len(order) - 1))
    return points[order[chosen]]
