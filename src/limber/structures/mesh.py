"""Meshes given by users: from scikit-fem, from files, or as points and cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from limber.checks import Array, array, listed, shown
from limber.errors import ArgumentTypeError, ArgumentValueError, FileError, MissingExtraError
from limber.structures.cells import cell_of, scikit_fem


@dataclass(frozen=True, eq=False)
class Mesh:
    """Points (n, 3) and cells (e, k), numbers of points in the usual order (VTK); named facets by their corners (f, c)."""

    position: Array
    cells: np.ndarray
    facets: Mapping[str, np.ndarray] = field(default_factory=dict)


def read_mesh(mesh: Any, sizes: Mapping[int, str], flat: bool) -> Mesh:
    """A mesh whose cells have one of these numbers of nodes; the points of one that may be `flat` may have two columns."""
    if isinstance(mesh, str | PathLike):
        mesh = _load(fspath(mesh))
    expected = f"cells of {listed_sizes(sizes)}"
    if isinstance(mesh, tuple | list):
        if len(mesh) != 2:
            raise ArgumentTypeError(
                f"mesh must be (points, cells), a mesh of scikit-fem or a file, got a sequence of {len(mesh)} items."
            )
        found = Mesh(_points(mesh[0], flat), _cells(mesh[1], sizes))
    elif hasattr(mesh, "doflocs") and hasattr(mesh, "t"):
        found = _of_scikit_fem(mesh, flat)
        if found.cells.shape[1] not in sizes:
            raise ArgumentTypeError(
                f"mesh must have {expected}, got a {type(mesh).__name__} with {found.cells.shape[1]} nodes per cell."
            )
    else:
        raise ArgumentTypeError(
            f"mesh must be (points, cells), a mesh of scikit-fem such as skfem.MeshTet(...), or a mesh file, got {shown(mesh)}."
        )
    n = len(found.position)
    if not len(found.cells):
        raise ArgumentValueError("mesh has no cells.")
    if found.cells.min() < 0 or found.cells.max() >= n:
        raise ArgumentValueError(
            f"mesh has cells with points {found.cells.min()} to {found.cells.max()}, but it has {n} points: valid numbers "
            f"are 0 to {n - 1}."
        )
    idle = np.setdiff1d(np.arange(n), found.cells)
    if idle.size:
        raise ArgumentValueError(
            f"mesh has points that no cell uses, {listed(map(str, idle[:6].tolist()))}{', ...' if idle.size > 6 else ''}: "
            "remove them."
        )
    return found


def listed_sizes(sizes: Mapping[int, str]) -> str:
    """Kinds of cells in words."""
    return " or ".join(f"{k} nodes ({name})" for k, name in sizes.items())


def _points(points: Any, flat: bool) -> Array:
    columns = np.shape(points)[1] if np.ndim(points) == 2 else 3
    if flat and columns == 2:
        given = array("points", points, ("n", 2), "One point per row.")
        return np.column_stack([given, np.zeros(len(given))])
    return array("points", points, ("n", 3), "One point per row.")


def _cells(cells: Any, sizes: Mapping[int, str]) -> np.ndarray:
    rows = array("cells", cells, ("e", "k"), "Numbers of points, from 0; each row is a cell.")
    whole = rows.astype(np.int64)
    if np.any(whole != rows):
        raise ArgumentValueError("cells must contain whole numbers, the numbers of points.")
    if rows.shape[1] not in sizes:
        raise ArgumentValueError(
            f"cells must have {listed_sizes(sizes)}, got {rows.shape[1]} columns."
        )
    return whole


def _load(path: str) -> Any:
    """The mesh in a file."""
    fem = scikit_fem()
    try:
        import meshio  # noqa: F401, PLC0415
    except ImportError as error:
        raise MissingExtraError(
            "mesh files need the library meshio: install it with pip install limber-dynamics[mesh]."
        ) from error
    if not Path(path).is_file():
        raise FileError(f"{path}: there is no such mesh file.")
    try:
        return fem.Mesh.load(path)
    except (Exception, SystemExit) as error:  # what readers of many formats may raise
        raise FileError(
            f"{path}: the mesh cannot be read ({type(error).__name__}: {error}). Formats are those of the library meshio, "
            "such as .msh of Gmsh, .vtu and .inp, with cells of one kind."
        ) from error


def _of_scikit_fem(mesh: Any, flat: bool) -> Mesh:
    """A mesh of scikit-fem, whose cubes are numbered in another order."""
    places = mesh.doflocs.T.astype(float)
    cells = mesh.dofs.element_dofs.T.astype(np.int64)
    element = mesh.elem()
    if places.shape[1] == 2 and flat:
        places = np.column_stack([places, np.zeros(len(places))])
    elif places.shape[1] != 3:
        raise ArgumentTypeError(
            f"mesh must be three-dimensional, got a {type(mesh).__name__} with {places.shape[1]} coordinates."
        )
    if element.refdom.nnodes in (4, 8) and element.refdom.dim() == 3:
        cells = cells[:, _usual_order(element)]
    used, cells = np.unique(cells, return_inverse=True)
    renumbered = np.zeros(len(places), dtype=np.int64)
    renumbered[used] = np.arange(used.size)
    facets = {
        name: renumbered[mesh.facets[:, np.asarray(which)].T]
        for name, which in (mesh.boundaries or {}).items()
    }
    return Mesh(places[used], cells.reshape(mesh.t.shape[1], -1), facets)


def _usual_order(element: Any) -> np.ndarray:
    """(n,): for each node of the usual order the number of the node in scikit-fem."""
    n = len(element.doflocs)
    return cell_of(element.refdom.nnodes, 1 if n in (4, 8) else 2, n == 20).order
