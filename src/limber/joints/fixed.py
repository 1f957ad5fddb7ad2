"""No motion."""

from __future__ import annotations

from limber.joints.base import Joint


class Fixed(Joint):
    """A weld: no coordinates, no speeds."""

    def __init__(self):
        self._freeze()

    def __repr__(self):
        return "Fixed()"
