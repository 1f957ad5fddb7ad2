"""The panels that a result can show, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from limber.bodies.section_forces import SectionForces
from limber.checks import Array
from limber.drawing.colours import COLOURS
from limber.dynamics import jacobian
from limber.dynamics.evaluate import evaluated
from limber.errors import ArgumentValueError
from limber.joints import coordinates as C
from limber.plotting.panel import Line, Panel
from limber.plotting.reference import Reference
from limber.simulation.result import Result


@dataclass(frozen=True, eq=False)
class Selection:
    """What to plot: a result, some of its bodies, a node of each, an optional reference, and stations of beams and
    frames.
    """

    result: Result
    bodies: list[str]
    nodes: dict[str, int]
    reference: Reference | None = None
    stations: Mapping[str, Any] = field(default_factory=dict)

    def key(self, body: str) -> int:
        """The number of a body in the system, which determines its colour."""
        return list(self.result.system.layout).index(body)

    def of(self, result: Result) -> Selection:
        """The same selection for another result."""
        return Selection(result, self.bodies, self.nodes, stations=self.stations)


def _joint_panels(
    selection: Selection,
    of: Callable,
    values: Callable,
    labels: dict[str, str],
    reference: dict | None,
) -> list[Panel]:
    """Panels of a quantity with one value per joint coordinate (or speed), split by unit."""
    s, t = selection.result.system, selection.result.t
    lines: dict[str, list[Line]] = {kind: [] for kind in labels}
    pale: dict[str, list[Line]] = {kind: [] for kind in labels}
    for body in selection.bodies:
        columns = values(body)
        seen: dict[str, int] = {}
        for i, (kind, name) in enumerate(of(s.joints[body])):
            variant = seen[kind] = seen.get(kind, -1) + 1
            label = f"{body} {name}".strip()
            lines[kind].append(Line(label, t, columns[:, i], selection.key(body), variant))
            if reference and selection.reference:
                times, y = selection.reference.t, reference[body][:, i]
                pale[kind].append(Line(label, times, y, selection.key(body), variant))
    found = [
        Panel(label, lines[kind], reference=pale[kind])
        for kind, label in labels.items()
        if lines[kind]
    ]
    if not found:
        raise ArgumentValueError(
            f"none of the bodies {', '.join(map(repr, selection.bodies))} has a joint that moves."
        )
    return found


def joints(selection: Selection) -> list[Panel]:
    """Joint coordinates."""
    labels = {
        C.ANGLE: "joint angle (rad)",
        C.DISPLACEMENT: "joint displacement (m)",
        C.QUATERNION: "quaternion",
    }
    reference = selection.reference.joints if selection.reference else None
    return _joint_panels(selection, C.coordinates, selection.result.joint, labels, reference)


def speeds(selection: Selection) -> list[Panel]:
    """Joint speeds."""
    labels = {C.ANGLE: "joint rate (rad/s)", C.DISPLACEMENT: "joint velocity (m/s)"}
    reference = selection.reference.speeds if selection.reference else None
    return _joint_panels(selection, C.speeds, selection.result.joint_speed, labels, reference)


def accelerations(selection: Selection) -> list[Panel]:
    """Rates of the joint speeds."""
    r = selection.result
    labels = {C.ANGLE: "joint acceleration (rad/s²)", C.DISPLACEMENT: "joint acceleration (m/s²)"}
    return _joint_panels(
        selection, C.speeds, lambda b: r.vdot[:, r.system.layout[b].v_joint], labels, None
    )


def torques(selection: Selection) -> list[Panel]:
    """Joint torques and forces; without the panel of the ones where only the others act, as on a free base."""
    r = selection.result
    labels = {C.ANGLE: "joint torque (N m)", C.DISPLACEMENT: "joint force (N)"}
    found = _joint_panels(
        selection, C.speeds, lambda b: r.tau[:, r.system.layout[b].v_joint], labels, None
    )
    return [panel for panel in found if any(np.any(x.y) for x in panel.lines)] or found


def errors(selection: Selection) -> list[Panel]:
    """Joint coordinates minus those of the reference; for quaternions, the angle between them."""
    if selection.reference is None:
        raise ArgumentValueError(
            'what="errors" needs reference=: another Result, or a function of t that gives joint coordinates.'
        )
    s, known = selection.result.system, selection.reference
    labels = {C.ANGLE: "joint error (rad)", C.DISPLACEMENT: "joint error (m)"}
    lines: dict[str, list[Line]] = {kind: [] for kind in labels}
    for body in selection.bodies:
        key = selection.key(body)
        here, there = selection.result.joint(body)[known.rows], known.joints[body]
        for variant, at in enumerate(s.joints[body].quaternions()):
            apart = [np.linalg.norm(here[:, at] - sign * there[:, at], axis=1) for sign in (1, -1)]
            angle = 4.0 * np.arctan2(np.minimum(*apart), np.maximum(*apart))
            lines[C.ANGLE].append(Line(f"{body} turn", known.t, angle, key, variant))
        for i, (kind, name) in enumerate(C.coordinates(s.joints[body])):
            if kind in labels:
                label = f"{body} {name}".strip()
                lines[kind].append(Line(label, known.t, here[:, i] - there[:, i], key, i))
    found = [Panel(labels[k], lines[k]) for k in labels if lines[k]]
    if not found:
        raise ArgumentValueError(
            f"none of the bodies {', '.join(map(repr, selection.bodies))} has a joint that moves."
        )
    return found


def modes(selection: Selection) -> list[Panel]:
    """Modal coordinates, one panel per flexible body."""
    found = []
    for body in _flexible(selection, "modes"):
        eta = selection.result.modal(body)
        n = eta.shape[1]
        lines = [Line(f"mode {i + 1}", selection.result.t, eta[:, i], i) for i in range(n)]
        found.append(Panel("modal coordinate", lines, title=body))
    return found


def deflection(selection: Selection) -> list[Panel]:
    """The displacement of a node of each flexible body from its undeformed position, in body axes."""
    return _of_nodes(selection, "deflection", "deflection (m)", selection.result.deflection)


def rotation(selection: Selection) -> list[Panel]:
    """The rotation of a node of each flexible body from its undeformed orientation, in body axes."""
    r = selection.result

    def turned(body: str, node: int) -> Array:
        return r.system.bodies[body].node_set.shapes[[node]].turns(r.modal(body))[:, 0]

    return _of_nodes(selection, "rotation", "rotation (rad)", turned)


def _of_nodes(selection: Selection, what: str, label: str, of: Callable) -> list[Panel]:
    """Three numbers, of(body, node) (n, 3), of a node of each flexible body."""
    lines = []
    for body in _flexible(selection, what):
        name = selection.result.system.bodies[body].node_set.names[selection.nodes[body]]
        values = of(body, selection.nodes[body])
        for i, axis in enumerate("xyz"):
            text = f"{body} {name} {axis}"
            lines.append(
                Line(text, selection.result.t, values[:, i], selection.key(body), (i + 2) % 3)
            )
    return [Panel(label, lines)]


def moments(selection: Selection) -> list[Panel]:
    """Torsion and bending moments of beams and frames, one panel per station; by default where the bending moment is
    largest.
    """
    found = []
    for body, forces in _section_forces(selection, "moments"):
        parts = {"torsion": forces.torsion, "y": forces.moment_y, "z": forces.moment_z}
        size = np.hypot(np.nan_to_num(parts["y"]), np.nan_to_num(parts["z"]))
        found += _station_panels(selection, body, forces.names, "moment (N m)", parts, size)
    return found or _nothing(selection, "moments", "is a beam or a frame")


def forces(selection: Selection) -> list[Panel]:
    """Axial and shear forces of beams and frames, one panel per station; by default where the largest force is."""
    found = []
    for body, forces in _section_forces(selection, "forces"):
        parts = {"axial": forces.axial, "y": forces.shear_y, "z": forces.shear_z}
        size = np.max([np.nan_to_num(np.abs(x)) for x in parts.values()], axis=0)
        found += _station_panels(selection, body, forces.names, "section force (N)", parts, size)
    return found or _nothing(selection, "forces", "is a beam or a frame")


def _station_panels(
    selection: Selection,
    body: str,
    names: tuple[str, ...],
    label: str,
    parts: dict[str, Array],
    size: Array,
) -> list[Panel]:
    """A panel for each station to show, of parts (n, stations) by name; unknown ones are named in its title."""
    found = []
    for k in _stations(selection, body, size):
        lines = [
            Line(name, selection.result.t, x[:, k], i)
            for i, (name, x) in enumerate(parts.items())
            if not np.isnan(x[:, k]).any()
        ]
        unknown = [name for name, x in parts.items() if np.isnan(x[:, k]).any()]
        title = f"{body} at {names[k]}"
        if unknown:
            title += f" ({', '.join(unknown)}: not known)"
        found.append(Panel(label, lines, title=title))
    return found


def strain(selection: Selection) -> list[Panel]:
    """Strains of gauges, or else the largest strain on the surface of beams and frames, one panel per body."""
    found = []
    r = selection.result
    for body in _flexible(selection, "strain"):
        recovery = r.system.bodies[body].recovered()
        if recovery is not None and recovery.strain is not None and body not in selection.stations:
            values = r.strain(body)
            lines = [Line(g, r.t, values[:, i], i) for i, g in enumerate(recovery.gauges)]
        elif recovery is not None and recovery.forces is not None:
            forces = r.section_forces(body, selection.stations.get(body))
            lines = _worst_points(selection, body, forces, forces.surface_strain)
            if not lines:
                continue
        else:
            continue
        found.append(Panel("strain", lines, title=body))
    return found or _nothing(selection, "strain", "has gauges or a section with a surface")


def stress(selection: Selection) -> list[Panel]:
    """Normal and von Mises stress where the latter is largest on the surface of beams and frames, one panel per
    station.
    """
    found = []
    refusal = None
    for body, forces in _section_forces(selection, "stress"):
        try:
            normal, both = 1e-6 * forces.surface_stress, 1e-6 * forces.von_mises
        except ArgumentValueError as error:  # it says what the sections lack
            refusal = error
            continue
        size = np.nan_to_num(both)
        for k in _stations(selection, body, size.max(axis=2, initial=0.0)):
            p = int(size[:, k].max(axis=0, initial=0.0).argmax())
            lines = [
                Line("von Mises", selection.result.t, both[:, k, p], 1),
                Line(
                    f"normal at {_point(forces, k, p)}", selection.result.t, normal[:, k, p], 0, 1
                ),
            ]
            found.append(Panel("stress (MPa)", lines, title=f"{body} at {forces.names[k]}"))
    if not found and refusal is not None:
        raise refusal
    return found or _nothing(selection, "stress", "is a beam or a frame")


def _section_forces(selection: Selection, what: str) -> list[tuple[str, SectionForces]]:
    """The bodies that have section forces, with the forces at the requested stations."""
    r = selection.result
    found = []
    for body in _flexible(selection, what):
        recovery = r.system.bodies[body].recovered()
        if recovery is not None and recovery.forces is not None:
            found.append((body, r.section_forces(body, selection.stations.get(body))))
    return found


def _stations(selection: Selection, body: str, size: Array) -> list[int]:
    """The stations to show, by number: all requested ones, or else the one where size (n, stations) is largest."""
    if body in selection.stations:
        return list(range(size.shape[1]))
    return [int(np.nan_to_num(size).max(axis=0).argmax())]


def _worst_points(
    selection: Selection, body: str, forces: SectionForces, values: Array
) -> list[Line]:
    """A line for each station to show, of the point of its surface at which values (n, stations, p) are largest."""
    size = np.nan_to_num(np.abs(values))
    if not values.shape[2]:
        return []
    lines = []
    for i, k in enumerate(_stations(selection, body, size.max(axis=2))):
        p = int(size[:, k].max(axis=0).argmax())
        label = f"{forces.names[k]}, {_point(forces, k, p)}"
        lines.append(Line(label, selection.result.t, values[:, k, p], i))
    return lines


def _point(forces: SectionForces, station: int, point: int) -> str:
    places = forces.surface[0, station]
    near = 1e-9 * float(np.nanmax(np.abs(places)))
    y, z = (0.0 if abs(x) <= near else x for x in places[point])
    return f"y = {y:.4g} m, z = {z:.4g} m"


def _nothing(selection: Selection, what: str, needed: str) -> list[Panel]:
    raise ArgumentValueError(
        f"what={what!r}: none of the bodies {', '.join(map(repr, selection.bodies))} {needed}."
    )


def elastic_energy(result: Result) -> Array:
    """(n,), J: the part of the potential energy that the modes store."""
    stored = np.zeros(len(result))
    for name, body in result.system.bodies.items():
        eta = result.modal(name)
        stored += 0.5 * np.einsum("ni,ij,nj->n", eta, body.stiffness, eta)
    return stored


def energy(selection: Selection) -> list[Panel]:
    """Energies of the whole system."""
    r = selection.result
    elastic = elastic_energy(r)
    lines = [Line("kinetic", r.t, r.kinetic_energy, 0)]
    if any(b.modes for b in r.system.bodies.values()):
        lines.append(Line("elastic", r.t, elastic, 1, 1))
    if np.any(r.system.gravity):
        lines.append(Line("gravity", r.t, r.potential_energy - elastic, 2, 3))
    return [Panel("energy (J)", [*lines, Line("total", r.t, r.energy, None, 2)])]


def power(selection: Selection) -> list[Panel]:
    """The energy balance: powers, and the audit of their work against the change of energy."""
    r = selection.result
    audit = r.power_audit()
    lost = -evaluated(r.system, "dissipation", (r.q, r.v))
    powers = [
        Line("actuators", r.t, np.einsum("ni,ni->n", r.tau, r.v), 0),
        Line("dampers", r.t, lost, 1, 1),
    ]
    if r.external:
        given = np.zeros(len(r))
        for (body, node), wrench in r.external.items():
            given += np.einsum("ni,nij,nj->n", wrench, jacobian(r.system, r.q, body, node), r.v)
        powers.append(Line("external", r.t, given, 3, 3))
    works = [
        Line("energy change", r.t, audit.energy - audit.energy[0], None),
        Line("work", r.t, audit.work, 0, 1),
        Line("dissipation", r.t, audit.dissipation, 1, 2),
    ]
    if r.external:
        works.append(Line("external", r.t, audit.external, 3, 3))
    if np.any(audit.actions):
        works.append(Line("actions", r.t, audit.actions, 4, 1))
    rest = [Line("change minus energy supplied", r.t, audit.residual, 2)]
    return [Panel("power (W)", powers), Panel("energy (J)", works), Panel("residual (J)", rest)]


def signals(selection: Selection) -> list[Panel]:
    """Measurements and commands of a sampled controller, one panel per signal; commands are held between samples."""
    r = selection.result
    found = []
    for name, samples in r.signals.items():
        if name == "guard" and not samples.y.any():
            continue  # everything is fine
        within = (samples.t >= r.t[0]) & (samples.t <= r.t[-1])
        t, y = samples.t[within], samples.y[within]
        if name == "command" and len(t) > 1:
            t, y = np.repeat(t, 2)[1:], np.repeat(y, 2, axis=0)[:-1]
        lines = [
            Line(label, t, column, i % len(COLOURS), i // len(COLOURS))
            for i, (label, column) in enumerate(zip(samples.labels, y.T))
        ]
        label = f"{name} ({samples.unit})" if samples.unit else name
        found.append(Panel(label, lines))
    if not found:
        raise ArgumentValueError(
            'what="signals" shows what a sampled controller measured and commanded, but this result has no such signals: pass '
            "an lb.control.Loop or a controller as simulate(torque=...)."
        )
    return found


def _flexible(selection: Selection, what: str) -> list[str]:
    bodies = selection.result.system.bodies
    found = [b for b in selection.bodies if bodies[b].modes]
    if not found:
        raise ArgumentValueError(
            f"what={what!r}: none of the bodies {', '.join(map(repr, selection.bodies))} is flexible."
        )
    return found


#: name to (panels of it, whether those of a reference result can lie beneath)
PANELS: dict[str, tuple[Callable[[Selection], list[Panel]], bool]] = {
    "joints": (joints, False),
    "speeds": (speeds, False),
    "accelerations": (accelerations, True),
    "torques": (torques, True),
    "modes": (modes, True),
    "deflection": (deflection, True),
    "rotation": (rotation, True),
    "moments": (moments, True),
    "forces": (forces, True),
    "strain": (strain, True),
    "stress": (stress, True),
    "energy": (energy, True),
    "power": (power, False),
    "errors": (errors, False),
    "signals": (signals, False),
}
