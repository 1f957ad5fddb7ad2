r"""The effect of loads on the modal stiffness of a body whose model leaves it out.

A load that stresses a body changes its stiffness by kappa, which is linear in the load.  Even a body without
second-order shapes may have kappa for unit loads, which shows when its model is no longer valid:

    kappa = a . A + wd . B + sum_ij (w w^T - |w|^2 1)_ij C_ij + sum_nodes F . D

with the acceleration a of the body frame minus gravity, its angular acceleration wd and velocity w, and forces F at
nodes, all in body axes.  If the modes of a body move the node at its joint, kappa has six more rows and columns, for
unit rotations about and translations along the axes of the body frame.  Seen from that node, which its joint holds, a
mode also moves the body by the opposite of the motion of the node, and a load does work on that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from limber.bodies.shapes import Shapes
from limber.checks import Array
from limber.frozen import read_only


@dataclass(frozen=True, eq=False)
class LoadStiffness:
    """Changes of the modal stiffness by unit loads, (b, b) with b = m, or m + 6 if the modes move the node at the joint.

    modes : m.
    acceleration : (3, b, b) A, by an acceleration of the body frame.
    angular : (3, b, b) B, by an angular acceleration.
    spin : (3, 3, b, b) C, symmetric, by products of the angular velocity.
    forces : (n, 3, b, b) D, by forces at the nodes of the body.  Moments at nodes are left out.
    """

    modes: int
    acceleration: Array
    angular: Array
    spin: Array
    forces: Array

    def __post_init__(self) -> None:
        read_only(self)

    def under(self, spin: Array, acceleration: Array, forces: Array) -> Array:
        """kappa (..., b, b) of the angular velocity (..., 3), accelerations [angular; linear] (..., 6), and forces (..., n, 3)."""
        square = np.einsum("...i,...i->...", spin, spin)[..., None, None]
        products = spin[..., :, None] * spin[..., None, :] - square * np.eye(3)
        return (
            np.einsum("...i,irs->...rs", acceleration[..., :3], self.angular)
            + np.einsum("...i,irs->...rs", acceleration[..., 3:], self.acceleration)
            + np.einsum("...ij,ijrs->...rs", products, self.spin)
            + np.tensordot(forces, self.forces, axes=2)
        )

    def held_at(self, kappa: Array, node: Shapes | None) -> Array:
        """kappa (..., m, m) of the modes, seen from a node, given as one point; None is the body frame."""
        m = self.modes
        if kappa.shape[-1] == m or node is None:
            return kappa[..., :m, :m]
        turn = node.rotation[0]
        moved = node.translation[0] - np.cross(turn, node.position[0], axisa=0, axisc=0)
        T = np.vstack([np.eye(m), -turn, -moved])
        return T.T @ kappa @ T

    def scaled(self, factor: float) -> LoadStiffness:
        """Those of a body whose masses are multiplied by a factor, which loads at nodes do not see."""
        A, B, C = (factor * x for x in (self.acceleration, self.angular, self.spin))
        return LoadStiffness(self.modes, A, B, C, self.forces)

    def placed(self, R: Array, shift: Array) -> LoadStiffness:
        """The same in another frame, in which the old origin lies at `shift`, the old axes are the columns of R."""
        T = np.eye(self.acceleration.shape[-1])
        if (
            len(T) > self.modes
        ):  # old motions by new ones: a rotation moves the old origin by theta x shift
            at = self.modes
            T[at : at + 3, at : at + 3] = T[at + 3 :, at + 3 :] = R.T
            T[at + 3 :, at : at + 3] = R.T @ np.cross(np.eye(3), shift).T
        A, B, C, D = (
            T.T @ x @ T for x in (self.acceleration, self.angular, self.spin, self.forces)
        )
        A = np.tensordot(R, A, axes=1)
        arm = np.tensordot(shift, A, axes=0)  # (3, 3, b, b)
        return LoadStiffness(
            self.modes,
            A,
            np.tensordot(R, B, axes=1) + np.cross(shift, A, axisb=0, axisc=0),
            np.einsum("ik,jl,klrs->ijrs", R, R, C) + 0.5 * (arm + arm.swapaxes(0, 1)),
            np.einsum("ij,njrs->nirs", R, D),
        )


def relative_changes(kappa: Array, stiffness: Array) -> tuple[Array, Array]:
    """The least and the largest change (...,) of stiffness, as parts of it, over all shapes of a body.

    A part of -1 is that of the load at which the body buckles.
    """
    root = np.linalg.inv(np.linalg.cholesky(stiffness))
    parts: Array = np.linalg.eigvalsh(root @ kappa @ root.T)  # type: ignore[assignment]
    return parts[..., 0], parts[..., -1]
