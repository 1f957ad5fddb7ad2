"""Events in scenario files: changes of topology at a time, or when a distance or a coordinate passes a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from limber.assembly import System
from limber.assembly.closures import Closure, Relation, coordinate
from limber.checks import Array, did_you_mean
from limber.constraints.topology import Change, attach, lock, release, unlock
from limber.dynamics import pose
from limber.errors import ModelWarning, warn
from limber.io.closures import ClosureSection, Coordinate
from limber.io.document import Where
from limber.io.fields import Flag, Name, NodeName, Number, Text, Vector, number, problem
from limber.io.section import Section
from limber.scenarios.states import check_body
from limber.simulation import Event
from limber.simulation.topology import called, changes_of, kind_of, subject_of

#: Keys that can be combined with `attach`.
BESIDE_ATTACH = ("in_place", "restitution")
Known = Mapping[str, Closure | Relation]


@dataclass(frozen=True, eq=False)
class Point:
    """A node of a body, or its frame if the node is None; or a point in the world if the body is None."""

    body: str | None
    node: str | int | None
    world: Array | None

    def at(self, system: System, q: Array) -> Array:
        """Its position, (3,)."""
        return self.world if self.body is None else pose(system, q, self.body, self.node)[1]  # type: ignore[return-value]

    def what(self) -> str:
        """A description in words."""
        if self.body is None:
            return f"({', '.join(f'{x:g}' for x in self.world)})"  # type: ignore[union-attr]
        return repr(self.body) if self.node is None else f"{self.body!r}, {self.node!r}"


@dataclass(frozen=True, eq=False)
class Distance:
    """The distance between two points minus a value, as an event function."""

    system: System
    points: tuple[Point, Point]
    value: float

    def what(self) -> str:
        """A description in words."""
        return f"the distance of {self.points[0].what()} and {self.points[1].what()}"

    def __call__(self, t: float, q: Array, v: Array) -> float:
        """The value of the event function; see `Event.function`."""
        a, b = (point.at(self.system, q) for point in self.points)
        return float(np.linalg.norm(a - b)) - self.value


@dataclass(frozen=True, eq=False)
class Passing:
    """A joint coordinate minus a value, as an event function."""

    system: System
    body: str
    index: int
    value: float

    def what(self) -> str:
        """A description in words."""
        return f"coordinate {self.index} of the joint of {self.body!r}"

    def __call__(self, t: float, q: Array, v: Array) -> float:
        """The value of the event function; see `Event.function`."""
        return float(q[self.system.layout[self.body].q_joint.start + self.index]) - self.value


def described(event: Event) -> str:
    """An event of a scenario, in words."""
    function = event.function
    if isinstance(function, Distance | Passing):
        side = "below" if event.direction < 0 else "above"
        when = f"when {function.what()} passes {side} {function.value:g}"
    else:
        when = f"at {function:g} s"
    done = [
        f"{kind_of(change)} {subject_of(change)!r}" for change in changes_of(event.action) or ()
    ]
    done += ["stop"] if event.terminal else []
    return f"{event.name + ': ' if event.name else ''}{when}: {', '.join(done)}"


def warn_of_passed(events: Sequence[Event], q0: Array) -> None:
    """Warn of events whose conditions are met at the start: they happen when the value is passed, which may be never."""
    for event in events:
        function = event.function
        if isinstance(function, Distance | Passing):
            off = function(0.0, q0, np.zeros(0))  # they do not depend on speeds
            if off * event.direction > 0.0:
                side, back = ("below", "above") if event.direction < 0 else ("above", "below")
                warn(
                    f"{called(event.name)}: {function.what()} is {off + function.value:.4g} at the start, {side} "
                    f"{function.value:g} already. The event happens when it passes {function.value:g} from {back}, not "
                    "before. For an event at the start, give `at: 0`.",
                    ModelWarning,
                )


def on_system(event: Event, system: System) -> Event:
    """An event of a scenario, for another system with the same bodies and joints."""
    if isinstance(event.function, Distance | Passing):
        return replace(event, function=replace(event.function, system=system))
    return event


class PointSection(Section):
    """A node of a body (by default the body frame), or a point in the world."""

    one_of: ClassVar[tuple[str, ...]] = ("body", "world")
    body: Name | None = None
    node: NodeName | None = None
    world: Vector | None = None

    def build(self, system: System, where: Where) -> Point:
        """The point."""
        if self.body is None:
            if self.node is not None:
                raise where.error("the world has no nodes: give the position [x, y, z].", "node")
            return Point(None, None, self.world)
        check_body(system, self.body, where / "body", joints=False)
        if self.node is not None:
            with (where / "node").checked():
                system.node_number(self.body, self.node)
        return Point(self.body, self.node, None)


class WhenSection(Section):
    """A condition: the `distance` between two points, or a joint `coordinate`, falls `below` or rises `above` a
    value."""

    one_of: ClassVar[tuple[str, ...]] = ("distance", "coordinate")
    distance: list[PointSection] | None = None
    coordinate: Coordinate | None = None
    below: Number | None = None
    above: Number | None = None

    def build(self, system: System, where: Where) -> tuple[Distance | Passing, int]:
        """The event function, and the direction in which it crosses zero."""
        given = [key for key in ("below", "above") if getattr(self, key) is not None]
        if len(given) != 1:
            got = "both" if given else "none"
            raise where.error(f"needs one of below, above; got {got}.")
        value = getattr(self, given[0])
        direction = -1 if given == ["below"] else 1
        if self.coordinate is not None:
            with (where / "coordinate").checked():
                body, index = coordinate("coordinate", self.coordinate, system.joints)
            return Passing(system, body, index, value), direction
        here = where / "distance"
        if self.distance is None or len(self.distance) != 2:
            raise here.error(f"must be two points, got {len(self.distance or ())}.")
        if value <= 0.0:
            raise where.error(f"the value of a distance must be above 0, got {value:g}.", given[0])
        a, b = (point.build(system, here / i) for i, point in enumerate(self.distance))
        return Distance(system, (a, b), value), direction


class ActionSection(Section):
    """The action of an event: `attach` or `release` a closure, `lock` or `unlock` the joint of a body."""

    one_of: ClassVar[tuple[str, ...]] = ("attach", "release", "lock", "unlock")
    attach: Name | None = None
    in_place: Flag = False
    restitution: Annotated[float, number(minimum=0.0)] = 0.0
    release: Name | None = None
    lock: Name | None = None
    unlock: Name | None = None

    @classmethod
    def shorthand(cls, data):
        """Only check that the keys are compatible."""
        if isinstance(data, dict) and "attach" not in data:
            for key in BESIDE_ATTACH:
                if key in data:
                    raise problem("can only be used with attach.", key)
        return data

    def build(self, system: System, known: Known, where: Where) -> Change:
        """The change; `known` are the closures of the scenario, which are initially inactive."""
        for key in ("lock", "unlock"):
            body = getattr(self, key)
            if body is not None:
                check_body(system, body, where / key)
                return (lock if key == "lock" else unlock)(body)
        name, key = (
            (self.attach, "attach") if self.attach is not None else (self.release, "release")
        )
        assert name is not None
        if name not in known and name not in system.closures:
            every = [*system.closures, *known]
            raise where.error(
                f"there is no closure {name!r}. {did_you_mean(name, every)} Closures of the model are active at the "
                "start; those under `closures` of the scenario are inactive until they are attached.",
                key,
            )
        if key == "release":
            return release(name)
        with where.checked(places={"restitution": ("restitution",)}):
            return attach(
                known.get(name, name), in_place=self.in_place, restitution=self.restitution
            )


class EventSection(Section):
    """An event `at` a time, or `when` a condition becomes true: every time, or only `once`."""

    one_of: ClassVar[tuple[str, ...]] = ("at", "when")
    name: Text = ""
    at: Annotated[float, number(minimum=0.0)] | None = None
    when: WhenSection | None = None
    do: list[ActionSection] = []
    stop: Flag = False
    once: Flag = False

    def build(self, system: System, known: Known, duration: float, where: Where) -> Event:
        """The event."""
        if not self.do and not self.stop:
            raise where.error(
                "does nothing: give `do`, a list of attach, release, lock and unlock, or `stop: true`."
            )
        changes = [
            action.build(system, known, where / "do" / i) for i, action in enumerate(self.do)
        ]
        if self.when is not None:
            function, direction = self.when.build(system, where / "when")
            return Event(function, changes or None, direction, self.stop, self.name, self.once)
        assert self.at is not None
        if self.at > duration:
            raise where.error(f"is after the end of the run, {duration:g} s.", "at")
        return Event(self.at, changes or None, 0, self.stop, self.name)


def waiting_closures(system: System, sections: list[ClosureSection], where: Where) -> Known:
    """The closures of a scenario, which are initially inactive."""
    found: dict[str, Closure | Relation] = {}
    for i, section in enumerate(sections):
        closure = section.build(system.attachments, where / i)
        if closure.name in found or closure.name in system.closures:
            raise (where / i).error(
                f"the name {closure.name!r} is taken: every closure needs its own name.",
                "name",
            )
        found[closure.name] = closure
    return found


def scenario_events(
    system: System,
    sections: list[EventSection],
    known: Known,
    duration: float,
    where: Where,
) -> tuple[Event, ...]:
    """The events of a scenario, in the form that `simulate` accepts."""
    return tuple(
        section.build(system, known, duration, where / i) for i, section in enumerate(sections)
    )
