r"""What loads would add to the modal stiffness of a body whose model leaves it out.

A load that stresses a body changes its stiffness by kappa, which is linear in the load.  A body without second-order
shapes may know kappa of unit loads all the same, so that one can tell when its model no longer holds:

    kappa = a . A + wd . B + sum_ij (w w^T - |w|^2 1)_ij C_ij + sum_nodes F . D

with the acceleration a of the body frame less gravity, its angular acceleration wd and velocity w, and forces F at
nodes, all in body axes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from limber.checks import Array
from limber.frozen import read_only


@dataclass(frozen=True, eq=False)
class LoadStiffness:
    """Changes of the modal stiffness (m, m) by unit loads; they have no moments at nodes.

    acceleration : (3, m, m) A, by an acceleration of the body frame.
    angular : (3, m, m) B, by an angular acceleration.
    spin : (3, 3, m, m) C, symmetric, by products of the angular velocity.
    forces : (n, 3, m, m) D, by forces at the nodes of the body.
    """

    acceleration: Array
    angular: Array
    spin: Array
    forces: Array

    def __post_init__(self) -> None:
        read_only(self)

    def under(self, spin: Array, acceleration: Array, forces: Array) -> Array:
        """kappa (..., m, m) of the angular velocity (..., 3), accelerations [angular; linear] (..., 6), and forces (..., n, 3)."""
        square = np.einsum("...i,...i->...", spin, spin)[..., None, None]
        products = spin[..., :, None] * spin[..., None, :] - square * np.eye(3)
        return (
            np.einsum("...i,irs->...rs", acceleration[..., :3], self.angular)
            + np.einsum("...i,irs->...rs", acceleration[..., 3:], self.acceleration)
            + np.einsum("...ij,ijrs->...rs", products, self.spin)
            + np.tensordot(forces, self.forces, axes=2)
        )

    def placed(self, R: Array, shift: Array) -> LoadStiffness:
        """The same in another frame, in which the old origin lies at `shift`, the old axes are the columns of R."""
        acceleration = np.tensordot(R, self.acceleration, axes=1)
        arm = np.tensordot(shift, acceleration, axes=0)  # (3, 3, m, m)
        turned = np.einsum("ik,jl,klrs->ijrs", R, R, self.spin)
        return LoadStiffness(
            acceleration,
            np.tensordot(R, self.angular, axes=1) + np.cross(shift, acceleration, axisb=0, axisc=0),
            turned + 0.5 * (arm + arm.swapaxes(0, 1)),
            np.einsum("ij,njrs->nirs", R, self.forces),
        )


def relative_changes(kappa: Array, stiffness: Array) -> tuple[Array, Array]:
    """The least and the largest change (...,) of stiffness, as parts of it, over all shapes of a body.

    A part of -1 is that of the load at which the body buckles.
    """
    root = np.linalg.inv(np.linalg.cholesky(stiffness))
    parts: Array = np.linalg.eigvalsh(root @ kappa @ root.T)  # type: ignore[assignment]
    return parts[..., 0], parts[..., -1]
