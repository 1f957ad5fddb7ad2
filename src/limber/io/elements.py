"""The outlines of finite elements: edges and outer faces, for pictures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

#: Faces of solids by their corner nodes, which come before the mid-side nodes in every program read here.
_FACES: dict[int, tuple[tuple[int, ...], ...]] = {
    4: ((0, 1, 2), (0, 1, 3), (1, 2, 3), (0, 2, 3)),
    5: ((0, 1, 2, 3), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)),
    6: ((0, 1, 2), (3, 4, 5), (0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5)),
    8: (
        *((0, 1, 2, 3), (4, 5, 6, 7), (0, 1, 5, 4)),
        *((1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)),
    ),
}

#: An element: what it is ("line", "surface" or "solid"), its number of corners, and the numbers of its nodes.
Element = tuple[str, int, Sequence[int]]


def outline(
    elements: Iterable[Element], rows: Mapping[int, int]
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Edges (e, 2) of lines and triangles (t, 3) of surfaces and of the outside of solids, in rows of nodes.

    rows : number of a node -> its row; what has a node without a row is left out.  None where there is nothing.
    """
    edges: list[tuple[int, ...]] = []
    surface: list[tuple[int, ...]] = []
    faces: dict[tuple[int, ...], tuple[int, ...] | None] = {}
    for kind, corners, nodes in elements:
        if any(node not in rows for node in nodes[:corners]):
            continue
        at = [rows[node] for node in nodes[:corners]]
        if kind == "line":
            edges.append((at[0], at[1]))
        elif kind == "surface":
            surface.append(tuple(at))
        else:
            for face in _FACES[corners]:
                chosen = tuple(at[i] for i in face)
                key = tuple(sorted(chosen))
                faces[key] = None if key in faces else chosen  # a face of two elements is inside
    surface += [face for face in faces.values() if face is not None]
    triangles = [part for f in surface for part in _split(f)]
    return (
        np.array(edges, dtype=np.int64) if edges else None,
        np.array(triangles, dtype=np.int64) if triangles else None,
    )


def _split(face: tuple[int, ...]) -> list[tuple[int, ...]]:
    """A face of three or four corners in triangles."""
    return [(face[0], face[i], face[i + 1]) for i in range(1, len(face) - 1)]
