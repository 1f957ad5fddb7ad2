"""Structures from matrices in Matrix Market files and a table of nodes."""

from __future__ import annotations

import gzip
from os import PathLike

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from limber.checks import Array, array, shown
from limber.io.sources import Source, number, whole_number
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
    """Read a structure from two matrices in Matrix Market files (.mtx, also .mtx.gz).

    Parameters
    ----------
    mass, stiffness : the files; 6 degrees of freedom per node (x, y, z, then rotations) or 3, node after node.
    nodes : a text file with a line `name x y z` for each node, separated by spaces or commas, in the order of the
        matrices, or the positions (n, 3).
    units : units of the numbers: "m-kg", "mm-t", "mm-kg", "in-slinch", "ft-slug", or (metres, kilograms) per unit of
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
                f"the matrix is {A.shape[0]} x {A.shape[1]}, but there are {n} nodes: it must have 3 or 6 rows per node."
            )
    if M.shape != K.shape:
        raise mass_source.error(
            f"the mass matrix is {M.shape[0]} x {M.shape[1]}, but the stiffness matrix is {K.shape[0]} x {K.shape[1]}: "
            "they must have the same size."
        )
    freedoms = K.shape[0] // n
    turns = np.arange(K.shape[0]) % freedoms >= 3
    M, K = (in_si(A, turns, length, kilograms) for A in (M, K))
    with stiffness_source.checked():
        return Structure(length * position, M, K, names=names)


def _read(source: Source) -> sp.csr_array:
    """A real, square matrix."""
    data = source.bytes()
    if source.path.suffix.lower() == ".gz":
        with source.foreign("a file of gzip"):
            data = gzip.decompress(data)
    lines = data.decode("latin-1").splitlines()
    words = lines[0].lower().split() if lines else []
    if (
        len(words) != 5
        or words[:2] != ["%%matrixmarket", "matrix"]
        or words[2] not in ("coordinate", "array")
    ):
        raise source.error(
            "must start with '%%MatrixMarket matrix coordinate real symmetric' or similar.", 1
        )
    if words[3] not in ("real", "integer", "double") or words[4] not in ("general", "symmetric"):
        raise source.error(
            f"the matrix must be real, general or symmetric, got {shown(' '.join(words[3:]))}.", 1
        )
    start = next(
        (i for i, t in enumerate(lines) if t.strip() and not t.startswith("%")), len(lines) - 1
    )
    sizes = [whole_number(source, x, start + 1, "a size") for x in lines[start].split()]
    dense, symmetric = words[2] == "array", words[4] == "symmetric"
    if len(sizes) != (2 if dense else 3) or sizes[0] != sizes[1] or not 0 < sizes[0] <= _MOST_ROWS:
        raise source.error(
            f"the matrix must be square, got the sizes {shown(lines[start].strip())}.", start + 1
        )
    with source.foreign("numbers of a matrix"):
        numbers: Array = np.loadtxt(lines[start + 1 :], ndmin=2, comments="%")
    return _square(source, numbers, sizes, symmetric)


def _square(source: Source, numbers: Array, sizes: list[int], symmetric: bool) -> sp.csr_array:
    """The matrix of the numbers that follow the sizes."""
    n = sizes[0]
    if len(sizes) == 2:  # column by column
        want = n * (n + 1) // 2 if symmetric else n * n
        columns, rows = np.triu_indices(n) if symmetric else np.divmod(np.arange(n * n), n)
        width = 1
    else:
        want, width = sizes[2], 3
    if numbers.shape != (want, width):
        raise source.error(
            f"must have {want} lines of {width} numbers after its sizes, got {numbers.shape[0]} lines of {numbers.shape[1]}. Is it "
            "cut off?"
        )
    if width == 3:
        index = numbers[:, :2]
        if not ((index >= 1) & (index <= n) & (index == np.floor(index))).all():
            raise source.error(f"rows and columns must be whole numbers from 1 to {n}.")
        rows, columns = index.astype(np.int64).T - 1
    values = numbers[:, -1]
    if not np.isfinite(values).all():
        raise source.error("the matrix has numbers that are not finite.")
    low, high = (
        (np.minimum(rows, columns), np.maximum(rows, columns)) if symmetric else (rows, columns)
    )
    if np.unique(low * n + high).size != values.size:
        raise source.error(
            "an entry occurs twice: each must occur once, and symmetric matrices contain one triangle."
        )
    if symmetric:
        off = rows != columns
        rows, columns = np.concatenate([rows, columns[off]]), np.concatenate([columns, rows[off]])
        values = np.concatenate([values, values[off]])
    return sp.csr_array((values, (rows, columns)), shape=(n, n))


def _table(source: Source) -> tuple[list[str], np.ndarray]:
    """Names and positions of a node table; empty lines and those that start with # or % are comments."""
    names, places, seen = [], [], set()
    for line, text in enumerate(source.text().splitlines(), 1):
        words = text.replace(",", " ").split()
        if not words or words[0][0] in "#%":
            continue
        if len(words) != 4:
            raise source.error(
                f"must be a name and three coordinates, got {shown(text.strip())}.", line
            )
        if words[0] in seen:
            raise source.error(f"node {words[0]!r} occurs twice.", line)
        seen.add(words[0])
        names.append(words[0])
        places.append(
            [number(source, x, line, f"a coordinate of node {words[0]}") for x in words[1:]]
        )
    if not names:
        raise source.error("the file contains no nodes.")
    return names, np.array(places)
