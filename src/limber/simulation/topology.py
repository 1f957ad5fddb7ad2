"""Changes of topology in a simulation: how they are requested, carried out and stored in a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from limber.assembly.closures import Closure, Relation
from limber.assembly.given_closures import given_closure
from limber.assembly.system import System
from limber.checks import Array, listed, suggestion
from limber.constraints.topology import LOCK, Attach, Change, Lock, Release, Unlock
from limber.dynamics.energy import kinetic_energy, momentum, potential_energy
from limber.errors import ArgumentValueError, LimberError, SimulationError

Known = dict[str, Closure | Relation]


@dataclass(frozen=True, eq=False)
class TopologyChange:
    """A change of topology in a simulation.

    t : the time of the change.
    kind, name : "attach", "release", "lock" or "unlock", and the closure or the body.
    event : the name of the event whose action it was.
    system : the system with the closures that are active after the change.
    q, v : the state before the change.
    q_after, v_after : the state after it.
    wrenches : the impulses of the closures, as given by `lb.impulse`; empty if nothing jumped.
    energy : the increase of the energy, J; impulses reduce it.

    Energy and momentum of a ruthless system are those of the full one, from which its impulses are computed.
    """

    t: float
    kind: str
    name: str
    event: str
    system: System
    q: Array
    v: Array
    q_after: Array
    v_after: Array
    wrenches: dict[str, Array]
    energy: float

    @property
    def energy_lost(self) -> float:
        """The energy lost in the impulse, J."""
        return -self.energy

    @cached_property
    def momentum_before(self) -> Array:
        """The momentum [angular, linear] about the world origin before the change, (6,)."""
        return momentum(self.system.with_full_fidelity(), self.q, self.v)

    @cached_property
    def momentum_after(self) -> Array:
        """The momentum after the change, (6,)."""
        return momentum(self.system.with_full_fidelity(), self.q_after, self.v_after)

    @property
    def impulse(self) -> Array | None:
        """The impulse of the closure that was attached or that locks the joint, (6,), or () for a relation.

        None if there is no such closure.  A joint that several closures lock has one number for each of them.
        """
        if self.kind == "attach":
            return self.wrenches.get(self.name)
        own = [x for name, x in self.wrenches.items() if _locks(name, self.name)]
        if self.kind != "lock" or not own:
            return None
        return own[0] if len(own) == 1 else np.array(own)

    def __str__(self) -> str:
        text = f"t = {self.t:.6g} s: {self.kind} {self.name!r}"
        if not self.wrenches:
            return text
        return f"{text} ({_sizes(self.impulse)}energy lost {self.energy_lost:.4g} J)"

    def __repr__(self) -> str:
        return f"TopologyChange({self})"


@dataclass(frozen=True, eq=False)
class Interval:
    """A time interval in which the same closures are active.

    start, end : s.
    closures : the names of the active closures.
    system : the system with these closures.
    """

    start: float
    end: float
    closures: tuple[str, ...]
    system: System

    def __repr__(self) -> str:
        return (
            f"Interval({self.start:g} .. {self.end:g} s, {listed(self.closures) or 'no closures'})"
        )


def intervals(
    system: System, changes: Sequence[TopologyChange], start: float, end: float
) -> tuple[Interval, ...]:
    """The intervals of a run from `start` to `end`; those of zero length are left out."""
    times = [min(start, *(c.t for c in changes)), *(c.t for c in changes)] if changes else [start]
    ends = [*times[1:], max(end, times[-1])]
    found: list[Interval] = []
    for s, begins, last in zip([system, *(c.system for c in changes)], times, ends):
        same = found and found[-1].system is s
        first = found.pop().start if same else begins
        if last > first or not changes:
            found.append(Interval(first, last, tuple(s.closures), s))
    return tuple(found)


def changes_of(action: object) -> tuple[Change, ...] | None:
    """The changes contained in an action or its return value; None if it is something else."""
    if isinstance(action, Change):
        return (action,)
    if isinstance(action, list | tuple) and action and all(isinstance(x, Change) for x in action):
        return tuple(action)
    return None


def refuse_impossible(system: System, actions: Sequence[object]) -> None:
    """Reject changes that name what the system does not have, before a run.

    Names of closures are not checked if there are functions among the actions, which may attach others.
    """
    asked = [change for action in actions for change in changes_of(action) or ()]
    known = dict(system.closures)
    for change in asked:
        if isinstance(change, Attach) and not isinstance(change.closure, str):
            closure = given_closure(change.closure, system.attachments, known)
            known[closure.name] = closure
        elif isinstance(change, Lock | Unlock):
            system.body_of(change.body, f"{kind_of(change)}: body")
    if any(action is not None and changes_of(action) is None for action in actions):
        return
    for change in asked:
        name = change.closure if isinstance(change, Attach) else getattr(change, "name", None)
        if isinstance(name, str) and name not in known and not name.startswith(LOCK):
            raise ArgumentValueError(
                f"{kind_of(change)}: there is no closure {name!r}.{suggestion(name, known)} Known closures: "
                f"{listed(known) or 'none'}. To attach a closure that is not in the model, give lb.attach its ends and "
                "its joint."
            )


def refuse_changes(changes: Sequence[Change], engine: str, driven: Sequence[str]) -> None:
    """Reject changes in a run that does not support them.

    driven : bodies whose joints have a prescribed motion.
    """
    if changes and engine == "generated":
        raise ArgumentValueError(
            'engine="generated" has code for one set of closures, so events cannot change the topology: every change '
            'would need a new compilation. Use engine="general".'
        )
    jumps = [kind_of(change) for change in changes if isinstance(change, Attach | Lock)]
    if jumps and driven:
        raise ArgumentValueError(
            f"events cannot {jumps[0]} while joints have prescribed motion ({', '.join(map(repr, driven))}): an impulse "
            "would change their speeds. Move them by torques instead of `motion`. `release` and `unlock`, which have no "
            "impulse, are possible."
        )


def called(name: str) -> str:
    """What messages call an event with this name."""
    return f"event {name!r}" if name else "an event without a name"


def carried_out(
    change: Change, system: System, q: Array, v: Array, known: Known, t: float, event: str
) -> TopologyChange:
    """Apply a change to a system and a state of a run.

    known : the closures that may be attached by name; those that are active afterwards, or that had an impact with
        restitution, are added.
    """
    q, v = q.copy(), v.copy()
    try:
        changed = change(system, q, v, known)
        if isinstance(change, Lock | Unlock):
            name = system.body_of(change.body)
        else:
            name = subject_of(change) or _free_name(change, system, known)
        _refuse_other_kind(changed.system, known)
    except LimberError as error:
        raise SimulationError(f"the action of {called(event)} at t = {t:.6g} s: {error}") from error
    if isinstance(change, Attach) and name not in known and name not in changed.system.closures:
        # if the ends separate again, the closure stays inactive, and a later change may name it
        known[name] = given_closure(change.closure, system.attachments, {*known, *system.closures})
    known.update(changed.system.closures)
    gained, full = 0.0, system.with_full_fidelity()
    if changed.wrenches:
        gained = float(kinetic_energy(full, changed.q, changed.v) - kinetic_energy(full, q, v))
    if changed.q is not q:
        gained += float(potential_energy(full, changed.q) - potential_energy(full, q))
    return TopologyChange(
        t, kind_of(change), name, event, changed.system, q, v, changed.q, changed.v, changed.wrenches, gained
    )  # fmt: skip


def energy_of(system: System, q: Array, v: Array) -> float:
    """Kinetic and potential energy of a state, J."""
    return float(kinetic_energy(system, q, v) + potential_energy(system, q))


def kind_of(change: Change) -> str:
    """ "attach", "release", "lock" or "unlock"."""
    return type(change).__name__.lower()


def _free_name(change: Change, system: System, known: Known) -> str:
    """The name that `attach` gives to a closure without one."""
    assert isinstance(change, Attach)
    return given_closure(change.closure, system.attachments, {*known, *system.closures}).name


def subject_of(change: Change) -> str | None:
    """The name of the closure or body of a change; None for a closure that has no name yet."""
    if isinstance(change, Release):
        return change.name
    if isinstance(change, Lock | Unlock):
        return change.body
    assert isinstance(change, Attach)
    given = change.closure
    if isinstance(given, Closure | Relation):
        return given.name
    if isinstance(given, Mapping):
        return given.get("name")
    if isinstance(given, tuple | list):
        return given[3] if len(given) == 4 else None
    return given  # type: ignore[return-value]


def _refuse_other_kind(system: System, known: Known) -> None:
    """Reject a closure with the name of an earlier closure of another kind in the same run."""
    for name, closure in system.closures.items():
        if isinstance(closure, Relation) != isinstance(known.get(name, closure), Relation):
            raise ArgumentValueError(
                f"attach: the name {name!r} is that of a {'relation' if isinstance(known[name], Relation) else 'cut joint'} "
                "earlier in this run, whose forces are different quantities. Give the new closure another name."
            )


def _locks(closure: str, body: str) -> bool:
    return closure == f"{LOCK}{body}" or closure.startswith(f"{LOCK}{body}, coordinate ")


def _sizes(impulse: Array | None) -> str:
    """An impulse in words: the sizes of its moment and of its force."""
    if impulse is None:
        return ""
    if np.shape(impulse) == (6,):
        moment, force = np.linalg.norm(impulse[:3]), np.linalg.norm(impulse[3:])
        return f"impulse {force:.4g} N s, {moment:.4g} N m s, "
    values = ", ".join(f"{x:.4g}" for x in np.ravel(impulse))
    return f"impulse {values}, "
