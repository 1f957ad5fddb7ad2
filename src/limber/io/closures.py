"""Closures in files: cut joints between two ends, relations of joint coordinates, gears."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np

from limber.assembly import Assembly
from limber.assembly.closures import Closure, End, Relation
from limber.assembly.given_closures import given_closure
from limber.assembly.pack import Attachment
from limber.io.document import Where
from limber.io.fields import Check, Name, NodeName, Number, Vector, named, per_speed, problem
from limber.io.joints import JointSection, joint_data
from limber.io.rotations import RotationSection
from limber.io.section import Section
from limber.io.written import same

#: The keys that go with each kind of closure.
BESIDE = {"joint": ("a", "b"), "relate": ("value",), "gear": ()}
#: Where a file has the arguments of `Assembly.close`.
PLACES = {
    "end_a": ("a",),
    "offset": ("a", "offset"),
    "rotation": ("a", "rotation"),
    "end_b": ("b",),
    "offset_b": ("b", "offset"),
    "rotation_b": ("b", "rotation"),
    "terms": ("relate",),
}


def _coordinate(value: Any) -> str | tuple[str, int]:
    """The joint of a body, or [body, index of the coordinate]."""
    if isinstance(value, str) and value:
        return value
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str):
        body, index = value
        if isinstance(index, int) and not isinstance(index, bool):
            return body, index
    raise problem(
        f"must be the name of a body, or [body, number of the coordinate of its joint], got {named(value)}."
    )


_INDEXED = {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer", "minimum": 0}]}
Coordinate = Annotated[
    Any,
    Check(_coordinate, {"anyOf": [{"type": "string"}, _INDEXED | {"minItems": 2, "maxItems": 2}]}),
]


class EndSection(Section):
    """An end of a closure: a node of a body, or a place in the world, and the fixed transform from there."""

    one_of: ClassVar[tuple[str, ...]] = ("body", "world")
    body: Name | None = None
    node: NodeName | None = None
    world: Vector | None = None
    offset: Vector = (0.0, 0.0, 0.0)
    rotation: RotationSection | None = None

    @classmethod
    def shorthand(cls, data: Any) -> Any:
        """No short form; this only checks ends on the world."""
        if isinstance(data, dict):
            if data.get("body") == "world":
                raise problem("the world is not a body: write {world: [x, y, z]}.", "body")
            if "world" in data and "node" in data:
                raise problem("the world has no nodes: give the position [x, y, z].", "node")
        return data

    def end(self) -> tuple:
        """The end in the form of `Assembly.close`."""
        return ("world", self.world) if self.body is None else (self.body, self.node)

    def turn(self, where: Where) -> Any:
        """The rotation; `where` is the place of the end."""
        with where.checked("rotation"):
            return None if self.rotation is None else self.rotation.build()


class GearSection(Section):
    """A gear: the coordinate of `driven` is `ratio` times that of `driver`, plus `offset`."""

    driven: Coordinate
    driver: Coordinate
    ratio: Number
    offset: Number = 0.0


class ClosureSection(Section):
    """A closure: a cut joint from a to b, a relation of joint coordinates, or a gear."""

    one_of: ClassVar[tuple[str, ...]] = tuple(BESIDE)
    name: Name | None = None
    a: EndSection | None = None
    b: EndSection | None = None
    joint: JointSection | None = None
    relate: dict[Name, Annotated[Any, per_speed(minimum=None)]] | None = None
    value: Number = 0.0
    gear: GearSection | None = None

    @classmethod
    def shorthand(cls, data: Any) -> Any:
        """No short form; this only checks that the keys fit together."""
        kinds = [kind for kind in BESIDE if kind in data] if isinstance(data, dict) else []
        if len(kinds) == 1:
            fitting = ("name", kinds[0], *BESIDE[kinds[0]])
            for key in data:
                if key in cls.model_fields and key not in fitting:
                    raise problem(f"cannot be combined with {kinds[0]}. Remove one of them.", key)
        elif not kinds and isinstance(data, dict) and ("a" in data or "b" in data):
            raise problem("has an end but no joint: add the joint that runs from a to b.")
        return data

    def add(self, assembly: Assembly, where: Where) -> None:
        """Add it to the assembly."""
        if self.gear is not None:
            gear = self.gear
            with where.checked("gear"):
                assembly.gear(gear.driven, gear.driver, gear.ratio, gear.offset, self.name)
            return
        given = self._given(assembly.attachments, where)
        with where.checked(places=PLACES):
            (assembly.close if self.relate is None else assembly.relate)(**given)

    def build(self, attachments: Mapping[str, Attachment], where: Where) -> Closure | Relation:
        """The closure, for the bodies of an existing system; it must have a name."""
        if self.name is None:
            raise where.error("'name' is missing: a closure that is attached later needs a name.")
        if self.gear is not None:
            gear, here = self.gear, where / "gear"
            if gear.driven == gear.driver:
                raise here.error(
                    "driven and driver are the same joint: a gear connects two different joints."
                )
            terms = {gear.driven: 1.0, gear.driver: -gear.ratio}
            with where.checked("gear"):
                made = {"name": self.name, "terms": terms, "value": gear.offset}
                return given_closure(made, attachments)
        given = self._given(attachments, where)
        with where.checked(places=PLACES):
            return given_closure(given, attachments)

    def _given(self, attachments: Mapping[str, Attachment], where: Where) -> dict[str, Any]:
        """The arguments of `Assembly.close` or `Assembly.relate`."""
        if self.relate is not None:
            terms = self._terms(attachments, where / "relate")
            return {"terms": terms, "value": self.value, "name": self.name}
        for key in ("a", "b", "joint"):
            if getattr(self, key) is None:
                raise where.error(
                    f"{key!r} is missing: a closure has the ends a and b, and a joint."
                )
        a, b, joint = self.a, self.b, self.joint
        assert a is not None and b is not None and joint is not None
        return {
            "end_a": a.end(), "end_b": b.end(), "joint": joint.build(where / "joint"), "name": self.name,
            "offset": a.offset, "rotation": a.turn(where / "a"), "offset_b": b.offset, "rotation_b": b.turn(where / "b"),
        }  # fmt: skip

    def _terms(self, attachments: Mapping[str, Attachment], where: Where) -> dict:
        """The terms as `Assembly.relate` takes them."""
        terms: dict[str | tuple[str, int], float] = {}
        for body, given in (self.relate or {}).items():
            if not isinstance(given, list):
                terms[body] = given
                continue
            if body in attachments and len(given) != attachments[body].joint.dofs:
                raise where.error(
                    f"has {len(given)} coefficients, but the joint of {body!r} has {attachments[body].joint.dofs} "
                    "coordinate(s): give one for each.",
                    body,
                )
            terms |= {(body, i): coefficient for i, coefficient in enumerate(given)}
        return terms


def closure_data(
    closure: Closure | Relation, attachments: Mapping[str, Attachment]
) -> dict[str, Any]:
    """A closure as files write it."""
    if isinstance(closure, Closure):
        ends = {"a": _end_data(closure.a, attachments), "b": _end_data(closure.b, attachments)}
        return {"name": closure.name, **ends, "joint": joint_data(closure.joint)}
    relate: dict[str, Any] = {}
    for (body, i), coefficient in closure.terms.items():
        dofs = attachments[body].joint.dofs
        if dofs == 1:
            relate[body] = coefficient
        else:
            relate.setdefault(body, [0.0] * dofs)[i] = coefficient
    data: dict[str, Any] = {"name": closure.name, "relate": relate}
    if closure.value:
        data["value"] = closure.value
    return data


def _end_data(end: End, attachments: Mapping[str, Attachment]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    if end.body == "world":
        data["world"] = end.offset
    else:
        data["body"] = end.body
        if end.node is not None:
            data["node"] = attachments[end.body].body.node_set.names[end.node]
        if not same(end.offset, np.zeros(3)):
            data["offset"] = end.offset
    if not same(end.rotation, np.eye(3)):
        data["rotation"] = end.rotation
    return data
