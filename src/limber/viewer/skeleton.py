"""What there is to draw of a body, in its own frame: points, how they move with the modes, and edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from limber.assembly.pack import Attachment
from limber.assembly.system import System
from limber.bodies import FlexibleBody
from limber.checks import Array

#: A flexible body is drawn with at least so many points where it has them, and with at most so many.
FEWEST, MOST = 9, 300


@dataclass(frozen=True, eq=False)
class Skeleton:
    """The drawing of one body: position (p, 3) and translation (p, 3, m) of points, edges (e, 2) between.

    `nodes` maps node numbers to points; `centre` is the point at the mass centre of a rigid body.
    """

    name: str
    flexible: bool
    position: Array
    translation: Array
    edges: np.ndarray
    nodes: dict[int, int]
    centre: int | None


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
    numbers = {i: points.add(nodes.position[i], nodes.translation[i]) for i in kept}
    still = np.zeros((3, modes))
    if item.inboard is None:
        points.add(np.zeros(3), still)
    centre = None
    if isinstance(body, FlexibleBody):
        if len(points) < FEWEST:
            every = max(1, len(body.points.mass) // FEWEST)
            for p, t in zip(body.points.position[::every], body.points.translation[::every]):
                points.add(p, t)
    else:
        for child in children:
            at = np.zeros(3) if child.at is None else nodes.position[child.at]
            points.add(at + child.offset, still)
        if body.mass > 0.0:
            centre = points.add(body.com, still)
    position = np.array(points.position)
    return Skeleton(
        item.name,
        isinstance(body, FlexibleBody),
        position,
        np.array(points.translation).reshape(len(position), 3, modes),
        neighbours(position),
        numbers,
        centre,
    )


class _Points:
    """Points without doubles."""

    def __init__(self, size: float, motion: float):
        self.position: list[Array] = []
        self.translation: list[Array] = []
        self._near, self._alike = 1e-6 * size, 1e-9 * motion

    def __len__(self) -> int:
        return len(self.position)

    def add(self, position: Array, translation: Array) -> int:
        """The number of the point at a place, new if there is none."""
        for i, (p, t) in enumerate(zip(self.position, self.translation)):
            near = np.abs(p - position).max() <= self._near
            if near and np.abs(t - translation).max(initial=0.0) <= self._alike:
                return i
        self.position.append(np.asarray(position, dtype=float))
        self.translation.append(np.asarray(translation, dtype=float))
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
