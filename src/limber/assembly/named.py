"""Mappings of a system by the name of a body or of a joint.

Joints of files have names of their own.  A body with one joint is also found by the name of the joint; the names of a
compound joint are those of its parts.  The name of a body takes precedence over that of a joint.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from limber.assembly.pack import Attachment
from limber.joints import CompoundJoint, Joint

T = TypeVar("T")


@dataclass(frozen=True)
class BodyLayout:
    """The slices of q and of v (and tau) that belong to a body."""

    q_modes: slice
    q_joint: slice
    v_modes: slice
    v_joint: slice


class Part(NamedTuple):
    """A joint with a name of its own: its body, and its number in a compound joint, or None for the whole joint."""

    body: str
    number: int | None


class Named(dict[str, T], Generic[T]):
    """A dictionary by body that also finds entries by the names of joints, which are not among its keys."""

    def __init__(self, entries: Mapping[str, T], of_joints: Mapping[str, T]):
        super().__init__(entries)
        self._of_joints = dict(of_joints)

    def __missing__(self, name: str) -> T:
        return self._of_joints[name]

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._of_joints

    def get(self, name, default=None):
        """Return the entry of a body or joint, or the default."""
        try:
            return self[name]
        except KeyError:
            return default


def joint_parts(items: Iterable[Attachment]) -> dict[str, Part]:
    """The joints with names of their own, by these names."""
    items = list(items)
    bodies = {item.name for item in items}
    found: dict[str, Part] = {}
    for item in items:
        for i, name in enumerate(item.joint_names):
            if name and name not in bodies and name not in found:
                found[name] = Part(item.name, i if len(item.joint_names) > 1 else None)
    return found


def named_joints(items: Mapping[str, Attachment], parts: Mapping[str, Part]) -> Named[Joint]:
    """The joints by body, and by their own names."""
    return Named(
        {name: item.joint for name, item in items.items()},
        {name: _part(items[part.body].joint, part) for name, part in parts.items()},
    )


def _part(joint: Joint, part: Part) -> Joint:
    if part.number is None or not isinstance(joint, CompoundJoint):
        return joint
    return joint.joints[part.number]


def named_layout(
    layout: Mapping[str, BodyLayout], items: Mapping[str, Attachment], parts: Mapping[str, Part]
) -> Named[BodyLayout]:
    """The slices by body and by joint; parts of a compound joint have no modes, and their own coordinates."""
    of_joints = {}
    for name, part in parts.items():
        whole, joint = layout[part.body], items[part.body].joint
        if part.number is None or not isinstance(joint, CompoundJoint):
            of_joints[name] = whole
            continue
        before, own = joint.joints[: part.number], joint.joints[part.number]
        q = whole.q_joint.start + sum(x.nq for x in before)
        v = whole.v_joint.start + sum(x.dofs for x in before)
        none_q, none_v = (slice(at.start, at.start) for at in (whole.q_modes, whole.v_modes))
        of_joints[name] = BodyLayout(none_q, slice(q, q + own.nq), none_v, slice(v, v + own.dofs))
    return Named(layout, of_joints)
