"""Closures given in Python for systems that are already built."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import signature

from limber.assembly.closures import Closure, Relation, cut_closure, relation
from limber.assembly.pack import Attachment
from limber.checks import listed, shown
from limber.errors import ArgumentTypeError, ArgumentValueError

#: How a closure is written.
WRITTEN = (
    "(end_a, end_b, joint), (end_a, end_b, joint, name), a dict with the arguments of Assembly.close or of "
    "Assembly.relate, or a closure of a system"
)
_CLOSE = [name for name in signature(cut_closure).parameters if name != "attachments"]
_RELATE = ["name", "terms", "value"]


def given_closures(
    given: Iterable, attachments: Mapping[str, Attachment]
) -> tuple[Closure | Relation, ...]:
    """The closures, checked, with names for those that have none; `attachments` are those of the system."""
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise ArgumentTypeError(
            f"closures must be a list of closures, each {WRITTEN}; got {shown(given)}."
        )
    made: dict[str, Closure | Relation] = {}
    for item in given:
        closure = given_closure(item, attachments, made)
        if closure.name in made:
            raise ArgumentValueError(
                f"closures: name={closure.name!r} is already taken: every closure needs its own name."
            )
        made[closure.name] = closure
    return tuple(made.values())


def given_closure(
    given, attachments: Mapping[str, Attachment], taken: Mapping | Iterable = ()
) -> Closure | Relation:
    """One closure, checked.  If it has no name, it gets the first of closure1, closure2, ... that is not `taken`."""
    if isinstance(given, Closure | Relation):
        _refuse_unknown(given, attachments)
        return given
    if isinstance(given, tuple | list) and len(given) in (3, 4):
        arguments = dict(zip(("end_a", "end_b", "joint", "name"), given))
    elif isinstance(given, Mapping):
        arguments = dict(given)
    else:
        raise ArgumentTypeError(f"a closure must be {WRITTEN}; got {shown(given)}.")
    relates = "terms" in arguments
    known = _RELATE if relates else _CLOSE
    unknown = [key for key in arguments if key not in known]
    if unknown:
        raise ArgumentTypeError(
            f"a closure has the unknown argument {shown(unknown[0])}; expected one of {listed(known)}."
        )
    missing = [] if relates else [x for x in ("end_a", "end_b", "joint") if x not in arguments]
    if missing:
        raise ArgumentTypeError(f"a closure lacks {missing[0]}: it must be {WRITTEN}.")
    name = arguments.pop("name", None)
    name = _free_name(taken, "relation" if relates else "closure") if name is None else name
    if not isinstance(name, str) or not name:
        raise ArgumentTypeError(f"name of a closure must be a non-empty string, got {shown(name)}.")
    if relates:
        joints = {body: item.joint for body, item in attachments.items()}
        return relation(name, arguments["terms"], arguments.get("value", 0.0), joints)
    return cut_closure(name=name, attachments=attachments, **arguments)


def _free_name(taken: Mapping | Iterable, kind: str) -> str:
    count, taken = 1, set(taken)
    while f"{kind}{count}" in taken:
        count += 1
    return f"{kind}{count}"


def _refuse_unknown(closure: Closure | Relation, attachments: Mapping[str, Attachment]) -> None:
    """Reject a closure of bodies that the system does not have."""
    if isinstance(closure, Relation):
        bodies = [body for body, _ in closure.terms]
    else:
        bodies = [closure.a.body, closure.b.body]
    for body in bodies:
        if body != "world" and body not in attachments:
            raise ArgumentValueError(
                f"the closure {closure.name!r} belongs to another system: this one has no body {body!r}; its bodies "
                f"are {listed(attachments)}."
            )
