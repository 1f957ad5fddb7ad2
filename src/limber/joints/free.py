"""All motions."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from limber.joints.base import Group, Joint
from limber.joints.physics import JointOptions
from limber.kernels import layout


class Free(Joint):
    """A joint that allows all motions.

    theta = [unit quaternion (scalar first), position of the outboard origin in inboard axes];
    beta = [angular velocity, linear velocity], both in outboard axes.
    """

    def __init__(self, **physics: Unpack[JointOptions]):
        self.groups = (Group(layout.FREE, np.eye(6), 7, 6),)
        self._finish(physics)

    def __repr__(self):
        return self._written()
