"""Quantities of a case: numbers computed from its motion.

In files and in Python a quantity is written as {"peak": {"deflection": ["link3", "tip"]}, "after": 8}: a number
computed from one signal of a `Result`. In Python it may also be any function of the `Result`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import ValidationError

from limber.assembly import System
from limber.bodies.beam_forces import section_forces_of
from limber.bodies.section_forces import SectionForces
from limber.campaigns.records import described
from limber.checks import Array, listed, shown, suggestion, takes
from limber.errors import ArgumentTypeError, ArgumentValueError, LimberError
from limber.io.fields import Check, Flag, Name, Number, choice, named, number, numbers, problem
from limber.io.section import Section, explained
from limber.simulation import Result


def _node(value: Any) -> tuple[str, Any]:
    """[body, node]."""
    if not isinstance(value, list | tuple) or len(value) != 2 or not isinstance(value[0], str):
        raise problem(f"must be [body, node], got {named(value)}.")
    return value[0], value[1]


def _body(value: Any) -> str:
    """The name of a body, or a list with only this name."""
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    if not isinstance(value, str):
        raise problem(f"must be the name of a body, got {named(value)}.")
    return value


def _place(value: Any) -> tuple[str, Any]:
    """[body, node], or the name of a body for its frame."""
    return (value, None) if isinstance(value, str) else _node(value)


def _station(value: Any) -> tuple[str, Any]:
    """[body, station], where the station is a name, or a distance in m from the root."""
    match value:
        case [str(body), str() | int() | float() as at] if not isinstance(at, bool):
            return body, at
    raise problem(f"must be [body, station], with a name or a distance in m; got {named(value)}.")


def _true(value: Any) -> bool:
    if value is not True:
        raise problem(f"must be true, got {named(value)}.")
    return True


def _component(value: Any) -> int:
    if isinstance(value, str) and value in "xyz" and len(value) == 1:
        return "xyz".index(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise problem(f"must be x, y, z or a number of at least 0, got {named(value)}.")
    return value


_PAIR = {"type": "array", "minItems": 2, "maxItems": 2}
_TEXT = {"type": "string"}
NodeOf = Annotated[Any, Check(_node, _PAIR)]
PlaceOf = Annotated[Any, Check(_place, {"anyOf": [_TEXT, _PAIR]})]
StationOf = Annotated[Any, Check(_station, _PAIR)]
BodyOf = Annotated[Any, Check(_body, _TEXT)]
Whole = Annotated[Any, Check(_true, {"const": True})]


#: Signals of joints, which may be named by their own names.
OF_JOINTS = ("joint", "joint_speed", "torque", "joint_wrench")
#: Signals of a node, and of the sections of beams and frames.
OF_NODES = ("position", "velocity", "acceleration")
OF_SECTIONS: dict[str, tuple[str, ...]] = {
    "section_force": ("axial", "shear_y", "shear_z"),
    "section_moment": ("torsion", "moment_y", "moment_z"),
}
#: Of these the signal is the largest magnitude on the surface.
ON_SURFACES = ("surface_strain", "surface_stress", "von_mises")


class SignalSection(Section):
    """A signal of a result: motion of a joint or a node, deflection, loads and stresses, energy, or a sampled signal."""

    one_of: ClassVar[tuple[str, ...]] = (
        "joint", "joint_speed", "torque", "joint_wrench", "modal", "deflection", "position", "velocity", "acceleration",
        "section_force", "section_moment", "surface_strain", "surface_stress", "von_mises", "strain", "energy",
        "kinetic_energy", "potential_energy", "signal",
    )  # fmt: skip
    short: ClassVar[str] = "energy, kinetic_energy, potential_energy"
    joint: BodyOf | None = None
    joint_speed: BodyOf | None = None
    torque: BodyOf | None = None
    joint_wrench: BodyOf | None = None
    modal: BodyOf | None = None
    deflection: NodeOf | None = None
    position: PlaceOf | None = None
    velocity: PlaceOf | None = None
    acceleration: PlaceOf | None = None
    section_force: StationOf | None = None
    section_moment: StationOf | None = None
    surface_strain: StationOf | None = None
    surface_stress: StationOf | None = None
    von_mises: StationOf | None = None
    strain: NodeOf | None = None
    energy: Whole | None = None
    kinetic_energy: Whole | None = None
    potential_energy: Whole | None = None
    signal: Name | None = None

    @classmethod
    def shorthand(cls, data: Any) -> Any:
        """`energy`."""
        return {data: True} if isinstance(data, str) and data.endswith("energy") else data

    @property
    def kind(self) -> str:
        """The kind of signal."""
        return next(name for name in self.one_of if getattr(self, name) is not None)

    def check(self, system: System) -> None:
        """Reject bodies, nodes, sections and gauges that the system does not have."""
        kind, given = self.kind, getattr(self, self.kind)
        if given is True or kind == "signal":
            return
        body, node = given if isinstance(given, tuple) else (given, None)
        if kind in OF_JOINTS:
            system.joint_layout(body)
            return
        system.number(body)
        if kind in OF_SECTIONS or kind in ON_SURFACES:
            per_mode = section_forces_of(system.bodies[body], node, f"body {body!r}")
            _of_sections(per_mode.at(np.zeros((1, per_mode.forces.shape[-1]))), kind)
        elif kind == "strain":
            still = np.zeros((2, 1, system.nv))
            Result(system, np.zeros(1), system.neutral()[None], *still).strain(body, node)
        elif node is not None:
            system.node_number(body, node, kind)

    def samples(self, result: Result) -> tuple[Array, Array]:
        """The times (n,) of the signal, and its values (n, width)."""
        kind, given = self.kind, getattr(self, self.kind)
        if kind == "signal":
            if given not in result.signals:
                raise ArgumentValueError(
                    f"there is no signal {given!r} in the result; it has: {listed(result.signals) or 'none'}. "
                    f"{suggestion(given, result.signals)}"
                )
            sampled = result.signals[given]
            return sampled.t, np.asarray(sampled.y, dtype=float).reshape(len(sampled.t), -1)
        if kind == "torque":
            found = result.tau[:, result.system.joint_layout(given).v_joint]
        elif kind in ("deflection", "strain"):
            found = getattr(result, kind)(*given)
        elif kind in OF_NODES:
            found = getattr(result.node(*given), kind)
        elif kind in OF_SECTIONS or kind in ON_SURFACES:
            found = _of_sections(result.section_forces(*given), kind)
        elif kind.endswith("energy"):
            found = getattr(result, kind)
        else:
            found = getattr(result, kind)(given)
        return result.t, found.reshape(len(result), -1)


def _of_sections(forces: SectionForces, kind: str) -> Array:
    """A signal of section forces over time, (n, width)."""
    count = len(forces.forces)
    if kind in OF_SECTIONS:
        parts = [getattr(forces, name).reshape(count, -1) for name in OF_SECTIONS[kind]]
        return np.concatenate(parts, axis=1)
    points = np.abs(getattr(forces, kind)).reshape(count, -1)
    there = ~np.isnan(forces.surface[0]).any(axis=-1).ravel()  # sections may have fewer points
    return points[:, there].max(axis=1, keepdims=True)


class QuantitySection(Section):
    """A number computed from a signal: its final value, its peak, its settling time, ..."""

    one_of: ClassVar[tuple[str, ...]] = (
        "final", "max", "min", "mean", "peak", "rms", "range", "settle",
    )  # fmt: skip
    final: SignalSection | None = None
    max: SignalSection | None = None
    min: SignalSection | None = None
    mean: SignalSection | None = None
    peak: SignalSection | None = None
    rms: SignalSection | None = None
    range: SignalSection | None = None
    settle: SignalSection | None = None
    component: Annotated[int, Check(_component, {"type": ["integer", "string"]})] | None = None
    target: Annotated[Any, numbers(("n",), scalar=True)] | None = None
    after: Annotated[float, number(minimum=0.0)] | None = None
    until: Annotated[float, number(above=0.0)] | None = None
    within: Annotated[float, number(above=0.0)] | None = None
    norm: Flag = False
    worst: Annotated[str, choice("largest", "smallest")] = "largest"
    unit: Name | None = None
    scale: Number = 1.0
    below: Number | None = None
    above: Number | None = None

    @property
    def kind(self) -> str:
        """The kind of number."""
        return next(name for name in self.one_of if getattr(self, name) is not None)

    def check(self, system: System) -> None:
        """Reject a quantity that cannot be computed for the system."""
        if (self.within is None) == (self.kind == "settle"):
            raise ArgumentValueError(
                "settle, and nothing else, needs within: the distance from its target within which the signal must stay."
            )
        if self.below is not None and self.above is not None and not self.above < self.below:
            raise ArgumentValueError(
                "above must be less than below: the quantity lies between them."
            )
        if self.after is not None and self.until is not None and not self.after < self.until:
            raise ArgumentValueError("after must be earlier than until.")
        getattr(self, self.kind).check(system)

    def __call__(self, result: Result) -> Array:
        """Compute the number, or one for each component, from a result."""
        t, signal = getattr(self, self.kind).samples(result)
        if self.component is not None:
            if self.component >= signal.shape[1]:
                raise ArgumentValueError(
                    f"component {self.component} was requested of a signal that has {signal.shape[1]}."
                )
            signal = signal[:, [self.component]]
        rows = np.ones(len(t), dtype=bool)
        if self.after is not None:
            rows &= t >= self.after
        if self.until is not None:
            rows &= t <= self.until
        if not rows.any():
            last = f"the last is {t[-1]:g} s" if len(t) else "there is none"
            raise ArgumentValueError(f"no output time lies between after and until; {last}.")
        signal, t = signal[rows], t[rows]
        if self.target is not None:
            goal = np.atleast_1d(self.target)
            if goal.size not in (1, signal.shape[1]):
                raise ArgumentValueError(
                    f"target has {goal.size} numbers, but the signal has {signal.shape[1]}."
                )
            signal = signal - goal
        if self.norm:
            signal = np.linalg.norm(signal, axis=1)[:, None]
        found = np.asarray(_reduced(self.kind, t, signal, self.within, self.target is None))
        return self.scale * (found[0] if found.shape == (1,) else found)


def _reduced(kind: str, t: Array, signal: Array, within: float | None, own_end: bool) -> Any:
    """A number computed from the rows of a signal (n, width); the guide describes each kind."""
    if kind in ("max", "min", "mean"):
        return getattr(signal, kind)(axis=0)
    if kind == "final":
        return signal[-1]
    if kind == "range":
        return float(np.ptp(signal, axis=0).max())
    if kind == "settle":
        off = np.linalg.norm(signal - signal[-1] if own_end else signal, axis=1)
        outside = np.flatnonzero(off > within)
        if not outside.size:
            return float(t[0])
        last = int(outside[-1])
        return float(t[last + 1]) if last + 1 < len(t) else np.nan  # it does not settle
    size = np.linalg.norm(signal, axis=1)
    return float(size.max()) if kind == "peak" else float(np.sqrt((size**2).mean()))


@dataclass(frozen=True, eq=False)
class Quantity:
    """A quantity that is kept of every case, with its name.

    record : how it was given, for the record of a campaign.
    below, above : the requirement on it, if there is one; it changes no numbers and is not in the record.
    """

    name: str
    measure: Callable[[Result], Any]
    record: Any
    smallest_is_worst: bool = False
    unit: str = ""
    below: float | None = None
    above: float | None = None


def quantity(name: str, given: Any, system: System | None) -> Quantity:
    """Make a quantity from a mapping, as in files, or from a function of a Result."""
    if isinstance(given, Mapping):
        try:
            section = QuantitySection.model_validate(dict(given))
        except ValidationError as caught:
            path, text = explained(caught.errors(include_url=False)[0])
            place = "".join(f".{key}" for key in path)
            raise ArgumentValueError(f"keep[{name!r}]{place}: {text}") from None
        return of_section(name, section, given, system)
    if not callable(given):
        raise ArgumentTypeError(
            f"keep[{name!r}] must be a function of a Result, or a mapping such as {{'final': {{'joint': 'link1'}}}}; got "
            f"{shown(given)}."
        )
    takes(f"keep[{name!r}]", given, "result")
    return Quantity(name, given, described(given))


def of_section(name: str, section: QuantitySection, given: Any, system: System | None) -> Quantity:
    """Make a quantity from a section of a file."""
    if system is not None:
        try:
            section.check(system)
        except LimberError as error:
            raise ArgumentValueError(f"keep[{name!r}]: {error}") from None
    record = {key: x for key, x in given.items() if key not in ("below", "above")}
    smallest = section.worst == "smallest"
    if "worst" not in section.model_fields_set:
        smallest = section.above is not None and section.below is None
    return Quantity(
        name, section, record, smallest, section.unit or "", section.below, section.above
    )
