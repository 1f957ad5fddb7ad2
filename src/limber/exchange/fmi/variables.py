"""The variables of an FMU: states and their derivatives, inputs, outputs and parameters, with names and units.

Value references number all of them in this order, after time, which is 0.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from limber.assembly.parameters import Parameter
from limber.assembly.system import System
from limber.checks import Array
from limber.control.sensors import StrainGauge
from limber.errors import ArgumentValueError
from limber.exchange.fmi.units import NOT_NEGATIVE, OF_JOINTS, OF_PARAMETERS, SYMMETRIC
from limber.joints.coordinates import ANGLE, DISPLACEMENT, QUATERNION, coordinates, speeds

#: A place on a body: its node, by name or number, or None for the body frame.
End = tuple[str, str | int | None]

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: The characters of quoted names in the structured naming convention.
_QUOTABLE = re.compile(r"[A-Za-z0-9_!#$%&()*+,\-./:;<>=?@\[\]^{}|~ ]*")
_RATES = {ANGLE: ("rad", "rad/s", "rad/s2", "N.m"), DISPLACEMENT: ("m", "m/s", "m/s2", "N")}


@dataclass(frozen=True)
class Variable:
    """One scalar variable.

    start : its initial value; None if it is computed.
    of_state : for a derivative, the number of its state.
    shown : for a state, whether it is an output.
    least : the smallest allowed value.
    """

    name: str
    unit: str | None
    meaning: str
    start: float | None = None
    of_state: int | None = None
    shown: bool = False
    least: float = -math.inf


@dataclass(frozen=True)
class Variables:
    """All variables of an FMU.

    torques : the places in v of the joint forces, which are the first inputs; the wrenches at `forces` follow.
    nodes : the nodes whose poses and velocities are outputs, after the two energies.
    accelerations : the nodes whose accelerations are outputs, after these.
    strains : for each strain gauge, its body and its readings per unit of each mode; they are the last outputs.
    named : the parameters, each with one or more numbers.
    structured : whether names follow the structured naming convention.
    """

    states: list[Variable]
    rates: list[Variable]
    inputs: list[Variable]
    outputs: list[Variable]
    parameters: list[Variable]
    torques: list[int]
    forces: list[End]
    nodes: list[End]
    accelerations: list[End]
    strains: list[tuple[str, Array]]
    named: list[Parameter]
    structured: bool

    @cached_property
    def names(self) -> list[str]:
        """All names, in the order of value references."""
        parts = (self.states, self.rates, self.inputs, self.outputs, self.parameters)
        return ["time", *(x.name for part in parts for x in part)]


def variables(
    system: System,
    q0: Array,
    v0: Array,
    parameters: Sequence[Parameter],
    nodes: Sequence[End],
    forces: Sequence[End],
    accelerations: Sequence[End] = (),
    gauges: Sequence[StrainGauge] = (),
) -> Variables:
    """The variables of a system that starts at q0, v0."""
    owners = [*system.bodies, *system.closures, *system._parts]
    owners += [node for _, node in (*nodes, *forces, *accelerations) if isinstance(node, str)]
    owners += [gauge.name for gauge in gauges]
    structured = all(_QUOTABLE.fullmatch(name) for name in owners)
    spelled = _Spelling(structured)
    states, rates = _states(system, spelled, q0, v0)
    torques, inputs = _torques(system, spelled)
    outputs = [*_ENERGIES, *(x for end in nodes for x in _pose(spelled, end))]
    outputs += [x for end in accelerations for x in _vectors(spelled, end, _ACCELERATIONS)]
    strains = [(gauge.body, gauge.rows(system)) for gauge in gauges]
    for gauge, (_, rows) in zip(gauges, strains):
        outputs += _strain(spelled, gauge, len(rows))
    found = Variables(
        states,
        rates,
        [*inputs, *(x for end in forces for x in _wrench(spelled, end))],
        outputs,
        [x for p in parameters for x in _numbers(system, spelled, p)],
        torques,
        list(forces),
        list(nodes),
        list(accelerations),
        strains,
        list(parameters),
        structured,
    )
    twice = [name for name, count in Counter(found.names).items() if count > 1]
    if twice:
        raise ArgumentValueError(
            f"two variables of the FMU would have the name {twice[0]!r}: give the bodies, joints, nodes and gauges other names, "
            "without dots."
        )
    return found


_ENERGIES = (
    Variable("kinetic_energy", "J", "kinetic energy"),
    Variable("potential_energy", "J", "energy of gravity, bodies and joints"),
)


class _Spelling:
    """Names of variables, from names of bodies, joints and nodes."""

    def __init__(self, structured: bool):
        self.structured = structured

    def __call__(self, *parts: str, at: tuple[int, ...] = ()) -> str:
        """a.b.c, or a.b.c[1,2] with indices from 0 `at`."""
        name = ".".join(map(self._part, parts))
        return f"{name}[{','.join(str(i + 1) for i in at)}]" if at else name

    def _part(self, text: str) -> str:
        if not self.structured:
            bad = next((x for x in text if not x.isprintable()), None)
            if bad is not None:
                raise ArgumentValueError(
                    f"the name {text!r} has the character {bad!r}, which names in an FMU cannot have: rename the body, joint or node."
                )
            return text
        return text if _IDENTIFIER.fullmatch(text) else f"'{text}'"


def _joint_names(system: System) -> list[tuple[str, str, slice, slice]]:
    """(name, body, slice of q, slice of v) of every joint, parts of compound joints with names of their own apart."""
    found = []
    for body, where in system.layout.items():
        parts = [name for name, part in system._parts.items() if part.body == body]
        places = [system.layout[name] for name in parts]
        if sum(x.v_joint.stop - x.v_joint.start for x in places) != (
            where.v_joint.stop - where.v_joint.start
        ):
            parts, places = [body], [where]
        found += [(name, body, x.q_joint, x.v_joint) for name, x in zip(parts, places)]
    return found


def _states(
    system: System, spelled: _Spelling, q0: Array, v0: Array
) -> tuple[list[Variable], list[Variable]]:
    nq, nx = system.nq, system.nq + system.nv
    names, units = [""] * nx, [("", "")] * nx
    meanings, shown = [""] * nx, [False] * nx

    def put(i: int, name: str, unit: str, rate: str, meaning: str, visible: bool) -> None:
        names[i], units[i], meanings[i], shown[i] = name, (unit, rate), meaning, visible

    for body, where in system.layout.items():
        for i in range(where.q_modes.stop - where.q_modes.start):
            of = f"mode {i + 1} of body {body!r}"
            eta, rate = (spelled(body, x, at=(i,)) for x in ("eta", "eta_dot"))
            put(where.q_modes.start + i, eta, "", "1/s", f"coordinate of {of}", False)
            put(nq + where.v_modes.start + i, rate, "1/s", "1/s2", f"speed of {of}", False)
    for name, body, at_q, at_v in _joint_names(system):
        start_q, start_v = system.layout[body].q_joint.start, system.layout[body].v_joint.start
        of_q, of_v = coordinates(system.joints[body]), speeds(system.joints[body])
        several_q, several_v = at_q.stop - at_q.start > 1, at_v.stop - at_v.start > 1
        for n, i in enumerate(range(at_q.start, at_q.stop)):
            kind, label = of_q[i - start_q]
            unit, rate = ("", "1/s") if kind == QUATERNION else _RATES[kind][:2]
            put(
                i,
                spelled(name, "q", at=(n,) if several_q else ()),
                unit,
                rate,
                f"{kind} {label}".strip() + f" of the joint of body {body!r}",
                True,
            )
        for n, i in enumerate(range(at_v.start, at_v.stop)):
            kind, label = of_v[i - start_v]
            what = "speed" if kind == DISPLACEMENT else "angular speed"
            put(
                nq + i,
                spelled(name, "v", at=(n,) if several_v else ()),
                *_RATES[kind][1:3],
                f"{what} {label}".strip() + f" of the joint of body {body!r}",
                True,
            )
    start = [*q0.tolist(), *v0.tolist()]
    states = [
        Variable(names[i], units[i][0] or None, meanings[i], start[i], shown=shown[i])
        for i in range(nx)
    ]
    rates = [
        Variable(f"der({names[i]})", units[i][1], f"rate of the {meanings[i]}", of_state=i)
        for i in range(nx)
    ]
    return states, rates


def _torques(system: System, spelled: _Spelling) -> tuple[list[int], list[Variable]]:
    places, found = [], []
    for name, body, _, at in _joint_names(system):
        kinds = speeds(system.joints[body])
        start = system.layout[body].v_joint.start
        for n, i in enumerate(range(at.start, at.stop)):
            kind, label = kinds[i - start]
            what = "force" if kind == DISPLACEMENT else "torque"
            places.append(i)
            found.append(
                Variable(
                    spelled(name, "tau", at=(n,) if at.stop - at.start > 1 else ()),
                    _RATES[kind][3],
                    f"{what} {label}".strip() + f" at the joint of body {body!r}",
                    0.0,
                )
            )
    return places, found


def _place(end: End) -> tuple[str, str, str]:
    """The body, the name of the node in variables, and the place in words."""
    body, node = end
    if node is None:
        return body, "frame", f"the frame of body {body!r}"
    name = node if isinstance(node, str) else f"node{node}"
    return body, name, f"node {node!r} of body {body!r}"


def _wrench(spelled: _Spelling, end: End) -> list[Variable]:
    body, node, words = _place(end)
    return [
        Variable(
            spelled(body, node, what, at=(i,)),
            unit,
            f"{what} {'xyz'[i]} at {words}, world axes",
            0.0,
        )
        for what, unit in (("moment", "N.m"), ("force", "N"))
        for i in range(3)
    ]


def _pose(spelled: _Spelling, end: End) -> list[Variable]:
    body, node, words = _place(end)
    found = [
        Variable(
            spelled(body, node, "rotation", at=(i, j)),
            None,
            f"component {'xyz'[i]} of axis {'xyz'[j]} of {words} in the world",
        )
        for i in range(3)
        for j in range(3)
    ]
    return found + _vectors(spelled, end, _MOTION)


#: Vectors of a node: their names, units and meanings, in the order of their values.
_MOTION = (
    ("position", "m", "position"),
    ("angular_velocity", "rad/s", "angular velocity"),
    ("velocity", "m/s", "velocity"),
)
_ACCELERATIONS = (
    ("angular_acceleration", "rad/s2", "angular acceleration"),
    ("acceleration", "m/s2", "acceleration"),
)


def _vectors(
    spelled: _Spelling, end: End, vectors: Sequence[tuple[str, str, str]]
) -> list[Variable]:
    body, node, words = _place(end)
    return [
        Variable(
            spelled(body, node, name, at=(i,)),
            unit,
            f"{what} {'xyz'[i]} of {words}, world axes",
        )
        for name, unit, what in vectors
        for i in range(3)
    ]


def _strain(spelled: _Spelling, gauge: StrainGauge, count: int) -> list[Variable]:
    places = [(i,) for i in range(count)] if count > 1 else [()]
    words = f"strain of body {gauge.body!r} at the gauge {gauge.name!r}"
    return [Variable(spelled(gauge.name, at=at), None, words) for at in places]


def _numbers(system: System, spelled: _Spelling, parameter: Parameter) -> list[Variable]:
    owner = parameter.body or parameter.closure
    parts = (parameter.quantity,) if owner is None else (owner, parameter.quantity)
    least = 0.0 if parameter.quantity in NOT_NEGATIVE else -math.inf
    units = _units(system, parameter)
    return [
        Variable(spelled(*parts, at=at), units[n], parameter.meaning, float(value), least=least)
        for n, (at, value) in enumerate(np.ndenumerate(parameter.value))
        if at in places(parameter)
    ]


def places(parameter: Parameter) -> list[tuple[int, ...]]:
    """The elements of a parameter that are variables: all, but only the upper triangle of a symmetric matrix."""
    found = list(np.ndindex(parameter.value.shape))
    if parameter.quantity in SYMMETRIC and parameter.value.ndim == 2:
        found = [at for at in found if at[0] <= at[1]]
    return found


def _units(system: System, parameter: Parameter) -> list[str | None]:
    """The unit of every number of a parameter."""
    count = parameter.value.size
    if parameter.quantity in OF_JOINTS and parameter.body is not None:
        kinds = [kind for kind, _ in speeds(system.joints[parameter.body])]
        if len(set(kinds)) == 1:
            kinds = kinds[:1] * count
        if len(kinds) != count:  # some speeds do not have it
            return [None] * count
        angle, displacement = OF_JOINTS[parameter.quantity]
        return [displacement if kind == DISPLACEMENT else angle for kind in kinds]
    return [OF_PARAMETERS.get(parameter.quantity)] * count
