"""No motion."""

from __future__ import annotations

from typing import Unpack

from limber.joints.base import Joint
from limber.joints.physics import JointOptions


class Fixed(Joint):
    """A weld, without coordinates or speeds."""

    def __init__(self, **physics: Unpack[JointOptions]):
        self._finish(physics)

    def __repr__(self):
        return self._written()
