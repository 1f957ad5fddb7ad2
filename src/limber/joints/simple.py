"""Simple joints, with any constant 6 x r joint map."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from limber.checks import array
from limber.errors import ArgumentValueError
from limber.joints.base import Group, Joint, bracket
from limber.joints.physics import JointOptions
from limber.kernels import layout


def screws(H: np.ndarray) -> Group:
    """A group of screws with the constant joint map H (6 x r)."""
    H = np.array(H, dtype=float).reshape(6, -1)
    H.setflags(write=False)
    return Group(layout.SCREWS, H, H.shape[1], H.shape[1])


class SimpleJoint(Joint):
    """A joint with a constant map H (6 x r): the relative velocity is H beta in outboard axes.

    Its configuration is lambda_r(theta_r) ... lambda_1(theta_1) with lambda_i = exp(h_i theta_i), and
    theta_dot = Gamma(theta) beta with B(theta) Gamma = H solved in the least-squares sense (Kwatny &
    Blankenship, Propositions 1 and 2).  Such a joint exists only if the columns of H are closed under
    the Lie bracket; other maps are rejected.

    Example: `SimpleJoint([[0], [0], [1], [0], [0], [0.1]])` is a screw along z.
    """

    def __init__(self, H, **physics: Unpack[JointOptions]):
        H = array("H", H, (6, "r"), "H has one column [angular; linear] per speed.")
        r = H.shape[1]
        rank = np.linalg.matrix_rank(H) if r else 0
        if r == 0:
            raise ArgumentValueError("H has no columns: give one per speed, or use Fixed().")
        if rank < r:
            raise ArgumentValueError(
                f"H must have 1 to 6 independent columns, got {r} of rank {rank}: remove the dependent ones."
            )
        basis, _ = np.linalg.qr(H)
        for i in range(r):
            for j in range(i):
                b = bracket(H[:, i], H[:, j])
                left = b - basis @ (basis.T @ b)
                if np.linalg.norm(left) > 1e-9 * np.linalg.norm(H[:, i]) * np.linalg.norm(H[:, j]):
                    raise ArgumentValueError(
                        f"H is not integrable: the Lie bracket of columns {j} and {i} is outside their span, so no joint with "
                        f"{r} coordinates has this constant map. Use CompoundJoint with one SimpleJoint per column, inboard "
                        "to outboard."
                    )
        self.groups = (screws(H),)
        self._H = H
        self._finish(physics)

    def __repr__(self):
        return self._written(self._H.tolist())
