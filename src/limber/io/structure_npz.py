"""Structures in .npz files, bit for bit."""

from __future__ import annotations

import zipfile
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp

from limber.checks import did_you_mean, shown
from limber.errors import ArgumentTypeError, ModelWarning, warn
from limber.io.files import file_path
from limber.io.sources import LARGEST, Source
from limber.structures import Structure
from limber.whole import replacing

_FORMAT = "limber_structure"
_MATRIX = ("data", "indices", "indptr")
_NEEDED = (_FORMAT, "position", "names", *(f"{A}_{part}" for A in "MK" for part in _MATRIX))
_GROUPS = ("group_names", "group_sizes", "group_nodes")
_KNOWN = (*_NEEDED, "edges", "triangles", *_GROUPS)


def write_structure(structure: Structure, path: str | PathLike) -> None:
    """Write a structure to an .npz file; `read_structure` restores it bit for bit.

    structure : the structure.  Its function `geometric`, if any, cannot be written; a warning says so.
    path : the path of the file; an existing file is replaced as a whole.
    """
    if not isinstance(structure, Structure):
        raise ArgumentTypeError(f"structure must be a Structure, got {shown(structure)}.")
    arrays: dict[str, Any] = {
        _FORMAT: np.array(1),
        "position": structure.position,
        "names": np.array(structure.names, dtype=np.str_),
    }
    for name, A in (("M", structure.M), ("K", structure.K)):
        arrays |= {f"{name}_{part}": getattr(A, part) for part in _MATRIX}
    for name in ("edges", "triangles"):
        if getattr(structure, name) is not None:
            arrays[name] = getattr(structure, name)
    if structure.groups:
        nodes = list(structure.groups.values())
        values = np.array([*structure.groups]), np.array([*map(len, nodes)]), np.concatenate(nodes)
        arrays |= dict(zip(_GROUPS, values))
    if structure.geometric is not None:
        warn(
            f"{file_path(path)}: the function `geometric` of the structure is not written: give it again after reading if "
            "you need reduce(geometric_stiffening=True).",
            ModelWarning,
        )
    with replacing(file_path(path)) as stream:
        np.savez_compressed(stream, **arrays)


def read_structure_npz(source: Source) -> Structure:
    """The structure of a file that `write_structure` has written."""
    source.bytes()
    with source.foreign("an .npz"):
        with zipfile.ZipFile(source.path) as archive:
            if sum(item.file_size for item in archive.infolist()) > 4 * LARGEST:
                raise source.error(f"holds more than {4 * LARGEST // 2**20} MiB.")
        with np.load(source.path, allow_pickle=False) as data:
            found = {name: data[name] for name in data.files}
    missing = [name for name in _NEEDED if name not in found]
    if missing:
        raise source.error(
            f"has no array {missing[0]!r}: this is not a file of lb.io.write_structure."
        )
    for name in found:
        if name not in _KNOWN:
            raise source.error(f"has the unknown array {name!r}. {did_you_mean(name, _KNOWN)}")
    if found[_FORMAT].shape != () or found[_FORMAT] != 1:
        raise source.error(
            f"has the version {shown(found[_FORMAT].tolist())}, which this version of Limber does not know."
        )
    with source.foreign("the sparse matrices of a structure"):
        n = len(found["names"])
        M, K = (_matrix(source, found, name) for name in "MK")
        names = [str(name) for name in found["names"]]
        groups = _groups(source, found)
    with source.checked():
        return Structure(
            found["position"], M, K, names=names if n else None,
            edges=found.get("edges"), triangles=found.get("triangles"), groups=groups,
        )  # fmt: skip


def _groups(source: Source, found: dict[str, np.ndarray]) -> dict[str, list[int]]:
    """Node numbers by the name of their group."""
    if not any(name in found for name in _GROUPS):
        return {}
    names, sizes, nodes = (found.get(name, np.zeros(0)) for name in _GROUPS)
    whole = all(x.ndim == 1 and x.dtype.kind in "iu" for x in (sizes, nodes))
    if not whole or names.shape != sizes.shape or sizes.min() < 1 or sizes.sum() != nodes.size:
        raise source.error("its groups are damaged: names, sizes and nodes are inconsistent.")
    parts = np.split(nodes, np.cumsum(sizes)[:-1])
    return {str(name): part.tolist() for name, part in zip(names, parts)}


def _matrix(source: Source, found: dict[str, np.ndarray], name: str) -> sp.csr_array:
    """A sparse matrix, checked as far as SciPy does not."""
    data, indices, indptr = (found[f"{name}_{part}"] for part in _MATRIX)
    n = len(indptr) - 1
    whole = all(x.dtype.kind in "iu" for x in (indices, indptr))
    if (
        not whole
        or n < 1
        or indices.size != data.size
        or (indices.size and not 0 <= indices.min() <= indices.max() < n)
    ):
        raise source.error(
            f"{name} is damaged: its rows and columns are inconsistent. Write it again."
        )
    A = sp.csr_array((data, indices, indptr), shape=(n, n))
    A.check_format()
    return A
