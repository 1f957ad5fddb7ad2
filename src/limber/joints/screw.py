"""Rotation with a proportional translation."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from limber.checks import axis as unit_axis
from limber.checks import number
from limber.joints.base import Joint
from limber.joints.physics import JointOptions
from limber.joints.simple import screws


class Screw(Joint):
    """Rotation by theta about `axis` with a translation of `pitch` theta along it (pitch in metres per radian)."""

    def __init__(self, axis, pitch, **physics: Unpack[JointOptions]):
        self.axis = unit_axis("axis", axis)
        self.pitch = number("pitch", pitch)
        self.groups = (screws(np.concatenate([self.axis, self.pitch * self.axis])),)
        self._finish(physics)

    def __repr__(self):
        return self._written(self.axis.tolist(), self.pitch)
