"""Structures and superelements from Nastran."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike

import numpy as np
import scipy.sparse as sp

from limber.errors import ArgumentValueError, ModelWarning, warn
from limber.io.elements import outline
from limber.io.massless import warn_of_massless
from limber.io.nastran_bulk import Bulk, read_bulk, read_order
from limber.io.nastran_matrices import Matrix, choose, read_matrices
from limber.io.sources import Source, several
from limber.io.units import in_si, scales
from limber.structures import Structure
from limber.structures.matrices import FASTEST, SLOWEST
from limber.structures.superelement import Superelement

#: A row of a matrix: (grid, 1 to 6) or (scalar point, 0).
Label = tuple[int, int]


def read_nastran(
    path: str | PathLike,
    *,
    matrices: str | PathLike | None = None,
    mass: str | None = None,
    stiffness: str | None = None,
    units: str | tuple[float, float] = "m-kg",
) -> Structure | Superelement:
    """Read a structure or a superelement from Nastran files.

    Parameters
    ----------
    path : the .asm file of an external superelement (EXTSEOUT with ASMBULK, EXTBULK and MATOP4, DMIGOP2 or DMIGPCH),
        with its .pch and .op4 or .op2 next to it; or a bulk-data file (.bdf, .dat, .pch) with GRIDs, which may contain
        DMIG matrices.
    matrices : the file with the matrices: OP4, OP2, or DMIG in a punch file.  None: next to `path` or in it.
    mass, stiffness : names of the matrices, such as "MGG" and "KGG".  None: the only pair present among MXX, KXX; MAA,
        KAA; ...
    units : units of the model: "m-kg", "mm-t", "mm-kg", "in-slinch", "ft-slug", or (metres, kilograms) per unit of
        length and mass.  Times are in seconds.

    Matrices without labels (OP4, OP2) of a bulk-data file must be those of all grids and scalar points (g-set), in the
    order of their numbers.  Degrees of freedom are transformed from the coordinate systems of the grids (CD) to the
    basic one.  A model of grids alone is a `Structure`; one with scalar points, such as a Craig-Bampton superelement,
    or with grids without some of their displacements, is a `Superelement`.  Reading needs the extra `nastran` (pyyeti).
    """
    if (mass is None) != (stiffness is None):
        raise ArgumentValueError(
            "mass and stiffness belong together: give the names of both matrices, or neither."
        )
    factors, source = scales(units), Source(path)
    assembly = source.path.suffix.lower() in (".asm", ".op4", ".op2")
    geometry = source.beside(".asm") if assembly else source
    if geometry is not source and source.exists() and not geometry.exists():
        raise source.error(
            f"{geometry.path.name}, which contains the positions of the grids of these matrices, is not next to it. Put it there, or "
            f'give the bulk data first: read_nastran("model.bdf", matrices="{source.path.name}"), limber body model.bdf --matrices.'
        )
    bulk = read_bulk(geometry if source.exists() else source)
    punch = geometry.beside(".pch") if assembly else geometry
    if assembly and punch.exists():
        bulk.order = read_order(punch)
    holder = _holder(geometry, punch, matrices)
    M, K = (
        _with_points(A, set(bulk.points))
        for A in choose(holder, read_matrices(holder), mass, stiffness)
    )
    if assembly and punch.exists() and bulk.order is None and M.labels is None:
        raise punch.error(
            "the file has no EXTRN card, which defines the rows of the matrices. Is it cut off?"
        )
    if holder is geometry and M.added:
        for card, count in bulk.kinds.items():
            geometry.ignore(card, count)
    labels = _labels(holder, bulk, M, K)
    used = _used(geometry, labels, *_aligned(holder, labels, M, K))
    result = _made(holder, geometry, bulk, *used, factors)
    geometry.report("The files do not say whether the matrices include them.")
    if holder is not geometry:
        holder.report()
    return result


def _holder(geometry: Source, punch: Source, matrices: str | PathLike | None) -> Source:
    """The file with the matrices."""
    if matrices is not None:
        return Source(matrices, "matrices")
    if punch is geometry:
        return geometry
    for suffix in (".op4", ".op2"):
        if geometry.beside(suffix).exists():
            return geometry.beside(suffix)
    if punch.exists():
        return punch
    raise geometry.error(
        "there is no .op4, .op2 or .pch file with its matrices next to it. Pass the file that contains them as matrices=."
    )


def _with_points(A: Matrix, points: set[int]) -> Matrix:
    """The matrix with the direction 0 for scalar points, which is 1 in some rows and columns of real files."""
    if A.labels is None:
        return A
    return replace(A, labels=tuple((p, 0 if p in points else d) for p, d in A.labels))


def _labels(holder: Source, bulk: Bulk, M: Matrix, K: Matrix) -> list[Label]:
    """What the rows of the matrices are."""
    if M.labels is not None and K.labels is not None:
        labels: list[Label] = sorted({*M.labels, *K.labels})
    elif bulk.order is not None:
        labels = bulk.order
    else:
        labels = [(g, d) for g in bulk.grids for d in range(1, 7)] + [(p, 0) for p in bulk.points]
        labels.sort()
    wrong = [label for label in labels if not 0 <= label[1] <= 6]
    if wrong:
        raise holder.error(
            f"rows of the matrices belong to the direction {wrong[0][1]} of GRID {wrong[0][0]}: directions are 1 to 6. Is the "
            "file damaged?"
        )
    missing = sorted({p for p, d in labels if d} - set(bulk.grids))  # points (d = 0) need no place
    if missing:
        raise holder.error(
            f"rows of the matrices belong to GRID {several(missing)}, whose positions are not in the bulk data."
        )
    if len(set(labels)) != len(labels):
        raise holder.error("two rows of the matrices belong to the same degree of freedom.")
    return labels


def _aligned(
    holder: Source, labels: list[Label], M: Matrix, K: Matrix
) -> tuple[sp.csr_array, sp.csr_array]:
    """Mass and stiffness with a row for each label."""
    row = {label: i for i, label in enumerate(labels)}
    both = []
    for name, A in (("mass", M), ("stiffness", K)):
        values = A.values
        if A.labels is not None:
            at, entries = np.array([row[label] for label in A.labels]), values.tocoo()
            i, j = at[entries.row], at[entries.col]
            # the mirror image of an entry of one triangle, if a point has two directions in its labels
            once = np.unique(i * len(row) + j, return_index=True)[1]
            values = sp.csr_array(
                (entries.data[once], (i[once], j[once])), shape=(len(row), len(row))
            )
        if values.shape != (len(row), len(row)):
            raise holder.error(
                f"the {name} matrix is {values.shape[0]} x {values.shape[1]}, but the bulk data have {len(row)} degrees "
                "of freedom. Are the files from the same run? Matrices without labels must be those of all grids and "
                "scalar points (g-set)."
            )
        both.append(values)
    return both[0], both[1]


def _used(
    geometry: Source, labels: list[Label], M: sp.csr_array, K: sp.csr_array
) -> tuple[list[Label], sp.csr_array, sp.csr_array]:
    """Labels and matrices of a superelement without the rows that have neither mass nor stiffness.

    Nastran leaves scalar points for modes that were not found, and rotations of grids that only solids use.
    """
    if all(d for _, d in labels):
        return labels, M, K
    size = np.asarray(abs(M).sum(axis=0) + abs(K).sum(axis=0))
    idle = [label for label, sum_of_row in zip(labels, size) if sum_of_row == 0.0]
    points = [p for p, d in idle if d == 0]
    grids = [p for p, d in idle if d == 4 and {(p, 5), (p, 6)} <= set(idle)]
    for what, which in (("SPOINT", points), ("the rotations of GRID", grids)):
        if which:
            geometry.ignore(f"{what} {several(which)} without mass and stiffness")
    gone = {(p, 0) for p in points} | {(p, d) for p in grids for d in (4, 5, 6)}
    rows = [i for i, label in enumerate(labels) if label not in gone]
    return [labels[i] for i in rows], M[rows][:, rows], K[rows][:, rows]


def _made(
    holder: Source,
    geometry: Source,
    bulk: Bulk,
    labels: list[Label],
    M: sp.csr_array,
    K: sp.csr_array,
    factors: tuple[float, float],
) -> Structure | Superelement:
    """The structure or superelement of labelled rows."""
    length, mass = factors
    where = {g: i for i, g in enumerate(bulk.grids)}
    moving = {p for p, d in labels if d}
    used = [g for g in bulk.grids if g in moving]
    used_row = {g: i for i, g in enumerate(used)}
    freedoms = np.full((len(used), 6), -1)
    for i, (point, d) in enumerate(labels):
        if d:
            freedoms[used_row[point], d - 1] = i
    turn = _turned(bulk, where, used, freedoms, len(labels), holder)
    turns = np.ones(len(labels), dtype=bool)  # rotations and generalized coordinates
    turns[freedoms[:, :3][freedoms[:, :3] >= 0]] = False
    M, K = (in_si(turn @ A @ turn.T, turns, length, mass) for A in (M, K))
    position = length * bulk.position[[where[g] for g in used]]
    names = [str(g) for g in used]
    left = [g for g in bulk.grids if g not in used_row]
    if left:
        geometry.ignore(f"GRID {several(left)} without degrees of freedom in the matrices")
    idle = sorted(set(bulk.points) - {p for p, d in labels if not d})
    if idle and not any(d == 0 for _, d in labels):
        geometry.ignore(f"SPOINT {several(idle)} without degrees of freedom in the matrices")
    with holder.checked():
        if all(d for _, d in labels) and (freedoms[:, :3] >= 0).all():
            edges, triangles = outline(bulk.elements, used_row)
            M, K = (_node_by_node(A, freedoms) for A in (M, K))
            warn_of_massless(holder, M, K, names)
            return Structure(position, M, K, names=names, edges=edges, triangles=triangles)
        part = Superelement(position, M, K, freedoms, names)
        speed = part.wave_speed()
    if speed > FASTEST or speed < SLOWEST:
        warn(
            f"{holder.path}: its lowest frequency and its size imply waves at about {speed:.1e} m/s, but the speed of sound in metals is a few "
            'thousand m/s. Is the model in other units? Pass units="mm-t", "in-slinch" or the like.',
            ModelWarning,
        )
    return part


def _node_by_node(A: sp.csr_array, freedoms: np.ndarray) -> sp.csr_array:
    """A with 6 or 3 rows per node in their order; those of rotations that it does not have are zero."""
    each = 6 if (freedoms[:, 3:] >= 0).any() else 3
    rows = freedoms[:, :each].ravel()
    chosen = np.flatnonzero(rows >= 0)
    pick = sp.csr_array(
        (np.ones(chosen.size), (chosen, rows[chosen])), shape=(rows.size, A.shape[0])
    )
    return (pick @ A @ pick.T).tocsr()


def _turned(
    bulk: Bulk,
    where: dict[int, int],
    used: list[int],
    freedoms: np.ndarray,
    size: int,
    holder: Source,
) -> sp.csr_array:
    """Rows in basic axes from rows in the axes of the grids: u_basic = turn @ u."""
    turn = sp.lil_array((size, size))
    turn.setdiag(1.0)
    for j, grid in enumerate(used):
        axes = bulk.axes[where[grid]]
        if np.array_equal(axes, np.eye(3)):
            continue
        for part in (freedoms[j, :3], freedoms[j, 3:]):
            if (part < 0).all():
                continue
            if (part < 0).any():
                raise holder.error(
                    f"GRID {grid} moves in axes of its own (CD) and has only some of the directions: they cannot be "
                    "transformed to the basic axes. Keep all of its directions, or give it CD = 0."
                )
            turn[np.ix_(part, part)] = axes.T
    return turn.tocsr()
