"""Rotation about one axis."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from limber.checks import axis as unit_axis
from limber.joints.base import Joint
from limber.joints.physics import JointOptions
from limber.joints.simple import screws


class Revolute(Joint):
    """Rotation by theta about `axis`.

    axis : three numbers, which are normalized, or a name such as "z" or "-x".
    """

    def __init__(self, axis, **physics: Unpack[JointOptions]):
        self.axis = unit_axis("axis", axis)
        self.groups = (screws(np.concatenate([self.axis, np.zeros(3)])),)
        self._finish(physics)

    def __repr__(self):
        return self._written(self.axis.tolist())
