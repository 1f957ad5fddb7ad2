"""`limber info`: prints the contents of a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from limber.assembly import System
from limber.assembly.closures import Closure, End, Relation
from limber.cli.exits import guarded
from limber.cli.output import Debug, Json, escape, escape_lines, pairs, print_json, show, table
from limber.cli.subject import File, Lenient, Subject, read
from limber.joints.physics import OPTIONS, JointPhysics, limits_in_words
from limber.simulation import Table as TorqueTable
from limber.trajectories import Hold


def info(file: File, lenient: Lenient = False, json: Json = False, debug: Debug = False) -> None:
    """Print the contents of a model, scenario, URDF, MJCF or SDF file: bodies, joints and their physics, masses, modes,
    sizes, closures.

    For a scenario it also prints the duration, torques, external forces, prescribed motions and outputs. Reading a file
    checks it: the exit code is 3 if something in it is wrong.

      limber info examples/canadarm.yaml
      limber info examples/free_floating.yaml --json
    """
    with guarded(json, debug):
        subject = read(file, lenient)
        found = described(subject)
        if json:
            print_json(found)
            return
        moving = [b for b in found["bodies"] if b["physics"]]
        tables = [_bodies(found["bodies"])]
        if moving:
            tables.append(_physics(moving))
        if found["closures"]:
            tables.append(_closures(found["closures"]))
        show(_head(found), *tables)


def described(subject: Subject) -> dict[str, Any]:
    """What is in a file, for --json."""
    s = subject.system
    found: dict[str, Any] = {
        "file": subject.file,
        "kind": subject.kind,
        "name": subject.name,
        "fidelity": s.fidelity,
        "gravity": s.gravity,
        "nq": s.nq,
        "nv": s.nv,
        "modes": sum(b.modes for b in s.bodies.values()),
        "mass": sum(b.mass for b in s.bodies.values()),
        "bodies": [_body(s, name) for name in s.layout],
        "closures": [_closure(s, closure) for closure in s.closures.values()],
    }
    case = subject.scenario
    if case is not None:
        from limber.scenarios.events import described  # noqa: PLC0415 (keeps `limber --help` quick)

        times = case.times
        found["scenario"] = {
            "description": case.description,
            "duration": case.duration,
            "torque": torque_kind(subject),
            "paths": [body for body, path in case.paths.items() if not isinstance(path, Hold)],
            "external": [_wrench(*item) for item in case.external.items()],
            "motion": list(case.motion),
            "environment": None if case.environment is None else str(case.environment),
            "events": [described(event) for event in case.events],
            "output_times": None if times is None else len(times),
            "output_every": case.every,
            "method": case.method,
            "rtol": case.rtol,
            "atol": case.atol,
            "step": case.step,
            "at_rest": not np.any(case.v0),
            "in_equilibrium": case.in_equilibrium,
        }
    return found


def torque_kind(subject: Subject) -> str:
    """ "none", "constant", "table", "follow" or "controller"."""
    case = subject.scenario
    if case is None or case.torque is None:
        return "none"
    if hasattr(case.torque, "controller"):
        return "controller"
    if case.paths:
        return "follow"
    return "table" if isinstance(case.torque, TorqueTable) else "constant"


def _wrench(key: tuple[str, str | int | None], wrench: Any) -> dict[str, Any]:
    """An external force: where it acts, and either its wrench or the maximum of each component of its table."""
    tabled = isinstance(wrench, TorqueTable)
    values = np.abs(wrench.tau).max(axis=0) if tabled else wrench
    return {
        "body": key[0],
        "node": key[1],
        "kind": "table" if tabled else "constant",
        "largest" if tabled else "wrench": values,
    }


def _external(wrench: dict[str, Any]) -> str:
    """An external force, in words."""
    where = wrench["body"] if wrench["node"] is None else f"{wrench['body']}, {wrench['node']}"
    constant = wrench["kind"] == "constant"
    moment, force = np.split(np.asarray(wrench["wrench" if constant else "largest"]), 2)
    parts = [
        f"{what} {', '.join(f'{x:g}' for x in part)} {unit}"
        for what, part, unit in (("force", force, "N"), ("moment", moment, "N m"))
        if part.any()
    ]
    text = " and ".join(parts) or "zero"
    return f"{where}: {text}" if constant else f"{where}: a table, at most {text}"


def _body(s: System, name: str) -> dict[str, Any]:
    item, where = s.attachments[name], s.layout[name]
    at = None if item.at is None else s.bodies[item.to].node_set.names[item.at]
    return {
        "name": name,
        "parent": item.to,
        "at": at,
        "joint": type(item.joint).__name__,
        "freedoms": item.joint.dofs,
        "physics": physics_of_speeds(item.joint.physics),
        "mass": item.body.mass,
        "modes": item.body.modes,
        "q": [min(where.q_modes.start, where.q_joint.start), where.q_joint.stop],
        "v": [min(where.v_modes.start, where.v_joint.start), where.v_joint.stop],
    }


def _closure(s: System, closure: Closure | Relation) -> dict[str, Any]:
    """A closure: its ends and its joint, or its terms and their sum."""
    if isinstance(closure, Relation):
        terms = [
            {"body": body, "coordinate": i, "coefficient": x}
            for (body, i), x in closure.terms.items()
        ]
        return {"name": closure.name, "kind": "relation", "terms": terms, "value": closure.value}
    return {
        "name": closure.name,
        "kind": "joint",
        "a": _end(s, closure.a),
        "b": _end(s, closure.b),
        "joint": type(closure.joint).__name__,
        "rows": 6 - closure.joint.dofs,
    }


def _end(s: System, end: End) -> dict[str, Any]:
    """An end of a closure; `node` is None for the body frame, and `offset` is a point if the body is the world."""
    node = None if end.node is None else s.bodies[end.body].node_set.names[end.node]
    return {"body": end.body, "node": node, "offset": end.offset, "rotation": end.rotation}


def physics_of_speeds(physics: JointPhysics) -> dict[str, Any]:
    """The options that a joint has, each with a value for every speed; pairs of limits."""
    limits = list(zip(physics.lower.tolist(), physics.upper.tolist()))
    return {
        name: limits if name == "limits" else getattr(physics, name).tolist()
        for name in OPTIONS
        if name in physics.options
    }


def _head(found: dict[str, Any]):
    rows = {
        "kind": found["kind"],
        "fidelity": found["fidelity"],
        "bodies": str(len(found["bodies"])),
        "modes": str(found["modes"]),
        "sizes": f"nq = {found['nq']}, nv = {found['nv']}",
        "total mass": f"{found['mass']:.6g} kg",
        "gravity": ", ".join(f"{x:g}" for x in found["gravity"]) + " m/s²",
    }
    case = found.get("scenario")
    if case is not None:
        count, every = case["output_times"], case["output_every"]
        outputs = "501, evenly spaced" if count is None else f"{count} times"
        paths = f", along paths of {', '.join(case['paths'])}" if case["paths"] else ""
        rows |= {
            "description": escape_lines(case["description"]) or "-",
            "duration": f"{case['duration']:g} s",
            "start": ("at rest" if case["at_rest"] else "moving")
            + (", in equilibrium" if case["in_equilibrium"] else ""),
            "torques": escape(case["torque"] + paths),
            "external": escape_lines("\n".join(map(_external, case["external"]))) or "none",
            "motion": escape(", ".join(case["motion"])) or "none",
            **({"environment": escape(case["environment"])} if case["environment"] else {}),
            **({"events": escape_lines("\n".join(case["events"]))} if case["events"] else {}),
            "outputs": outputs if every is None else f"every {every:g} s",
            "method": escape(case["method"]),
        }
    return pairs(escape(found["name"]), rows)


def _bodies(bodies: list[dict[str, Any]]):
    made = table("Bodies", "body", "on", "joint", "DOF", "modes", "mass kg", "q", "v", left=3)
    for b in bodies:
        on = b["parent"] if b["at"] is None else f"{b['parent']}, {b['at']}"
        ranges = ["-" if lo == hi else f"{lo}:{hi}" for lo, hi in (b["q"], b["v"])]
        made.add_row(
            escape(b["name"]), escape(on), b["joint"], str(b["freedoms"]), str(b["modes"]),
            f"{b['mass']:.6g}", *ranges,
        )  # fmt: skip
    return made


def _closures(closures: list[dict[str, Any]]):
    made = table("Closures", "name", "kind", "between", "rows", left=3)
    for c in closures:
        if c["kind"] == "joint":
            between = f"{_place(c['a'])} to {_place(c['b'])}"
            made.add_row(escape(c["name"]), c["joint"], escape(between), str(c["rows"]))
        else:
            made.add_row(escape(c["name"]), "relation", escape(_sum(c)), "1")
    return made


def _place(end: dict[str, Any]) -> str:
    """An end of a closure, in words."""
    if end["body"] == "world":
        return f"world ({', '.join(f'{x:g}' for x in end['offset'])})"
    return end["body"] if end["node"] is None else f"{end['body']}, {end['node']}"


def _sum(relation: dict[str, Any]) -> str:
    """A relation as a formula in the joints of bodies."""
    parts = []
    for term in relation["terms"]:
        index = f"[{term['coordinate']}]" if term["coordinate"] else ""
        sign = "-" if term["coefficient"] < 0 else "+"
        parts.append(f"{sign} {abs(term['coefficient']):g} {term['body']}{index}")
    return f"{' '.join(parts).removeprefix('+ ')} = {relation['value']:g}"


def _physics(bodies: list[dict[str, Any]]):
    names = [name for name in OPTIONS if any(name in b["physics"] for b in bodies)]
    made = table("Physics of joints", "body", *(name.replace("_", " ") for name in names))
    for b in bodies:
        made.add_row(escape(b["name"]), *(_cell(b["physics"].get(name)) for name in names))
    return made


def _cell(values: list | None) -> str:
    """The values of one option for the speeds of a joint; one value if all are equal."""
    if values is None:
        return "-"
    words = [limits_in_words(*x) if isinstance(x, tuple) else f"{x:g}" for x in values]
    return words[0] if len(set(words)) == 1 else ", ".join(words)
