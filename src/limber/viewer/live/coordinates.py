"""The numbers of a configuration that sliders control: angles, displacements, rotation vectors, modal coordinates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.kernels import layout

#: A mode bends its body by at most this part of its size, or turns it by so many radians.
BEND, TURN = 0.15, 0.6
_AXES = "xyz"


@dataclass(frozen=True, eq=False)
class Coordinate:
    """One slider: its label, its range, and how it reads and writes a configuration."""

    label: str
    low: float
    high: float
    get: Callable[[Array], float]
    put: Callable[[Array, float], None]


def coordinates(system: System, size: float) -> dict[str, list[Coordinate]]:
    """The coordinates of the joint and the modes of every body that has any; `size` is that of the system, m."""
    found = {}
    for name, item in system.attachments.items():
        listed = [*_of_joint(system, name, size), *_of_modes(system, name)]
        if listed:
            found[name] = listed
        assert item.joint.nq == len(range(*system.layout[name].q_joint.indices(system.nq)))
    return found


def _of_joint(system: System, name: str, size: float) -> list[Coordinate]:
    joint = system.attachments[name].joint
    start, speed = system.layout[name].q_joint.start, 0
    found: list[Coordinate] = []
    for group in joint.groups:
        if group.kind == layout.SCREWS:
            for k in range(group.dofs):
                angle = bool(np.any(group.H[:3, k]))
                widest = np.pi if angle else size
                low, high = joint.physics.lower[speed + k], joint.physics.upper[speed + k]
                low = low if np.isfinite(low) else min(-widest, high - widest)
                high = high if np.isfinite(high) else max(widest, low + widest)
                label = "angle (rad)" if angle else "displacement (m)"
                if joint.dofs > 1:
                    label = f"{speed + k + 1}: {label}"
                found.append(_plain(label, float(low), float(high), start + k))
        else:
            found += [_turning(f"turn about {a} (rad)", start, i) for i, a in enumerate(_AXES)]
            if group.kind == layout.FREE:
                found += [
                    _plain(f"{a} (m)", -size, size, start + 4 + i) for i, a in enumerate(_AXES)
                ]
        start, speed = start + group.nq, speed + group.dofs
    return found


def _of_modes(system: System, name: str) -> list[Coordinate]:
    body = system.bodies[name]
    if not body.modes:
        return []
    turn, move = body.largest_motion()
    extent = body.extent() or 1.0
    start = system.layout[name].q_modes.start
    found = []
    for k in range(body.modes):
        limits = [BEND * extent / move[k]] if move[k] > 0.0 else []
        limits += [TURN / turn[k]] if turn[k] > 0.0 else []
        most = float(min(limits, default=1.0))
        found.append(_plain(f"mode {k + 1}", -most, most, start + k))
    return found


def _plain(label: str, low: float, high: float, i: int) -> Coordinate:
    def put(q: Array, value: float) -> None:
        q[i] = value

    return Coordinate(label, low, high, lambda q: float(q[i]), put)


def _turning(label: str, start: int, i: int) -> Coordinate:
    """A component of the rotation vector of the quaternion at `start`."""
    where = slice(start, start + 4)

    def put(q: Array, value: float) -> None:
        vector = rotation_vector(q[where])
        vector[i] = value
        q[where] = quaternion(vector)

    return Coordinate(label, -np.pi, np.pi, lambda q: float(rotation_vector(q[where])[i]), put)


def rotation_vector(quaternion: Array) -> Array:
    """The rotation vector of a unit quaternion, scalar first."""
    w, vector = quaternion[0], quaternion[1:]
    if w < 0.0:
        w, vector = -w, -vector
    size = float(np.linalg.norm(vector))
    return 2.0 * vector if size < 1e-12 else (2.0 * np.arctan2(size, w) / size) * vector


def quaternion(vector: Array) -> Array:
    """The unit quaternion of a rotation vector."""
    angle = float(np.linalg.norm(vector))
    part = 0.5 if angle < 1e-12 else np.sin(0.5 * angle) / angle
    made = np.concatenate([[np.cos(0.5 * angle)], part * vector])
    return made / np.linalg.norm(made)
