"""The surfaces of the shapes of a body, with the mode shapes with which they bend."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from limber.assembly.pack import Attachment
from limber.bodies.base import Body
from limber.bodies.line import line_of
from limber.bodies.outline import coarser
from limber.bodies.shapes import Shapes
from limber.checks import Array
from limber.errors import FileError
from limber.shapes import Shape, Swept
from limber.shapes.shape import Triangles

#: A point that bends with a body that is not a line moves with this many of its nearest nodes.
NEAREST = 4
#: Surfaces of at most this many triangles are made finer, so that they bend, and so that near ones hide far ones in
#: pictures that draw triangle by triangle.
COARSE = 200

#: The triangles of shapes by the requested number.
_kept: WeakKeyDictionary[Shape, dict[int, Triangles]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles (t, 3) between points with their shapes, and the colour, or None for that of the body."""

    shapes: Shapes
    triangles: np.ndarray
    colour: str | None


def surfaces_of(item: Attachment, most: int, unread: dict[str, str]) -> list[Surface]:
    """The surfaces of the shapes of a body, with at most about this number of triangles in all.

    unread : mesh files that cannot be read, with the reason; new ones are added, and left out of the picture.
    """
    each = max(1, most // max(1, len(item.shapes)))
    found = []
    for shape in item.shapes:
        try:
            found.append(_surface(item.body, shape, each))
        except FileError as error:
            unread.setdefault(error.file, str(error))
    return found


def hides_lines(item: Attachment) -> bool:
    """Whether the shapes of a body are drawn instead of its lines; shapes at nodes of flexible bodies are added to the
    lines.
    """
    return any(shape.node is None or not item.body.modes for shape in item.shapes)


def _surface(body: Body, shape: Shape, most: int) -> Surface:
    if isinstance(shape, Swept):
        line = line_of(body)
        assert line is not None  # `Assembly.attach` has checked it
        points, triangles = shape.along(line.position)
        of_station = np.repeat(np.arange(len(line)), len(points) // len(line))
        return Surface(stuck(points, line[of_station]), triangles, shape.colour)
    points, triangles = _fitting(shape, most)
    if shape.node is not None:
        number = body.node_set.index("node", shape.node, "its body")
        node = body.node_set.shapes[[number]]
        points = points + node.position
        return Surface(
            stuck(points, node[np.zeros(len(points), np.int64)]), triangles, shape.colour
        )
    if not body.modes:
        return Surface(Shapes.still(points), triangles, shape.colour)
    return Surface(bending(points, body), triangles, shape.colour)


def _fitting(shape: Shape, most: int) -> Triangles:
    """The triangles of a shape, coarsened or refined; cached, because a mesh takes a while."""
    kept = _kept.setdefault(shape, {})
    if most not in kept:
        points, triangles = shape.triangles()
        chosen, _, triangles = coarser(points, np.zeros((0, 2), np.int64), triangles, most)
        points = points[chosen]
        while len(triangles) <= COARSE and 4 * len(triangles) <= most:
            points, triangles = split(points, triangles)
        kept[most] = points, triangles
    return kept[most]


def stuck(points: Array, carriers: Shapes, arm: Array | None = None) -> Shapes:
    """Points (p, 3), each moving rigidly with a point of the body, to first order in its rotation.

    arm : (p, 3) the lever arm of that rotation; by default from the point of the body to the point.
    """
    arm = points - carriers.position if arm is None else arm
    swing = np.cross(np.swapaxes(carriers.rotation, 1, 2), arm[:, None])  # (p, m, 3)
    moves = carriers.translation + np.swapaxes(swing, 1, 2)
    return Shapes(points, moves, carriers.rotation, carriers.second)


def bending(points: Array, body: Body) -> Shapes:
    """Points (p, 3) that bend with a body: each moves like the nearest points of the body, or like its neighbours on
    the line of a beam.
    """
    line = line_of(body)
    if line is not None:
        carriers, which, weight = line, *_on_line(points, line.position)
    else:
        outline = body.drawing().outline
        carriers = body.node_set.shapes if outline is None else outline.shapes
        which, weight = _near(points, carriers.position)
    levers = [points - carriers.position[column] for column in which.T]
    if line is not None:
        levers = [_halfway(points, lever, line.position) for lever in levers]
    parts = [stuck(points, carriers[column], lever) for column, lever in zip(which.T, levers)]
    second = None
    if carriers.second is not None:
        second = sum(w[:, None, None, None] * x.second for w, x in zip(weight.T, parts))
    return Shapes(
        points,
        sum((w[:, None, None] * x.translation for w, x in zip(weight.T, parts)), np.zeros(())),
        sum((w[:, None, None] * x.rotation for w, x in zip(weight.T, parts)), np.zeros(())),
        second,
    )


def _on_line(points: Array, stations: Array) -> tuple[np.ndarray, Array]:
    """(p, 2) each: the stations before and after, and their weights; beyond the ends the last one has all the
    weight."""
    direction = stations[-1] - stations[0]
    direction /= np.linalg.norm(direction)
    s = (stations - stations[0]) @ direction
    x = np.clip((points - stations[0]) @ direction, s[0], s[-1])
    after = np.clip(np.searchsorted(s, x), 1, len(s) - 1)
    part = (x - s[after - 1]) / (s[after] - s[after - 1])
    return np.column_stack([after - 1, after]), np.column_stack([1.0 - part, part])


def _halfway(points: Array, lever: Array, stations: Array) -> Array:
    """Lever arms of points between two stations, with half of their part along the line: the mean of two stations then
    gives lines that bend with constant curvature exactly.
    """
    direction = stations[-1] - stations[0]
    length = float(np.linalg.norm(direction))
    direction = direction / length
    x = (points - stations[0]) @ direction
    between = (x > 0.0) & (x < length)
    along = np.where(between, lever @ direction, 0.0)
    return lever - 0.5 * along[:, None] * direction


def _near(points: Array, nodes: Array) -> tuple[np.ndarray, Array]:
    """(p, k) each: the nearest nodes, and their weights, by the inverse squares of the distances."""
    from scipy.spatial import cKDTree  # noqa: PLC0415 (slow to import)

    count = min(NEAREST, len(nodes))
    distance, which = cKDTree(nodes).query(points, count)
    distance, which = distance.reshape(-1, count), which.reshape(-1, count)
    size = float(np.ptp(nodes, axis=0).max()) or 1.0
    weight = 1.0 / (distance + 1e-9 * size) ** 2
    return which, weight / weight.sum(axis=1, keepdims=True)


def split(points: Array, triangles: np.ndarray) -> tuple[Array, np.ndarray]:
    """Split every triangle into four, with new points at the midpoints of its sides."""
    sides = np.sort(
        np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1
    )
    pairs, which = np.unique(sides, axis=0, return_inverse=True)
    ab, bc, ca = (len(points) + which.ravel()).reshape(3, -1)
    a, b, c = triangles.T
    four = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
    made = np.concatenate([np.column_stack(t) for t in four])
    return np.concatenate([points, points[pairs].mean(axis=1)]), made
