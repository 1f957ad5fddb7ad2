"""Two translations in a plane and a rotation about its normal."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from limber.checks import axis as unit_axis
from limber.joints.compound import CompoundJoint
from limber.joints.physics import JointOptions
from limber.joints.prismatic import Prismatic
from limber.joints.revolute import Revolute


class Planar(CompoundJoint):
    """Two displacements in the inboard plane with this `normal`, then a rotation about the normal.

    The displacements are along `first` and `second`, which form a right-handed frame with the normal:
    x and y for the normal z, y and z for x, z and x for y.
    """

    def __init__(self, normal, **physics: Unpack[JointOptions]):
        self.normal = unit_axis("normal", normal)
        lead = np.eye(3)[(int(np.argmax(np.abs(self.normal))) + 1) % 3]
        self.first = unit_axis("first", lead - self.normal * (self.normal @ lead))
        self.second = unit_axis("second", np.cross(self.normal, self.first))
        super().__init__(
            [Prismatic(self.first), Prismatic(self.second), Revolute(self.normal)], **physics
        )

    def __repr__(self):
        return self._written(self.normal.tolist())
