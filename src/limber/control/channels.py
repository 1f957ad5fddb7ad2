"""The notation for inputs and outputs of linear models: tuples that begin with a kind.

    "link1"                                   the joint of a body: its torque as an input, its coordinates as an output
    ("torque", "link1", 0)                    one speed of it
    ("force", "link2", "tip", "y")            one axis of a force at a node
    ("position", "link2", "tip")              all three axes

A tuple has the kind, the names that the kind needs, and, to select one component, that component. Lists are accepted
too, for files and command lines.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from limber.assembly.closures import Relation
from limber.assembly.system import System
from limber.bodies.beam_forces import section_forces_of
from limber.bodies.section_forces import COMPONENTS
from limber.checks import Array, listed, number, shown, suggestion
from limber.errors import ArgumentTypeError, ArgumentValueError

AXES = ("x", "y", "z")
WRENCH = ("mx", "my", "mz", "fx", "fy", "fz")

#: What each kind is of: "joint" or "modes" of a body, "node", "wrench" of a joint, "closure", or what strain it is.
INPUTS = {
    "torque": "joint",
    "mode_force": "modes",
    "force": "node",
    "moment": "node",
    "motion": "joint",
}
OUTPUTS = {
    "coordinate": "joint",
    "speed": "joint",
    "torque": "joint",
    "mode": "modes",
    "mode_speed": "modes",
    "position": "node",
    "rotation": "node",
    "velocity": "node",
    "angular_velocity": "node",
    "acceleration": "node",
    "angular_acceleration": "node",
    "deflection": "node",
    "joint_force": "wrench",
    "closure_force": "closure",
    "strain": "strain",
    "section_force": "section",
}


@dataclass(frozen=True)
class Channel:
    """One or more scalar inputs or outputs of one kind.

    of : the body, or the closure.
    node : its number; None for the body frame.
    components : the numbers of the components of this kind.
    names : names of the scalars, one for each component.
    shape : (modes,) the modal shape of a strain or section force.
    """

    kind: str
    of: str
    node: int | None
    components: tuple[int, ...]
    names: tuple[str, ...]
    shape: Array | None = None


def checked(system: System, given: Any, argument: str, known: dict[str, str]) -> list[Channel]:
    """Check the channels that a user requested; `known` is INPUTS or OUTPUTS."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ArgumentTypeError(
            f'{argument} must be a list, as in ["link1", ("force", "link1", "tip", "x")], got {shown(given)}.'
        )
    short = "torque" if argument == "inputs" else "coordinate"
    found = []
    for i, one in enumerate(given):
        where = f"{argument}[{i}]"
        item = (short, one) if isinstance(one, str) else one
        if not isinstance(item, list | tuple) or len(item) < 2 or not isinstance(item[0], str):
            raise ArgumentTypeError(
                f'{where} must be the name of a body or a tuple such as ("position", "link1", "tip", "x"), got {shown(item)}.'
            )
        kind, *rest = item
        if kind not in known:
            raise ArgumentValueError(
                f"{where}: {kind!r} is not a kind of {argument[:-1]}.{suggestion(kind, known)} The kinds are: "
                f"{', '.join(known)}."
            )
        found.append(_READERS[known[kind]](system, where, kind, rest))
    names = [name for channel in found for name in channel.names]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ArgumentValueError(f"{argument} has {listed(sorted(twice))} more than once.")
    return found


def _joint(system: System, where: str, kind: str, rest: list) -> Channel:
    body, *component = [system.body_of(rest[0], f"{where}: body"), *rest[1:]]
    size = system.joints[body].dofs
    if size == 0:
        raise ArgumentValueError(f"{where}: the joint of body {body!r} is fixed and has no speeds.")
    labels = tuple(map(str, range(size)))
    name = f"{kind} {body}"
    return _channel(where, kind, body, None, component, labels, name, alone=size == 1)


def _modes(system: System, where: str, kind: str, rest: list) -> Channel:
    body, *component = _of_body(system, where, kind, rest, 1)
    if not system.bodies[body].modes:
        raise ArgumentValueError(f"{where}: body {body!r} is rigid and has no modes.")
    labels = tuple(map(str, range(system.bodies[body].modes)))
    return _channel(where, kind, body, None, component, labels, f"{kind} {body}")


def _node(system: System, where: str, kind: str, rest: list) -> Channel:
    body, node, *component = _of_body(system, where, kind, rest, 2, "node (None: the body frame)")
    at = system.node_number(body, node, f"{where}: node")
    if kind == "deflection" and at is None:
        raise ArgumentValueError(
            f"{where}: the body frame of {body!r} does not deform. Name a node."
        )
    name = f"{kind} {body}" if node is None else f"{kind} {body} {node}"
    return _channel(where, kind, body, at, component, AXES, name)


def _wrench(system: System, where: str, kind: str, rest: list) -> Channel:
    body, *component = _of_body(system, where, kind, rest, 1)
    return _channel(where, kind, body, None, component, WRENCH, f"{kind} {body}")


def _closure(system: System, where: str, kind: str, rest: list) -> Channel:
    closure, *component = rest
    if not isinstance(closure, str) or closure not in system.closures:
        raise ArgumentValueError(
            f"{where}: {shown(closure)} is not a closure of {system.name!r}; its closures are: "
            f"{listed(system.closures) or 'none'}."
        )
    relation = isinstance(system.closures[closure], Relation)
    labels = ("0",) if relation else WRENCH
    name = f"{kind} {closure}"
    return _channel(where, kind, closure, None, component, labels, name, alone=relation)


