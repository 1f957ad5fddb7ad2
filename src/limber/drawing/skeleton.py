"""The drawable parts of a body, in its own frame: points, how they move with the modes, edges and triangles."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from limber.assembly.pack import Attachment
from limber.assembly.system import System
from limber.bodies.outline import Outline, creases, sides_of
from limber.bodies.shapes import Shaped, Shapes
from limber.checks import Array
from limber.drawing.closures import DrawnEnds, closure_nodes, drawn_ends
from limber.drawing.colours import rgb
from limber.drawing.surface import hides_lines, surfaces_of
from limber.errors import ModelWarning, warn

#: A flexible body is drawn with at least this many points where it has them, and with at most this many.
FEWEST, MOST = 9, 300
#: At most about this many triangles of a body in a picture.
TRIANGLES = 3000
#: At most about this many ribs across a body, and how far they reach to either side, as a fraction of its size.
RIBS, REACH = 12, 0.1
#: A frame of more members than this has no ribs: its nodes show how it twists.
MEMBERS = 20
#: At most about this many ribs across the members of a frame, and how far they reach, as a fraction of the member.
MEMBER_RIBS, MEMBER_REACH = 48, 0.12
#: Ribs of a frame must show a twist of at least this fraction of the largest displacement in some mode.
SEEN = 0.05


@dataclass(frozen=True, eq=False)
class Ribs:
    """Bars across a body that make its twist visible: they rotate with the body.

    points : (r,) the points at their middle.
    half : (r, 3) from there to one end, undeformed.
    along : (r, 3) the local direction of the body, about which it twists.
    """

    points: np.ndarray
    half: Array
    along: Array


@dataclass(frozen=True, eq=False)
class Skeleton(Shaped):
    """The drawing of one body: p points with their shapes, and edges (e, 2) between them.

    `nodes` maps node numbers to points; `centre` is the point at the centre of mass of a rigid body; `ribs` show how
    the body twists. A body with a surface has `triangles` (t, 3), and `creases` (c, 2), lines on it at its boundary and
    at sharp bends. `paints` has the colours of the triangles in order, as counts and colours, where None is the colour
    of the body. `solid` says that its shapes are drawn instead of lines, its own and those to its joints. For a body
    known only by its nodes, such as a superelement, `marks` (k,) are the points at the nodes, to be drawn as dots: its
    edges connect neighbouring nodes, and are not part of the body.
    """

    name: str
    flexible: bool
    shapes: Shapes
    edges: np.ndarray
    nodes: dict[int, int]
    centre: int | None
    ribs: Ribs
    triangles: np.ndarray
    creases: np.ndarray
    marks: np.ndarray
    paints: tuple[tuple[int, str | None], ...]
    solid: bool = False

    def triangle_colours(self, own: str) -> Array:
        """(t, 3) from 0 to 1: the colours of the triangles, for a body of the colour `own`, "#rrggbb"."""
        numbers = [count for count, _ in self.paints]
        found = [rgb(own if name is None else name) for _, name in self.paints]
        return np.repeat(np.reshape(found, (-1, 3)), numbers, axis=0)


def skeletons(
    system: System, triangles: int = TRIANGLES, closures: DrawnEnds | None = None
) -> dict[str, Skeleton]:
    """The drawing of every body of a system, by name, with at most about this number of triangles each.

    closures : those whose nodes are drawn; by default those of the system.
    """
    items = list(system.attachments.values())
    closures = drawn_ends(system) if closures is None else closures
    found, unread = {}, dict[str, str]()
    for item in items:
        children = [x for x in items if x.to == item.name]
        own = _own_skeleton(item, children, closure_nodes(closures, item.name), triangles)
        found[item.name] = _with_shapes(own, item, triangles, unread) if item.shapes else own
    if unread:
        first, more = next(iter(unread.values())), len(unread) - 1
        others = f" So {'are' if more > 1 else 'is'} {more} more." if more else ""
        warn(f"a mesh is left out of the picture. {first}{others}", ModelWarning)
    return found


def _with_shapes(
    own: Skeleton, item: Attachment, triangles: int, unread: dict[str, str]
) -> Skeleton:
    """The drawing of a body with its shapes, which replace its lines or are added to them."""
    surfaces = surfaces_of(item, triangles, unread)
    if not surfaces:
        return own
    shapes, faces, folds = [own.shapes], [own.triangles], [own.creases]
    paints = list(own.paints)
    first = len(own.shapes)
    for surface in surfaces:
        shapes.append(surface.shapes)
        faces.append(first + surface.triangles)
        folds.append(first + creases(surface.shapes.position, surface.triangles))
        paints.append((len(surface.triangles), surface.colour))
        first += len(surface.shapes)
    made = replace(
        own,
        shapes=Shapes.joined(shapes),
        triangles=np.concatenate(faces),
        creases=np.concatenate(folds),
        paints=tuple(paints),
    )
    if not hides_lines(item):
        return made
    none = np.zeros(0, np.int64)
    ribs = Ribs(none, np.zeros((0, 3)), np.zeros((0, 3)))
    return replace(made, edges=own.edges[:0], centre=None, ribs=ribs, marks=none, solid=True)


def _own_skeleton(
    item: Attachment, children: list[Attachment], closed: set[int], triangles: int
) -> Skeleton:
    """The drawing of a body without its shapes."""
    body = item.body
    nodes = body.node_set.shapes
    points = _Points(nodes)
    wanted = {item.inboard, *(c.at for c in children), *closed} - {None}
    kept = _thinned(len(nodes), {i for i in wanted if i is not None})
    numbers = {i: points.add(nodes[[i]]) for i in kept}
    joints = [numbers[i] for i in wanted if i is not None]
    if item.inboard is None and not points.has(np.zeros(3)):
        joints.append(points.add_still(np.zeros(3)))  # a node that is there may move with the modes
    drawing = body.drawing()
    if drawing.outline is not None:
        return _outlined(item.name, points, numbers, joints, drawing.outline.coarser(triangles))
    if drawing.flexible:
        if len(points) < FEWEST:
            every = max(1, len(drawing.points) // FEWEST)
            for i in range(0, len(drawing.points), every):
                points.add(drawing.points[[i]])
    else:
        for child in children:
            at = np.zeros(3) if child.at is None else nodes.position[child.at]
            points.add_still(at + child.offset)
    centre = None if drawing.centre is None else points.add_still(drawing.centre)
    shapes = Shapes.joined(points.found)
    edges = neighbours(shapes.position)
    ribs = ribs_of(shapes, edges)
    marks: list[int] = []
    if drawing.flexible and not len(drawing.points):  # what is between the nodes is unknown
        marks = sorted(set(numbers.values()))
        if not _on_a_line(shapes.position):
            ribs = Ribs(ribs.points[:0], ribs.half[:0], ribs.along[:0])
    return Skeleton(
        item.name,
        drawing.flexible,
        shapes,
        edges,
        numbers,
        centre,
        ribs,
        np.zeros((0, 3), np.int64),
        np.zeros((0, 2), np.int64),
        np.array(marks, np.int64),
        (),
    )


def _on_a_line(position: Array) -> bool:
    """Whether points lie on one straight line."""
    offsets = position - position.mean(axis=0)
    return bool(np.linalg.matrix_rank(offsets, tol=1e-6 * _size(position) * len(position)) <= 1)


def _outlined(
    name: str, points: _Points, numbers: dict[int, int], joints: list[int], outline: Outline
) -> Skeleton:
    """The drawing of a body with an outline; points with joints that are not on it are connected to it."""
    first = len(points)
    shapes = Shapes.joined([*points.found, outline.shapes])
    near = 1e-6 * _size(outline.position)
    alike = 1e-6 * np.abs(outline.translation).max(initial=0.0)
    stubs = []
    for i in joints:
        distance = np.linalg.norm(outline.position - shapes.position[i], axis=1)
        nearest = int(distance.argmin())
        apart = np.abs(outline.translation[nearest] - shapes.translation[i]).max(initial=0.0)
        if distance[nearest] > near or apart > alike:
            stubs.append((i, first + nearest))
    triangles, lines = outline.triangles, outline.edges
    folds = np.zeros((0, 2), np.int64)
    if len(triangles):
        folds = creases(outline.position, triangles)
        lines = lines[~_among(lines, sides_of(triangles))]
    edges = np.concatenate([first + lines, np.array(stubs, np.int64).reshape(-1, 2)])
    members = ribs_of(outline.shapes, lines, frame=True)
    ribs = Ribs(first + members.points, members.half, members.along)
    parts = name, True, shapes, edges, numbers, None, ribs
    none = np.zeros(0, np.int64)
    paints = ((len(triangles), None),) if len(triangles) else ()
    return Skeleton(*parts, first + triangles, first + folds, none, paints)


def _among(pairs: np.ndarray, known: np.ndarray) -> np.ndarray:
    """(e,): which of the pairs (e, 2) of points are known ones, in either order."""
    most = int(max(pairs.max(initial=0), known.max(initial=0))) + 1
    low, high = np.sort(pairs, axis=1).T
    return np.isin(low * most + high, known[:, 0] * most + known[:, 1])


class _Points:
    """Points without duplicates."""

    def __init__(self, nodes: Shapes):
        self.found: list[Shapes] = []
        self._modes = nodes.modes
        self._near = 1e-6 * _size(nodes.position)
        self._alike = 1e-9 * np.abs(nodes.translation).max(initial=0.0)
        self._curved = 0.0
        if nodes.second is not None:
            self._curved = 1e-9 * np.abs(nodes.second).max(initial=0.0)

    def __len__(self) -> int:
        return len(self.found)

    def has(self, position: Array) -> bool:
        """Whether a point exists, moving or not."""
        return any(np.abs(x.position - position).max() <= self._near for x in self.found)

    def add(self, point: Shapes) -> int:
        """The number of a point; a new one if none has the same position and motion."""
        for i, known in enumerate(self.found):
            if np.abs(known.position - point.position).max() <= self._near:
                apart = np.abs(known.translation - point.translation).max(initial=0.0)
                bent = _apart(known.second, point.second)
                if apart <= self._alike and bent <= self._curved:
                    return i
        self.found.append(point)
        return len(self) - 1

    def add_still(self, position: Array) -> int:
        """The number of a point that does not move with the modes."""
        return self.add(Shapes.still(position[None], self._modes))


def _apart(a: Array | None, b: Array | None) -> float:
    """The largest difference of second-order shapes, where None stands for zeros."""
    difference = (0.0 if a is None else a) - (0.0 if b is None else b)
    return float(np.abs(difference).max(initial=0.0))


def _size(position: Array) -> float:
    return float(np.ptp(position, axis=0).max()) if len(position) else 0.0


def _thinned(n: int, wanted: set[int]) -> list[int]:
    """Numbers of at most about MOST nodes, including the required ones."""
    every = -(-n // MOST) if n else 1
    return sorted({*range(0, n, every), *wanted, *([n - 1] if n else [])})


def neighbours(position: Array) -> np.ndarray:
    """The relative neighbourhood graph (e, 2): pairs of points with no third point between them.

    On a line it is the chain of the points, on a grid the grid; it connects all points.
    """
    n = len(position)
    if n < 2:
        return np.zeros((0, 2), dtype=np.int64)
    distance = np.linalg.norm(position[:, None] - position[None], axis=2)
    slack = 1.0 - 1e-9
    edges = []
    for i in range(n - 1):
        further = np.arange(i + 1, n)
        farthest = np.maximum(distance[i][None], distance[further])  # (j, k)
        between = farthest < slack * distance[i, further, None]
        edges += [(i, int(j)) for j in further[~between.any(axis=1)]]
    return np.array(edges, dtype=np.int64).reshape(-1, 2)


def ribs_of(points: Shapes, edges: np.ndarray, frame: bool = False) -> Ribs:
    """The ribs of a body: at points on a line, if any of them rotates about that line with the modes.

    frame : whether the lines are the members of a frame, of which many may be short.
    """
    position, rotation = points.position, points.rotation
    along = tangents(position, edges)
    on_line = np.flatnonzero(along.any(axis=1))
    twist = np.abs(np.einsum("pi,pim->pm", along[on_line], rotation[on_line]))
    reach = np.full(len(on_line), REACH * _size(position))
    if frame:
        member, length = _members(position, edges, along)
        reach = np.minimum(reach, MEMBER_REACH * length[on_line])
        moved = np.linalg.norm(points.translation, axis=1).max(axis=0, initial=0.0)
        seen = (reach[:, None] * twist > SEEN * moved).any(axis=1)
        seen &= len(np.unique(member[on_line])) <= MEMBERS
    else:
        seen = np.full(
            len(on_line), twist.max(initial=0.0) > 1e-9 * np.abs(rotation).max(initial=0.0)
        )
    on_line, reach = on_line[seen], reach[seen]
    every = max(1, -(-len(on_line) // (MEMBER_RIBS if frame else RIBS)))
    chosen, reach = on_line[::every], reach[::every]
    # across the line in the direction of the body's y axis, or of z where the line follows y
    steep = np.abs(along[chosen, 1]) > 0.9
    sideways = np.where(steep[:, None], np.eye(3)[2], np.eye(3)[1])
    lengthwise = (sideways * along[chosen]).sum(axis=1)[:, None] * along[chosen]
    half = (sideways - lengthwise) / np.linalg.norm(sideways - lengthwise, axis=1)[:, None]
    return Ribs(chosen, reach[:, None] * half, along[chosen])


def _members(position: Array, edges: np.ndarray, along: Array) -> tuple[np.ndarray, Array]:
    """(p,) each: the number and the length of the straight line that a point is on."""
    import scipy.sparse as sp  # noqa: PLC0415 (slow to import)
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    n = len(position)
    straight: np.ndarray = np.any(along != 0.0, axis=1)  # type: ignore[assignment]
    inner = edges[straight[edges].all(axis=1)]
    joined = sp.coo_array((np.ones(len(inner)), inner.T), shape=(n, n))
    _, member = connected_components(joined, directed=False)
    length = np.linalg.norm(position[edges[:, 1]] - position[edges[:, 0]], axis=1)
    # an edge belongs to the member of whichever of its ends is on a line
    owner = np.where(straight[edges[:, 0]], member[edges[:, 0]], member[edges[:, 1]])
    return member, np.bincount(owner, length, minlength=n)[member]


def tangents(position: Array, edges: np.ndarray) -> Array:
    """(p, 3): the direction of the edges at each point, zero where they have none in common."""
    spread = np.zeros((len(position), 3, 3))
    d = position[edges[:, 1]] - position[edges[:, 0]]
    part = d[:, :, None] * d[:, None, :] / (d * d).sum(axis=1)[:, None, None]
    for end in edges.T:
        np.add.at(spread, end, part)
    count = np.bincount(edges.ravel(), minlength=len(position)).astype(float)
    size, directions = np.linalg.eigh(spread)
    straight = (count > 0) & (size[:, 2] > 0.99 * count)
    return np.where(straight[:, None], directions[:, :, 2], 0.0)
