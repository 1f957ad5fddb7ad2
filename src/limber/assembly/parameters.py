"""The numbers of a model that can change without a rebuild, by name.

- "gravity"
- the parameters of every body (`Body.parameters`), and its place on its parent, `<body>.offset` and `.rotation`
- the physics of its joint, for every option that the joint was made with, even if zero: `.joint_armature`,
  `.joint_stiffness`, `.joint_rest`, `.joint_damping`, `.joint_friction`, `.joint_static_friction`,
  `.joint_stop_stiffness`, `.joint_lower`, `.joint_upper`, with one number for every speed that has it (springs and
  armatures need coordinates, stops need limits)
- for closures, `<closure>.offset` and `.offset_b`, the place of the cut joint on its ends (on the world, its position),
  and `.value` and `.coefficients` of relations

This is the only table of parameters: `System.with_parameters` (`assembly.parameter_changes`), `simulate` and generated
code (`assembly.parameter_constants`) read it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from limber.assembly.closures import Closure, Relation
from limber.assembly.joint_parameters import OF_JOINT, joint_quantities
from limber.bodies.base import Quantity
from limber.checks import Array, array, numbers, suggestion, text
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.joints import Joint
from limber.joints.physics import OF_COORDINATES, OPTIONS, option_of

if TYPE_CHECKING:
    from limber.assembly.system import System


@dataclass(frozen=True, eq=False)
class Parameter:
    """One number or array of a system that can change without a rebuild.

    name : the name for `System.with_parameters`.
    value : the value in the system.
    meaning : its meaning, with its unit.
    whole : the shape of all numbers, if one number stands for equal ones; otherwise that of `value`.
    body, closure, quantity : the body or closure to which it belongs, and the quantity.
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
        raise ArgumentTypeError(f"the name of a parameter must be a string, got {name!r}.")
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
        return f" A joint has {own} only if it was created with that limit."
    if option in OF_JOINT:
        if option in OF_COORDINATES and not any(joint.has_coordinate):
            return f" {type(joint).__name__} takes no {option}."
        return f" A joint has {own} only if it was created with {option_of(option)}, which may be zero."
    if option in OPTIONS:
        return f" {option} of a joint is a constant in the code, not a parameter: generate code for each value of it."
    return suggestion(quantity, known) or (
        " A beam has the stiffnesses for which it has modes. A joint has parameters, such as joint_damping, "
        "for the options it was created with, which may be zero."
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
    return {**item.body.parameters(), **place, **joint_quantities(item.joint)}


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
