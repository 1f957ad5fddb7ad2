"""Structures from the matrices that Abaqus writes, with the node and element tables of the deck."""

from __future__ import annotations

from os import PathLike

import numpy as np

from limber.checks import Array, shown
from limber.io.calculix import read_geometry
from limber.io.deck import Deck
from limber.io.labelled import Label, structure_of_labels, symmetric_of_triplets
from limber.io.sources import Source
from limber.io.units import scales
from limber.structures import Structure

#: Columns of a file: FORMAT=MATRIX INPUT has labels of rows and columns, FORMAT=COORDINATE their numbers.
_LABELLED, _NUMBERED = 5, 3
_LINES = {
    _LABELLED: "node, direction, node, direction, value, with directions from 1 to 6 and no internal nodes",
    _NUMBERED: "row, column, value, with rows and columns from 1",
}


def read_abaqus(
    stiffness: str | PathLike,
    mass: str | PathLike,
    geometry: str | PathLike,
    *,
    units: str | tuple[float, float] = "m-kg",
) -> Structure:
    """Read a structure from matrices that Abaqus writes (`*MATRIX GENERATE, STIFFNESS, MASS` and `*MATRIX OUTPUT`).

    Parameters
    ----------
    stiffness, mass : .mtx files, both with FORMAT=MATRIX INPUT (node, direction, node, direction, value) or both with
        FORMAT=COORDINATE (row, column, value).  The latter do not name their degrees of freedom: all nodes must have 3
        or all must have 6, with rows in the order of the node numbers.
    geometry : the deck (.inp) with nodes and elements, flat or with one instance of one part.  Its node sets become
        groups.
    units : as in `read_calculix`.
    """
    factors = scales(units)
    sources = Source(stiffness, "stiffness"), Source(mass, "mass")
    geometry_source = Source(geometry, "geometry")
    tables = [_read_table(source) for source in sources]
    widths = [table.shape[1] for table in tables]
    if widths[0] != widths[1]:
        raise sources[1].error(
            f"has {widths[1]} columns, and {sources[0].path} has {widths[0]}: write both with the same FORMAT= of *MATRIX OUTPUT."
        )
    deck = read_geometry(geometry_source)
    if widths[0] == _NUMBERED:
        n = int(max(table[:, :2].max() for table in tables))
        labels = _labels_in_order(sources[0], n, deck)
        rows = [table[:, :2].T.astype(np.int64) - 1 for table in tables]
    else:
        keys = [10 * table[:, :4:2] + table[:, 1:4:2] for table in tables]
        known, where = np.unique(np.concatenate(keys).astype(np.int64), return_inverse=True)
        labels = [(int(key) // 10, int(key) % 10) for key in known]
        ends = np.cumsum([key.size for key in keys])[:-1]
        rows = [part.reshape(-1, 2).T for part in np.split(where.ravel(), ends)]
    K, M = (
        symmetric_of_triplets(source, first, second, table[:, -1], len(labels))
        for source, (first, second), table in zip(sources, rows, tables)
    )
    structure = structure_of_labels(sources[0], labels, M, K, deck, geometry_source, factors)
    geometry_source.report(
        "The matrices already contain whatever these define about mass and stiffness."
    )
    return structure


def _read_table(source: Source) -> Array:
    """The numbers of a file, in five columns or three."""
    lines = [
        (i, text.replace(",", " "))
        for i, text in enumerate(source.text().splitlines(), 1)
        if text.strip() and not text.lstrip().startswith("*")
    ]
    if not lines:
        raise source.error("the file contains no entries. Is it cut off?")
    width = len(lines[0][1].split())
    width = width if width in _LINES else _LABELLED
    try:
        table = np.loadtxt([text for _, text in lines], ndmin=2, comments=None)
    except (ValueError, OverflowError):
        bad = next((i for i, (_, text) in enumerate(lines) if not _is_row(text, width)), 0)
        raise _wrong(source, lines[bad], width) from None
    labels = table[:, : width - 1] if table.shape[1] == width else np.zeros((1, 1))
    fits = np.isfinite(table).all(axis=1) & (labels >= 1).all(axis=1)
    fits &= (labels == np.floor(labels)).all(axis=1) & (labels < 1e9).all(axis=1)
    if width == _LABELLED and fits.all():
        fits &= (labels[:, 1::2] <= 6).all(axis=1)
    if not fits.all():
        raise _wrong(source, lines[int(np.argmin(fits))], width)
    return table


def _is_row(text: str, width: int) -> bool:
    words = text.split()
    try:
        return len([float(word) for word in words]) == width
    except ValueError:
        return False


def _wrong(source: Source, line: tuple[int, str], width: int):
    """The error of a line."""
    number, text = line
    return source.error(
        f"must be {_LINES[width]}, got {shown(' '.join(text.split()))}. Write it with *MATRIX OUTPUT, FORMAT=MATRIX INPUT.",
        number,
    )


def _labels_in_order(source: Source, n: int, deck: Deck) -> list[Label]:
    """Node and direction of n rows that come in the order of the nodes: of all of the deck, or of its elements."""
    in_elements = {node for _, _, nodes in deck.elements for node in nodes}
    for nodes in (sorted(deck.numbers), sorted(in_elements)):
        if nodes and n in (3 * len(nodes), 6 * len(nodes)):
            return [(node, d) for node in nodes for d in range(1, n // len(nodes) + 1)]
    raise source.error(
        f"has {n} rows, but the deck has {len(deck.numbers)} nodes: without labels there must be 3 or 6 rows for every "
        "node. Write the matrices with *MATRIX OUTPUT, FORMAT=MATRIX INPUT, which names their degrees of freedom."
    )
