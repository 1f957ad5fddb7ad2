"""Numbers of a model that generated code takes as arguments, by name.

They are "gravity" and, of each body, `<body>.mass`, `.com`, `.inertia` (rigid bodies), `.stiffness`,
`.damping` (flexible bodies) and `.offset` (the place of the joint on its parent).  In a traced model, every
constant that depends on them is a value instead of a number; the body itself says which constants these are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from limber.assembly import modal
from limber.assembly.pack import Packed
from limber.assembly.system import System
from limber.bodies.base import Quantity
from limber.codegen.graph import Scalar
from limber.codegen.program import Argument
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.kernels import layout as L

#: The offset and the number of the constants of a body in its record, by their names in `BodyConstants`.
_IN_RECORD = {"mass": (L.C_MASS, 1), "moment": (L.C_MOMENT, 3), "inertia": (L.C_INERTIA, 6)}
#: The parts of the modal constants, by their names in `BodyConstants`.
_IN_MODAL = {"stiffness": "K", "damping": "D"}


@dataclass(frozen=True)
class Parameter:
    """One named parameter: its argument, its value in the model, and its body."""

    key: str
    argument: Argument
    value: np.ndarray
    body: str | None
    quantity: str


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
    system.number(name, f"parameter {key!r}: body")
    values = _quantities(system, name)
    if quantity not in values:
        raise ArgumentValueError(
            f"parameter {key!r} is unknown: body {name!r} has {', '.join(values)}. The mass of a flexible body is "
            "in its modal integrals and is no parameter."
        )
    found = values[quantity]
    identifier = f"{_identifier(system, name)}_{quantity}"
    meaning = f"{quantity} of body {name!r}{found.meaning}"
    argument = Argument(identifier, found.value.shape, meaning)
    return Parameter(key, argument, found.value, name, quantity)


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
    """The parameters of a body and of its attachment."""
    item = system.attachments[name]
    meaning = ": from the parent's node to the joint, node axes, m"
    return {**item.body.parameters(), "offset": Quantity(np.array(item.offset), meaning)}


def constants(
    system: System, packed: Packed, given: Mapping[str, tuple[Parameter, list[Scalar]]]
) -> list[Scalar]:
    """The constants of the kernels, with values in place of the parameters that are `given` (by key)."""
    const: list[Scalar] = packed.const.tolist()
    for parameter, values in given.values():
        if parameter.key == "gravity":
            const[L.GRAVITY : L.GRAVITY + 3] = values
    for body in dict.fromkeys(p.body for p, _ in given.values() if p.body is not None):
        mine = {p.quantity: v for p, v in given.values() if p.body == body}
        k = system.number(body) * L.COLUMNS
        item = system.attachments[body]
        for name, scalars in item.body.parameter_constants(mine, item.inboard).items():
            const[_place(packed, k, name)] = scalars
        if "offset" in mine:
            c = int(packed.topo[k + L.CONST])
            for i, x in enumerate(mine["offset"]):
                base = const[c + L.C_OFFSET + i] - const[c + L.C_ARM + i]
                const[c + L.C_OFFSET + i] = x + base
                const[c + L.C_ARM + i] = x
    return const


def _place(packed: Packed, k: int, name: str) -> slice:
    """The slice of `const` that holds the constants of a body that `BodyConstants` calls `name`."""
    if name in _IN_MODAL:
        return modal.places(packed.topo, k)[_IN_MODAL[name]]
    offset, count = _IN_RECORD[name]
    start = int(packed.topo[k + L.CONST]) + offset
    return slice(start, start + count)
