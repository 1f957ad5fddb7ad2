"""Rotation with a proportional translation."""

from __future__ import annotations

import numpy as np

from limber.checks import axis as unit_axis
from limber.checks import number
from limber.joints.base import Joint
from limber.joints.simple import screws


class Screw(Joint):
    """Rotation by theta about `axis` with a translation `pitch` theta along it (metres per radian)."""

    def __init__(self, axis, pitch):
        self.axis = unit_axis("axis", axis)
        self.pitch = number("pitch", pitch)
        self.groups = (screws(np.concatenate([self.axis, self.pitch * self.axis])),)
        self._freeze()

    def __repr__(self):
        return f"Screw({self.axis.tolist()}, {self.pitch})"
