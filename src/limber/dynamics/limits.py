"""Configurations outside the limits of joints, where the stops push them back."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.inverse import bias
from limber.errors import ModelWarning, warn
from limber.joints.physics import limits_in_words

#: A joint that rests on a stop, or is held there, is pressed into it by up to about this part of its range, which
#: counts as 1 rad or 1 m where there is one limit only; and by up to this many rad or m.
PRESSED, DEEPEST = 0.02, 0.1
#: A joint that is deeper in a stop still rests there if at most this part of the force of the stop is not in balance.
THROWN = 0.5


@dataclass(frozen=True, eq=False)
class Stops:
    """The coordinates of a system that have stops, as arrays over them."""

    names: tuple[str, ...]  # of the bodies
    coordinates: np.ndarray  # in q
    speeds: np.ndarray  # in v
    stiffness: Array  # of the stops
    lower: Array
    upper: Array
    allowed: Array  # how far beyond a limit is acceptable


_stops: WeakKeyDictionary[System, Stops] = WeakKeyDictionary()


def stops_of(system: System) -> Stops:
    """The stops of a system; limits that are only read by controllers have none."""
    if system not in _stops:
        found = []
        for name, joint in system.joints.items():
            if not joint.physics.stop_stiffness.any():
                continue
            where = system.layout[name]
            speed, at = 0, where.q_joint.start
            for group in joint.groups:
                for i in range(group.dofs):
                    stiffness = joint.physics.stop_stiffness[speed + i]
                    if stiffness:  # the speed is the rate of a coordinate
                        bounds = (joint.physics.lower[speed + i], joint.physics.upper[speed + i])
                        place = where.v_joint.start + speed + i
                        found.append((name, at + i, place, stiffness, *bounds))
                speed, at = speed + group.dofs, at + group.nq
        names, coordinates, speeds, stiffness, lower, upper = zip(*found) if found else ((),) * 6
        allowed = allowed_depth(np.array(lower), np.array(upper))
        _stops[system] = Stops(
            names,
            np.array(coordinates, dtype=np.int64),
            np.array(speeds, dtype=np.int64),
            np.array(stiffness),
            np.array(lower),
            np.array(upper),
            allowed,
        )
    return _stops[system]


def allowed_depth(lower: Array, upper: Array) -> Array:
    """How far beyond these limits a joint may rest on its stops."""
    span = upper - lower
    return np.minimum(PRESSED * np.where(np.isfinite(span), span, 1.0), DEEPEST)


def warn_outside_limits(system: System, q: Array, what: str, effect: str) -> None:
    """Warn, once for all joints, if q, which is `what`, is outside limits with stops and does not rest on the stops.

    The message contains no value of q, so a loop over many of them shows it once.
    """
    stops = stops_of(system)
    if not stops.names:
        return
    x = q[stops.coordinates]
    depth = np.maximum(stops.lower - x, x - stops.upper)
    outside = depth > stops.allowed
    if not outside.any():
        return
    # a soft stop gives way further under its load: in an equilibrium nothing throws the joint back
    unbalanced = np.abs(bias(system, q, np.zeros(system.nv))[stops.speeds])
    outside &= unbalanced > THROWN * stops.stiffness * depth
    if not outside.any():
        return
    joints = [
        f"{stops.names[i]!r} ({limits_in_words(stops.lower[i], stops.upper[i])})"
        for i in np.flatnonzero(outside)
    ]
    more = f" and {len(joints) - 10} more" if len(joints) > 10 else ""
    warn(
        f"{what} is outside the limits of the joint of {', '.join(joints[:10])}{more}: {effect}",
        ModelWarning,
    )
