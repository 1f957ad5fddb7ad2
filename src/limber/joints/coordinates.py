"""The kinds of coordinates and speeds of a joint: angles, displacements, quaternions."""

from __future__ import annotations

import numpy as np

from limber.joints.base import Joint
from limber.kernels import layout

ANGLE, DISPLACEMENT, QUATERNION = "angle", "displacement", "quaternion"

_AXES = "xyz"


def coordinates(joint: Joint) -> list[tuple[str, str]]:
    """(kind, short name) of every coordinate theta of a joint."""
    found: list[tuple[str, str]] = []
    for group in joint.groups:
        if group.kind == layout.SCREWS:
            found += [(_kind(h), "") for h in group.H.T]
        else:
            found += [(QUATERNION, name) for name in ("w", "x", "y", "z")]
            if group.kind == layout.FREE:
                found += [(DISPLACEMENT, name) for name in _AXES]
    return _numbered(found)


def speeds(joint: Joint) -> list[tuple[str, str]]:
    """(kind, short name) of every speed beta of a joint, which also applies to its rate and force."""
    found: list[tuple[str, str]] = []
    for group in joint.groups:
        if group.kind == layout.SCREWS:
            found += [(_kind(h), "") for h in group.H.T]
        else:
            found += [(ANGLE, name) for name in _AXES]
            if group.kind == layout.FREE:
                found += [(DISPLACEMENT, name) for name in _AXES]
    return _numbered(found)


def _kind(h: np.ndarray) -> str:
    return ANGLE if np.any(h[:3]) else DISPLACEMENT


def _numbered(found: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Number the nameless coordinates of joints with several."""
    if len(found) == 1:
        return found
    return [(kind, name or str(i)) for i, (kind, name) in enumerate(found, start=1)]
