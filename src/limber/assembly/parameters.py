"""The numbers of a model that change without a rebuild, by name.

"gravity", and of every body what it names itself (`Body.parameters`), its place on its parent, `<body>.offset` and
`.rotation`, and the physics of its joint if that was made with the option, be it zero: `.joint_armature`,
`.joint_stiffness`, `.joint_rest`, `.joint_damping`, `.joint_friction`, `.joint_static_friction`,
`.joint_stop_stiffness`, `.joint_lower`, `.joint_upper`, with one number for every speed that has it (springs and
armatures need coordinates, stops need limits).  Of closures `<closure>.offset` and `.offset_b`, where the cut joint sits
on its ends (on the world, its position), `.value` and `.coefficients` of relations.

This is the only table of them: `System.with_parameters`, `simulate` and generated code read it.  `constants` puts
numbers of any scalar type in place of the constants of the kernels that depend on them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from limber.assembly import modal
from limber.assembly.bounds import load_bound, reach
from limber.assembly.closures import Closure, Relation
from limber.assembly.packed import Packed
from limber.bodies.base import Quantity
from limber.bodies.variation import excluded
from limber.checks import Array, array, numbers, suggestion, text
from limber.checks import rotation as rotation_matrix
from limber.errors import ArgumentTypeError, ArgumentValueError, LimberError
from limber.frozen import with_changes
from limber.joints import Joint
from limber.joints.physics import OF_COORDINATES, OPTIONS, option_of
from limber.kernels import layout as L

if TYPE_CHECKING:
    from limber.assembly.pack import Attachment
    from limber.assembly.system import System

#: The offset and the number of the constants of a body in its record, by their names in `BodyConstants`.
_IN_RECORD = {"mass": (L.C_MASS, 1), "moment": (L.C_MOMENT, 3), "inertia": (L.C_INERTIA, 6)}
#: The parts of the modal constants, by their names in `BodyConstants`.
_IN_MODAL = {"stiffness": "K", "damping": "D"}
#: The physics of a joint that are parameters, and their units for rotations and for displacements.
_OF_JOINT = {
    "armature": "kg m^2 or kg",
    "stiffness": "N m/rad or N/m",
    "rest": "rad or m",
    "damping": "N m s/rad or N s/m",
    "friction": "N m or N",
    "static_friction": "N m or N",
    "stop_stiffness": "N m/rad or N/m",
    "lower": "rad or m",
    "upper": "rad or m",
}
#: Those that are a number of the physics record each, and its place.
_IN_PHYSICS = {
    "armature": L.PH_ARMATURE,
    "stiffness": L.PH_STIFFNESS,
    "rest": L.PH_REST,
    "damping": L.PH_DAMPING,
    "friction": L.PH_FRICTION,
    "lower": L.PH_LOWER,
    "upper": L.PH_UPPER,
}
#: Parameters that cannot make a regular mass matrix singular.
_HARMLESS = frozenset(
    {"gravity", "stiffness", "stiffness_scale", "damping", "damping_scale", "damping_ratio", "EI", "EIy", "EIz", "GA"}
    | {"GAy", "GAz", "GJ", "EA", "value"}
    | {f"joint_{name}" for name in _OF_JOINT if name != "armature"}
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Parameter:
    """One number or array of a system that can change without a rebuild.

    name : as `System.with_parameters` takes it.
    value : what the system has.
    meaning : what it is, with its unit.
    whole : the shape of all numbers, where one number stands for equal ones; otherwise that of `value`.
    body, closure, quantity : whose it is, and what of it.
    """

    name: str
    value: Array
    meaning: str
    whole: tuple[int, ...] = field(repr=False)
    body: str | None = field(repr=False)
    closure: str | None = field(repr=False)
    quantity: str = field(repr=False)


def every(system: System) -> dict[str, Parameter]:
    """All parameters of a system, by name."""
    found = {"gravity": find(system, "gravity")}
    for body in system.bodies:
        for quantity, known in _quantities(system, body).items():
            found[f"{body}.{quantity}"] = _parameter(f"{body}.{quantity}", body, None, known)
    for name, closure in system.closures.items():
        if name not in system.bodies:
            for quantity, known in _of_closure(closure).items():
                found[f"{name}.{quantity}"] = _parameter(f"{name}.{quantity}", None, name, known)
    return found


def find(system: System, name: str) -> Parameter:
    """The parameter `name` of a system."""
    if not isinstance(name, str):
        raise ArgumentTypeError(f"a parameter is named by a string, got {name!r}.")
    if name == "gravity":
        known = Quantity(np.array(system.gravity), ", world axes, m/s^2")
        return Parameter(name, known.value, f"gravity{known.meaning}", (3,), None, None, name)
    owner, _, quantity = name.rpartition(".")
    if not owner:
        raise ArgumentValueError(
            f'parameter {name!r} is unknown: give "gravity" or "<body>.<quantity>", such as '
            f'"{next(iter(system.bodies), "body")}.mass".'
        )
    if owner in system.closures and owner not in system.bodies:
        values: Mapping[str, Quantity] = _of_closure(system.closures[owner])
        if quantity not in values:
            raise ArgumentValueError(
                f"parameter {name!r} is unknown: closure {owner!r} has {', '.join(values)}.{suggestion(quantity, values)}"
            )
        return _parameter(name, None, owner, values[quantity])
    system.number(owner, f"parameter {name!r}: body")
    values = _quantities(system, owner)
    if quantity not in values:
        raise ArgumentValueError(
            f"parameter {name!r} is unknown: body {owner!r} has {', '.join(values)}."
            f"{_advice(system.joints[owner], quantity, values)}"
        )
    return _parameter(name, owner, None, values[quantity])


def _parameter(name: str, body: str | None, closure: str | None, known: Quantity) -> Parameter:
    quantity = name.rpartition(".")[2]
    owner = f"body {body!r}" if closure is None else f"closure {closure!r}"
    whole = known.value.shape if known.whole is None else known.whole
    meaning = f"{quantity} of {owner}{known.meaning}"
    return Parameter(name, known.value, meaning, whole, body, closure, quantity)


def _of_closure(closure: Closure | Relation) -> dict[str, Quantity]:
    """The parameters of a closure."""
    if isinstance(closure, Relation):
        return {
            "value": Quantity(np.array(closure.value), ""),
            "coefficients": Quantity(np.array([*closure.terms.values()]), ""),
        }
    ends = {"offset": closure.a, "offset_b": closure.b}
    return {
        name: Quantity(
            np.array(end.offset),
            ", world axes, m" if end.body == "world" else f": from the node of {end.body!r}, m",
        )
        for name, end in ends.items()
    }


def _advice(joint: Joint, quantity: str, known: Mapping[str, Quantity]) -> str:
    """What to do about a parameter that a body does not have, in front of which a space stands."""
    option = quantity.removeprefix("joint_")
    own = f"joint_{option}"
    if own in known:
        return f" Did you mean {own!r}?"
    if option == "limits":
        return " The limits of a joint are joint_lower and joint_upper."
    if option in ("lower", "upper", "stop_stiffness"):
        return f" A joint has {own} if it was made with such limits."
    if option in _OF_JOINT:
        if option in OF_COORDINATES and not any(joint.has_coordinate):
            return f" {type(joint).__name__} takes no {option}."
        return f" A joint has {own} if it was made with {option_of(option)}, be it zero."
    if option in OPTIONS:
        return f" {option} of a joint is a number in the code and no parameter: generate code for every value of it."
    return suggestion(quantity, known) or (
        " Beams have the stiffnesses of which they have modes. A joint has parameters, such as joint_damping, for the "
        "options that it was made with, be they zero."
    )


def _quantities(system: System, name: str) -> Mapping[str, Quantity]:
    """The parameters of a body, of its attachment and of its joint."""
    item = system.attachments[name]
    place = {
        "offset": Quantity(
            np.array(item.offset), ": from the parent's node to the joint, node axes, m"
        ),
        "rotation": Quantity(
            np.array(item.rotation), ": the axes of the joint as columns, node axes"
        ),
    }
    return {**item.body.parameters(), **place, **_joint_quantities(item.joint)}


def _joint_quantities(joint: Joint) -> dict[str, Quantity]:
    """The physics of a joint, one number for each speed that has it, or a number for a single one."""
    found = {}
    for name, unit in _OF_JOINT.items():
        values = getattr(joint.physics, name)[_speeds(joint, name)]
        if values.size:
            value = np.array(values[0] if values.size == 1 else values)
            found[f"joint_{name}"] = Quantity(value, f", {name} of its joint, {unit}")
    return found


def _speeds(joint: Joint, name: str) -> list[int]:
    """The speeds of a joint that have a parameter."""
    physics = joint.physics
    if option_of(name) not in physics.options:
        return []
    there = np.ones(joint.dofs, dtype=bool)
    if name in ("armature", "stiffness", "rest"):
        there = np.array(joint.has_coordinate)
    elif name in ("lower", "upper"):
        there = np.isfinite(getattr(physics, name))
    elif name == "stop_stiffness":
        there = np.isfinite(physics.lower) | np.isfinite(physics.upper)
    return np.flatnonzero(there).tolist()


# --- the constants of the kernels -------------------------------------------------------------


def constants(
    system: System,
    packed: Packed,
    given: Mapping[str, tuple[Parameter, list[Any]]],
    const: Any,
    made: Mapping[str, Attachment] | None = None,
) -> Any:
    """`const`, the constants of a packed system as a list or an array, with the numbers that are `given` (by name) in place.

    made : the lines of the assembly with these numbers, where they are floats.
    """
    for parameter, values in given.values():
        if parameter.name == "gravity":
            const[L.GRAVITY : L.GRAVITY + 3] = values
        if parameter.closure is not None:
            _set_closure(const, packed, system, parameter, values)
    for body in dict.fromkeys(p.body for p, _ in given.values() if p.body is not None):
        mine = {p.quantity: v for p, v in given.values() if p.body == body}
        k = system.number(body) * L.COLUMNS
        item = system.attachments[body]
        of_body = {name: v for name, v in mine.items() if not _of_attachment(name)}
        if of_body:
            if made is None:
                changed = item.body.parameter_constants(of_body, item.inboard)
            else:
                changed = item.body.changed_constants(made[body].body, of_body, item.inboard)
            if "inertias" in changed:
                _scale_inertias(const, packed, k, changed.pop("inertias")[0])
            for name, scalars in changed.items():
                const[_place(packed, k, name)] = scalars
        if len(of_body) < len(mine):
            _set_attachment(const, packed, k, item, mine)
    return const


def stepped(system: System, packed: Packed, parameter: Parameter, i: int, step: complex) -> Array:
    """The constants as complex numbers, with number i of a parameter changed by `step`."""
    values: list[Any] = parameter.value.ravel().tolist()
    values[i] += step
    const = packed.const.astype(complex)
    return constants(system, packed, {parameter.name: (parameter, values)}, const)


def _of_attachment(quantity: str) -> bool:
    """Whether a quantity is one of a joint and its place, and not of the body."""
    return quantity in ("offset", "rotation") or quantity.startswith("joint_")


def _set_attachment(const, packed: Packed, k: int, item: Attachment, mine: Mapping) -> None:
    """Put the place and the physics of a joint into their constants."""
    _set_physics(const, packed, k, item.joint, mine)
    c = int(packed.topo[k + L.CONST])
    if "rotation" in mine:
        const[c + L.C_ROT : c + L.C_ROT + 9] = mine["rotation"]
    for i, x in enumerate(mine.get("offset", ())):
        base = const[c + L.C_OFFSET + i] - const[c + L.C_ARM + i]
        const[c + L.C_OFFSET + i] = x + base
        const[c + L.C_ARM + i] = x


def _scale_inertias(const, packed: Packed, k: int, factor: Any) -> None:
    """Multiply the mass, the moments and the modal integrals of a body by a factor, and what is computed from them."""
    root = factor**0.5 if isinstance(factor, float | complex) else factor.sqrt()
    inverse = {1: factor, -1: 1.0 / factor, -0.5: 1.0 / root}
    found = packed.inertial.get(k)
    if found is None:
        found = packed.inertial.setdefault(k, modal.inertial(packed.topo, k))
    for places, power in found:
        if isinstance(const, np.ndarray):
            const[places] *= inverse[power]
        else:
            const[places] = [x * inverse[power] for x in const[places]]


def _set_closure(const, packed: Packed, system: System, parameter: Parameter, values: list) -> None:
    """Put a parameter of a closure into its constants."""
    topo = packed.topo
    number = list(system.closure_rows).index(parameter.closure or "")
    c = int(topo[L.CLOSURES]) + number * L.COLUMNS
    if parameter.quantity == "coefficients":
        at = int(topo[c + L.K_FACTOR])
        const[at : at + len(values)] = values
    elif parameter.quantity == "value":
        const[int(topo[c + L.K_FACTOR]) + int(topo[c + L.K_TERMS])] = values[0]
    else:
        arm = int(topo[c + L.K_FRAME[parameter.quantity == "offset_b"]]) + 9
        closure = system.closures[parameter.closure or ""]
        own = (closure.b if parameter.quantity == "offset_b" else closure.a).offset  # type: ignore[union-attr]
        for i, x in enumerate(values):
            const[arm + i] = x + (const[arm + i] - float(own[i]))


def _place(packed: Packed, k: int, name: str) -> slice:
    """The slice of `const` that holds the constants of a body that `BodyConstants` calls `name`."""
    if name in _IN_MODAL:
        return modal.block_place(packed.topo, k, _IN_MODAL[name])
    offset, count = _IN_RECORD[name]
    start = int(packed.topo[k + L.CONST]) + offset
    return slice(start, start + count)


def _set_physics(const, packed: Packed, k: int, joint: Joint, given: Mapping[str, list]) -> None:
    """Put the parameters of a joint into its physics records."""
    start, physics = int(packed.topo[k + L.PHYSICS]), joint.physics
    values = {
        name: dict(zip(_speeds(joint, name), given[f"joint_{name}"]))
        for name in _OF_JOINT
        if f"joint_{name}" in given
    }
    for place, r in enumerate(joint.order if values else ()):
        record = start + place * L.PHYSICS_RECORD
        mine = {name: x[r] for name, x in values.items() if r in x}
        for name, at in _IN_PHYSICS.items():
            if name in mine:
                const[record + at] = mine[name]
        if "friction" in mine or "static_friction" in mine:
            static = float(physics.static_friction[r])
            if "static_friction" in mine:
                static = mine["static_friction"]
            elif "static_friction" not in physics.options:
                static = const[record + L.PH_FRICTION]
            const[record + L.PH_PEAK] = static - const[record + L.PH_FRICTION]
        if "stop_stiffness" in mine:
            for limit, stop in (("lower", L.PH_LOWER_STOP), ("upper", L.PH_UPPER_STOP)):
                if np.isfinite(getattr(physics, limit)[r]):
                    const[record + stop] = mine["stop_stiffness"]


# --- systems with other numbers ---------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Origin:
    """The system that others with other numbers came from, and these numbers by name, flat."""

    system: System
    values: Mapping[str, list[float]]


@dataclass(frozen=True, eq=False)
class Change:
    """What differs in a system with other numbers: its lines, gravity, closures, and the numbers by parameter."""

    items: dict[str, Attachment]
    gravity: Array
    closures: dict[str, Closure | Relation]
    given: dict[str, tuple[Parameter, list[Any]]]

    def origin(self, system: System) -> Origin | None:
        """Where the changed system came from; None if its numbers cannot be told apart by name."""
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
        """Whether it cannot make a regular mass matrix singular."""
        return all(p.quantity in _HARMLESS for p, _ in self.given.values())


def changed(system: System, values: Mapping[str, Any]) -> Change:
    """Other numbers of a system, checked as they are when bodies, joints and assemblies are made."""
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


def given_number(parameter: Parameter, value: Any) -> Array:
    """The value for a parameter: of its whole shape, or one number that stands for all."""
    if type(value) is float and parameter.value.ndim == 0 and math.isfinite(value):
        return np.array(value)
    shape = parameter.whole
    x = numbers(parameter.name, value, text(shape))
    if x.ndim == 0 and parameter.value.ndim == 0:
        shape = ()
    hint = f"It is the {parameter.meaning}."
    if x.ndim == 0 and shape and one_for_all(parameter):
        x = np.full(shape, x)
    return array(parameter.name, x, shape, hint)


def one_for_all(parameter: Parameter) -> bool:
    """Whether one number may stand for all of a parameter."""
    return parameter.quantity in ("EI", "GA", "damping_ratio")


@contextmanager
def _named(owner: str) -> Iterator[None]:
    """Say whose parameter an error is about."""
    try:
        yield
    except LimberError as error:
        raise type(error)(f"{owner}: {error}") from None


def _item(item: Attachment, given: Mapping[str, Array]) -> Attachment:
    """A line of an assembly with other numbers."""
    new: dict[str, Any] = {}
    with _named(f"parameters of body {item.name!r}"):
        of_body = {name: x for name, x in given.items() if not _of_attachment(name)}
        if of_body:
            new["body"] = item.body.with_parameters(of_body)
        of_joint = {
            name.removeprefix("joint_"): x for name, x in given.items() if name.startswith("joint_")
        }
        if of_joint:
            arrays = {name: np.array(getattr(item.joint.physics, name)) for name in of_joint}
            for name, x in of_joint.items():
                arrays[name][_speeds(item.joint, name)] = x
            new["joint"] = item.joint.with_physics(arrays)
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
                f"{parameter.name} has a zero: a relation without one of its terms is another relation. Relate the other "
                "joints in a new assembly."
            )
        return Relation(closure.name, dict(zip(closure.terms, value.tolist())), closure.value)
    end = "b" if parameter.quantity == "offset_b" else "a"
    return replace(closure, **{end: replace(getattr(closure, end), offset=value)})


def packed_with(system: System, packed: Packed, change: Change, joints: list[Joint]) -> Packed:
    """A packed system with other numbers; it shares `topo` and all that does not depend on them."""
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
    if packed.topo[L.RUTHLESS] and not quantities <= _HARMLESS:
        new["load"] = load_bound(packed.topo, const, joints)
    const.setflags(write=False)
    made = with_changes(packed, const=const, variants={}, **new)
    vars(made).pop("nudged", None)  # computed from the old constants
    return made
