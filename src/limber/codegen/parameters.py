"""Parameters of a system (`limber.assembly.parameters`) as arguments of generated code."""

from __future__ import annotations

from collections.abc import Mapping

from limber.assembly import parameter_constants
from limber.assembly.pack import Packed
from limber.assembly.parameters import Parameter, find
from limber.assembly.system import System
from limber.codegen.graph import Scalar
from limber.codegen.program import Argument


def argument(system: System, name: str) -> Argument:
    """A parameter as an argument."""
    parameter = find(system, name)
    if parameter.closure is not None:
        owner = _of_closure(system, parameter.closure)
    elif parameter.body is not None:
        owner = _of_body(system, parameter.body)
    else:
        return Argument(parameter.quantity, parameter.value.shape, parameter.meaning)
    identifier = f"{owner}_{parameter.quantity}"
    return Argument(identifier, parameter.value.shape, parameter.meaning)


def constants(
    system: System, packed: Packed, given: Mapping[str, tuple[Parameter, list[Scalar]]]
) -> list[Scalar]:
    """The constants of the kernels, with values in place of the parameters that are `given` (by name)."""
    return parameter_constants.constants(system, packed, given, packed.const.tolist())


def _of_closure(system: System, name: str) -> str:
    """The name of a closure as a C identifier that no body and no other closure has."""
    taken = {
        _spelled(other).upper() for other in (*system.bodies, *system.closures) if other != name
    }
    text = _spelled(name)
    while text.upper() in taken:
        text += "_closure"
    return text


def _spelled(name: str) -> str:
    """`name` in characters that a C identifier may have and begin with."""
    text = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
    return text if text[0].isalpha() else f"body_{text}"


def _of_body(system: System, name: str) -> str:
    """The name of a body as a C identifier, with its number if another body has the same spelling.

    Spellings that differ only in case count as the same, because sizes become macros in capitals.
    """
    text = _spelled(name)
    others = {_spelled(other).upper() for other in system.bodies if other != name}
    number = system.number(name)
    while text.upper() in others:
        text = f"{text}_{number}"
    return text
