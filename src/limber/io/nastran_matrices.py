"""Matrices of Nastran: OP4, OP2 and DMIG of punch files.  Read by pyyeti."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from limber.io.nastran_bulk import pyyeti
from limber.io.nastran_op2 import read_op2
from limber.io.sources import Source, several

#: Names of mass and stiffness matrices that belong together, in the order in which they are looked for.
PAIRS = (
    ("mxx", "kxx"), ("maax", "kaax"), ("maa", "kaa"), ("mgg", "kgg"), ("mjj", "kjj"), ("m2gg", "k2gg"), ("m2pp", "k2pp"),
    ("matm", "matk"),
)  # fmt: skip
#: The most rows of a matrix.
_MOST_ROWS = 3_000_000
#: Names of the pairs that Nastran adds to the matrices of the elements.
_ADDED = ("m2gg", "m2pp")


@dataclass(frozen=True, eq=False)
class Matrix:
    """A matrix, with (grid, direction) of its rows if the file has them."""

    values: Any  # sparse or dense
    labels: tuple[tuple[int, int], ...] | None
    added: bool = False  # whether Nastran adds it to the matrix of the elements


def read_matrices(source: Source) -> dict[str, Matrix]:
    """All matrices of a file by their names in lower case."""
    kind = source.path.suffix.lower()
    source.bytes()  # whether the file can be read at all
    if kind == ".op4":
        found = _op4(source)
    elif kind == ".op2":
        found = {name: Matrix(values, labels) for name, values, labels in read_op2(source)}
    else:
        found = _dmig(source)
    if not found:
        included = kind not in (".op4", ".op2") and re.search(
            r"^\s*INCLUDE\b", source.text(), re.MULTILINE | re.IGNORECASE
        )
        elements = kind not in (".op4", ".op2") and re.search(
            r"^\s*C(BAR|BEAM|ROD|QUAD|TRIA|HEXA|TETRA|PENTA|SHEAR|BUSH|ELAS)",
            source.text(),
            re.MULTILINE | re.IGNORECASE,
        )
        hint = ""
        if included:
            hint = " Matrices in included files are not read: pass the file that contains them as matrices=."
        elif elements:
            hint = (
                " It has elements, which Limber does not assemble: let Nastran write the mass and stiffness matrix as an "
                "external superelement (EXTSEOUT), DMIG or OP4, or build beams, frames, plates and solids in Limber "
                "(lb.structures)."
            )
        raise source.error(f"the file contains no matrices.{hint}")
    return found


def choose(
    source: Source, found: dict[str, Matrix], mass: str | None, stiffness: str | None
) -> tuple[Matrix, Matrix]:
    """The mass and the stiffness matrix: those requested, or the only pair in the file."""
    names = [(mass.lower(), stiffness.lower())] if mass and stiffness else PAIRS
    pairs = [pair for pair in names if found.keys() >= set(pair)]
    if not pairs:
        wanted = f"{mass} and {stiffness}" if mass and stiffness else "a pair such as MAA and KAA"
        raise source.error(
            f"there is no mass and stiffness matrix ({wanted}). The file contains {several(sorted(found), 20)}. Pass "
            "their names as mass= and stiffness=."
        )
    if len(pairs) > 1:
        raise source.error(
            f"there are several pairs of mass and stiffness: {', '.join(f'{m}, {k}' for m, k in pairs)}. Pass the names "
            "of one pair as mass= and stiffness=."
        )
    for name in sorted(found.keys() - set(pairs[0])):
        if max(found[name].values.shape) > 1:
            source.ignore(f"the matrix {name.upper()}")
    m, k = (
        Matrix(_real(source, name, found[name].values), found[name].labels, pairs[0][0] in _ADDED)
        for name in pairs[0]
    )
    return m, k


def _real(source: Source, name: str, values: Any) -> sp.csr_array:
    """A matrix of real, finite numbers."""
    with source.foreign(f"the matrix {name.upper()}"):
        matrix = sp.csr_array(values)
    if np.iscomplexobj(matrix.data) and not np.any(matrix.data.imag):
        matrix = matrix.real
    if np.iscomplexobj(matrix.data) or not np.isfinite(matrix.data).all():
        raise source.error(
            f"the matrix {name.upper()} has complex numbers or ones that are not finite."
        )
    return matrix.astype(float)


def _op4(source: Source) -> dict[str, Matrix]:
    op4 = pyyeti("op4")
    with source.foreign("OP4"):
        names, sizes, *_ = op4.dir(str(source.path), verbose=False)
    for name, (rows, columns) in zip(names, sizes):
        if not (0 < rows <= _MOST_ROWS and 0 < columns <= _MOST_ROWS):
            raise source.error(
                f"the matrix {name.upper()} has {rows} x {columns} numbers. Is the file damaged?"
            )
    with source.foreign("OP4"):
        names, values, *_ = op4.load(str(source.path), into="list", sparse=True)
    lower = [name.lower() for name in names]
    for name in {name for name in lower if lower.count(name) > 1}:
        source.ignore(f"the matrix {name.upper()}, which occurs several times")
    return {
        name: Matrix(matrix, None) for name, matrix in zip(lower, values) if lower.count(name) == 1
    }


def _dmig(source: Source) -> dict[str, Matrix]:
    bulk = pyyeti("bulk")
    if not re.search(r"^DMIG", source.text(), re.MULTILINE | re.IGNORECASE):
        return {}
    with source.foreign("DMIG"):
        given = bulk.rddmig(str(source.path), square=True, encoding="latin_1")
        found = {}
        for name, frame in (given or {}).items():
            if frame.shape[0] == frame.shape[1] and frame.index.nlevels == 2:
                labels = tuple((int(i), int(d)) for i, d in frame.index)
                if labels == tuple((int(i), int(d)) for i, d in frame.columns):
                    found[name.lower()] = Matrix(frame.to_numpy(), labels)
    return found
