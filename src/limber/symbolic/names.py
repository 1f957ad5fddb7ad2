"""Names of coordinates and speeds, and symbols by their names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import sympy as sp

from limber.assembly import Assembly
from limber.assembly.pack import Attachment
from limber.checks import free_symbols, listed, shown
from limber.errors import ArgumentValueError
from limber.kernels import layout
from limber.printable import printable
from limber.symbolic.joints import SymbolicJoint, symbols


class Naming:
    """The symbols of q and p, body by body [modes, joint], and which of them are modal.

    Without names given, a body `link` has q_link (or q1_link, q2_link, ...) and eta1_link, ...; the speeds
    are qdot_link where they are the rates of the coordinates and p1_link, ... where they are not.
    """

    def __init__(self, assembly: Assembly, q: Any = None, p: Any = None):
        items = list(assembly.attachments.values())
        self.spans: dict[str, tuple[int, int, int]] = {}  # modes, joint, end
        at = 0
        for item in items:
            m, r = item.body.modes, item.joint.dofs
            self.spans[item.name] = (at, at + m, at + m + r)
            at += m + r
        self.modal = {i for start, joint, _ in self.spans.values() for i in range(start, joint)}
        coordinates = [s for item in items for s in _coordinates(item)]
        speeds = [s for item in items for s in _speeds(item)]
        self.q = self._chosen("q", q, coordinates)
        self.p = self._chosen("p", p, speeds)
        self.parameters = _parameters(assembly)
        self._refuse_clashes()

    def joint_coordinates(self, body: str) -> tuple[sp.Symbol, ...]:
        """The coordinates of the joint of a body."""
        _, joint, end = self.spans[body]
        return self.q[joint:end]

    def _chosen(self, argument: str, given: Any, default: list[str]) -> tuple[sp.Symbol, ...]:
        """All names of q or p: those given for all or for some bodies, else the default ones."""
        names = list(default)
        hint = f"{argument} has one name per degree of freedom, body by body, modes first."
        if isinstance(given, Mapping):
            for body, part in given.items():
                if body not in self.spans:
                    raise ArgumentValueError(
                        f"{argument} names {shown(body)}, which is not a body of the assembly; it has: "
                        f"{listed(self.spans)}."
                    )
                start, _, end = self.spans[body]
                names[start:end] = symbols(f"{argument}[{body!r}]", part, end - start, hint)
        elif given is not None:
            names = list(symbols(argument, given, len(names), hint))
        return symbols(argument, names, len(names), hint)

    def _refuse_clashes(self) -> None:
        """Reject a symbol that would have two meanings."""
        parameters = self.parameters
        for first, second, what in (
            (set(self.q), set(self.p), "a coordinate and a speed"),
            (set(self.q), parameters, "a coordinate and a parameter"),
            (set(self.p), parameters, "a speed and a parameter"),
        ):
            both = first & second
            if both:
                name = min(map(str, both))
                raise ArgumentValueError(
                    f"{name!r} is the name of {what}: give q=, p= or the joint different names."
                )


def _parameters(assembly: Assembly) -> set[sp.Symbol]:
    """The symbols in the description of an assembly."""
    found = free_symbols(assembly.gravity)
    for item in assembly.attachments.values():
        found |= free_symbols(item.body, item.offset, item.rotation, item.joint)
    return found


def symbol_named(argument: str, key: Any, known: Collection[sp.Symbol]) -> sp.Symbol:
    """The one of the `known` symbols that a key is or names."""
    if key in known:
        return key
    called = [s for s in known if str(s) == str(key)]
    if isinstance(key, str) and len(called) == 1:
        return called[0]
    if not called:
        raise ArgumentValueError(
            f"{argument}: {shown(str(key))} is not a symbol of these equations, which have "
            f"{printable(', '.join(sorted(map(str, known))))}."
        )
    if isinstance(key, str):
        raise ArgumentValueError(
            f"{argument}: {shown(key)} is the name of {len(called)} symbols, which differ in their assumptions. Give the "
            "symbol itself."
        )
    raise ArgumentValueError(
        f"{argument}: {sp.srepr(key)} is not a symbol of these equations, which have {sp.srepr(called[0])} with other "
        f"assumptions. Give that symbol, or its name, {str(key)!r}."
    )


def _numbered(letter: str, count: int, body: str) -> list[str]:
    return [f"{letter}_{body}"] if count == 1 else [f"{letter}{i + 1}_{body}" for i in range(count)]


def _modal(letter: str, item: Attachment) -> list[str]:
    return [f"{letter}{i + 1}_{item.name}" for i in range(item.body.modes)]


def _coordinates(item: Attachment) -> list:
    joint = item.joint
    own = joint.q if isinstance(joint, SymbolicJoint) else _numbered("q", joint.dofs, item.name)
    return [*_modal("eta", item), *own]


def _speeds(item: Attachment) -> list[str]:
    joint, name = item.joint, item.name
    rates = all(g.dofs == 1 and g.kind == layout.SCREWS for g in joint.groups)
    if isinstance(joint, SymbolicJoint):
        own = [f"{q}dot" if rates else f"p_{q}" for q in joint.q]
    else:
        own = _numbered("qdot" if rates else "p", joint.dofs, name)
    return [*_modal("etadot", item), *own]
