"""All rotations."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from limber.joints.base import Group, Joint
from limber.joints.physics import JointOptions
from limber.kernels import layout


class Spherical(Joint):
    """A joint that allows all rotations.

    theta is a unit quaternion, scalar first, that transforms outboard components into inboard ones; beta is the
    relative angular velocity in outboard axes.
    """

    def __init__(self, **physics: Unpack[JointOptions]):
        self.groups = (Group(layout.SPHERICAL, np.eye(6, 3), 4, 3),)
        self._finish(physics)

    def __repr__(self):
        return self._written()
