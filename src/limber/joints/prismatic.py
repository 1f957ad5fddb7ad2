"""Translation along one axis."""

from __future__ import annotations

import numpy as np

from limber.checks import axis as unit_axis
from limber.joints.base import Joint
from limber.joints.simple import screws


class Prismatic(Joint):
    """Translation by theta along `axis`: three numbers, normalized, or a name such as "z" or "-x"."""

    def __init__(self, axis):
        self.axis = unit_axis("axis", axis)
        self.groups = (screws(np.concatenate([np.zeros(3), self.axis])),)
        self._freeze()

    def __repr__(self):
        return f"Prismatic({self.axis.tolist()})"
