"""Checks of the mass and stiffness matrices of a structure.

The time of each check is proportional to the number of entries of the matrices.  `factor` rejects what only a
factorization shows, such as a mechanism.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from limber.checks import Array, listed, numbers
from limber.errors import ArgumentTypeError, ArgumentValueError, ModelError, ModelWarning, warn
from limber.structures.rigid import rigid_motions

#: How much of its largest entry a matrix may differ from its transpose.
SYMMETRY = 1e-9
#: How much an entry may exceed the geometric mean of its diagonal entries.
DEFINITE = 1e-6
#: How much of |K| |u| the forces K u of a rigid-body motion u may be.
RIGID = 1e-5
#: Stiffness below this fraction of another one of the same node is a rounding error.
NOTHING = 1e-14
#: Frequencies that rounding errors of K may move by more than this fraction are reported.
ROUNDED = 5e-4
#: How much of it the mass of a structure may differ between directions.
ISOTROPY = 1e-6
#: Wave speeds, m/s, beyond which units must be mixed; that of sound in diamond is 1.8e4, in soft rubber 30.
FASTEST, SLOWEST = 1e5, 1e-3

FREEDOMS = ("x", "y", "z", "rotation about x", "rotation about y", "rotation about z")


def symmetric_matrix(name: str, value: Any, nodes: int) -> sp.csr_array:
    """`value`, sparse or dense, as a symmetric sparse matrix of 6 or 3 degrees of freedom for each of the nodes."""
    if sp.issparse(value):
        if value.dtype.kind not in "iuf":
            raise ArgumentTypeError(
                f"{name} must be a matrix of real numbers, got one of {value.dtype}."
            )
        matrix = sp.csr_array(value, dtype=np.float64, copy=True)
    else:
        dense = numbers(name, value, "(6 n, 6 n) or (3 n, 3 n)", " Sparse or dense.")
        if dense.ndim != 2:
            raise ArgumentValueError(
                f"{name} must be a square matrix, got an array of shape {dense.shape}."
            )
        matrix = sp.csr_array(dense)
    if matrix.shape not in ((6 * nodes, 6 * nodes), (3 * nodes, 3 * nodes)):
        raise ArgumentValueError(
            f"{name} must have {6 * nodes} rows and columns (6 degrees of freedom per node) or {3 * nodes} (3 degrees), got shape "
            f"{matrix.shape}: position has {nodes} nodes. Degrees of freedom that a program has removed need a row and a column "
            "of zeros."
        )
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    bad = np.flatnonzero(~np.isfinite(matrix.data))
    if bad.size:
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right") - 1)
        raise ArgumentValueError(
            f"{name}[{row}, {matrix.indices[bad[0]]}] is {matrix.data[bad[0]]}: {name} must be finite."
        )
    transposed = matrix.T.tocsr()
    difference = abs(matrix - transposed)
    asymmetry = difference.max() if difference.nnz else 0.0
    if asymmetry > SYMMETRY * abs(matrix).max():
        one_triangle = sp.triu(matrix, 1).nnz == 0 or sp.tril(matrix, -1).nnz == 0
        what = (
            f"it contains only one triangle. Give {name} + {name}.T - diag({name})"
            if one_triangle
            else f"it differs from its transpose by {asymmetry:.3g}, {asymmetry / abs(matrix).max():.1e} of its largest entry"
        )
        raise ArgumentValueError(f"{name} must be symmetric, but {what}.")
    return (0.5 * (matrix + transposed)).tocsr()


def check_definite(name: str, matrix: sp.csr_array, names: Sequence[str]) -> None:
    """Reject a matrix that no physical structure has: a negative diagonal, or an entry beyond its diagonal ones."""
    diagonal = matrix.diagonal()
    word = {"M": "mass", "K": "stiffness"}[name]
    rounding = 1e-12 * np.abs(diagonal).max(initial=0.0)
    if diagonal.min() < -rounding:
        i = int(diagonal.argmin())
        raise ModelError(
            f"{name}[{i}, {i}] = {diagonal[i]:g} is negative: a negative {word} of {freedom(i, matrix, names)}. No "
            "structure has this; look for a sign error or rows in a different order."
        )
    diagonal = np.maximum(diagonal, 0.0)
    entries = matrix.tocoo()
    bound = np.sqrt(diagonal[entries.row]) * np.sqrt(diagonal[entries.col])
    excess = np.abs(entries.data) - (1.0 + DEFINITE) * bound - rounding
    if excess.size and excess.max() > 0.0:
        at = int(excess.argmax())
        i, j = int(entries.row[at]), int(entries.col[at])
        raise ModelError(
            f"{name}[{i}, {j}] = {entries.data[at]:g} between {freedom(i, matrix, names)} and {freedom(j, matrix, names)} "
            f"exceeds what their diagonal entries {diagonal[i]:g} and {diagonal[j]:g} allow: the {word} matrix would not be "
            "positive semidefinite. Entries may be missing, or in a different order."
        )


def freedom(i: int, matrix: sp.csr_array, names: Sequence[str]) -> str:
    """Degree of freedom i of a matrix, in words."""
    per_node = matrix.shape[0] // len(names)
    return f"{FREEDOMS[i % per_node]} of node {names[i // per_node]!r}"


def check_connected(M: sp.csr_array, K: sp.csr_array, names: Sequence[str]) -> None:
    """Reject nodes and degrees of freedom that nothing holds, and structures in several parts."""
    n = len(names)
    per_node = K.shape[0] // n
    stiff = _stiff(K.diagonal().reshape(n, per_node))
    alone = np.flatnonzero(~stiff.reshape(n, per_node)[:, :3].any(axis=1))
    if alone.size:
        raise ModelError(
            f"{_nodes(alone, names)} loose: K has no stiffness for the displacements there. Remove such nodes from "
            "position, M and K, or connect them; a rigid element must be part of K, or eliminated."
        )
    adrift = np.flatnonzero((M.diagonal() > 0.0) & ~stiff)
    if adrift.size:
        raise ModelError(
            f"{freedom(int(adrift[0]), K, names)} has mass, {M.diagonal()[adrift[0]]:g}, and no stiffness"
            f"{_more(adrift)}: nothing holds it. Remove that mass, or connect this degree of freedom."
        )
    entries = K.tocoo()
    graph = sp.coo_array(
        (np.ones(entries.nnz), (entries.row // per_node, entries.col // per_node)), shape=(n, n)
    )
    parts, part = connected_components(graph, directed=False)
    if parts > 1:
        sizes = np.bincount(part)
        rest = np.flatnonzero(part == int(sizes.argmin()))
        raise ModelError(
            f"the structure falls into {parts} parts that K does not connect; the smallest is {_nodes(rest, names, '')}. "
            "Connect them, or make a structure from each and join the bodies in an assembly."
        )


def _stiff(diagonal: Array) -> np.ndarray:
    """(freedoms * n,): which degrees of freedom have stiffness that is more than rounding errors of their node."""
    least = np.repeat(diagonal.reshape(len(diagonal), -1, 3).max(axis=2), 3, axis=1)
    return (diagonal > NOTHING * least).ravel()


def _nodes(which: np.ndarray, names: Sequence[str], verb: str | None = None) -> str:
    """Nodes of a message, the first six of them by name."""
    some = listed(names[i] for i in which[:6])
    more = f" and {which.size - 6} more" if which.size > 6 else ""
    verbs = ("", " is" if which.size == 1 else " are") if verb is None else ("", verb)
    return f"node{'s' if which.size > 1 else ''} {some}{more}{verbs[1]}"


def _more(which: np.ndarray) -> str:
    return f" (and {which.size - 1} more degrees of freedom)" if which.size > 1 else ""


def check_free(K: sp.csr_array, position: Array, names: Sequence[str]) -> None:
    """Reject a stiffness that resists rigid-body motion."""
    per_node = K.shape[0] // len(names)
    centre = position.mean(axis=0)
    size = np.abs(position - centre).max()
    motions = rigid_motions(position, per_node, centre)
    held = K.diagonal() == 0.0
    force, scale = np.abs(K @ motions), abs(K) @ np.abs(motions)
    # a moment is compared with the forces at the size of the structure, which round more
    scale = scale.reshape(len(names), per_node, 6)
    scale[:, :3] = scale[:, :3].max(axis=1, keepdims=True)
    if per_node == 6:
        scale[:, 3:] = scale[:, 3:].max(axis=1, keepdims=True)
    ratio = force / np.where(scale > 0.0, scale, 1.0).reshape(force.shape)
    ratio[held] = 0.0
    if ratio.max() > RIGID:
        i, motion = np.unravel_index(int(ratio.argmax()), ratio.shape)
        kind = (
            f"translation along {'xyz'[motion - 3]}"
            if motion > 2
            else f"rotation about {'xyz'[motion]}"
        )
        raise ModelError(
            f"K resists rigid-body motion: a {kind} of the whole structure (of size {size:.3g}) leaves a force at "
            f"{freedom(int(i), K, names)}, {ratio.max():.1e} of the forces that cancel there. The stiffness of a body "
            "must be that of the free structure. Remove supports and springs to the ground (reduce(clamped=...) holds "
            "nodes), and check that the positions and degrees of freedom of the nodes are in the same order, axes and "
            "units."
        )


def check_units(M: sp.csr_array, K: sp.csr_array, position: Array) -> None:
    """Reject a structure in which sound is impossibly fast or slow: its units are mixed.

    The speed is estimated as sqrt(k/m) times the distance to the nearest neighbour at each node, for its softest and
    its stiffest direction; the median over the nodes counts, since a few may be heavy, light or stiff.
    """
    n = len(position)
    per_node = K.shape[0] // n
    entries = K.tocoo()
    a, b = entries.row // per_node, entries.col // per_node
    i, j = entries.row % per_node, entries.col % per_node
    own = (a == b) & (i < 3) & (j < 3)
    k = np.zeros((n, 3, 3))
    k[a[own], i[own], j[own]] = entries.data[own]
    m = M.diagonal().reshape(n, per_node)[:, :3].max(axis=1)
    distance = np.linalg.norm(position[a] - position[b], axis=1)
    nearest = np.full(n, np.inf)
    apart = distance > 0.0
    np.minimum.at(nearest, a[apart], distance[apart])
    known = (m > 0.0) & np.isfinite(nearest)
    if not known.any():
        return
    stiffness = np.maximum(np.linalg.eigvalsh(k[known])[:, [0, 2]], 0.0)
    slow, fast = np.median(np.sqrt(stiffness / m[known, None]) * nearest[known, None], axis=0)
    if slow > FASTEST or fast < SLOWEST:
        speed = slow if slow > FASTEST else fast
        raise ModelError(
            f"M, K and position are in mixed units, or not in SI units: sound would travel at about {speed:.1e} m/s in the "
            "structure, but its speed in metals is a few thousand m/s. Give positions in m, stiffnesses in N/m and masses "
            "in kg. Models in mm, t, N have positions 1e3, stiffnesses 1e-3 and masses 1e-3 times these: readers of files "
            'take units="mm-t" for them (`limber body`: --units mm-t).'
        )


def check_mass(M: sp.csr_array, position: Array) -> None:
    """Reject a structure without mass, or whose mass is not the same in all directions."""
    if M.nnz == 0:
        raise ModelError("M is zero: a structure must have mass.")
    per_node = M.shape[0] // len(position)
    rigid = rigid_motions(position, per_node, position.mean(axis=0))[:, 3:]
    mass = rigid.T @ (M @ rigid)
    if np.abs(mass - np.trace(mass) / 3.0 * np.eye(3)).max() > ISOTROPY * np.trace(mass):
        x, y, z = np.diag(mass)
        raise ModelError(
            f"the mass of the structure depends on the direction: {x:.6g} kg along x, {y:.6g} along y and {z:.6g} along "
            "z. The degrees of freedom of a node are x, y, z (and the rotations about x, y, z), all in the axes of "
            "position; M has them in a different order or in other axes, or lacks entries."
        )


def warn_of_rounding(K: sp.csr_array, omega: Array, shapes: Array) -> None:
    """Warn of frequencies (k,) of shapes (N, k), orthonormal in M, that are affected by rounding of the entries of K.

    Rounding changes omega^2 = phi^T K phi by up to eps |phi|^T |K| |phi|.
    """
    size = np.abs(shapes)
    error = 0.5 * np.finfo(float).eps * np.einsum("ni,ni->i", size, abs(K) @ size)
    parts = error / np.where(omega > 0.0, omega**2, np.inf)
    if parts.max(initial=0.0) > ROUNDED:
        i = int(parts.argmax())
        warn(
            f"K loses digits: rounding of its entries alone may change the frequency of {omega[i] / (2.0 * np.pi):.4g} Hz "
            f"by up to {100.0 * parts[i]:.2g} %. Some of its elements are far shorter or far stiffer than the structure. "
            "Merge nodes that are close together, use larger elements, or make stiff parts rigid.",
            ModelWarning,
        )
