"""Systems with other numbers: what `System.with_parameters` changes, and how it is packed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from limber.assembly.bounds import load_bound, reach
from limber.assembly.closures import Closure, Relation
from limber.assembly.joint_parameters import OF_JOINT, with_numbers
from limber.assembly.packed import Packed
from limber.assembly.parameter_constants import constants, of_attachment
from limber.assembly.parameters import Parameter, find, given_number
from limber.bodies.variation import excluded
from limber.checks import Array
from limber.checks import rotation as rotation_matrix
from limber.errors import ArgumentTypeError, ArgumentValueError, LimberError
from limber.frozen import with_changes
from limber.joints import Joint
from limber.kernels import layout as L

if TYPE_CHECKING:
    from limber.assembly.pack import Attachment
    from limber.assembly.system import System

#: Parameters that cannot make a regular mass matrix singular.
HARMLESS = frozenset(
    {"gravity", "stiffness", "stiffness_scale", "damping", "damping_scale", "damping_ratio", "EI", "EIy", "EIz", "GA"}
    | {"GAy", "GAz", "GJ", "EA", "value"}
    | {f"joint_{name}" for name in OF_JOINT if name != "armature"}
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Origin:
    """The system from which systems with other numbers were made, and these numbers by name, flat."""

    system: System
    values: Mapping[str, list[float]]


@dataclass(frozen=True, eq=False)
class Change:
    """The differences of a system with other numbers: attachments, gravity, closures, and numbers by parameter."""

    items: dict[str, Attachment]
    gravity: Array
    closures: dict[str, Closure | Relation]
    given: dict[str, tuple[Parameter, list[Any]]]

    def origin(self, system: System) -> Origin | None:
        """Return the origin of the changed system; None if its numbers cannot be distinguished by name."""
        before = system._origin or Origin(system, {})
        values = {**before.values, **{name: x for name, (_, x) in self.given.items()}}
        bodies: dict[str, list[str]] = {}
        for name in values:
            owner, _, quantity = name.rpartition(".")
            bodies.setdefault(owner, []).append(quantity)
        plain = all(excluded(names) is None for names in bodies.values())
        known = before.system._parameters
        fits = all(len(x) == known[name].value.size for name, x in values.items() if name in known)
        return Origin(before.system, values) if plain and fits else None

    @property
    def harmless(self) -> bool:
        """Whether the change cannot make a regular mass matrix singular."""
        return all(p.quantity in HARMLESS for p, _ in self.given.values())


def changed(system: System, values: Mapping[str, Any]) -> Change:
    """Other numbers of a system, checked in the same way as when bodies, joints and assemblies are made."""
    if not isinstance(values, Mapping):
        raise ArgumentTypeError(
            f'parameters must map names to numbers, as in {{"link1.mass": 3.0}}, got {values!r}.'
        )
    known = system._parameters
    for name in values:
        if name not in known:
            known[name] = find(system, name)
    given: dict[str, tuple[Parameter, list[Any]]] = {}
    gravity, closures = system.gravity, dict(system.closures)
    of_bodies: dict[str, dict[str, Array]] = {}
    for name, value in values.items():
        parameter = known[name]
        checked = given_number(parameter, value)
        given[name] = parameter, checked.ravel().tolist()
        if parameter.body is not None:
            of_bodies.setdefault(parameter.body, {})[parameter.quantity] = checked
        elif parameter.closure is not None:
            closures[parameter.closure] = _closure(closures[parameter.closure], parameter, checked)
        else:
            gravity = checked
    items = {body: _item(system.attachments[body], mine) for body, mine in of_bodies.items()}
    return Change(items, gravity, closures, given)


@contextmanager
def _named(owner: str) -> Iterator[None]:
    """Say whose parameter an error is about."""
    try:
        yield
    except LimberError as error:
        raise type(error)(f"{owner}: {error}") from None


def _item(item: Attachment, given: Mapping[str, Array]) -> Attachment:
    """An attachment of an assembly with other numbers."""
    new: dict[str, Any] = {}
    with _named(f"parameters of body {item.name!r}"):
        of_body = {name: x for name, x in given.items() if not of_attachment(name)}
        if of_body:
            new["body"] = item.body.with_parameters(of_body)
        of_joint = {
            name.removeprefix("joint_"): x for name, x in given.items() if name.startswith("joint_")
        }
        if of_joint:
            new["joint"] = with_numbers(item.joint, of_joint)
        if "offset" in given:
            new["offset"] = given["offset"]
        if "rotation" in given:
            new["rotation"] = rotation_matrix("rotation", given["rotation"])
    return with_changes(item, **new)


def _closure(closure: Closure | Relation, parameter: Parameter, value: Array) -> Closure | Relation:
    """A closure with another number."""
    if isinstance(closure, Relation):
        if parameter.quantity == "value":
            return Relation(closure.name, closure.terms, float(value))
        if not value.all():
            raise ArgumentValueError(
                f"{parameter.name} contains a zero, but a relation without one of its terms is a different relation. "
                "Relate the remaining joints in a new assembly."
            )
        return Relation(closure.name, dict(zip(closure.terms, value.tolist())), closure.value)
    end = "b" if parameter.quantity == "offset_b" else "a"
    return replace(closure, **{end: replace(getattr(closure, end), offset=value)})


def packed_with(system: System, packed: Packed, change: Change, joints: list[Joint]) -> Packed:
    """A packed system with other numbers; it shares `topo` and everything that does not depend on them."""
    given = change.given
    if packed.loops is None:
        given = {name: x for name, x in given.items() if x[0].closure is None}
    if not given:
        return packed
    const = constants(system, packed, given, packed.const.copy(), change.items)
    new: dict[str, Any] = {}
    quantities = {p.quantity for p, _ in given.values()}
    if "offset" in quantities and const[L.REACH] > 0.0:
        const[L.REACH] = reach(packed.topo, const, joints)
    if packed.topo[L.RUTHLESS] and not quantities <= HARMLESS:
        new["load"] = load_bound(packed.topo, const, joints)
    const.setflags(write=False)
    made = with_changes(packed, const=const, variants={}, **new)
    vars(made).pop("nudged", None)  # computed from the old constants
    return made
