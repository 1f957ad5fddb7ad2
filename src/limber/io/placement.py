"""Places of frames: rotations and positions that are composed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from limber.checks import Array


class Pose(NamedTuple):
    """A frame in another one: the columns of `rotation` are its axes there, `position` is its origin."""

    rotation: Array
    position: Array

    @classmethod
    def here(cls) -> Pose:
        """The frame itself."""
        return cls(np.eye(3), np.zeros(3))

    def then(self, inner: Pose) -> Pose:
        """A frame that is given in this one, in the outer frame."""
        return Pose(self.rotation @ inner.rotation, self.point(inner.position))

    def point(self, position: Array) -> Array:
        """A point of this frame, in the outer frame."""
        return self.position + self.rotation @ position

    def inverse(self) -> Pose:
        """The outer frame in this one."""
        return Pose(self.rotation.T, -self.rotation.T @ self.position)
