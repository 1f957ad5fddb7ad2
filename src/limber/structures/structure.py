"""Structures: nodes with a mass and a stiffness matrix, as finite elements give them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array, array, integer, shown, suggestion
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.frozen import Frozen
from limber.structures import matrices

#: A node of a structure, by name or number.
Node = str | int
#: u (freedoms * n,), the displacements under a static load -> K_g, the geometric stiffness of their stresses.
Geometric = Callable[[Array], Any]


class Structure(Frozen):
    """An elastic structure of n nodes with the full matrices of finite elements; `reduce` makes a body of it.

    Parameters
    ----------
    position : (n, 3) undeformed positions of the nodes, m.
    M, K : mass and stiffness matrix, sparse or dense, of 6 freedoms a node (x, y, z, then the rotations about x, y, z)
        or 3 (x, y, z), node after node, all in the axes of `position`.  They are those of the free structure: K does
        not resist rigid-body motion.  Rotations that no element uses have rows and columns of zeros.
    names : n names of the nodes.  None: "0", "1", ...
    edges, triangles : (e, 2) and (t, 3) numbers of nodes, the lines and the surface that pictures show.
    geometric : function of the displacements u (6 n or 3 n) under some static load; it returns the geometric
        stiffness matrix of the stresses that u causes, linear in u.  Only `reduce(geometric_stiffening=True)` needs it.

    The structure is immutable.  It is checked when it is made: sizes, symmetry, negative masses and stiffnesses,
    loose nodes and parts, supports to the ground and mixed units are refused.
    """

    def __init__(
        self,
        position: ArrayLike,
        M: Any,
        K: Any,
        *,
        names: Sequence[str] | None = None,
        edges: ArrayLike | None = None,
        triangles: ArrayLike | None = None,
        geometric: Geometric | None = None,
    ):
        self.position = array("position", position, ("n", 3), "One point per node.")
        n = len(self.position)
        if n < 2:
            raise ArgumentValueError(
                f"position has {n} node{'' if n else 's'}: a structure needs two or more."
            )
        self.names = _node_names(names, n)
        self.M = matrices.symmetric_matrix("M", M, n)
        self.K = matrices.symmetric_matrix("K", K, n)
        if self.M.shape != self.K.shape:
            raise ArgumentValueError(
                f"M and K must have the same size, got {self.M.shape} and {self.K.shape} for {n} nodes. Fill the rotations "
                "in with rows and columns of zeros where one matrix has none."
            )
        #: freedoms of each node, 6 or 3
        self.freedoms = self.K.shape[0] // n
        matrices.check_mass(self.M)
        matrices.check_definite("M", self.M, self.names)
        matrices.check_definite("K", self.K, self.names)
        matrices.check_connected(self.M, self.K, self.names)
        matrices.check_free(self.K, self.position, self.names)
        matrices.check_units(self.M, self.K, self.position)
        self.edges = _node_numbers("edges", edges, 2, n)
        self.triangles = _node_numbers("triangles", triangles, 3, n)
        if geometric is not None and not callable(geometric):
            raise ArgumentTypeError(
                f"geometric must be a function of the displacements, got {shown(geometric)}."
            )
        self.geometric = geometric
        self._freeze()

    def _freeze(self) -> None:
        self._lock_matrices()
        super()._freeze()

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        self._lock_matrices()

    def _lock_matrices(self) -> None:
        for matrix in (self.M, self.K):
            for part in (matrix.data, matrix.indices, matrix.indptr):
                part.setflags(write=False)

    def __len__(self) -> int:
        """Number of nodes."""
        return len(self.position)

    @cached_property
    def active(self) -> np.ndarray:
        """(freedoms * n,): which freedoms have stiffness; the others are rotations that no element uses."""
        return self.K.diagonal() > 0.0

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    def node(self, which: Node, argument: str = "node") -> int:
        """The number of a node that is given by name or number; `argument` is for the message."""
        if isinstance(which, str):
            if which in self._numbers:
                return self._numbers[which]
            known = ", ".join(map(repr, self.names[:12])) + (", ..." if len(self) > 12 else "")
            raise ArgumentValueError(
                f"{argument}={which!r} is not a node of the structure; its nodes are: {known}."
                f"{suggestion(which, self.names)}"
            )
        i = integer(which)
        if i is None:
            raise ArgumentTypeError(
                f"{argument} must be a node name or number of the structure, got {shown(which)}."
            )
        if not 0 <= i < len(self):
            raise ArgumentValueError(
                f"{argument}={shown(i)} is out of range: the structure has nodes 0 to {len(self) - 1}."
            )
        return i

    def __repr__(self):
        mass = self.M.diagonal().reshape(len(self), self.freedoms)[:, :3]
        return f"Structure(nodes={len(self)}, freedoms={mass.shape[0] * self.freedoms})"


def _node_names(names: Sequence[str] | None, n: int) -> tuple[str, ...]:
    """Names of n nodes."""
    if names is None:
        return tuple(map(str, range(n)))
    try:
        given = [] if isinstance(names, str) else list(names)
    except TypeError:
        given = []
    if not given:
        raise ArgumentTypeError(f"names must be a list of {n} strings, got {shown(names)}.")
    texts = all(isinstance(s, str) and s for s in given)
    if not texts or len(given) != n or len(set(given)) != n:
        raise ArgumentValueError(
            f"names must be {n} different non-empty strings, one per node, got {len(given)}: {shown(given)}."
        )
    return tuple(given)


def _node_numbers(name: str, value: ArrayLike | None, width: int, n: int) -> np.ndarray | None:
    """Rows of node numbers, or None."""
    if value is None:
        return None
    rows = array(name, value, ("e" if width == 2 else "t", width), "Node numbers, from 0.")
    whole = rows.astype(np.int64)
    if rows.size and (np.any(whole != rows) or whole.min() < 0 or whole.max() >= n):
        bad = rows[(whole != rows) | (whole < 0) | (whole >= n)][0]
        raise ArgumentValueError(f"{name} has {bad:g}: node numbers are whole, from 0 to {n - 1}.")
    whole.setflags(write=False)
    return whole
