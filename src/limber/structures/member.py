"""Members of a frame: straight beams between two of its nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import ArrayLike

from limber.bodies.section import Section, check_sections
from limber.checks import array, axis, number, shown, suggestion, whole
from limber.errors import ArgumentTypeError, ArgumentValueError


@dataclass(frozen=True, eq=False)
class Member:
    """A straight beam from node `a` to node `b` of a frame; arguments that are None are those of `frame`.

    Parameters
    ----------
    a, b : nodes, by name or number.
    section : a `Section`, two of them for a taper from a to b, or the name of one in `sections` of `frame`.
    up : the direction to which the z axis of the section points, as closely as the member allows.
    angle : rotation of the section about the member, from its y towards its z axis, rad.
    divide : the number of elements.
    pins : ends with ball joints: "a", "b", "ab" for the member of a truss, or "" for none.
    offset_a, offset_b : from the node to the end of the member, m; the two are rigidly connected.
    """

    _frozen = True  # has nothing that could change

    a: str | int
    b: str | int
    section: Any = None
    up: ArrayLike | str | None = None
    angle: float = 0.0
    divide: int | None = None
    pins: str | None = None
    offset_a: Any = (0.0, 0.0, 0.0)
    offset_b: Any = (0.0, 0.0, 0.0)


def members_of(elements: Any, sections: Any, divide: int, pins: str) -> list[Member]:
    """The members given to `frame`, each with its sections, elements and pins."""
    try:
        given = [] if isinstance(elements, str | Mapping) else list(elements)
    except TypeError:
        given = []
    if not given:
        raise ArgumentTypeError(
            f"elements must be a list of pairs of nodes or of Members, got {shown(elements)}."
        )
    each = _each_section(sections, len(given))
    found = []
    for i, item in enumerate(given):
        name = f"elements[{i}]"
        member = item if isinstance(item, Member) else _from_sequence(name, item)
        chosen = each[i] if member.section is None else member.section
        if chosen is None:
            raise ArgumentValueError(
                f"{name} has no section, but sections {'is not given' if sections is None else 'names several'}: give "
                f"({shown(member.a)}, {shown(member.b)}, name) or "
                "a Member with its section."
            )
        found.append(
            replace(
                member,
                section=_section(name, chosen, sections),
                up=None if member.up is None else tuple(axis(f"{name}.up", member.up).tolist()),
                angle=number(f"{name}.angle", member.angle),
                divide=whole(
                    f"{name}.divide", divide if member.divide is None else member.divide, 1
                ),
                pins=check_pins(f"{name}.pins", pins if member.pins is None else member.pins),
                offset_a=_offset(f"{name}.offset_a", member.offset_a),
                offset_b=_offset(f"{name}.offset_b", member.offset_b),
            )
        )
        if found[-1].pins == "ab" and found[-1].divide != 1:
            raise ArgumentValueError(
                f"{name} has ball joints at both ends and is divided into {found[-1].divide} elements: nothing would "
                "prevent it from spinning about its axis. Use divide=1 for it."
            )
    return found


def _offset(name: str, value: Any) -> tuple[float, ...]:
    if value is Member.offset_a:  # the default, which most members have
        return value
    return tuple(array(name, value, (3,)).tolist())


def _from_sequence(name: str, item: Any) -> Member:
    """A pair of nodes, or a pair and a section."""
    try:
        parts = [] if isinstance(item, str) else list(item)
    except TypeError:
        parts = []
    if len(parts) not in (2, 3):
        raise ArgumentTypeError(
            f"{name} must be a pair of nodes, a pair and a section, or a Member, got {shown(item)}."
        )
    return Member(*parts)


def _each_section(sections: Any, count: int) -> Sequence[Any]:
    """The section of each member that has none of its own; None where there is no choice."""
    if sections is None or isinstance(sections, Section):
        return [sections] * count
    if isinstance(sections, Mapping):
        only = next(iter(sections.values())) if len(sections) == 1 else None
        return [only] * count
    if isinstance(sections, list | tuple) and sections:
        if len(sections) != count:
            raise ArgumentValueError(
                f"sections has {len(sections)} entries for {count} elements: give one Section for all, a dict of names, or one "
                "per element. The two ends of a taper belong in a Member."
            )
        return sections
    raise ArgumentTypeError(
        f"sections must be an lb.Section, a dict of names to Sections, or a list of one per element, got {shown(sections)}."
    )


def _section(name: str, chosen: Any, sections: Any) -> tuple[Section, Section]:
    if isinstance(chosen, str):
        known = sections if isinstance(sections, Mapping) else {}
        if chosen not in known:
            raise ArgumentValueError(
                f"{name} has the section {chosen!r}, which sections does not have.{suggestion(chosen, known)}"
            )
        chosen = known[chosen]
    return check_sections(f"the section of {name}", chosen)


def check_pins(name: str, pins: Any) -> str:
    """Ends with ball joints."""
    if pins not in ("", "a", "b", "ab"):
        raise ArgumentValueError(f'{name} must be "", "a", "b" or "ab", got {shown(pins)}.')
    return pins
