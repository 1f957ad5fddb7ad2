"""What closes a loop: cut joints between two ends, and linear relations between joint coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from limber.bodies import Body
from limber.checks import Array, array, listed, number, shown, suggestion
from limber.checks import rotation as rotation_matrix
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.joints import Joint

#: How an end of a closure is written.
END = '("body", node) or ("world", (x, y, z))'


@dataclass(frozen=True, eq=False)
class End:
    """A frame fixed in a (deforming) node of a body, or in the world.

    offset, rotation : from the node frame to this frame; offset in node axes, the columns of rotation are the axes of
        the frame in node axes.  In the world, offset is the position of the frame.
    """

    body: str  # "world" or the name of a body
    node: int | None  # None stands for the body frame
    offset: Array
    rotation: Array


@dataclass(frozen=True, eq=False)
class Closure:
    """A cut joint, which runs from frame a to frame b."""

    name: str
    a: End
    b: End
    joint: Joint


@dataclass(frozen=True, eq=False)
class Relation:
    """A linear relation of joint coordinates, sum of coefficient * theta = value; of their speeds, = 0.

    terms : (body, index of the coordinate in its joint) -> coefficient.
    """

    name: str
    terms: Mapping[tuple[str, int], float] = field(repr=False)
    value: float = 0.0


def end(
    argument: str,
    given,
    offset: ArrayLike,
    rotation: ArrayLike | None,
    bodies: Mapping[str, Body],
    closure: str,
) -> End:
    """An end of the closure named `closure`, checked."""
    if not (isinstance(given, tuple | list) and len(given) == 2):
        raise ArgumentTypeError(f"{argument} of {closure!r} must be {END}, got {shown(given)}.")
    body, where = given
    suffix = "_b" if argument == "end_b" else ""
    hint = f"It places the joint of the closure {closure!r} at {argument}."
    shift = array(f"offset{suffix}", offset, (3,), hint)
    turn = rotation_matrix(
        f"rotation{suffix}", np.eye(3) if rotation is None else rotation, hint, False
    )
    if not isinstance(body, str):
        raise ArgumentTypeError(
            f"{argument} of {closure!r} must be {END}, got {shown(given)}: its first part is a name."
        )
    if body == "world":
        place = (0.0, 0.0, 0.0) if where is None else where
        hint = f"{argument} of the closure {closure!r}: the world has no nodes; give a position (x, y, z)."
        return End("world", None, array(argument, place, (3,), hint) + shift, turn)
    if body not in bodies:
        known = ["world", *bodies]
        raise ArgumentValueError(
            f"{argument} of the closure {closure!r}: there is no body {body!r}.{suggestion(body, known)} Attach the bodies "
            f"before you close a loop; known so far: {listed(known)}."
        )
    node = None if where is None else bodies[body].node_set.index(argument, where, f"body {body!r}")
    return End(body, node, shift, turn)


def cut_joint(joint, closure: str) -> Joint:
    """The joint of the closure named `closure`, checked."""
    if not isinstance(joint, Joint) or type(joint) is Joint:
        raise ArgumentTypeError(
            f"joint of the closure {closure!r} must be a joint such as lb.Revolute([0, 0, 1]), got {shown(joint)}."
        )
    if joint.symbolic:
        raise ArgumentTypeError(
            f"joint of the closure {closure!r} is symbolic: a cut joint must be numeric, such as lb.Revolute([0, 0, 1])."
        )
    if joint.dofs == 6:
        raise ArgumentValueError(
            f"joint of the closure {closure!r} allows all six motions, so it closes nothing: leave the closure out."
        )
    if joint.physics.given:
        raise ArgumentValueError(
            f"joint of the closure {closure!r} has {next(iter(joint.physics.given))}: a cut joint has no coordinates of its "
            "own, so it has no springs, friction, stops or rotors. Cut the loop at another joint, and attach this one."
        )
    return joint


def relation(name: str, terms, value, joints: Mapping[str, Joint]) -> Relation:
    """A relation, checked; `terms` maps bodies, or (body, index) pairs, to coefficients."""
    if not isinstance(terms, Mapping) or not terms:
        raise ArgumentTypeError(
            f'terms of {name!r} must map joints to coefficients, as in {{"wheel": 1.0, "pinion": 3.0}}, got {shown(terms)}.'
        )
    found: dict[tuple[str, int], float] = {}
    for key, coefficient in terms.items():
        body, i = key if isinstance(key, tuple) and len(key) == 2 else (key, 0)
        if not isinstance(body, str) or isinstance(i, bool) or not isinstance(i, int | np.integer):
            raise ArgumentTypeError(
                f"terms of {name!r}: a joint is the name of its body, or (name, index of the coordinate), got {shown(key)}."
            )
        if body not in joints:
            raise ArgumentValueError(
                f"terms of {name!r}: there is no body {body!r}.{suggestion(body, joints)} Attach the bodies before you "
                f"relate their joints; known so far: {listed(list(joints))}."
            )
        joint = joints[body]
        if not all(group.has_rates for group in joint.groups):
            raise ArgumentValueError(
                f"terms of {name!r}: the speeds of the joint of {body!r}, {joint!r}, are not the rates of its "
                "coordinates, so a relation of them is no relation of coordinates. Use joints such as Revolute or Prismatic."
            )
        if not -1 < i < joint.dofs:
            raise ArgumentValueError(
                f"terms of {name!r}: the joint of {body!r} has {joint.dofs} coordinate(s), so there is no coordinate {i}."
            )
        if not isinstance(key, tuple) and joint.dofs != 1:
            raise ArgumentValueError(
                f"terms of {name!r}: the joint of {body!r} has {joint.dofs} coordinates; say which one, as in ({body!r}, 0)."
            )
        found[body, int(i)] = number(f"terms[{key!r}] of {name!r}", coefficient)
    if not any(found.values()):
        raise ArgumentValueError(
            f"terms of {name!r}: all coefficients are zero, so nothing is related."
        )
    return Relation(name, found, number(f"value of {name!r}", value))
