"""Structures from CalculiX: stored matrices with the node and element tables of the deck."""

from __future__ import annotations

from os import PathLike

import numpy as np
import scipy.sparse as sp

from limber.checks import Array, shown
from limber.io.deck import Deck, read_deck
from limber.io.frd import frd_geometry
from limber.io.labelled import Label, structure_of_labels, symmetric_of_triplets
from limber.io.sources import Source
from limber.io.units import scales
from limber.structures import Structure

_HOW = "CalculiX writes .sti, .mas and .dof in a step *FREQUENCY, SOLVER=MATRIXSTORAGE without *BOUNDARY."


def read_calculix(
    path: str | PathLike,
    *,
    geometry: str | PathLike | None = None,
    units: str | tuple[float, float] = "m-kg",
) -> Structure:
    """Read a structure whose matrices CalculiX has stored (`*FREQUENCY, SOLVER=MATRIXSTORAGE`).

    Parameters
    ----------
    path : the path of the job, with any suffix; its .sti, .mas and .dof files are read.
    geometry : the deck (.inp) or the results (.frd) with nodes and elements.  None: the .inp of the job.
    units : units of the deck: "m-kg", "mm-t", "mm-kg", "in-slinch", "ft-slug", or (metres, kilograms) per unit of
        length and mass.  Times are in seconds.

    The deck must not hold any node (*BOUNDARY): CalculiX leaves out the degrees of freedom that are held, and their
    mass with them.  A node ROT NODE of *RIGID BODY becomes the rotations of its REF NODE.  Nodes are named by their
    numbers; the node sets of a deck (*NSET, and NSET= of *NODE) become groups.
    """
    job, factors = Source(path), scales(units)
    stiffness, mass, order = (job.beside(s) for s in (".sti", ".mas", ".dof"))
    for file in (stiffness, mass, order):
        if not file.exists():
            raise file.error(f"there is no such file. {_HOW}")
    geometry_source = job.beside(".inp") if geometry is None else Source(geometry, "geometry")
    if not geometry_source.exists():
        raise geometry_source.error(
            "there is no such file. Pass the deck (.inp) or the results (.frd) that contain the nodes as geometry=."
        )
    labels = _read_order(order)
    K, M = (_read_triplets(file, len(labels)) for file in (stiffness, mass))
    deck = read_geometry(geometry_source)
    structure = structure_of_labels(stiffness, labels, M, K, deck, geometry_source, factors)
    geometry_source.report(
        "The matrices already contain whatever these define about mass and stiffness."
    )
    return structure


def read_geometry(source: Source) -> Deck:
    """Nodes and elements of a deck or of results."""
    deck = frd_geometry(source) if source.path.suffix.lower() == ".frd" else read_deck(source)
    if not deck.numbers:
        raise source.error("the file contains no nodes: it needs a *NODE table.")
    return deck


def _read_order(source: Source) -> list[Label]:
    """The file .dof: node.direction in each line."""
    labels = []
    for line, text in enumerate(source.text().splitlines(), 1):
        node, _, direction = text.strip().partition(".")
        if (
            not (node.isdecimal() and node.isascii() and direction in tuple("123456"))
            or len(node) > 18
        ):
            raise source.error(
                f"must be node.direction, as in 12.3, got {shown(text.strip())}.", line
            )
        labels.append((int(node), int(direction)))
    if not labels:
        raise source.error(f"the file is empty. {_HOW}")
    return labels


def _read_triplets(source: Source, n: int) -> sp.csr_array:
    """The files .sti and .mas: row, column and value of one triangle, from 1."""
    lines = source.text().splitlines()
    if not lines:
        raise source.error(f"the file is empty. {_HOW}")
    with source.foreign("lines of row, column, value"):
        table: Array = np.loadtxt(lines, ndmin=2, comments=None)
    if table.shape[1] != 3:
        raise source.error(f"lines must be row, column, value, got {table.shape[1]} columns.")
    index = table[:, :2]
    fits = np.isfinite(table).all(axis=1) & (index >= 1).all(axis=1) & (index <= n).all(axis=1)
    fits &= (index == np.floor(index)).all(axis=1)
    if not fits.all():
        line = int(np.argmin(fits)) + 1
        raise source.error(
            f"must be row, column, value with rows and columns from 1 to {n}, the number of lines of the .dof file, got "
            f"{shown(lines[line - 1].strip())}. Are the files complete, and from the same run?",
            line,
        )
    rows, columns = index.astype(np.int64).T - 1
    if max(rows.max(), columns.max()) != n - 1:
        raise source.error(
            f"has rows up to {max(rows.max(), columns.max()) + 1}, but the .dof file has {n} lines. Are the files "
            "complete, and from the same run?"
        )
    return symmetric_of_triplets(source, rows, columns, table[:, 2], n)
