"""Matrices of Nastran's OUTPUT2 files: data blocks of matrices, and tables of DMIG.  Records are read by pyyeti.

A table of DMIG (as EXTSEOUT with DMIGOP2 writes it) is one record of words, of four or eight bytes:

    114, 1, 120        what it is
    name               8 characters
    0, form, type, type, 0, 0, columns
    grid, direction    of a column, followed by its entries: grid, direction, number; -1, -1 ends the column
    -1, -1             ends the table
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from limber.io.nastran_bulk import pyyeti
from limber.io.sources import Source

#: The first words of a table of DMIG.
DMIG = (114, 1, 120)
#: Forms of DMIG: square and symmetric; others have no rows that belong to their columns.
_SQUARE, _SYMMETRIC = 1, 6
#: Types of numbers: real and complex, single and double.
_TYPES = {1: np.float32, 2: np.float64, 3: np.complex64, 4: np.complex128}
#: The most numbers of a matrix, which is read into memory with its zeros.
_MOST_NUMBERS = 2**29

#: (grid, direction) of the rows of a matrix.
Labels = tuple[tuple[int, int], ...]


def read_op2(source: Source) -> Iterator[tuple[str, Any, Labels | None]]:
    """Name, values and, of a DMIG, labels of each matrix in the file."""
    op2 = pyyeti("op2")
    with source.foreign("OP2"), op2.OP2(str(source.path)) as file:
        found = file.directory(verbose=False)
        blocks = sorted((block for same in found.values() for block in same), key=_start)
        names = _names(file, blocks)
        for name, block in zip(names, blocks):
            file.set_position(block.start)
            _, trailer, _ = file.rdop2nt()
            if block.dbtype == 1:
                if block.size[0] * block.size[1] > _MOST_NUMBERS:
                    raise source.error(
                        f"the matrix {name.upper()} has {block.size[0]} x {block.size[1]} numbers. Is the file damaged?"
                    )
                yield name, file.rdop2matrix(trailer), None
            elif block.headers and tuple(block.headers[0][0]) == DMIG:
                values, labels = _dmig(file.rdop2record())
                if labels is not None:
                    yield name, values, labels


def _start(block: Any) -> int:
    return block.start


def _names(file: Any, blocks: list[Any]) -> list[str]:
    """Names of the blocks in lower case: of an external superelement those of its directory, XSOP2DIR."""
    names = [block.name.lower() for block in blocks]
    if not names or names[0] != "xsop2dir":
        return names
    file.set_position(blocks[0].start)
    file.rdop2nt()
    listed = []
    for _ in blocks[0].headers:
        record = np.asarray(file.rdop2record())
        listed.append(record.tobytes().decode("latin-1").replace(" ", "").lower())
    return ["xsop2dir", *listed] if len(listed) == len(blocks) - 1 else names


def _dmig(words: np.ndarray) -> tuple[sp.csr_array | None, Labels | None]:
    """The matrix of a table of DMIG and its labels; None for one that is not square."""
    form, kind = int(words[6]), int(words[7])
    if form not in (_SQUARE, _SYMMETRIC):
        return None, None
    number = (
        np.dtype(_TYPES[kind]) if words.itemsize == 4 else np.dtype(_TYPES[2 if kind < 3 else 4])
    )
    step = 2 + number.itemsize // words.itemsize
    ends = np.flatnonzero((words[:-1] == -1) & (words[1:] == -1))
    at, entries, columns = 12, [], []
    while at not in ends[-1:]:
        first = at + 2
        later = ends[np.searchsorted(ends, first) :]
        end = int(later[(later - first) % step == 0][0])
        table = words[first:end].reshape(-1, step)
        entries.append(table)
        columns.append(np.tile(words[at:first], (len(table), 1)))
        at = end + 2
    table, column = np.vstack(entries), np.vstack(columns)
    values = np.ascontiguousarray(table[:, 2:]).view(number.newbyteorder(words.dtype.byteorder))[
        :, 0
    ]
    both = np.vstack([table[:, :2], column]).astype(np.int64)
    keys, where = np.unique(both[:, 0] * 10 + both[:, 1], return_inverse=True)
    i, j = where.reshape(2, -1)
    if form == _SYMMETRIC:  # one triangle
        off = i != j
        i, j, values = np.append(i, j[off]), np.append(j, i[off]), np.append(values, values[off])
    labels = tuple((int(key) // 10, int(key) % 10) for key in keys)
    return sp.csr_array((values, (i, j)), shape=(keys.size, keys.size)), labels
