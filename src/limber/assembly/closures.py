"""Closures of loops: cut joints between two ends, and linear relations between joint coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.cut_joints import (
    cut_joint_rows,
    independent_speeds,
    reach_is_left_out,
)
from limber.checks import Array, array, integer, listed, number, shown, suggestion
from limber.checks import rotation as rotation_matrix
from limber.errors import ArgumentTypeError, ArgumentValueError, ModelWarning, warn
from limber.joints import Joint
from limber.kernels.layout import COMPOUND

if TYPE_CHECKING:
    from limber.assembly.pack import Attachment

#: How an end of a closure is written.
END = '("body", node) or ("world", (x, y, z))'


@dataclass(frozen=True, eq=False)
class End:
    """A frame fixed to a node of a body, which moves with the deformation, or to the world.

    offset, rotation : from the node frame to this frame; the offset is in node axes, and the columns of the rotation
        are the axes of the frame in node axes.  On the world, the offset is the position of the frame.
    """

    body: str  # "world" or the name of a body
    node: int | None  # None stands for the body frame
    offset: Array
    rotation: Array


@dataclass(frozen=True, eq=False)
class Closure:
    """A cut joint that runs from frame a to frame b.

    left_out : rows that it does not constrain, by their numbers in `cut_joints.CutJoint`; generated code leaves out
        redundant ones.  For a joint whose rows change, they are numbers of unit twists in the axes of end b.
    start : initial guess for the coordinates of a joint whose rows change; () means near its neutral position.
    """

    name: str
    a: End
    b: End
    joint: Joint
    left_out: tuple[int, ...] = ()
    start: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Probe(Closure):
    """An end b whose six velocities the kernels of operational space observe; nothing is closed there.

    It is a closure from the world by a `Fixed` joint whose rows are not eliminated.  Probes come after all closures.
    """


@dataclass(frozen=True, eq=False)
class Relation:
    """A linear relation of joint coordinates, sum of coefficient * theta = value; for their speeds the sum is 0.

    terms : (body, index of the coordinate in its joint) -> coefficient.
    """

    name: str
    terms: Mapping[tuple[str, int], float] = field(repr=False)
    value: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "terms", MappingProxyType(dict(self.terms)))

    def __reduce__(self):
        return Relation, (self.name, dict(self.terms), self.value)


def end(
    argument: str,
    given,
    offset: ArrayLike,
    rotation: ArrayLike | None,
    attachments: Mapping[str, Attachment],
    closure: str,
) -> End:
    """An end of the closure named `closure`, checked."""
    if not (isinstance(given, tuple | list) and len(given) == 2 and isinstance(given[0], str)):
        raise ArgumentTypeError(
            f"{argument} of the closure {closure!r} must be {END}, got {shown(given)}."
        )
    body, where = given
    suffix = "_b" if argument == "end_b" else ""
    hint = f"It places the joint of the closure {closure!r} at {argument}."
    shift = array(f"offset{suffix}", offset, (3,), hint)
    turn = rotation_matrix(
        f"rotation{suffix}", np.eye(3) if rotation is None else rotation, hint, False
    )
    if body == "world":
        place = (0.0, 0.0, 0.0) if where is None else where
        hint = f"{argument} of the closure {closure!r}: the world has no nodes; give a position (x, y, z)."
        # Adding zero makes -0.0 a zero without a sign, which files give back as it is.
        position = array(argument, place, (3,), hint) + shift + 0.0
        position.setflags(write=False)
        return End("world", None, position, turn)
    if body not in attachments:
        known = ["world", *attachments]
        raise ArgumentValueError(
            f"{argument} of the closure {closure!r}: there is no body {body!r}.{suggestion(body, known)} Attach the bodies "
            f"before you close a loop; known so far: {listed(known)}."
        )
    nodes, owner = attachments[body].body.node_set, f"body {body!r} in the closure {closure!r}"
    return End(body, None if where is None else nodes.index(argument, where, owner), shift, turn)


def cut_closure(
    name: str,
    end_a,
    end_b,
    joint,
    attachments: Mapping[str, Attachment],
    offset: ArrayLike = (0.0, 0.0, 0.0),
    rotation: ArrayLike | None = None,
    offset_b: ArrayLike = (0.0, 0.0, 0.0),
    rotation_b: ArrayLike | None = None,
) -> Closure:
    """A closure by a cut joint, checked; arguments as in `Assembly.close`."""
    joint = cut_joint(joint, name)
    a = end("end_a", end_a, offset, rotation, attachments, name)
    b = end("end_b", end_b, offset_b, rotation_b, attachments, name)
    if a.body == b.body:
        raise ArgumentValueError(
            f"the closure {name!r} has both ends on {a.body!r}: a closure connects two bodies, or a body and the "
            "world. A connection between two nodes of one flexible body belongs in the structure from which the "
            "body is made."
        )
    return Closure(name, a, b, joint)


def cut_joint(joint, closure: str) -> Joint:
    """The joint of the closure named `closure`, checked."""
    if not isinstance(joint, Joint) or type(joint) is Joint:
        raise ArgumentTypeError(
            f"joint of the closure {closure!r} must be a joint such as lb.Revolute([0, 0, 1]), got {shown(joint)}."
        )
    if joint.symbolic:
        raise ArgumentTypeError(
            f"joint of the closure {closure!r} is symbolic, but a cut joint must be numeric, such as lb.Revolute([0, 0, "
            "1])."
        )
    independent = independent_speeds(joint)
    if independent == 6:
        raise ArgumentValueError(
            f"joint of the closure {closure!r} allows all six motions, so it constrains nothing: remove the "
            "closure."
        )
    if independent < joint.dofs and cut_joint_rows(joint).kind == COMPOUND:
        raise ArgumentValueError(
            f"joint of the closure {closure!r} has {joint.dofs} speeds, of which only {independent} are "
            "independent in any position: some of its parts allow motions that other parts already allow. Remove "
            "the redundant ones; a rod between two ball joints, for instance, is a ball at one end and two "
            "hinges across the rod at the other."
        )
    if joint.physics.options:
        raise ArgumentValueError(
            f"joint of the closure {closure!r} has {min(joint.physics.options)}: a cut joint has no coordinates "
            "of its own, so it cannot have springs, dampers, friction, rotors or limits. Cut the loop at another "
            "joint and attach this one."
        )
    if reach_is_left_out(joint):
        warn(
            f"joint of the closure {closure!r} moves its ends in a plane with parallel hinges. It keeps them in "
            "that plane but not within reach of the massless links between the hinges: positions where those "
            "links are stretched out are not detected. If that matters, cut the loop at one of the hinges and "
            "attach the links as bodies.",
            ModelWarning,
        )
    return joint


def coordinate(argument: str, given, joints: Mapping[str, Joint]) -> tuple[str, int]:
    """The body and the index of the joint coordinate that `given` names, checked; `argument` is for the message."""
    body, i = given if isinstance(given, tuple) and len(given) == 2 else (given, 0)
    index = integer(i)
    if not isinstance(body, str) or index is None:
        raise ArgumentTypeError(
            f"{argument}: a joint must be the name of its body, or (name, index of the coordinate), got "
            f"{shown(given)}."
        )
    if body not in joints:
        raise ArgumentValueError(
            f"{argument}: there is no body {body!r}.{suggestion(body, joints)} Attach the bodies before you relate their "
            f"joints; known so far: {listed(joints) or 'none'}."
        )
    joint = joints[body]
    if joint.symbolic:
        raise ArgumentTypeError(
            f"{argument}: the joint of {body!r} is symbolic, so its speeds need not be the rates of its coordinates. Use "
            "joints such as Revolute or Prismatic."
        )
    if not all(group.has_rates for group in joint.groups):
        raise ArgumentValueError(
            f"{argument}: the speeds of the joint of {body!r}, {joint!r}, are not the rates of its coordinates, "
            "so a relation between the speeds is not one between coordinates. Use joints such as Revolute or "
            "Prismatic."
        )
    if joint.dofs == 0:
        raise ArgumentValueError(
            f"{argument}: the joint of {body!r} is fixed and has no coordinate. Use a joint that moves, or remove "
            "it."
        )
    if not isinstance(given, tuple) and joint.dofs != 1:
        raise ArgumentValueError(
            f"{argument}: the joint of {body!r} has {joint.dofs} coordinates; name one of them, as in ({body!r}, "
            "0)."
        )
    if not 0 <= index < joint.dofs:
        only = "only coordinate 0" if joint.dofs == 1 else f"coordinates 0 to {joint.dofs - 1}"
        raise ArgumentValueError(
            f"{argument}: the joint of {body!r} has {only}, so there is no coordinate {index}."
        )
    return body, index


def relation(name: str, terms, value, joints: Mapping[str, Joint]) -> Relation:
    """A relation, checked; `terms` maps bodies, or (body, index) pairs, to coefficients."""
    if not isinstance(terms, Mapping) or not terms:
        raise ArgumentTypeError(
            f'terms of {name!r} must map joints to coefficients, as in {{"wheel": 1.0, "pinion": 3.0}}, got {shown(terms)}.'
        )
    found: dict[tuple[str, int], float] = {}
    for key, coefficient in terms.items():
        at = coordinate(f"terms of {name!r}", key, joints)
        if at in found:
            raise ArgumentValueError(
                f"terms of {name!r}: coordinate {at[1]} of the joint of {at[0]!r} is named twice. Give the sum of its "
                "coefficients once."
            )
        found[at] = number(f"terms[{key!r}] of {name!r}", coefficient)
    if not any(found.values()):
        raise ArgumentValueError(
            f"terms of {name!r}: all coefficients are zero, so nothing is related. Give at least one nonzero "
            "coefficient."
        )
    # Bodies in the order given, their coordinates in order, and nothing that has no effect: as files write them.
    bodies = list(dict.fromkeys(body for body, _ in found))
    order = sorted(found, key=lambda at: (bodies.index(at[0]), at[1]))
    kept = {at: found[at] for at in order if found[at]}
    return Relation(name, kept, number(f"value of {name!r}", value) + 0.0)
