"""Structures made from meshes: names of their nodes, and strains at the nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from limber.checks import Array, array, axis, shown
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.structures.places import nearest
from limber.structures.structure import Geometric, Node, Structure


class MeshStructure(Structure):
    """A structure made from a mesh by `solid` or `plate`.

    groups : node numbers of the named parts of the mesh, such as its faces "left" and "right".
    """

    def __init__(
        self,
        position: Array,
        M: Any,
        K: Any,
        names: Mapping[str, Any] | None,
        triangles: np.ndarray,
        groups: Mapping[str, np.ndarray],
        geometric: Geometric,
    ):
        super().__init__(
            position,
            M,
            K,
            names=node_names(position, names),
            triangles=triangles,
            groups=groups,
            geometric=geometric,
        )

    def gauge(self, node: Node, direction: ArrayLike | str, side: str = "top") -> Array:
        """Return (freedoms * n,), the strain along a direction at a node, per displacement of every degree of freedom.

        Parameters
        ----------
        node : the node, by name or number.
        direction : "x", "y", "z" or a vector.
        side : "top", "middle" or "bottom" of a plate; it has no meaning for solids.
        """
        at = self.node(node)
        x, y, z = axis("direction", direction)
        parts = np.array([x * x, y * y, z * z, y * z, z * x, x * y])
        rows = self._strain_rows(side)[6 * at : 6 * at + 6]
        return np.asarray(rows.T @ parts, dtype=np.float64)

    def _strain_rows(self, side: str) -> sp.csr_array:
        """(6 n, N): strains at the nodes."""
        raise NotImplementedError

    def _at_nodes(self, rows: sp.csr_array, u: ArrayLike) -> Array:
        """(n, 6, ...): rows (6 n, N) times displacements."""
        shape: tuple[int | str, ...] = (self.K.shape[0],)
        if np.ndim(u) == 2:
            shape = (*shape, "m")
        given = array("u", u, shape, f"{self.freedoms} degrees of freedom per node.")
        return (rows @ given).reshape(len(self), 6, *given.shape[1:])

    def __repr__(self):
        return f"{type(self).__name__}(nodes={len(self)}, freedoms={len(self) * self.freedoms})"


def node_names(position: Array, names: Mapping[str, Any] | None) -> list[str]:
    """The names of all nodes: those given, for the nodes nearest to their points, and numbers for the others."""
    found = [str(i) for i in range(len(position))]
    if names is None:
        return found
    if not isinstance(names, Mapping):
        raise ArgumentTypeError(
            f"names must be a dict of names to points, as in {{'tip': (1.0, 0.0, 0.0)}}, got {shown(names)}."
        )
    taken: dict[int, str] = {}
    for name, point in names.items():
        if not isinstance(name, str) or not name or name.isdecimal():
            raise ArgumentTypeError(
                f"names: a name must be a non-empty string that is not a number, got {shown(name)}."
            )
        i = nearest(position, array(f"names[{name!r}]", point, (3,), "A point."))
        if i in taken:
            raise ArgumentValueError(
                f"names: {taken[i]!r} and {name!r} have the same nearest node, at {position[i].tolist()}."
            )
        taken[i] = name
        found[i] = name
    return found
