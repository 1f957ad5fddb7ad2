"""Two rotations about intersecting axes."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from limber.checks import axis as unit_axis
from limber.errors import ArgumentValueError
from limber.joints.compound import CompoundJoint
from limber.joints.physics import JointOptions
from limber.joints.revolute import Revolute


class Universal(CompoundJoint):
    """Rotation by theta_1 about `axis1` (inboard), then by theta_2 about `axis2`."""

    def __init__(self, axis1, axis2, **physics: Unpack[JointOptions]):
        first = Revolute(unit_axis("axis1", axis1))
        second = Revolute(unit_axis("axis2", axis2))
        if np.linalg.norm(np.cross(first.axis, second.axis)) < 1e-9:
            raise ArgumentValueError(
                f"axis1 and axis2 are parallel ({first.axis.tolist()}): a universal joint needs two directions; "
                "use Revolute for one."
            )
        self.axis1, self.axis2 = first.axis, second.axis
        super().__init__([first, second], **physics)

    def __repr__(self):
        return self._written(self.axis1.tolist(), self.axis2.tolist())
