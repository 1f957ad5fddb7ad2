"""A body drawn as surfaces: its shapes, or tubes for its lines and balls for its points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from limber.assembly.pack import Attachment
from limber.assembly.system import System
from limber.bodies.shapes import Shapes
from limber.checks import Array
from limber.drawing.colours import colour
from limber.drawing.geometry import carried, geometry, joint_axis
from limber.drawing.skeleton import Skeleton
from limber.drawing.surface import Surface, stuck
from limber.shapes.shape import between
from limber.shapes.solids import ball

#: The colour of joints.
GREY = "#6b6b6b"
#: Sides of the tubes of lines.
SIDES = 10
#: The radius of lines as a fraction of the size of the system, where it has few bodies and where it has many.
THICK, THIN, MANY = 0.008, 0.005, 20


@dataclass(frozen=True, eq=False)
class Look:
    """How the bodies of a system are drawn in space.

    surfaces : maps a body name to its surfaces, in the body frame, each with a colour.
    size : the largest extent of the system in its neutral configuration, m.
    low, high : (3,) its bounds there.
    """

    surfaces: dict[str, list[Surface]]
    size: float
    low: Array
    high: Array


def looks(system: System, triangles: int) -> Look:
    """The surfaces of all bodies, with at most about this number of triangles each."""
    drawn = geometry(system, system.neutral(), triangles=triangles)
    low, high = drawn.bounds()
    size = float((high - low).max()) or 1.0
    radius = (THICK if len(system.bodies) <= MANY else THIN) * size
    heaviest = max(body.mass for body in system.bodies.values()) or 1.0
    surfaces = {}
    for i, (name, item) in enumerate(system.attachments.items()):
        skeleton = drawn.skeletons[name]
        own = colour(i)
        heavy = 1.4 + 1.6 * (item.body.mass / heaviest) ** (1.0 / 3.0)
        children = [x for x in system.attachments.values() if x.to == name]
        found = _shapes(skeleton, own)
        found += _lines(skeleton, own, radius, heavy * radius)
        if not skeleton.solid:
            found += _stubs(item, children, radius)
            found += _joint(item, radius)
        surfaces[name] = found
    return Look(surfaces, size, low, high)


def _shapes(drawn: Skeleton, own: str) -> list[Surface]:
    """The surfaces of shapes and finite elements, one for each paint."""
    found, start = [], 0
    for count, paint in drawn.paints:
        triangles = drawn.triangles[start : start + count]
        used, numbers = np.unique(triangles, return_inverse=True)
        found.append(Surface(drawn.shapes[used], numbers.reshape(-1, 3), paint or own))
        start += count
    return found


def _lines(drawn: Skeleton, own: str, radius: float, heavy: float) -> list[Surface]:
    """Tubes for lines and ribs, and balls for marks and centres of mass."""
    thin = radius * (0.4 if len(drawn.marks) else 1.0) * (1.0 if drawn.flexible else 1.3)
    found = []
    for a, b in drawn.edges:
        found.append(tube(drawn.shapes[[a]], drawn.shapes[[b]], thin, own))
    ribs = drawn.ribs
    for point, half in zip(ribs.points, ribs.half):
        middle = drawn.shapes[[point]]
        a, b = (stuck(middle.position + sign * half, middle) for sign in (-1.0, 1.0))
        found.append(tube(a, b, 0.35 * thin, own))
    found += [sphere(drawn.shapes[[i]], 1.2 * radius, own) for i in drawn.marks]
    if drawn.centre is not None:
        found.append(sphere(drawn.shapes[[drawn.centre]], heavy, own))
    if not found and not drawn.solid and not len(drawn.triangles) and len(drawn.shapes):
        found.append(sphere(drawn.shapes[[0]], 1.3 * radius, own))
    return joined(found)


def _stubs(item: Attachment, children: list[Attachment], radius: float) -> list[Surface]:
    """Tubes from the nodes of a body to the joints of its children that are not at them."""
    found = []
    nodes = item.body.node_set.with_body_frame().shapes
    for child in children:
        if carried(child.joint) and np.any(child.offset):
            node = nodes[[len(nodes) - 1 if child.at is None else child.at]]
            end = stuck(node.position + child.offset, node)
            found.append(tube(node, end, 0.7 * radius, GREY))
    return joined(found)


def _joint(item: Attachment, radius: float) -> list[Surface]:
    """A short cylinder along the axis of the joint of a body, or a ball where it has none."""
    if not item.joint.dofs:
        return []
    nodes = item.body.node_set.with_body_frame().shapes
    node = nodes[[len(nodes) - 1 if item.inboard is None else item.inboard]]
    axis = joint_axis(item.joint)
    if axis is None:
        return [sphere(node, 2.0 * radius, GREY)]
    half = 2.4 * radius * axis
    a, b = (stuck(node.position + sign * half, node) for sign in (-1.0, 1.0))
    return [tube(a, b, 1.9 * radius, GREY)]


def tube(start: Shapes, end: Shapes, radius: float, paint: str) -> Surface:
    """A tube between two points; each end moves with its point."""
    if np.array_equal(start.position, end.position):
        return sphere(start, radius, paint)
    _, _, axes = between(start.position[0], end.position[0])
    angle = 2.0 * np.pi * np.arange(SIDES) / SIDES
    ring = radius * (np.outer(np.cos(angle), axes[:, 0]) + np.outer(np.sin(angle), axes[:, 1]))
    zeros = np.zeros(SIDES, np.int64)
    shapes = Shapes.joined([_moved(start[zeros], ring), _moved(end[zeros], ring), start, end])
    i = np.arange(SIDES)
    j = (i + 1) % SIDES
    sides = [(i, j, SIDES + j), (i, SIDES + j, SIDES + i)]
    caps = [(j, i, zeros + 2 * SIDES), (SIDES + i, SIDES + j, zeros + 2 * SIDES + 1)]
    triangles = np.concatenate([np.column_stack(t) for t in (*sides, *caps)])
    return Surface(shapes, triangles, paint)


def sphere(point: Shapes, radius: float, paint: str) -> Surface:
    """A ball that moves with a point."""
    corners, triangles = ball()
    return Surface(
        _moved(point[np.zeros(len(corners), np.int64)], radius * corners), triangles, paint
    )


def _moved(points: Shapes, offsets: Array) -> Shapes:
    """Points next to others that move like these."""
    return Shapes(points.position + offsets, points.translation, points.rotation, points.second)


def joined(parts: list[Surface]) -> list[Surface]:
    """Surfaces of one colour combined into one; an empty list if there are none."""
    if not parts:
        return []
    starts = np.cumsum([0, *(len(x.shapes) for x in parts)])
    triangles = np.concatenate([start + x.triangles for start, x in zip(starts, parts)])
    return [Surface(Shapes.joined([x.shapes for x in parts]), triangles, parts[0].colour)]
