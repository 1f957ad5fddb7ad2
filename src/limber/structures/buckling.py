r"""Linearized buckling of a structure.

Solves    (K + lambda (K_g(u) - C)) phi = 0 for the smallest lambda > 0
Given     the loads f, in equilibrium with K u = f; the geometric stiffness K_g(u) of the stresses due to u; and, for a
          steady spin w, the centrifugal forces on displacements, C = int rho (w x N)^T (w x N)
Computes  the factors lambda by which all loads are multiplied, and the shapes phi

C is exact for solids.  In frames and plates it is that of the displacements of the nodes without their rotations, which
converges with the second power of the element size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from limber.checks import Array, array, listed, shown, whole
from limber.errors import ArgumentTypeError, ArgumentValueError, ModelError, ModelWarning, warn
from limber.frozen import read_only
from limber.notebook import as_text
from limber.structures.choice import DIRECTIONS
from limber.structures.load_factors import lowest_factors
from limber.structures.reduce import Reduction
from limber.structures.rigid import rigid_motions
from limber.structures.stiffening import geometric_stiffness
from limber.structures.support import Support
from limber.structures.threads import one_thread

if TYPE_CHECKING:
    from limber.structures.structure import Node, Structure


@dataclass(frozen=True, eq=False)
class Buckling:
    """The loads at which a structure buckles, as factors of the given loads, ascending; they print as a table.

    factors : (k,) positive; the structure buckles when its loads are multiplied by the first of them.  There may be
        fewer than requested, and none if the loads only pull.  Reversed loads have other factors.
    shapes : (n, 6, k) or (n, 3, k) degrees of freedom of the nodes, with a largest displacement of 1.
    displacements : (n, 6) or (n, 3) degrees of freedom of the nodes under the given loads.
    nodes : k names, of the nodes that move most.
    limit : upper bound of the search, a thousand times the smallest factor of the loads or of their reverse.
    note : what the model cannot show, in words, or "".
    """

    factors: Array
    shapes: Array
    displacements: Array
    nodes: tuple[str, ...]
    limit: float
    note: str

    def __post_init__(self):
        read_only(self)

    _repr_html_ = as_text

    def __str__(self) -> str:
        lines = ["mode   factor      moves most"]
        for i, (factor, node) in enumerate(zip(self.factors, self.nodes), start=1):
            lines.append(f"{i:4d}   {factor:<10.6g}  {node}")
        if not self.nodes:
            most = (
                f"below {self.limit:.3g} times"
                if np.isfinite(self.limit)
                else "under any multiple of"
            )
            lines = [f"The structure does not buckle {most} these loads."]
        return "\n".join([*lines, *([self.note] if self.note else [])])


def structure_buckling(
    structure: Structure,
    count: int,
    *,
    clamped: Node | Iterable[Node] | None,
    pinned: Node | Iterable[Node] | None,
    held: Mapping[Node, Any] | None,
    forces: Mapping[Node, ArrayLike] | None,
    moments: Mapping[Node, ArrayLike] | None,
    gravity: ArrayLike | None,
    spin: ArrayLike | None,
    about: Node | ArrayLike | None,
    patches: Mapping[Node, Iterable[Node]] | None,
    progress: bool | None,
) -> Buckling:
    """`Structure.buckling`, which documents the arguments."""
    if structure.geometric is None:
        raise ArgumentValueError(
            "buckling needs the geometric stiffness of the structure, which M and K do not contain, because this "
            "structure has no elements. Make the structure with geometric=..., a function of the displacements, or from "
            "beams, plates or solids with "
            "lb.structures.frame, plate or solid."
        )
    work = Reduction(structure, clamped, pinned, (), "normal", None, patches, progress)
    wanted = whole("count", count, 1)
    mask = work.held() | _held_freedoms(structure, held)
    f, C = _loads(work, forces, moments, gravity, spin, about)
    with work.progress, one_thread():
        support = Support(structure, mask, structure.M, work.progress.of("factoring K"))
        _check_held(support)
        u = support.static(f[:, None])[:, 0]
        S = (C - geometric_stiffness(structure, u)).tocsr()
        advanced = work.progress.of("computing buckling loads")
        factors, shapes, limit = lowest_factors(structure.K, S, support, wanted, advanced)
    moves = shapes.reshape(len(structure), structure.freedoms, -1)
    sizes = np.linalg.norm(moves[:, :3], axis=1)  # (n, k)
    turns = np.linalg.norm(moves, axis=1)
    sizes = np.where(sizes.max(axis=0) > 1e-9 * turns.max(axis=0), sizes, turns)
    made = Buckling(
        factors,
        moves / sizes.max(axis=0),
        u.reshape(len(structure), structure.freedoms),
        tuple(structure.names[j] for j in sizes.argmax(axis=0)),
        limit,
        "",
    )
    return _with_note(structure, u, made)


def _with_note(structure: Structure, u: Array, found: Buckling) -> Buckling:
    """Add a note, and a warning if it concerns the lowest factor, about buckling that the elements cannot show."""
    missed = structure.missed_buckling(u)
    if missed is None:
        return found
    factor, note = missed
    if factor < found.factors.min(initial=np.inf):
        warn(note, ModelWarning)
    return replace(found, note=note)


def _held_freedoms(structure: Structure, held: Any) -> np.ndarray:
    """(N,): the degrees of freedom that `held` names."""
    mask = np.zeros((len(structure), structure.freedoms), bool)
    if held is None:
        return mask.ravel()
    if not isinstance(held, Mapping):
        raise ArgumentTypeError(
            f"held must be a dict of nodes to degrees of freedom, as in {{'top': ('x', 'y')}}, got {shown(held)}."
        )
    known = DIRECTIONS[: structure.freedoms]
    for key, names in held.items():
        node = structure.node(key, "held")
        for name in (names,) if isinstance(names, str) else tuple(names):
            if name not in known:
                raise ArgumentValueError(
                    f"held[{key!r}] has {shown(name)}; the degrees of freedom of the nodes are {', '.join(known)}."
                )
            mask[node, known.index(name)] = True
    return mask.ravel()


def _check_held(support: Support) -> None:
    left = support.rigid.shape[1]
    if left:
        raise ModelError(
            f"the structure is not held: {left} rigid-body motion{'s are' if left > 1 else ' is'} left, and loads would "
            "accelerate it. Give clamped=..., pinned=... or held={node: freedoms}. Nodes of solids have no rotations: hold "
            "three or more that are not on a line."
        )


def _loads(
    work: Reduction, forces: Any, moments: Any, gravity: Any, spin: Any, about: Any
) -> tuple[Array, sp.csr_array]:
    """The loads (N,), and the softening that they cause as the structure moves."""
    s = work.structure
    f = np.zeros(s.K.shape[0])
    C = sp.csr_array(s.K.shape)
    for name, given, rows in (("forces", forces, slice(0, 3)), ("moments", moments, slice(3, 6))):
        if given is None:
            continue
        if not isinstance(given, Mapping):
            raise ArgumentTypeError(
                f"{name} must be a dict of nodes to vectors, got {shown(given)}."
            )
        for key, value in given.items():
            vector = array(f"{name}[{key!r}]", value, (3,), "In the axes of the structure.")
            node = s.node(key, name)
            if name == "forces" and node not in work.rows.patches:
                f[s.freedoms * node : s.freedoms * node + 3] += vector
            else:
                f += work.rows.rows(node)[rows].T @ vector
    if gravity is not None:
        g = array("gravity", gravity, (3,), "m/s^2, in the axes of the structure.")
        f += s.M @ (rigid_motions(s.position, s.freedoms, np.zeros(3))[:, 3:] @ g)
    if spin is not None:
        w = array("spin", spin, (3,), "rad/s, in the axes of the structure.")
        outward = w @ w * np.eye(3) - np.outer(w, w)
        centrifugal = np.zeros((len(s), s.freedoms))
        centrifugal[:, :3] = (s.position - work.origin(about)) @ outward
        f += s.M @ centrifugal.ravel()
        block = np.zeros((s.freedoms, s.freedoms))
        block[:3, :3] = outward
        moves = np.diag([1.0, 1.0, 1.0, 0.0, 0.0, 0.0][: s.freedoms])
        D = sp.kron(sp.eye_array(len(s)), block, format="csr")
        E = sp.kron(sp.eye_array(len(s)), moves, format="csr")
        half = E @ s.M @ D
        C = 0.5 * (half + half.T)
    if not f.any() and not C.nnz:
        raise ArgumentValueError(
            "there is no load: give forces={node: (Fx, Fy, Fz)}, moments=..., gravity=(gx, gy, gz) or spin=(wx, wy, wz)."
        )
    return f, C.tocsr()


def missed_in_members(
    names: list[str], euler: Array, single: np.ndarray, total: int
) -> tuple[float, str] | None:
    """The note of a frame about compressed members of one element: the lowest factor at which one of them may buckle.

    names : of the members.
    euler : (members,) the factor at which each buckles as a column with ball joints at its ends, infinite if it is not
        compressed.
    single : which are single elements.
    total : the number of members.
    """
    pressed = single & np.isfinite(euler)
    if not pressed.any():
        return None
    first = int(np.where(pressed, euler, np.inf).argmin())
    count = int(pressed.sum())
    what = (
        "is under compression and consists of a single element"
        if count == 1
        else "are under compression and consist of a single element each"
    )
    return float(euler[first]), (
        f"{count} of {total} member{'s' if total > 1 else ''} {what}, which cannot bend between two nodes as a buckling member "
        f"does: local buckling is missed. With ball joints at its ends, the member {listed([names[first]])} would buckle at the "
        f"factor {euler[first]:.4g}, clamped at both ends at four times that. Divide the members (divide=4 of frame or "
        "Member); members with ball joints at both ends cannot be divided, and buckle at the first of these factors."
    )
