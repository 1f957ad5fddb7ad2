"""All rotations."""

from __future__ import annotations

import numpy as np

from limber.joints.base import Group, Joint
from limber.kernels import layout


class Spherical(Joint):
    """All rotations: theta a unit quaternion, scalar first, that turns outboard components into
    inboard ones; beta the relative angular velocity in outboard axes."""

    def __init__(self):
        self.groups = (Group(layout.SPHERICAL, np.eye(6, 3), 4, 3),)
        self._freeze()

    def __repr__(self):
        return "Spherical()"
