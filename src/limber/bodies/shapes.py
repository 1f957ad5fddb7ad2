"""Shapes: the positions of points of a body, and how its modes move them.

Mass points, nodes and drawn points all move in this way, and all code that needs their motion uses this file; the
kernels use `kernels.nodes`, which reads the records that this file writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from limber.checks import Array
from limber.short_repr import short_repr

_AXES = "xyz"
#: What is below this fraction of the largest shape of a mode is rounding.
ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class Shapes:
    """n points in m modes.

    Point j is displaced by translation[j] @ eta + 1/2 eta^T second[j] eta and rotated by the rotation vector
    rotation[j] @ eta, in body axes.
    """

    __repr__ = short_repr

    position: Array  # (n, 3) undeformed
    translation: Array  # (n, 3, m) gamma
    rotation: Array  # (n, 3, m) lambda
    second: Array | None = None  # (n, 3, m, m) B, symmetric in the modes; None stands for zeros

    @staticmethod
    def still(position: Array, modes: int = 0) -> Shapes:
        """Points that the modes do not move."""
        none = np.zeros((len(position), 3, modes))
        return Shapes(position, none, none)

    @staticmethod
    def joined(parts: Sequence[Shapes]) -> Shapes:
        """The points of all parts, one after the other."""
        return Shapes(
            np.concatenate([x.position for x in parts]),
            np.concatenate([x.translation for x in parts]),
            np.concatenate([x.rotation for x in parts]),
            _joined_second(parts),
        )

    def __len__(self) -> int:
        return len(self.position)

    def __getitem__(self, chosen: slice | Sequence[int] | np.ndarray) -> Shapes:
        """Some of the points."""
        second = None if self.second is None else self.second[chosen]
        return Shapes(
            self.position[chosen], self.translation[chosen], self.rotation[chosen], second
        )

    @property
    def modes(self) -> int:
        """Number of modes, m."""
        return self.translation.shape[2]

    def without_modes(self) -> Shapes:
        """The same points of the undeformed body."""
        return Shapes.still(self.position)

    def with_second(self) -> Shapes:
        """The same points, with zeros for second-order shapes if they have none."""
        m = self.modes
        second = np.zeros((len(self), 3, m, m)) if self.second is None else self.second
        return Shapes(self.position, self.translation, self.rotation, second)

    # --- at eta -------------------------------------------------------------------------------

    def displacements(self, eta: Array) -> Array:
        """(..., n, 3): the displacements of the points from the undeformed state, for eta (..., m)."""
        linear = np.einsum("nim,...m->...ni", self.translation, eta)
        if self.second is None:
            return linear
        return linear + 0.5 * np.einsum("nirs,...r,...s->...ni", self.second, eta, eta)

    def places(self, eta: Array) -> Array:
        """(..., n, 3): the positions of the points, for eta (..., m)."""
        return self.position + self.displacements(eta)

    def velocities(self, eta: Array, eta_dot: Array) -> Array:
        """(n, 3): the velocities of the points in body axes, for eta (m,) and its rates (m,)."""
        linear = np.einsum("nim,m->ni", self.translation, eta_dot)
        if self.second is None:
            return linear
        return linear + np.einsum("nirs,r,s->ni", self.second, eta, eta_dot)

    def turns(self, eta: Array) -> Array:
        """(..., n, 3): the rotation vectors of the points, for eta (..., m)."""
        return np.einsum("nim,...m->...ni", self.rotation, eta)

    # --- how large they are -------------------------------------------------------------------

    def largest(self) -> tuple[Array, Array]:
        """(m,) each: the largest component of rotation and of displacement of any point per unit of a mode."""
        return np.abs(self.rotation).max(axis=(0, 1)), np.abs(self.translation).max(axis=(0, 1))

    def steepest(self) -> Array:
        """(m,): the largest rotation of any point per unit of a mode; no point rotates by more than this @ |eta|."""
        return np.linalg.norm(self.rotation, axis=1).max(axis=0, initial=0.0)

    # --- in other frames ----------------------------------------------------------------------

    def placed(self, R: Array, shift: Array) -> Shapes:
        """The points in another frame, in which the old origin is at `shift` and the old axes are the columns of R."""
        return Shapes(
            np.einsum("ij,nj->ni", R, self.position) + shift,
            np.einsum("ij,njm->nim", R, self.translation),
            np.einsum("ij,njm->nim", R, self.rotation),
            None if self.second is None else np.einsum("ij,njrs->nirs", R, self.second),
        )

    def held_at(self, node: Shapes) -> Shapes:
        """The points seen from a node, given as one point, to first order in eta.

        With d the node: l_j - l_d, gamma_j - gamma_d - lambda_d x (l_j - l_d), lambda_j - lambda_d.
        """
        offset = self.position - node.position
        swing = np.cross(node.rotation[0].T[None], offset[:, None])  # (n, m, 3)
        return Shapes(
            offset,
            self.translation - node.translation - np.swapaxes(swing, 1, 2),
            self.rotation - node.rotation,
        )

    # --- for the kernels ----------------------------------------------------------------------

    def without_rounding(self) -> Shapes:
        """The same with zeros for shapes that are only rounding, such as those of a clamped point.

        A closure at a point that modes move by rounding alone would otherwise act on these modes, with forces that
        grow as their shapes get smaller.
        """
        if not len(self) or self.translation.dtype == object:
            return self
        return replace(self, translation=_clean(self.translation), rotation=_clean(self.rotation))

    def twist(self, j: int) -> Array:
        """(6, m): rotation and displacement of point j per unit of each mode of the undeformed body."""
        return np.vstack([self.rotation[j], self.translation[j]])

    def moves(self, j: int) -> bool:
        """Whether any mode moves or rotates point j."""
        return bool(np.any(self.twist(j)) or (self.second is not None and np.any(self.second[j])))

    def record(self, j: int, directions: Array | None = None) -> Array:
        """The node record of point j, with its second-order shapes along `directions` if these are given."""
        second = None
        if directions is not None and self.second is not None:
            second = along(directions, self.second[j])
        return node_record(self.position[j], self.twist(j), second)

    def numbers(self) -> list[Array]:
        """All arrays, for a search for symbols."""
        return [x for x in vars(self).values() if x is not None]


def _clean(x: Array) -> Array:
    """Shapes (n, 3, m) without those that are small among those of their mode."""
    size = np.abs(x)
    return np.where(size > ROUNDING * size.max(axis=(0, 1), initial=0.0), x, 0.0)


def _joined_second(parts: Sequence[Shapes]) -> Array | None:
    """The second-order shapes of all parts; None if no part has any."""
    if all(x.second is None for x in parts):
        return None
    return np.concatenate([x.with_second().second for x in parts])  # type: ignore[misc]


class Shaped:
    """An object with `shapes`, whose arrays are also its own attributes."""

    shapes: Shapes

    @property
    def position(self) -> Array:
        """(n, 3) undeformed."""
        return self.shapes.position

    @property
    def translation(self) -> Array:
        """(n, 3, m)."""
        return self.shapes.translation

    @property
    def rotation(self) -> Array:
        """(n, 3, m)."""
        return self.shapes.rotation

    @property
    def second(self) -> Array | None:
        """(n, 3, m, m), or None if the points move along straight lines."""
        return self.shapes.second


def node_record(position: Array, twist: Array, second: Array | None = None) -> Array:
    """A node record as `kernels.layout` describes it: position (3,), the columns of `twist` (6, m), B (d, m, m)."""
    bending = np.zeros(0) if second is None else second.ravel()
    return np.concatenate([position, twist.T.ravel(), bending])


def second_directions(parts: Sequence[Array]) -> Array:
    """(d, 3): orthonormal directions that span the vectors of all second-order shapes (n, 3, m, m), d = 0 to 3.

    They are axes of the body frame where these do, as for a beam along x.
    """
    vectors = np.concatenate([np.moveaxis(B, 1, 3).reshape(-1, 3) for B in parts])
    axes = np.eye(3)[[bool(np.any(x)) for x in vectors.T]]
    if len(axes) < 2 or vectors.dtype == object:
        return axes
    _, size, basis = np.linalg.svd(vectors, full_matrices=False)
    needed = basis[size > 1e-14 * size[0]]
    return needed if len(needed) < len(axes) else axes


def along(directions: Array, second: Array) -> Array:
    """The components (..., d, m, m) of second-order shapes (..., 3, m, m) along directions (d, 3)."""
    return np.einsum("di,...irs->...drs", directions, second)


def record_labels(node: str, m: int) -> list[list[tuple[int, str]]]:
    """Names of the numbers in the record of a node in m modes, kind by kind: their places in it and labels.

    They are phi1x_tip for rotation, u1x_tip for translation and x_tip for position.
    """
    position, rotation, translation = (
        np.array([[f"{letter}{r}{axis}_{node}" for r in numbers] for axis in _AXES], dtype=object)
        for letter, numbers in (("", [""]), ("phi", range(1, m + 1)), ("u", range(1, m + 1)))
    )
    record = node_record(position[:, 0], np.vstack([rotation, translation])).tolist()
    return [
        sorted((record.index(label), label) for label in kind.flat)
        for kind in (rotation, translation, position)
    ]
