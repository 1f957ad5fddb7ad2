"""What there is to draw of a body, in its own frame: points, how they move with the modes, and edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from limber.assembly.pack import Attachment
from limber.assembly.system import System
from limber.checks import Array

#: A flexible body is drawn with at least so many points where it has them, and with at most so many.
FEWEST, MOST = 9, 300
#: At most about so many ribs across a body, and how far they reach to either side, as a part of its size.
RIBS, REACH = 12, 0.1


@dataclass(frozen=True, eq=False)
class Ribs:
    """Bars across a body that twists, so that one sees it: they turn with the body where they are.

    points : (r,) the points in their middle.
    half : (r, 3) from there to one end, undeformed.
    rotation : (r, 3, m) how they turn with the modes.
    along : (r, 3) the direction of the body there, about which it twists.
    """

    points: np.ndarray
    half: Array
    rotation: Array
    along: Array


@dataclass(frozen=True, eq=False)
class Skeleton:
    """The drawing of one body: position (p, 3) and translation (p, 3, m) of points, edges (e, 2) between.

    `nodes` maps node numbers to points; `centre` is the point at the mass centre of a rigid body; `ribs` show
    how the body twists.
    """

    name: str
    flexible: bool
    position: Array
    translation: Array
    edges: np.ndarray
    nodes: dict[int, int]
    centre: int | None
    ribs: Ribs


def skeletons(system: System) -> dict[str, Skeleton]:
    """The drawing of every body of a system, by name."""
    items = list(system.attachments.values())
    return {
        item.name: _skeleton(item, [x for x in items if x.to == item.name])
        for item in system.attachments.values()
    }


def _skeleton(item: Attachment, children: list[Attachment]) -> Skeleton:
    body = item.body
    nodes, modes = body.node_set, body.modes
    points = _Points(_size(nodes.position), _largest(nodes.translation))
    wanted = {item.inboard, *(c.at for c in children)} - {None}
    kept = _thinned(len(nodes.position), {i for i in wanted if i is not None})
    numbers = {
        i: points.add(nodes.position[i], nodes.translation[i], nodes.rotation[i]) for i in kept
    }
    still = np.zeros((3, modes))
    if item.inboard is None:
        points.add(np.zeros(3), still, still)
    drawing = body.drawing()
    if drawing.flexible:
        if len(points) < FEWEST:
            every = max(1, len(drawing.points[0]) // FEWEST)
            for p, t, r in zip(*(x[::every] for x in drawing.points)):
                points.add(p, t, r)
    else:
        for child in children:
            at = np.zeros(3) if child.at is None else nodes.position[child.at]
            points.add(at + child.offset, still, still)
    centre = None if drawing.centre is None else points.add(drawing.centre, still, still)
    position = np.array(points.position)
    edges = neighbours(position)
    rotation = np.array(points.rotation).reshape(len(position), 3, modes)
    return Skeleton(
        item.name,
        drawing.flexible,
        position,
        np.array(points.translation).reshape(len(position), 3, modes),
        edges,
        numbers,
        centre,
        ribs_of(position, rotation, edges),
    )


class _Points:
    """Points without doubles."""

    def __init__(self, size: float, motion: float):
        self.position: list[Array] = []
        self.translation: list[Array] = []
        self.rotation: list[Array] = []
        self._near, self._alike = 1e-6 * size, 1e-9 * motion

    def __len__(self) -> int:
        return len(self.position)

    def add(self, position: Array, translation: Array, rotation: Array) -> int:
        """The number of the point at a place, new if there is none."""
        for i, (p, t) in enumerate(zip(self.position, self.translation)):
            near = np.abs(p - position).max() <= self._near
            if near and np.abs(t - translation).max(initial=0.0) <= self._alike:
                return i
        self.position.append(np.asarray(position, dtype=float))
        self.translation.append(np.asarray(translation, dtype=float))
        self.rotation.append(np.asarray(rotation, dtype=float))
        return len(self) - 1


def _size(position: Array) -> float:
    return float(np.ptp(position, axis=0).max()) if len(position) else 0.0


def _largest(translation: Array) -> float:
    return float(np.abs(translation).max(initial=0.0))


def _thinned(n: int, wanted: set[int]) -> list[int]:
    """Numbers of at most about MOST nodes, those wanted among them."""
    every = -(-n // MOST) if n else 1
    return sorted({*range(0, n, every), *wanted, *([n - 1] if n else [])})


def neighbours(position: Array) -> np.ndarray:
    """The relative neighbourhood graph (e, 2): points no third one lies between.

    Along a line it is the chain of the points, on a grid the grid; it connects all points.
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


def ribs_of(position: Array, rotation: Array, edges: np.ndarray) -> Ribs:
    """The ribs of a body: at points on a line, if any of them turns about that line with the modes."""
    along = tangents(position, edges)
    on_line = np.flatnonzero(along.any(axis=1))
    twist = np.einsum("pi,pim->pm", along[on_line], rotation[on_line])
    if not np.abs(twist).max(initial=0.0) > 1e-9 * np.abs(rotation).max(initial=0.0):
        on_line = on_line[:0]
    every = max(1, -(-len(on_line) // RIBS))
    chosen = on_line[::every]
    # across the line in the direction of the body's y axis, or of z where the line follows y
    steep = np.abs(along[chosen, 1]) > 0.9
    sideways = np.where(steep[:, None], np.eye(3)[2], np.eye(3)[1])
    lengthwise = (sideways * along[chosen]).sum(axis=1)[:, None] * along[chosen]
    half = (sideways - lengthwise) / np.linalg.norm(sideways - lengthwise, axis=1)[:, None]
    return Ribs(chosen, REACH * _size(position) * half, rotation[chosen], along[chosen])


def tangents(position: Array, edges: np.ndarray) -> Array:
    """(p, 3): the direction of the edges at each point, zero where they have none in common."""
    spread = np.zeros((len(position), 3, 3))
    count = np.zeros(len(position))
    for a, b in edges:
        d = position[b] - position[a]
        for i in (a, b):
            spread[i] += np.outer(d, d) / (d @ d)
            count[i] += 1.0
    size, directions = np.linalg.eigh(spread)
    straight = (count > 0) & (size[:, 2] > 0.99 * count)
    return np.where(straight[:, None], directions[:, :, 2], 0.0)
