"""The joints of a sensor, an actuator or a controller: names of bodies, and places in q and v."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from limber.assembly.system import System
from limber.checks import Array, shown
from limber.dynamics.equilibrium import equilibrium
from limber.errors import ArgumentTypeError, ArgumentValueError


@dataclass(frozen=True, eq=False)
class JointPlaces:
    """Joint speeds by name, with their places in v, and in q where they are the rates of coordinates."""

    labels: tuple[str, ...]
    q: np.ndarray
    v: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)


def joint_unit(system: System, speeds: Iterable[int], turning: str, sliding: str) -> str:
    """The unit of a quantity with one value per joint speed: for revolute joints, for prismatic joints, or for both."""
    wanted, found = set(speeds), []
    for name, where in system.layout.items():
        joint = system.joints[name]
        columns = np.hstack([np.zeros((6, 0)), *(group.H for group in joint.groups)])
        for column, i in enumerate(range(where.v_joint.start, where.v_joint.stop)):
            if i in wanted:
                found.append(turning if columns[:3, joint.order.index(column)].any() else sliding)
    return " or ".join(x for x in (turning, sliding) if x in found)


def not_plain(system: System) -> str:
    """A description of the joints whose speeds are not the rates of their coordinates; empty if there are none."""
    found = [joint for joint in system.joints.values() if not all(joint.has_coordinate)]
    if not found:
        return ""
    quaternions = any(joint.nq != joint.dofs for joint in found)
    return (
        "joints with quaternions" if quaternions else "joints of several axes that turn each other"
    )


def floats(system: System, body: str) -> bool:
    """Whether what carries the joint of a body cannot move, so that a force of the joint has no reaction on other
    bodies."""
    carrier = system.attachments[body].to
    while carrier != "world":
        place = system.layout[carrier]
        if place.v_joint.stop > place.v_joint.start or place.v_modes.stop > place.v_modes.start:
            return False
        carrier = system.attachments[carrier].to
    return True


def same_layout(one: System, other: System) -> bool:
    """Whether two systems have the same bodies, with their modes and joints at the same places of q and v."""
    return dict(one.layout.items()) == dict(other.layout.items())


def bodies_of(system: System, places: JointPlaces) -> tuple[str, ...]:
    """The bodies whose joints have these speeds, without duplicates."""
    owner = {i: b for b, x in system.layout.items() for i in range(x.v_joint.start, x.v_joint.stop)}
    return tuple(dict.fromkeys(owner[i] for i in places.v.tolist()))


def joint_places(
    system: System, bodies: Any, owner: str, *, with_rates: bool = True
) -> JointPlaces:
    """The joints of the named bodies, one entry for each speed; None stands for all joints whose speeds are the rates
    of their coordinates.

    bodies : None, a name, or several.
    owner : the caller, for messages.
    with_rates : whether each speed must be the rate of its coordinate; otherwise their numbers need only be equal.
    """
    if bodies is None:
        names = tuple(
            n
            for n, j in system.joints.items()
            if j.dofs and j.nq == j.dofs and (all(j.has_coordinate) or not with_rates)
        )
    else:
        given = [system.body_of(name, f"{owner}: body") for name in body_names(bodies, owner)]
        names = body_names(given, owner)  # a joint may be named twice, by its own name as well
    labels: list[str] = []
    q: list[int] = []
    v: list[int] = []
    for name in names:
        joint, where = system.joints[name], system.layout[name]
        if joint.nq != joint.dofs:
            raise ArgumentValueError(
                f"{owner}: the joint of body {name!r} has a quaternion; this is for joints whose speeds are the rates of their "
                "coordinates, such as Revolute and Prismatic."
            )
        if with_rates and not all(joint.has_coordinate):
            raise ArgumentValueError(
                f"{owner}: the joint of body {name!r} has several axes that turn each other, so that its speeds are not the rates of its "
                "coordinates. Use a CompoundJoint of Revolute joints, whose speeds are these rates."
            )
        if not joint.dofs:
            raise ArgumentValueError(
                f"{owner}: the joint of body {name!r} is fixed and has no speed."
            )
        several = joint.dofs > 1
        labels += [f"{name}[{i}]" if several else name for i in range(joint.dofs)]
        q += range(where.q_joint.start, where.q_joint.stop)
        v += range(where.v_joint.start, where.v_joint.stop)
    if not names:
        raise ArgumentValueError(f"{owner}: {system.name!r} has no joint with plain coordinates.")
    return JointPlaces(tuple(labels), np.array(q), np.array(v))


def torque_places(system: System, bodies: Any, owner: str) -> JointPlaces:
    """The joint speeds on which torques act: those of the named bodies, of any joint; None stands for all joints without
    quaternions.
    """
    if bodies is None:
        if not any(j.dofs and j.nq == j.dofs for j in system.joints.values()):
            raise ArgumentValueError(
                f"{owner}: all joints of {system.name!r} are fixed or have a quaternion. Torques act on the latter only if you "
                "name them in bodies=[...]: a free joint then has six, as from ideal thrusters."
            )
        return joint_places(system, None, owner, with_rates=False)
    names = [system.body_of(name, f"{owner}: body") for name in body_names(bodies, owner)]
    if all(system.joints[name].nq == system.joints[name].dofs for name in names):
        return joint_places(system, bodies, owner, with_rates=False)
    found = []
    for name in body_names(names, owner):
        joint, where = system.joints[name], system.layout[name].v_joint
        if joint.nq == joint.dofs:
            found.append(joint_places(system, name, owner, with_rates=False))
        else:
            labels = tuple(f"{name}[{i}]" for i in range(joint.dofs))
            found.append(
                JointPlaces(labels, np.zeros(0, dtype=int), np.arange(where.start, where.stop))
            )
    return JointPlaces(
        tuple(label for x in found for label in x.labels),
        np.concatenate([x.q for x in found]),
        np.concatenate([x.v for x in found]),
    )


def by_label(system: System, given: Mapping[Any, Any], owner: str) -> dict[Any, Any]:
    """The mapping `given` with joints renamed to the labels of `JointPlaces`; other names stay as they are."""
    labels = {}
    if any(isinstance(name, str) and system.is_joint(name) for name in given):
        every = joint_places(system, None, owner)
        labels = dict(zip(every.v.tolist(), every.labels))
    found: dict[Any, Any] = {}
    for name, value in given.items():
        label = name
        if isinstance(name, str) and system.is_joint(name):
            label = labels.get(system.layout[name].v_joint.start, name)
        if label in found:
            raise ArgumentValueError(
                f"{owner} has the joint of {label!r} twice, once by the name of the body and once by its own: keep one."
            )
        found[label] = value
    return found


def body_names(bodies: Any, owner: str) -> tuple[str, ...]:
    """Names of bodies as a tuple, without duplicates."""
    if isinstance(bodies, str):
        return (bodies,)
    if not isinstance(bodies, Iterable):
        raise ArgumentTypeError(
            f"{owner}: bodies must be the names of bodies, got {shown(bodies)}."
        )
    names = tuple(bodies)
    for name in names:
        if not isinstance(name, str):
            raise ArgumentTypeError(
                f"{owner}: bodies must be the names of bodies, got {shown(name)}."
            )
        if names.count(name) > 1:
            raise ArgumentValueError(f"{owner}: body {name!r} is named twice.")
    return names


def deformed(system: System, q: Array) -> Array:
    """The configuration with these joint coordinates and with the modes in static equilibrium."""
    if not any(body.modes for body in system.bodies.values()):
        return np.array(q)
    return equilibrium(system, q, locked=[b for b, joint in system.joints.items() if joint.dofs])
