"""Changes of topology: closures that become active or inactive, joints that are locked or unlocked.

A change is a value.  It makes a new system and state from an old system and state; the tree of the system is shared and
not rebuilt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.closures import Closure, End, Relation
from limber.assembly.given_closures import given_closure
from limber.assembly.system import System
from limber.checks import Array, listed, number, numbers, suggestion
from limber.constraints.ends import end_pose, node_pose
from limber.constraints.impulses import impulse
from limber.constraints.projection import project
from limber.dynamics.closing import gap
from limber.dynamics.evaluate import check_system, evaluated
from limber.dynamics.rows import worst
from limber.errors import ArgumentValueError, DynamicsError
from limber.joints import CompoundJoint, Fixed, Joint, Prismatic
from limber.kernels import layout as L

#: Closures whose ends are apart by more than this, in rad and m, or fractions of the system's size if that is below 1 m, are not
#: attached unless in place.
APART = 1e-6
#: The closures that lock a joint are named LOCK + the name of the body.
LOCK = "lock of "


@dataclass(frozen=True, eq=False)
class Changed:
    """The system and state after a change of topology.

    system : the system with the closures that are now active.
    q, v : the state after the change.
    wrenches : the impulses of all active closures, as given by `lb.impulse`; empty if nothing jumped.
    """

    system: System
    q: Array
    v: Array
    wrenches: dict[str, Array] = field(default_factory=dict)


class Change:
    """Base class of the changes of topology."""

    def __call__(
        self,
        system: System,
        q: ArrayLike,
        v: ArrayLike,
        known: Mapping[str, Closure | Relation] | None = None,
    ) -> Changed:
        """Return the changed system and state.

        known : closures that may be named even if they are not active; those of the system by default.
        """
        check_system(system)
        q, v = (
            numbers(name, x, f"({size},)")
            for name, x, size in (("q", q, system.nq), ("v", v, system.nv))
        )
        for name, x, size in (("q", q, system.nq), ("v", v, system.nv)):
            if x.shape != (size,):
                raise ArgumentValueError(f"{name} must have shape ({size},), got {x.shape}.")
        return self._changed(system, q, v, system.closures if known is None else known)

    def _changed(self, system: System, q: Array, v: Array, known: Mapping) -> Changed:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Attach(Change):
    """A closure becomes active; see `attach`."""

    closure: object
    in_place: bool = False
    restitution: float = 0.0

    def _changed(self, system: System, q: Array, v: Array, known: Mapping) -> Changed:
        closure = self._closure(system, known)
        if closure.name in system.closures:
            raise ArgumentValueError(
                f"attach: the closure {closure.name!r} is already active. Release it first, or give the new one another "
                "name."
            )
        if self.in_place:
            if isinstance(closure, Relation):
                closure = replace(closure, value=_sum(closure, system, q))
            else:
                closure = placed(closure, system, q)
        closed = system.closed_by([*system.closures.values(), closure])
        off = np.zeros(closed.rows) if self.in_place else evaluated(closed, "violations", (q,))
        if gap(closed, off) > APART:
            raise DynamicsError(
                f"attach: the ends do not coincide: {worst(closed, off)}. Bring them together first, or attach them where "
                "they "
                "are with in_place=True."
            )
        jump = impulse(closed, q, v, self.restitution)
        if self.restitution > 0.0:  # the ends separate again
            return Changed(system, q, jump.v, jump.wrenches)
        q_met, v_met = (q, jump.v) if self.in_place else project(closed, q, jump.v)
        return Changed(closed, q_met, v_met, jump.wrenches)

    def _closure(self, system: System, known: Mapping) -> Closure | Relation:
        if not isinstance(self.closure, str):
            return given_closure(self.closure, system.attachments, {*known, *system.closures})
        if self.closure not in known:
            raise ArgumentValueError(
                f"attach: there is no closure {self.closure!r}.{suggestion(self.closure, known)} Known closures: "
                f"{listed(known) or 'none'}. To attach a new one, give its ends and its joint."
            )
        return known[self.closure]


@dataclass(frozen=True, eq=False)
class Release(Change):
    """A closure is no longer active; see `release`."""

    name: str

    def _changed(self, system: System, q: Array, v: Array, known: Mapping) -> Changed:
        if self.name not in system.closures:
            raise ArgumentValueError(
                f"release: the closure {self.name!r} is not active.{suggestion(str(self.name), system.closures)} Active "
                f"closures: {listed(system.closures) or 'none'}."
            )
        return Changed(_without(system, [self.name]), q, v)


@dataclass(frozen=True, eq=False)
class Lock(Change):
    """A joint stops and keeps its position; see `lock`."""

    body: str

    def _changed(self, system: System, q: Array, v: Array, known: Mapping) -> Changed:
        body = system.body_of(self.body, "lock: body")
        if locks_of(system, body):
            raise ArgumentValueError(f"lock: the joint of {body!r} is already locked.")
        locks = locking_closures(system, q, body)
        if not locks:
            raise ArgumentValueError(
                f"lock: the joint of {body!r} is fixed: there is nothing to lock."
            )
        closed = system.closed_by([*system.closures.values(), *locks])
        jump = impulse(closed, q, v)
        return Changed(closed, q, jump.v, jump.wrenches)


@dataclass(frozen=True, eq=False)
class Unlock(Change):
    """A locked joint can move again; see `unlock`."""

    body: str

    def _changed(self, system: System, q: Array, v: Array, known: Mapping) -> Changed:
        body = system.body_of(self.body, "unlock: body")
        locks = locks_of(system, body)
        if not locks:
            raise ArgumentValueError(f"unlock: the joint of {body!r} is not locked.")
        return Changed(_without(system, locks), q, v)


def attach(closure, *, in_place: bool = False, restitution: float = 0.0) -> Attach:
    """A change of topology: a closure becomes active, with the impulse that brings its ends to the same speed.

    Momentum is conserved; see `impulse`.

    Parameters
    ----------
    closure : the name of a known closure, or a new one: (end_a, end_b, joint, name) or a dict, as in
        `System.closed_by`.
    in_place : whether the closure accepts the ends where they are: its frame b is moved so that the joint is at its
        neutral position.  Otherwise it is an error if the ends are apart by more than 1e-6 rad or 1e-6 m, or
        1e-6 of the system's size if that is below 1 m.
    restitution : from 0 to 1.  If it is not 0, the ends separate again, and the closure stays inactive.
    """
    e = number("restitution", restitution, minimum=0.0)
    if e > 1.0:
        raise ArgumentValueError(f"restitution must lie between 0 and 1, got {e:g}.")
    return Attach(closure, bool(in_place), e)


def release(name: str) -> Release:
    """A change of topology: the closure with this name is no longer active.  The state does not jump."""
    return Release(name)


def lock(body: str) -> Lock:
    """A change of topology: an impulse stops the joint of a body, which then keeps its position."""
    return Lock(body)


def unlock(body: str) -> Unlock:
    """A change of topology: the locked joint of a body can move again."""
    return Unlock(body)


def placed(closure: Closure, system: System, q: Array) -> Closure:
    """Return the closure with its frame b moved so that the joint is at its neutral position at q."""
    R, p = end_pose(system, q, closure.a)
    R_node, p_node = node_pose(system, q, closure.b)
    # neutral frames coincide
    offset = R_node.T @ (p - p_node)
    return replace(closure, b=replace(closure.b, offset=offset, rotation=R_node.T @ R))


def locking_closures(system: System, q: Array, body: str) -> list[Closure | Relation]:
    """Closures with one row for each speed of the joint of a body, which hold it at q."""
    joint, where = system.joints[body], system.layout[body]
    if all(group.has_rates for group in joint.groups):
        theta = q[where.q_joint]
        return [
            Relation(_lock_name(body, i, joint.dofs), {(body, i): 1.0}, float(theta[i]))
            for i in range(joint.dofs)
        ]
    item = system.attachments[body]
    a = End(item.to, item.at, item.offset, item.rotation)
    b = End(body, item.inboard, np.zeros(3), np.eye(3))
    closure = Closure(f"{LOCK}{body}", a, b, _held(joint))
    return [placed(closure, system, q)]


def _held(joint: Joint) -> Joint:
    """A cut joint that allows the motions that the joint itself does not allow."""
    if len(joint.groups) == 1 and joint.groups[0].kind == L.SPHERICAL:
        return CompoundJoint([Prismatic("x"), Prismatic("y"), Prismatic("z")])
    return Fixed()


def _lock_name(body: str, i: int, count: int) -> str:
    return f"{LOCK}{body}" if count == 1 else f"{LOCK}{body}, coordinate {i}"


def locks_of(system: System, body: str) -> list[str]:
    """The closures that lock the joint of a body."""
    return [
        name
        for name in system.closures
        if name == f"{LOCK}{body}" or name.startswith(f"{LOCK}{body}, coordinate ")
    ]


def _without(system: System, names: list[str]) -> System:
    return system.closed_by([c for name, c in system.closures.items() if name not in names])


def _sum(relation: Relation, system: System, q: Array) -> float:
    """The sum of a relation at q."""
    return float(
        sum(x * q[system.layout[body].q_joint][i] for (body, i), x in relation.terms.items())
    )
