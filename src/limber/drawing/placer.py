"""Fast computation of the poses of the bodies of a system, one configuration after another."""

from __future__ import annotations

import math

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.kinematics import pose


class Placer:
    """The frames of the bodies of a system for animated pictures, with scaled deformation as in `geometry`."""

    def __init__(self, system: System):
        self.system = system
        self._modes = {name: where.q_modes for name, where in system.layout.items()}

    def frames(self, q: Array, scale: float = 1.0) -> dict[str, tuple[Array, Array]]:
        """(R, p) of every body at the configuration q (nq,)."""
        s = self.system
        if scale == 1.0:
            return {name: pose(s, q, name) for name in s.attachments}
        found: dict[str, tuple[Array, Array]] = {}
        for name, item in s.attachments.items():
            R_out, outboard = pose(s, q, name, item.inboard)
            R_in, inboard = item.rotation, item.offset
            R, p = np.eye(3), np.zeros(3)
            if item.to != "world":
                R_at, at = pose(s, q, item.to, item.at)
                R_in, inboard = R_at @ item.rotation, at + R_at @ item.offset
                R, p = self.node(found[item.to], item.to, item.at, q, scale)
            turn, shift = R_in.T @ R_out, R_in.T @ (outboard - inboard)
            p = p + R @ (item.offset + item.rotation @ shift)
            R = R @ item.rotation @ turn
            if item.inboard is not None:
                bent, local = self._bent(name, item.inboard, scale * q[self._modes[name]])
                R = R @ bent.T
                p = p - R @ local
            found[name] = R, p
        return found

    def node(
        self, frame: tuple[Array, Array], body: str, node: int | None, q: Array, scale: float = 1.0
    ) -> tuple[Array, Array]:
        """(R, p) of a node of a body with the given frame."""
        if node is None:
            return frame
        R, p = frame
        turn, local = self._bent(body, node, scale * q[self._modes[body]])
        return R @ turn, p + R @ local

    def _bent(self, body: str, node: int, eta: Array) -> tuple[Array, Array]:
        """Rotation and position of a node in the frame of its body."""
        shapes = self.system.bodies[body].node_set.shapes
        place = shapes.position[node] + shapes.translation[node] @ eta
        if shapes.second is not None:
            place = place + 0.5 * np.einsum("irs,r,s->i", shapes.second[node], eta, eta)
        return rotation_of(shapes.rotation[node] @ eta), place


def rotation_of(vector: Array) -> Array:
    """The rotation by a rotation vector (3,)."""
    x, y, z = vector.tolist()
    angle = math.sqrt(x * x + y * y + z * z)
    a = math.sin(angle) / angle if angle > 1e-8 else 1.0
    b = (1.0 - math.cos(angle)) / (angle * angle) if angle > 1e-4 else 0.5
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + a * cross + b * (cross @ cross)


def quaternion_of(R: Array) -> Array:
    """The unit quaternion of a rotation, scalar first."""
    (a, b, c), (d, e, f), (g, h, i) = R.tolist()
    squares = (1 + a + e + i, 1 + a - e - i, 1 - a + e - i, 1 - a - e + i)
    k = squares.index(max(squares))
    rows = (
        (squares[0], h - f, c - g, d - b),
        (h - f, squares[1], b + d, c + g),
        (c - g, b + d, squares[2], f + h),
        (d - b, c + g, f + h, squares[3]),
    )
    found = np.array(rows[k])
    return found / math.sqrt(found @ found)