def _strain(system: System, where: str, kind: str, rest: list) -> Channel:
    """("strain", body, gauge), or ("strain", body, station, y, z) on a beam or frame."""
    body, *place = _of_body(system, where, kind, rest, 2, "gauge, or a station with y and z")
    recovery = system.bodies[body].recovered()
    if len(place) == 1:
        gauges = () if recovery is None else recovery.gauges
        if place[0] not in gauges:
            raise ArgumentValueError(
                f"{where}: {shown(place[0])} is not a gauge of body {body!r}; its gauges are: {listed(gauges) or 'none'}. "
                'For a beam or frame, give a station and a point of its section: ("strain", body, station, y, z).'
            )
        assert recovery is not None and recovery.strain is not None
        shape = recovery.strain[gauges.index(place[0])]
        return Channel(kind, body, None, (0,), (f"strain {body} {place[0]}",), shape)
    if len(place) != 3:
        raise ArgumentValueError(
            f'{where} must be ("strain", body, gauge) or ("strain", body, station, y, z), got {shown((kind, *rest))}.'
        )
    station, y, z = place[0], number(f"{where}: y", place[1]), number(f"{where}: z", place[2])
    forces = section_forces_of(system.bodies[body], [station], f"{where}: body {body!r}")
    needed = strain_parts(y, z)
    if forces.absent[0, needed].all():
        raise _absent(where, body, [COMPONENTS[i] for i in needed])
    return Channel(
        kind, body, None, (0,), (f"strain {body} {station} {y:g} {z:g}",), forces.strain_at(y, z)[0]
    )


def strain_parts(y: float, z: float) -> list[int]:
    """The numbers of the section forces that strain a section along the axis at its point (y, z)."""
    return [0, *([4] if z else []), *([5] if y else [])]


def _section(system: System, where: str, kind: str, rest: list) -> Channel:
    """("section_force", body, station, component)."""
    body, station, *component = _of_body(system, where, kind, rest, 2, "station")
    forces = section_forces_of(system.bodies[body], [station], f"{where}: body {body!r}")
    if len(component) != 1 or component[0] not in COMPONENTS:
        raise ArgumentValueError(
            f"{where} needs one component of the section forces, one of {', '.join(COMPONENTS)}; got {shown(component)}."
        )
    i = COMPONENTS.index(component[0])
    if forces.absent[0, i]:
        raise _absent(where, body, [component[0]])
    name = f"{kind} {body} {station} {component[0]}"
    return Channel(kind, body, None, (0,), (name,), forces.forces[0, i])


def _absent(where: str, body: str, components: list[str]) -> ArgumentValueError:
    return ArgumentValueError(
        f"{where}: no mode of body {body!r} has {' or '.join(components)}, so this output would always be zero. Give the "
        "body modes of that kind, or use joint_force."
    )


_READERS = {
    "joint": _joint,
    "modes": _modes,
    "node": _node,
    "wrench": _wrench,
    "closure": _closure,
    "strain": _strain,
    "section": _section,
}


def _of_body(
    system: System, where: str, kind: str, rest: list, names: int, further: str = ""
) -> list:
    """The entries after the kind, of which the first is a body; at least `names` are needed."""
    system.number(rest[0], f"{where}: body")
    if len(rest) < names:
        raise ArgumentValueError(
            f"{where}: {kind!r} needs a body and a {further}, got {shown((kind, *rest))}."
        )
    return rest


def _channel(
    where: str,
    kind: str,
    of: str,
    node: int | None,
    component: list,
    labels: tuple[str, ...],
    name: str,
    alone: bool = False,
) -> Channel:
    """All components of a kind, or the requested one; `alone` says that there is only one, which needs no label."""
    if len(component) > 1:
        raise ArgumentValueError(
            f"{where} has {shown(component)} at the end, where at most one component is expected."
        )
    chosen: tuple[int, ...] = tuple(range(len(labels)))
    if component:
        given = component[0]
        text = str(given) if isinstance(given, str | int | np.integer) else ""
        if isinstance(given, bool) or text not in labels:
            raise ArgumentValueError(
                f"{where}: {shown(given)} is not a component of {kind} of {of!r}; they are: {', '.join(labels)}."
            )
        chosen = (labels.index(text),)
    names = tuple(name if alone else f"{name} {labels[i]}" for i in chosen)
    return Channel(kind, of, node, chosen, names)


def speed_names(system: System) -> list[str]:
    """The names of the degrees of freedom in the layout of v: body.joint0, body.mode0, ..."""
    return [
        f"{body}.{label}{i}"
        for body, where in system.layout.items()
        for part, label in ((where.v_modes, "mode"), (where.v_joint, "joint"))
        for i in range(part.stop - part.start)
    ]


def coordinate_names(system: System) -> list[str]:
    """The names of the coordinates in the layout of q, as those of `speed_names`."""
    return [
        f"{body}.{label}{i}"
        for body, where in system.layout.items()
        for part, label in ((where.q_modes, "mode"), (where.q_joint, "joint"))
        for i in range(part.stop - part.start)
    ]
