"""The numbers that help to check a simulation: energy, momentum, final state and cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from rich.table import Table

from limber.assembly.extent import extent
from limber.cli.case import Case
from limber.cli.output import escape, escape_lines, pairs, table
from limber.drawing.tip import tip
from limber.errors import DynamicsError
from limber.joints import Free
from limber.joints.coordinates import ANGLE, DISPLACEMENT, coordinates
from limber.simulation import Result
from limber.simulation.topology import TopologyChange

#: A system is at rest if its energies change by less than the first fraction of them, which is rounding, or by less than
#: the second one if at least a tenth of the change is an error: explicit methods take steps at the limit of their
#: stability there, and vibrate at the size of the tolerance.
REST, NOISE, ERROR = 1e-13, 1e-9, 0.1

UNITS = {ANGLE: "rad", DISPLACEMENT: "m"}  # a quaternion has none


def summary(case: Case, result: Result) -> dict[str, Any]:
    """All of them, for --json and summary.json."""
    s = result.system
    found: dict[str, Any] = {
        "name": case.name,
        "description": case.description,
        "fidelity": s.fidelity,
        "nv": s.nv,
        "settings": case.settings,
        "duration": case.duration,
        "reached": result.t[-1] if len(result) else None,
        "rows": len(result),
        "message": result.message,
    }
    if len(result):
        with np.errstate(all="ignore"):
            found["energy"] = _finite(_energy, result)
            found["momentum"] = _finite(_momentum, result)
            found["joints"] = _joints(case, result)
            found["deflection"] = _deflection(result)
    if "guard" in result.signals:
        found["controller"] = _controller(case.torque, result)
    if result.changes:
        found["changes"] = [_change(change) for change in result.changes]
    cost = result.statistics
    found["solver"] = {
        "steps": cost.steps,
        "rejected": cost.rejected,
        "evaluations": cost.evaluations,
        "seconds": cost.seconds,
        "times_real_time": (result.t[-1] - result.t[0]) / cost.seconds
        if len(result) and cost.seconds
        else None,
    }
    return found


def _controller(loop: Any, result: Result) -> dict[str, Any]:
    """The number of samples in each state of the guard, and with commands at the limits of the actuators."""
    from limber.control.guard import STATES  # noqa: PLC0415 (control is imported where it is used)

    states = result.signals["guard"].y[:, 0].astype(int)
    counts = np.bincount(states, minlength=len(STATES))
    found: dict[str, Any] = {
        "samples": len(states),
        "states": {name: int(n) for name, n in zip(STATES, counts) if n},
        "at_limit": {},
    }
    limits = np.asarray(getattr(loop, "limits", ()))
    if limits.size and "command" in result.signals:
        size = np.abs(result.signals["command"].y)
        at_limit = (size >= (1.0 - 1e-9) * limits).sum(axis=0)
        found["at_limit"] = {name: int(n) for name, n in zip(loop.channels, at_limit) if n}
    return found


def _change(change: TopologyChange) -> dict[str, Any]:
    """A change of topology; impulses are [moment, force] times time on end b, world axes."""
    return {
        "t": change.t,
        "kind": change.kind,
        "name": change.name,
        "event": change.event,
        "closures": list(change.system.closures),
        "impulses": change.wrenches,
        "energy_lost": change.energy_lost,
        "text": str(change),
    }


def _finite(of: Callable[[Result], Any], result: Result) -> Any:
    """The result of a function, or None if the last states of a diverged run overflow."""
    try:
        return of(result)
    except DynamicsError:
        return None


def _energy(result: Result) -> dict[str, Any]:
    """Energy and the sources of its change.

    `error` is the largest difference that work and dissipation do not explain; without either, the largest change.
    `relative_error` is `error` relative to the energy turned over: the largest exchange by motion, height and
    deformation, work or dissipation; None for a system at rest.
    """
    change = result.energy - result.energy[0]
    kinetic = float(np.abs(result.kinetic_energy).max())
    found: dict[str, Any] = {
        "start": result.energy[0],
        "end": result.energy[-1],
        "largest_kinetic": kinetic,
        "conserved": result.supplied is None
        or not (np.any(result.supplied) or any(c.energy for c in result.changes)),
        "work": 0.0,
        "external": 0.0,
        "dissipation": 0.0,
        "actions": 0.0,
        "impacts": 0.0,
    }
    error = float(np.abs(change).max())
    turnover = max(kinetic, float(np.ptp(result.energy - result.kinetic_energy)))
    if not found["conserved"]:
        audit = result.power_audit()
        parts = {
            n: getattr(audit, n) for n in ("work", "external", "dissipation", "actions", "impacts")
        }
        found |= {name: x[-1] for name, x in parts.items()}
        error = float(np.abs(audit.residual).max())
        turnover = max(turnover, *(float(np.abs(x).max()) for x in parts.values()))
    size = _size_of_energy(result)
    noise = turnover < NOISE * size and error > ERROR * turnover
    moved = turnover > REST * size and not noise
    return found | {"error": error, "relative_error": error / turnover if moved else None}


def _size_of_energy(result: Result) -> float:
    """A scale of the energies whose sum is computed; that of the weight is taken over the size of the system."""
    s = result.system
    weight = float(np.linalg.norm(s.gravity)) * sum(body.mass for body in s.bodies.values())
    return float(np.abs(result.energy).max()) + weight * extent(s)


def _momentum(result: Result) -> dict[str, Any] | None:
    """The drift of the momentum of a system without external forces; None for others."""
    s = result.system
    roots = [name for name, parent in s.parents.items() if parent == "world"]
    floating = all(isinstance(s.joints[name], Free) for name in roots)
    if not floating or np.any(s.gravity):
        return None
    if any(np.any(result.tau[:, s.layout[name].v_joint]) for name in roots) or result.external:
        return None
    if result.environment is not None:
        return None
    found: dict[str, Any] = {}
    for part, columns in (("angular", slice(0, 3)), ("linear", slice(3, 6))):
        h = result.momentum[:, columns]
        drift, size = float(np.abs(h - h[0]).max()), float(np.linalg.norm(h[0]))
        relative = drift / size if size else None
        found[part] = {"start": h[0], "drift": drift, "relative_drift": relative}
    return found


def _joints(case: Case, result: Result) -> list[dict[str, Any]]:
    s, rows = result.system, []
    for body in s.layout:
        values, end = result.joint(body), result.t[-1]
        path = np.ravel(case.paths[body](end).position) if body in case.paths else None
        for i, (kind, name) in enumerate(coordinates(s.joints[body])):
            rows.append(
                {
                    "body": body,
                    "coordinate": name,
                    "unit": UNITS.get(kind, ""),
                    "start": values[0, i],
                    "end": values[-1, i],
                    "path_end": None if path is None or i >= len(path) else path[i],
                }
            )
    return rows


def _deflection(result: Result) -> list[dict[str, Any]]:
    s, rows = result.system, []
    for body, made in s.bodies.items():
        if made.modes:
            node = tip(s, body)
            size = np.linalg.norm(result.deflection(body, node), axis=1)
            name = made.node_set.names[node]
            rows.append({"body": body, "node": name, "largest": size.max(), "end": size[-1]})
    return rows


# --- tables -----------------------------------------------------------------------------------------


def tables(found: dict[str, Any]) -> list[Table]:
    """The summary for people."""
    made = [pairs(escape(found["name"]), _lines(found))]
    joints = found.get("joints") or []
    if joints:
        paths = any(j["path_end"] is not None for j in joints)
        heads = [
            "joint",
            "unit",
            "start",
            "end",
            *(["path ends at", "difference"] if paths else []),
        ]
        rows = table(f"Joints at t = {found['reached']:g} s", *heads, left=2)
        for j in joints:
            cells = [f"{j['body']} {j['coordinate']}".strip(), j["unit"]]
            cells += [f"{j['start']:.6f}", f"{j['end']:.6f}"]
            if j["path_end"] is not None:
                cells += [f"{j['path_end']:.6f}", f"{j['end'] - j['path_end']:+.2e}"]
            rows.add_row(*map(escape, cells))
        made.append(rows)
    if found.get("changes"):
        rows = table("Changes of topology", "time", "change", left=2)
        for change in found["changes"]:
            rows.add_row(*map(escape, change["text"].split(": ", 1)))
        made.append(rows)
    if found.get("deflection"):
        rows = table("Deflection, m", "body", "node", "largest", "at the end", left=2)
        for d in found["deflection"]:
            rows.add_row(
                escape(d["body"]), escape(d["node"]), f"{d['largest']:.6f}", f"{d['end']:.6f}"
            )
        made.append(rows)
    return made


def _lines(found: dict[str, Any]) -> dict[str, str]:
    reached, settings = found["reached"], found["settings"]
    rows = {}
    if found["description"]:
        rows["description"] = escape_lines(found["description"])
    rows["time"] = (
        "nothing computed" if reached is None else f"{reached:g} s of {found['duration']:g} s"
    )
    energy = found.get("energy")
    if energy is not None:
        rows["energy"] = f"{energy['start']:.8g} J at the start, {energy['end']:.8g} J at the end"
        if not energy["conserved"]:
            rows["work of torques"] = f"{energy['work']:.6g} J"
            if energy["external"]:
                rows["work of external forces"] = f"{energy['external']:.6g} J"
            rows["work of dampers, friction, stops"] = f"{energy['dissipation']:.6g} J"
            if energy["impacts"]:
                rows["energy lost by impacts"] = f"{-energy['impacts']:.6g} J"
        label = "energy drift" if energy["conserved"] else "unexplained energy"
        relative = energy["relative_error"]
        part = "of a system at rest" if relative is None else f"{relative:.1e} relative"
        rows[label] = f"{energy['error']:.2e} J at most, {part}"
    elif reached is not None:
        rows["energy"] = "not finite: the motion diverged"
    for part, drift in (found.get("momentum") or {}).items():
        unit = "kg m²/s" if part == "angular" else "kg m/s"
        relative = drift["relative_drift"]
        text = f"{drift['drift']:.2e} {unit} at most"
        rows[f"{part} momentum drift"] = text + (
            "" if relative is None else f", {relative:.1e} relative"
        )
    control = found.get("controller")
    if control is not None:
        states = ", ".join(f"{name} {n}" for name, n in control["states"].items())
        full = ", ".join(f"{name} {n}" for name, n in control["at_limit"].items())
        rows["controller"] = escape(
            f"{control['samples']} samples: {states}; commands at the limit: {full or 'none'}"
        )
    cost = found["solver"]
    method = f"{settings['method']}, rtol {settings['rtol']:g}, atol {settings['atol']:g}"
    if settings["method"] == "rk4":
        method = f"rk4, step {settings['step']:g} s"
    rows["method"] = escape(f"{method}, {settings['engine']} engine")
    rows["steps"] = (
        f"{cost['steps']} ({cost['rejected']} rejected), {cost['evaluations']} evaluations of the dynamics"
    )
    speed = cost["times_real_time"]
    rows["wall time"] = f"{cost['seconds']:.3g} s" + (
        "" if speed is None else f", {speed:.3g} times real time"
    )
    return rows
