"""Superelements: structures that a finite-element program has already reduced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.typing import ArrayLike

from limber.bodies import FlexibleBody
from limber.bodies.nodes import Nodes
from limber.bodies.shapes import Shapes
from limber.checks import Array, array, number, shown, suggestion, whole
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.frozen import Frozen
from limber.structures.closure import closed_integrals
from limber.structures.reduced_superelement import ReducedSuperelement

#: Forces that a rigid-body motion may cause, as a fraction of those of a row alone, both divided by sqrt(K_ii).
_FREE = 1e-6
#: An eigenvalue smaller than this fraction of the largest is zero.
_ZERO = 1e-11


class Superelement(Frozen):
    """A structure reduced to its boundary nodes and generalized coordinates, such as a Craig-Bampton component.

    `reduce` makes a body from it.

    Parameters
    ----------
    position : (n, 3) of the boundary nodes.
    M, K : (a, a) mass and stiffness matrix of the free component.
    freedoms : (n, 6) rows of x, y, z and the rotations of each node in M and K, in the axes of `position`; -1 for those
        that the component does not have.  All other rows are generalized coordinates.
    names : n names of the nodes.

    Boundary nodes with all six degrees of freedom are nodes of the body; others only deform with it.  The superelement
    is immutable.
    """

    def __init__(
        self, position: ArrayLike, M: Any, K: Any, freedoms: ArrayLike, names: Sequence[str]
    ):
        self.position = array("position", position, ("n", 3), "One point per boundary node.")
        n = len(self.position)
        self.names = tuple(names)
        if n == 0 or len(self.names) != n or len(set(self.names)) != n:
            raise ArgumentValueError(
                f"names must be {n} different names, one per boundary node (one at least), got {shown(names)}."
            )
        self.M, self.K = _symmetric("M", M), _symmetric("K", K)
        a = len(self.M)
        if len(self.K) != a:
            raise ArgumentValueError(f"M and K must have the same size, got {a} and {len(self.K)}.")
        rows = array("freedoms", freedoms, (n, 6), f"There are {n} boundary nodes.").astype(int)
        used = rows[rows >= 0]
        if used.size != np.unique(used).size or used.max(initial=-1) >= a or rows.min() < -1:
            raise ArgumentValueError(
                f"freedoms must be different rows of the {a} of M and K, or -1, got {shown(freedoms)}."
            )
        self.freedoms = rows
        self._rigid = self.motions(np.zeros(3))
        if np.linalg.matrix_rank(self._rigid) < 6:
            raise ArgumentValueError(
                "freedoms cannot distinguish all six rigid-body motions: the boundary needs a node with six degrees of "
                "freedom, or three nodes with translations that are not on a line."
            )
        self._check()
        self._freeze()

    def motions(self, about: Array) -> Array:
        """(a, 6): motions of all degrees of freedom due to unit rotations about a point, then unit translations."""
        each = np.zeros((len(self.position), 6, 6))
        for i, axis in enumerate(np.eye(3)):
            each[:, :3, i] = np.cross(axis, self.position - about)
        each[:, 3:, :3] = np.eye(3)
        each[:, :3, 3:] = np.eye(3)
        motions = np.zeros((len(self.M), 6))
        has = self.freedoms >= 0
        motions[self.freedoms[has]] = each[has]
        return motions

    def _check(self) -> None:
        """Reject matrices that are not those of a free body."""
        for name, A in (("M", self.M), ("K", self.K)):
            size = np.sqrt(np.abs(np.diag(A)))
            size[size == 0.0] = 1.0
            least = float(la.eigvalsh(A / np.outer(size, size), subset_by_index=[0, 0])[0])
            if least < -1e-7:
                what = "mass" if name == "M" else "stiffness"
                raise ArgumentValueError(
                    f"{name} has the negative eigenvalue {least:.3g} (with its diagonal scaled to 1): no {what} is negative. "
                    "Check units and constraints of the model."
                )
        size = np.sqrt(np.maximum(np.diag(self.K), 0.0))
        stiff = np.where(size > 0.0, size, size.max(initial=0.0))
        force = np.abs(self.K @ self._rigid) / np.where(stiff > 0.0, stiff, 1.0)[:, None]
        allowed = _FREE * (size[:, None] * np.abs(self._rigid)).max(axis=0)
        if (force > allowed).any():
            row = int(np.argmax((force / np.maximum(allowed, 1e-300)).max(axis=1)))
            raise ArgumentValueError(
                f"K resists rigid-body motion (row {row}, {self._whose(row)}): the component is held to the ground, or "
                "positions and matrices have different units or axes. Reduce the free component, and hold it in "
                "reduce(clamped=...)."
            )
        M = self._rigid.T @ self.M @ self._rigid
        mass = np.diag(M)[3:]
        if mass.min() <= 0.0 or np.ptp(mass) > 1e-3 * mass.max():
            raise ArgumentValueError(
                f"M has the masses {mass[0]:.6g}, {mass[1]:.6g} and {mass[2]:.6g} in x, y and z, but a body has only one "
                "mass. Mass that is "
                "held to the ground in some direction is missing from M."
            )

    def _whose(self, row: int) -> str:
        """What a row belongs to, in words."""
        at = np.argwhere(self.freedoms == row)
        if len(at) == 0:
            return "a generalized coordinate"
        return f"{('x', 'y', 'z', 'rx', 'ry', 'rz')[at[0, 1]]} of node {self.names[at[0, 0]]!r}"

    def __len__(self) -> int:
        """The number of boundary nodes."""
        return len(self.position)

    @property
    def generalized(self) -> int:
        """The number of generalized coordinates."""
        return len(self.M) - int((self.freedoms >= 0).sum())

    def wave_speed(self) -> float:
        """The lowest frequency of the free component times its size: at most about its speed of sound, m/s."""
        motions = self.motions(np.zeros(3))
        M = motions.T @ self.M @ motions
        mass = np.trace(M[3:, 3:]) / 3.0
        com = np.array([M[2, 4], M[0, 5], M[1, 3]]) / mass
        spread = 0.5 * np.trace(M[:3, :3]) / mass - com @ com
        return float(self.modes([], motions)[0][0] * 2.0 * np.sqrt(max(spread, 0.0)))

    def reduce(
        self,
        *,
        clamped: str | Sequence[str] | None = None,
        modes: int | None = None,
        damping: float = 0.0,
    ) -> FlexibleBody:
        """Make a flexible body from this superelement, in its own modes.

        Parameters
        ----------
        clamped : name or names of the boundary nodes that the modes do not move; the first is the origin of
            the body frame.  None: modes of the free component; attach the body with `inboard=` a node.
        modes : how many modes to keep, from the lowest; None: all of them.
        damping : damping ratio of every mode.

        The mass matrix at rest and the frequencies are those of the superelement.  Its matrices do not say how inertia
        forces change with the deformation; that is estimated from the mean motion of each mode (`closure`).
        """
        ratio = number("damping", damping, minimum=0.0)
        held = self._clamped(clamped)
        about = self.position[held[0]] if held else np.zeros(3)
        motions = self.motions(about)
        omega, X = self.modes(held, motions)
        if modes is not None:
            modes = whole("modes", modes, 1)
            if modes > omega.size:
                raise ArgumentValueError(
                    f"modes={modes} is more than the {omega.size} modes of the superelement."
                )
            omega, X = omega[:modes], X[:, :modes]
        MX = self.M @ X
        integrals = closed_integrals(
            motions.T @ self.M @ motions, MX.T @ motions, 0.5 * (X.T @ MX + MX.T @ X)
        )
        full = np.flatnonzero((self.freedoms >= 0).all(axis=1))
        moved = X[self.freedoms[full]]  # (nodes, 6, m)
        moved[np.isin(full, held)] = 0.0
        nodes = Nodes(
            tuple(self.names[j] for j in full),
            Shapes(self.position[full] - about, moved[:, :3], moved[:, 3:]),
        )
        return FlexibleBody(
            integrals,
            nodes,
            np.diag(omega**2),
            np.diag(2.0 * ratio * omega),
            reduced_from=ReducedSuperelement(self, held, X, about),
        )

    def _clamped(self, clamped: str | Sequence[str] | None) -> list[int]:
        """Numbers of the clamped nodes, checked."""
        if clamped is None:
            return []
        listed = [clamped] if isinstance(clamped, str) else clamped
        if not isinstance(listed, Sequence) or not listed:
            raise ArgumentTypeError(
                f"clamped must be None, the name of a node or names of nodes, got {shown(clamped)}."
            )
        for name in listed:
            if name not in self.names:
                raise ArgumentValueError(
                    f"clamped={name!r} is not a boundary node; they are: {', '.join(map(repr, self.names[:12]))}."
                    f"{suggestion(str(name), self.names)}"
                )
        held = [self.names.index(name) for name in listed]
        if any((self.freedoms[j] < 0).any() for j in held[:1]):
            raise ArgumentValueError(
                f"clamped={listed[0]!r}: the first clamped node must have all six degrees of freedom, because the body "
                "frame is there."
            )
        return held

    def modes(self, held: list[int], motions: Array) -> tuple[Array, Array]:
        """Frequencies and mass-normalized shapes (a, m), with the held nodes at rest or without rigid-body motion."""
        Z = self.admissible(held, motions)
        K, M = Z.T @ self.K @ Z, Z.T @ self.M @ Z
        stiff = la.eigvalsh(K)
        if stiff[0] <= _ZERO * stiff[-1]:
            raise ArgumentValueError(
                "K allows a motion without force that is not a rigid-body motion: a part of the component is loose, or a "
                "generalized coordinate has no stiffness."
            )
        mu, Y = la.eigh(M, K)  # 1 / omega^2: coordinates without mass have none
        some = mu > _ZERO * mu[-1]
        mu, Y = mu[some][::-1], Y[:, some][:, ::-1]
        return 1.0 / np.sqrt(mu), Z @ Y / np.sqrt(mu)

    def admissible(self, held: list[int], motions: Array) -> Array:
        """(a, j): a basis of the motions with the held nodes at rest or without rigid-body motion; K of each is 1."""
        a = len(self.M)
        if held:
            fixed = self.freedoms[held]
            Z = np.delete(np.eye(a), fixed[fixed >= 0], axis=1)
        else:
            Q = la.qr(self.M @ motions)[0]
            Z = Q[:, 6:]  # no momentum
        return Z / np.sqrt(np.maximum(np.diag(Z.T @ self.K @ Z), 1e-300))

    def __repr__(self):
        return f"Superelement(nodes={len(self)}, generalized={self.generalized})"


def _symmetric(name: str, given: Any) -> Array:
    """A symmetric, dense matrix of finite numbers."""
    if hasattr(given, "toarray"):
        given = given.toarray()
    A = array(name, given, ("a", "a"), "One row per degree of freedom.")
    if A.shape[0] != A.shape[1] or not len(A):
        raise ArgumentValueError(f"{name} must be square, got {A.shape}.")
    off = np.abs(A - A.T).max()
    if off > 1e-6 * np.abs(A).max():
        raise ArgumentValueError(
            f"{name} is not symmetric: entries differ by {off:.3g} from their mirror images."
        )
    return 0.5 * (A + A.T)
