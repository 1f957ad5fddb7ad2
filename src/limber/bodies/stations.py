"""Stations of beams and frames: sections by name, node, member or distance."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np

from limber.bodies.recovery import MemberStations, Recovery
from limber.bodies.section_forces import SectionForces
from limber.checks import Array, number, shown, suggestion
from limber.errors import ArgumentTypeError, ArgumentValueError

#: At most this many names are listed in a message.
LISTED = 8

#: The numbers of two stations, how far from the first to the second, 0 to 1, and a name.
Place = tuple[int, int, float, str]


def requests(at: Any) -> list[Any]:
    """The entries of `at`, one by one: names, distances, or pairs of a member and a distance."""
    pair = isinstance(at, tuple) and len(at) == 2 and isinstance(at[0], str) and _is_number(at[1])
    if isinstance(at, str) or _is_number(at) or pair:
        return [at]
    try:
        return list(at)
    except TypeError:
        raise ArgumentTypeError(
            f"at must be a station, a list of stations or None for all, got {shown(at)}."
        ) from None


def along_beam(
    names: tuple[str, ...], length: float, at: Any, owner: str
) -> tuple[Array, list[str]]:
    """Distances and names of the stations of a beam whose nodes, equally spaced, have these names."""
    nodes = np.linspace(0.0, length, len(names))
    if at is None:
        return nodes, list(names)
    places, labels = [], []
    for which in requests(at):
        if isinstance(which, str) and which in names:
            places.append(float(nodes[names.index(which)]))
            labels.append(which)
        elif _is_number(which):
            x = number("at", which)
            if not 0.0 <= x <= length * (1.0 + 1e-12):
                raise ArgumentValueError(
                    f"at={shown(which)}: x must be from 0 to the length {length:g} of {owner}, in m from its root."
                )
            places.append(x)
            labels.append(f"{x:.6g} m")
        else:
            raise ArgumentValueError(
                f"at={shown(which)} is not a station of {owner}; its stations are: {_listed(names)}, and distances from its "
                f"root, 0 to {length:g} m.{_suggested(which, names)}"
            )
    return np.array(places), labels


def in_frame(recovery: Recovery, at: Any, owner: str) -> SectionForces:
    """The forces of a frame at stations, members, nodes or places along members; None for all stations."""
    assert recovery.forces is not None
    if at is None:
        return recovery.forces
    found = [place for which in requests(at) for place in _places(recovery, which, owner)]
    first, second, part, names = zip(*found) if found else ((), (), (), ())
    return recovery.forces.between(
        np.array(first, dtype=int), np.array(second, dtype=int), np.array(part, dtype=float), names
    )


def _places(recovery: Recovery, which: Any, owner: str) -> Iterable[Place]:
    """The stations of one request."""
    stations = recovery.stations
    members = {member.name: member for member in recovery.members}
    if isinstance(which, str):
        if which in stations:
            numbers: Iterable[int] = [stations.index(which)]
        elif which in members:
            numbers = members[which].stations
        elif which in recovery.nodes:
            numbers = [i for i, node in enumerate(recovery.nodes) if node == which]
        else:
            numbers = _ends(recovery, which)
        places = [(i, i, 0.0, stations[i]) for i in numbers]
        if places:
            return places
    elif isinstance(which, tuple | list) and len(which) == 2 and which[0] in members:
        return [_along(members[which[0]], which[1])]
    raise ArgumentValueError(_unknown(recovery, which, owner))


def _ends(recovery: Recovery, which: str) -> list[int]:
    """The end of a member at its node a, "a:b", or at its node b, "b:a"."""
    for member in recovery.members:
        a, b = member.ends
        if which == f"{a}:{b}":
            return [member.stations[0]]
        if which == f"{b}:{a}":
            return [member.stations[-1]]
    return []


def _along(member: MemberStations, distance: Any) -> Place:
    """A place along a member."""
    x = number(f"the distance along {member.name!r}", distance)
    length = member.distance[-1]
    if not 0.0 <= x <= length * (1.0 + 1e-12):
        raise ArgumentValueError(
            f"at=({member.name!r}, {shown(distance)}): the distance must be from 0 to the length {length:g} of the member, in "
            f"m from its end at {member.ends[0]!r}."
        )
    starts, ends = (np.array(member.distance[i::2]) for i in (0, 1))
    k = min(int(np.searchsorted(ends, x)), len(ends) - 1)
    part = min((x - starts[k]) / (ends[k] - starts[k]), 1.0)
    first, second = member.stations[2 * k : 2 * k + 2]
    return first, second, float(part), f"{member.name} at {x:.6g} m"


def _unknown(recovery: Recovery, which: Any, owner: str) -> str:
    stations = recovery.stations
    if not recovery.members:
        return (
            f"at={shown(which)} is not a station of {owner}; its stations are: {_listed(stations)}."
            f"{_suggested(which, stations)}"
        )
    names = tuple(member.name for member in recovery.members)
    nodes = tuple(dict.fromkeys(recovery.nodes))
    a, b = recovery.members[0].ends
    return (
        f"at={shown(which)} is not a station of {owner}. Give a member: {_listed(names)}; a node: "
        f"{_listed(nodes)}; an end of a member, such as {f'{a}:{b}'!r} for the end of {names[0]!r} at {a!r}; "
        f"or a point along a member, ({names[0]!r}, distance in m). The body lists all in .members and "
        f".stations.{_suggested(which, (*names, *nodes, *stations))}"
    )


def _suggested(which: Any, names: tuple[str, ...]) -> str:
    return suggestion(which, names) if isinstance(which, str) else ""


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(map(repr, names[:LISTED])) + (", ..." if len(names) > LISTED else "")


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
