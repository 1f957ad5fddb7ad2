"""Parameters in the constants of the kernels, as numbers of any scalar type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from limber.assembly import modal
from limber.assembly.joint_parameters import set_physics
from limber.assembly.packed import Packed
from limber.assembly.parameters import Parameter
from limber.checks import Array
from limber.kernels import layout as L

if TYPE_CHECKING:
    from limber.assembly.pack import Attachment
    from limber.assembly.system import System

#: The offset and the number of the constants of a body in its record, by their names in `BodyConstants`.
_IN_RECORD = {"mass": (L.C_MASS, 1), "moment": (L.C_MOMENT, 3), "inertia": (L.C_INERTIA, 6)}
#: The parts of the modal constants, by their names in `BodyConstants`.
_IN_MODAL = {"stiffness": "K", "damping": "D"}


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
        of_body = {name: v for name, v in mine.items() if not of_attachment(name)}
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


def of_attachment(quantity: str) -> bool:
    """Whether a quantity is one of a joint and its place, and not of the body."""
    return quantity in ("offset", "rotation") or quantity.startswith("joint_")


def _set_attachment(const, packed: Packed, k: int, item: Attachment, mine: Mapping) -> None:
    """Put the place and the physics of a joint into their constants."""
    set_physics(const, packed, k, item.joint, mine)
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
