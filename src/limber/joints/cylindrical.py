"""Rotation about and translation along one axis."""

from __future__ import annotations

from typing import Unpack

from limber.joints.compound import CompoundJoint
from limber.joints.physics import JointOptions
from limber.joints.prismatic import Prismatic
from limber.joints.revolute import Revolute


class Cylindrical(CompoundJoint):
    """Rotation about `axis` and translation along it: theta = [angle, displacement]."""

    def __init__(self, axis, **physics: Unpack[JointOptions]):
        turn = Revolute(axis)
        self.axis = turn.axis
        super().__init__([turn, Prismatic(axis)], **physics)

    def __repr__(self):
        return self._written(self.axis.tolist())
