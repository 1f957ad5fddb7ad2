"""Numbers of a model that generated code takes as arguments, by name.

"gravity", and of the bodies `<body>.mass`, `.com`, `.inertia` (rigid bodies), `.stiffness`, `.damping`
(flexible ones) and `.offset` (where the joint sits on its parent).  Of a joint that was made with the option, be
it zero, `<body>.joint_armature`, `.joint_stiffness`, `.joint_rest`, `.joint_damping`, `.joint_friction`,
`.joint_static_friction`, `.joint_stop_stiffness`, `.joint_lower` and `.joint_upper`, with one number for every speed
that has it: springs and armatures need coordinates, stops need limits.  Of closures `<closure>.offset` and
`.offset_b` (where the cut joint sits on its ends; on the world, its position), `.value` and `.coefficients` of
relations.  A traced model has a value instead of a
number in every constant that depends on them; a body says itself which those are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from limber.assembly import modal
from limber.assembly.closures import Relation
from limber.assembly.pack import Packed
from limber.assembly.system import System
from limber.bodies.base import Quantity
from limber.checks import suggestion
from limber.codegen.graph import Scalar
from limber.codegen.program import Argument
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.joints import Joint
from limber.joints.physics import OF_COORDINATES, OPTIONS
from limber.kernels import layout as L

#: The offset and the number of the constants of a body in its record, by their names in `BodyConstants`.
_IN_RECORD = {"mass": (L.C_MASS, 1), "moment": (L.C_MOMENT, 3), "inertia": (L.C_INERTIA, 6)}
#: The parts of the modal constants, by their names in `BodyConstants`.
_IN_MODAL = {"stiffness": "K", "damping": "D"}
#: Parameters of a joint: the option that brings them.
_OPTION = {
    "armature": "armature",
    "stiffness": "stiffness",
    "rest": "stiffness",
    "damping": "damping",
    "friction": "friction",
    "static_friction": "static_friction",
    "stop_stiffness": "stop_stiffness",
    "lower": "stop_stiffness",
    "upper": "stop_stiffness",
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


@dataclass(frozen=True)
class Parameter:
    """One named parameter: its argument, its value in the model, and its body or closure."""

    key: str
    argument: Argument
    value: np.ndarray
    body: str | None
    quantity: str
    closure: str | None = None


def find(system: System, key: str) -> Parameter:
    """The parameter `key` of a system."""
    if not isinstance(key, str):
        raise ArgumentTypeError(f"a parameter is named by a string, got {key!r}.")
    if key == "gravity":
        argument = Argument("gravity", (3,), "gravity, world axes, m/s^2")
        return Parameter(key, argument, np.array(system.gravity), None, key)
    name, _, quantity = key.rpartition(".")
    if not name:
        raise ArgumentValueError(
            f'parameter {key!r} is unknown: give "gravity" or "<body>.<quantity>", such as '
            f'"{next(iter(system.bodies), "body")}.mass".'
        )
    if name in system.closures and name not in system.bodies:
        return _of_closure(system, key, name, quantity)
    system.number(name, f"parameter {key!r}: body")
    values = _quantities(system, name)
    if quantity not in values:
        raise ArgumentValueError(
            f"parameter {key!r} is unknown: body {name!r} has {', '.join(values)}."
            f"{_advice(system.joints[name], quantity, values)}"
        )
    found = values[quantity]
    identifier = f"{_identifier(system, name)}_{quantity}"
    meaning = f"{quantity} of body {name!r}{found.meaning}"
    argument = Argument(identifier, found.value.shape, meaning)
    return Parameter(key, argument, found.value, name, quantity)


def _of_closure(system: System, key: str, name: str, quantity: str) -> Parameter:
    """A parameter of a closure."""
    closure = system.closures[name]
    if isinstance(closure, Relation):
        values = {
            "value": np.array(closure.value),
            "coefficients": np.array([*closure.terms.values()]),
        }
    else:
        values = {"offset": np.array(closure.a.offset), "offset_b": np.array(closure.b.offset)}
    if quantity not in values:
        raise ArgumentValueError(
            f"parameter {key!r} is unknown: closure {name!r} has {', '.join(values)}.{suggestion(quantity, values)}"
        )
    taken = {
        _spelled(other).upper() for other in (*system.bodies, *system.closures) if other != name
    }
    text = _spelled(name)
    while text.upper() in taken:
        text += "_closure"
    found = values[quantity]
    argument = Argument(f"{text}_{quantity}", found.shape, f"{quantity} of closure {name!r}")
    return Parameter(key, argument, found, None, quantity, name)


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
    if option in _OPTION:
        if option in OF_COORDINATES and not any(joint.has_coordinate):
            return f" {type(joint).__name__} takes no {option}."
        return f" A joint has {own} if it was made with {_OPTION[option]}, be it zero."
    if option in OPTIONS:
        return f" {option} of a joint is a number in the code and no parameter: generate code for every value of it."
    return suggestion(quantity, known) or (
        " The mass of a flexible body is in its modal integrals and is no parameter. A joint has parameters, such as "
        "joint_damping, for the options that it was made with, be they zero."
    )


def _spelled(name: str) -> str:
    """`name` in characters that a C identifier may have and begin with."""
    text = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
    return text if text[0].isalpha() else f"body_{text}"


def _identifier(system: System, name: str) -> str:
    """The name of a body as a C identifier, with its number if another body has the same spelling.

    Spellings that differ only in case count as the same, because sizes become macros in capitals.
    """
    text = _spelled(name)
    others = {_spelled(other).upper() for other in system.bodies if other != name}
    number = system.number(name)
    while text.upper() in others:
        text = f"{text}_{number}"
    return text


def _quantities(system: System, name: str) -> Mapping[str, Quantity]:
    """The parameters of a body, of its attachment and of its joint."""
    item = system.attachments[name]
    meaning = ": from the parent's node to the joint, node axes, m"
    offset = {"offset": Quantity(np.array(item.offset), meaning)}
    return {**item.body.parameters(), **offset, **_joint_quantities(item.joint)}


def _joint_quantities(joint: Joint) -> dict[str, Quantity]:
    """The physics of a joint, one number for each speed that has it, or a number for a single one."""
    found = {}
    for name in _OPTION:
        values = getattr(joint.physics, name)[_speeds(joint, name)]
        if values.size:
            value = np.array(values[0] if values.size == 1 else values)
            found[f"joint_{name}"] = Quantity(value, f", {name} of its joint")
    return found


def _speeds(joint: Joint, name: str) -> list[int]:
    """The speeds of a joint that have a parameter."""
    physics = joint.physics
    if _OPTION[name] not in physics.options:
        return []
    there = np.ones(joint.dofs, dtype=bool)
    if name in ("armature", "stiffness", "rest"):
        there = np.array(joint.has_coordinate)
    elif name in ("lower", "upper"):
        there = np.isfinite(getattr(physics, name))
    elif name == "stop_stiffness":
        there = np.isfinite(physics.lower) | np.isfinite(physics.upper)
    return np.flatnonzero(there).tolist()


def constants(
    system: System, packed: Packed, given: Mapping[str, tuple[Parameter, list[Scalar]]]
) -> list[Scalar]:
    """The constants of the kernels, with values in place of the parameters that are `given` (by key)."""
    const: list[Scalar] = packed.const.tolist()
    for parameter, values in given.values():
        if parameter.key == "gravity":
            const[L.GRAVITY : L.GRAVITY + 3] = values
        if parameter.closure is not None:
            _set_closure(const, packed, system, parameter, values)
    for body in dict.fromkeys(p.body for p, _ in given.values() if p.body is not None):
        mine = {p.quantity: v for p, v in given.values() if p.body == body}
        k = system.number(body) * L.COLUMNS
        item = system.attachments[body]
        for name, scalars in item.body.parameter_constants(mine, item.inboard).items():
            const[_place(packed, k, name)] = scalars
        _set_physics(const, packed, k, item.joint, mine)
        if "offset" in mine:
            c = int(packed.topo[k + L.CONST])
            for i, x in enumerate(mine["offset"]):
                base = const[c + L.C_OFFSET + i] - const[c + L.C_ARM + i]
                const[c + L.C_OFFSET + i] = x + base
                const[c + L.C_ARM + i] = x
    return const


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
        for i, x in enumerate(values):
            const[arm + i] = x + (const[arm + i] - float(parameter.value[i]))


def _place(packed: Packed, k: int, name: str) -> slice:
    """The slice of `const` that holds the constants of a body that `BodyConstants` calls `name`."""
    if name in _IN_MODAL:
        return modal.places(packed.topo, k)[_IN_MODAL[name]]
    offset, count = _IN_RECORD[name]
    start = int(packed.topo[k + L.CONST]) + offset
    return slice(start, start + count)


def _set_physics(const, packed: Packed, k: int, joint: Joint, given: Mapping[str, list]) -> None:
    """Put the parameters of a joint into its physics records."""
    start, physics = int(packed.topo[k + L.PHYSICS]), joint.physics
    values = {
        name: dict(zip(_speeds(joint, name), given[f"joint_{name}"]))
        for name in _OPTION
        if f"joint_{name}" in given
    }
    for r in range(joint.dofs):
        record = start + r * L.PHYSICS_RECORD
        mine = {name: x[r] for name, x in values.items() if r in x}
        for name, place in _IN_PHYSICS.items():
            if name in mine:
                const[record + place] = mine[name]
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
