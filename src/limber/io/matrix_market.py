"""Structures from matrices in Matrix Market files and a table of nodes."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp
from numpy.typing import ArrayLike

from limber.checks import array, shown
from limber.io.sources import Source, number
from limber.io.units import in_si, scales
from limber.structures import Structure

#: The most rows of a matrix.
_MOST_ROWS = 10_000_000


def read_matrix_market(
    mass: str | PathLike,
    stiffness: str | PathLike,
    nodes: str | PathLike | ArrayLike,
    *,
    units: str | tuple[float, float] = "m-kg",
) -> Structure:
    """The structure of two matrices in Matrix Market files (.mtx, also .mtx.gz).

    Parameters
    ----------
    mass, stiffness : the files; 6 freedoms a node (x, y, z, then rotations) or 3, node after node.
    nodes : a text file with a line `name x y z` a node, separated by spaces or commas, in the order of the matrices,
        or the positions (n, 3).
    units : of the numbers: "m-kg", "mm-t", "mm-kg", "in-slinch", "ft-slug", or (metres, kilograms) in their units of
        length and mass.  Times are in seconds.
    """
    length, kilograms = scales(units)
    mass_source, stiffness_source = Source(mass, "mass"), Source(stiffness, "stiffness")
    M, K = _read(mass_source), _read(stiffness_source)
    if isinstance(nodes, (str, PathLike)):
        table = Source(nodes, "nodes")
        names, position = _table(table)
    else:
        table, names = stiffness_source, None
        position = array("nodes", nodes, ("n", 3), "One point per node, or the path of a table.")
    n = len(position)
    for source, A in ((mass_source, M), (stiffness_source, K)):
        if A.shape not in ((3 * n, 3 * n), (6 * n, 6 * n)):
            raise source.error(
                f"the matrix is {A.shape[0]} x {A.shape[1]}, and there are {n} nodes: it must have 3 or 6 rows a node."
            )
    if M.shape != K.shape:
        raise mass_source.error(
            f"the mass matrix is {M.shape[0]} x {M.shape[1]}, the stiffness matrix {K.shape[0]} x {K.shape[1]}: they must be of "
            "one size."
        )
    freedoms = K.shape[0] // n
    turns = np.arange(K.shape[0]) % freedoms >= 3
    M, K = (in_si(A, turns, length, kilograms) for A in (M, K))
    with stiffness_source.checked():
        return Structure(length * position, M, K, names=names)


def _read(source: Source) -> Any:
    """A real, square matrix."""
    source.bytes()
    with source.foreign("a matrix in the Matrix Market format"):
        rows, columns, _, _, kind, _ = scipy.io.mminfo(source.path)
        if rows != columns or kind not in ("real", "integer") or not 0 < rows <= _MOST_ROWS:
            raise source.error(f"the matrix must be square and of real numbers, got {rows} x {columns}, {kind}.")
        matrix = sp.csr_array(scipy.io.mmread(source.path), dtype=float)
    if not np.isfinite(matrix.data).all():
        raise source.error("the matrix has numbers that are not finite.")
    return matrix


def _table(source: Source) -> tuple[list[str], np.ndarray]:
    """Names and positions of a node table; empty lines and those that start with # or % are comments."""
    names, places, seen = [], [], set()
    for line, text in enumerate(source.text().splitlines(), 1):
        words = text.replace(",", " ").split()
        if not words or words[0][0] in "#%":
            continue
        if len(words) != 4:
            raise source.error(f"must be a name and three coordinates, got {shown(text.strip())}.", line)
        if words[0] in seen:
            raise source.error(f"node {words[0]!r} comes twice.", line)
        seen.add(words[0])
        names.append(words[0])
        places.append([number(source, x, line, f"a coordinate of node {words[0]}") for x in words[1:]])
    if not names:
        raise source.error("there are no nodes in it.")
    return names, np.array(places)
