"""Numbers of a model that generated code takes as arguments, by name.

"gravity", and of the bodies `<body>.mass`, `.com`, `.inertia` (rigid bodies), `.stiffness`, `.damping`
(flexible ones) and `.offset` (where the joint sits on its parent).  A traced model has a value instead
of a number in every constant that depends on them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from limber.assembly import modal
from limber.assembly.pack import Packed
from limber.assembly.system import System
from limber.bodies import FlexibleBody, RigidBody
from limber.codegen.graph import Scalar
from limber.codegen.program import Argument
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.kernels import layout as L

_OF_RIGID = ("mass", "com", "inertia")
_OF_FLEXIBLE = {"stiffness": "K", "damping": "D"}  # parts of the modal block


@dataclass(frozen=True)
class Parameter:
    """One named parameter: its argument, its value in the model, and whom it belongs to."""

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
    value, meaning = values[quantity]
    identifier = f"{_identifier(system, name)}_{quantity}"
    argument = Argument(identifier, value.shape, f"{quantity} of body {name!r}{meaning}")
    return Parameter(key, argument, value, name, quantity)


def _spelled(name: str) -> str:
    """`name` in letters that a C identifier may have, and begin with."""
    text = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
    return text if text[0].isalpha() else f"body_{text}"


def _identifier(system: System, name: str) -> str:
    """The name of a body as a C identifier; with its number where another is spelled alike.

    Alike but for capitals, too: sizes become macros in capitals.
    """
    text = _spelled(name)
    others = {_spelled(other).upper() for other in system.bodies if other != name}
    number = system.number(name)
    while text.upper() in others:
        text = f"{text}_{number}"
    return text


def _quantities(system: System, name: str) -> Mapping[str, tuple[np.ndarray, str]]:
    item = system.attachments[name]
    body = item.body
    offset = (np.array(item.offset), ": from the parent's node to the joint, node axes, m")
    if isinstance(body, RigidBody):
        return {
            "mass": (np.array(body.mass), ", kg"),
            "com": (np.array(body.com), ": centre of mass, body axes, m"),
            "inertia": (np.array(body.inertia), " about its centre of mass, body axes, kg m^2"),
            "offset": offset,
        }
    assert isinstance(body, FlexibleBody)
    return {
        "stiffness": (np.array(body.stiffness), ": modal stiffness K"),
        "damping": (np.array(body.damping), ": modal damping D"),
        "offset": offset,
    }


def constants(
    system: System, packed: Packed, given: Mapping[str, tuple[Parameter, list[Scalar]]]
) -> list[Scalar]:
    """The constants of the kernels, with values where parameters are `given` (by key)."""
    const: list[Scalar] = packed.const.tolist()
    for parameter, values in given.values():
        if parameter.key == "gravity":
            const[L.GRAVITY : L.GRAVITY + 3] = values
    for body in dict.fromkeys(p.body for p, _ in given.values() if p.body is not None):
        mine = {p.quantity: v for p, v in given.values() if p.body == body}

        def value(quantity: str, mine=mine, body=body) -> list[Scalar]:
            if quantity in mine:
                return mine[quantity]
            return _quantities(system, body)[quantity][0].ravel().tolist()

        k = system.number(body) * L.COLUMNS
        if any(q in mine for q in _OF_RIGID):
            _set_rigid(const, packed, k, value, system.attachments[body])
        for quantity, part in _OF_FLEXIBLE.items():
            if quantity in mine:
                const[modal.places(packed.topo, k)[part]] = mine[quantity]
        if "offset" in mine:
            c = int(packed.topo[k + L.CONST])
            for i, x in enumerate(mine["offset"]):
                base = const[c + L.C_OFFSET + i] - const[c + L.C_ARM + i]
                const[c + L.C_OFFSET + i] = x + base
                const[c + L.C_ARM + i] = x
    return const


def _set_rigid(const, packed: Packed, k: int, value: Callable, item) -> None:
    """Mass, first moment and inertia about the frame of the row: I - m c~ c~."""
    (mass,), inertia = value("mass"), value("inertia")
    held = np.zeros(3) if item.inboard is None else item.body.node_set.position[item.inboard]
    x, y, z = (c - float(s) for c, s in zip(value("com"), held))
    start = int(packed.topo[k + L.CONST])
    const[start + L.C_MASS] = mass
    mx, my, mz = mass * x, mass * y, mass * z
    const[start + L.C_MOMENT : start + L.C_MOMENT + 3] = [mx, my, mz]
    xx, xy, xz, _, yy, yz, _, _, zz = inertia
    const[start + L.C_INERTIA : start + L.C_INERTIA + 6] = [
        xx + my * y + mz * z,
        xy - mx * y,
        xz - mx * z,
        yy + mx * x + mz * z,
        yz - my * z,
        zz + mx * x + my * y,
    ]
