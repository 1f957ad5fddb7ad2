"""Matrices whose rows are labelled by node and direction, as structures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from limber.checks import Array
from limber.errors import ModelWarning, warn
from limber.io.deck import Deck
from limber.io.deck_solid import deck_solid
from limber.io.elements import outline
from limber.io.massless import warn_of_massless
from limber.io.sources import Source, several
from limber.io.units import in_si
from limber.structures import Structure

#: A row of a matrix: the number of its node and a direction, 1 to 6.
Label = tuple[int, int]


def structure_of_labels(
    source: Source,
    labels: Sequence[Label],
    M: sp.csr_array,
    K: sp.csr_array,
    geometry: Deck,
    geometry_source: Source,
    scales: tuple[float, float],
) -> Structure:
    """The structure of matrices of which row i belongs to labels[i].

    Nodes of rotations (`geometry.turning`) become rotations of the nodes that they turn with.  Nodes without a row
    are fixed or follow other nodes; they are left out, with a warning.
    """
    length, mass = scales
    turning = geometry.turning
    whose = [(turning[n], d + 3) if n in turning and d <= 3 else (n, d) for n, d in labels]
    twice = _repeated(whose)
    if twice:
        raise source.error(
            f"node {twice[0]} has direction {twice[1]} twice. CalculiX expands shells and beams with rotations into "
            "solids whose degrees of freedom it does not name: model them with solid elements (C3D10, C3D20), or give "
            "lb.Structure their "
            "matrices from another program."
        )
    places = {number: i for i, number in enumerate(geometry.numbers)}
    unplaced = sorted({n for n, _ in whose} - places.keys())
    if unplaced:
        raise source.error(
            f"node {several(unplaced)} has rows in the matrices but no position in {geometry_source.path}. CalculiX "
            "creates such nodes for the inner modes of C3D8I elements (use C3D8, C3D10 or C3D20) and when it expands "
            "shells and beams (run the deck with *NODE FILE, OUTPUT=3D and pass its .frd as geometry=)."
        )
    kept = sorted({n for n, _ in whose}, key=places.__getitem__)
    rows = {number: i for i, number in enumerate(kept)}
    _check_whole(source, whose, geometry, geometry_source)
    left_out = [n for n in geometry.numbers if n not in rows and n not in turning]
    freedoms = 6 if any(d > 3 for _, d in whose) else 3
    at = np.array([freedoms * rows[n] + d - 1 for n, d in whose])
    turns = np.arange(freedoms * len(kept)) % freedoms >= 3
    M, K = (in_si(_spread(A, at, turns.size), turns, length, mass) for A in (M, K))
    warn_of_massless(source, M, K, [str(n) for n in kept])
    edges, triangles = outline(geometry.elements, rows)
    position: Array = length * geometry.position[[places[n] for n in kept]]
    with source.checked(
        "The matrices must be those of the free structure: leave out *BOUNDARY when they are stored, and pass the node "
        "to be held to reduce(clamped=...)."
    ):
        structure = Structure(
            position,
            M,
            K,
            names=[str(n) for n in kept],
            edges=edges,
            triangles=triangles,
            groups=_groups(geometry, geometry_source, rows),
            geometric=deck_solid(geometry, rows, position, scales) if freedoms == 3 else None,
        )
    if left_out:
        lost = set(left_out)
        sets = [n for n, nodes in geometry.sets.by_name().items() if not lost.isdisjoint(nodes)]
        of_sets = f" The set {several(sets)} does not contain it." if sets else ""
        warn(
            f"{source.path}: node {several(left_out)} of {geometry_source.path} has no degrees of freedom in the "
            f"matrices: it belongs to no element or follows other nodes. It is left out.{of_sets}",
            ModelWarning,
        )
    return structure


def _groups(geometry: Deck, geometry_source: Source, rows: dict[int, int]) -> dict[str, list[int]]:
    """The node sets of a deck in rows of nodes, without nodes that have none."""
    groups, known = {}, set(geometry.numbers)
    for name, nodes in geometry.sets.by_name().items():
        missing = [node for node in nodes if node not in known]
        if missing:
            geometry_source.ignore(
                f"node {several(missing)} of the set {name}, which no *NODE table contains"
            )
        found = [rows[node] for node in nodes if node in rows]
        if found:
            groups[name] = found
    return groups


def _repeated(labels: Sequence[Label]) -> Label | None:
    """The first label that occurs twice."""
    seen: set[Label] = set()
    for label in labels:
        if label in seen:
            return label
        seen.add(label)
    return None


def _check_whole(
    source: Source, labels: Sequence[Label], geometry: Deck, geometry_source: Source
) -> None:
    """Reject nodes of which only some directions are free, and decks that hold nodes."""
    remedy = (
        "Store the matrices of the free structure: leave out *BOUNDARY (their mass is missing otherwise), and hold the "
        "nodes in reduce(clamped=...)."
    )
    free: dict[int, int] = {}
    for n, d in labels:
        free[n] = free.get(n, 0) + (d <= 3)
    partly = [n for n, count in free.items() if count < 3]
    if partly:
        raise source.error(
            f"node {several(partly)} moves only in some of the directions x, y, z: the others are fixed or depend on "
            f"other nodes. {remedy}"
        )
    fixed = [n for n in geometry.numbers if n not in free and n not in geometry.turning]
    if fixed and geometry.fixed_at is not None:
        raise source.error(
            f"node {several(fixed)} has no degrees of freedom in the matrices, and "
            f"{geometry_source.path}:{geometry.fixed_at} fixes nodes by *BOUNDARY. {remedy}"
        )


def _spread(A: sp.csr_array, at: np.ndarray, n: int) -> sp.csr_array:
    """A with its row and column i at place at[i] of n."""
    A = A.tocoo()
    return sp.csr_array((A.data, (at[A.row], at[A.col])), shape=(n, n))


def symmetric_of_triplets(
    source: Source, rows: np.ndarray, columns: np.ndarray, values: Array, n: int
) -> sp.csr_array:
    """The symmetric matrix of entries of either triangle, or of both, which then must agree."""
    if not np.isfinite(values).all():
        bad = int(np.argmin(np.isfinite(values)))
        raise source.error(f"entry {bad + 1} is {values[bad]}: entries must be finite numbers.")
    low, high = np.minimum(rows, columns), np.maximum(rows, columns)
    key = low.astype(np.int64) * n + high
    order = np.argsort(key, kind="stable")
    same = np.flatnonzero(np.diff(key[order]) == 0)
    first, second = order[same], order[same + 1]
    mirrored = (rows[first] == columns[second]) & (rows[first] != columns[first])
    agree = np.abs(values[first] - values[second]) <= 1e-6 * np.abs(values[first])
    wrong = np.flatnonzero(~(mirrored & agree))
    if wrong.size:
        i = first[wrong[0]]
        raise source.error(
            f"the entry of row {rows[i] + 1}, column {columns[i] + 1} occurs twice, or with a different value than its "
            "mirror image: the matrix must be symmetric, and each entry must occur once."
        )
    once = np.setdiff1d(np.flatnonzero(values), second, assume_unique=True)
    off = once[rows[once] != columns[once]]
    i, j = np.concatenate([rows[once], columns[off]]), np.concatenate([columns[once], rows[off]])
    return sp.csr_array((np.concatenate([values[once], values[off]]), (i, j)), shape=(n, n))
