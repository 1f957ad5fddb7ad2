"""The tables of a report: the run, its extremes, what happened."""

from __future__ import annotations

import platform
from html import escape

import numpy as np

from limber.assembly.closures import Closure
from limber.joints import coordinates as C
from limber.simulation.result import Result
from limber.version import __version__

Rows = list[tuple[str, ...]]
#: At most this many closures are named.
LISTED = 12
#: At most this many changes of topology are listed.
CHANGES = 50
_UNITS = {C.ANGLE: ("rad", "rad/s", "N m"), C.DISPLACEMENT: ("m", "m/s", "N")}


def tables(result: Result, nodes: dict[str, int]) -> str:
    """All tables as HTML; `nodes` are the nodes whose deflections are listed."""
    parts = [
        pair_table("Run", run(result)),
        pair_table("Model", model(result)),
        wide_table("Largest values of the joints", _HEADS_JOINTS, joints(result)),
        wide_table(
            "Largest deflections, body axes (m)",
            ("node", "x", "y", "z"),
            deflections(result, nodes),
        ),
        wide_table("Energy (J)", ("", "first", "last", "lowest", "highest"), energies(result)),
        f"<p>{escape(balance(result))}</p>",
    ]
    if result.events:
        happened: Rows = [(f"{e.t:.6g} s", e.name or "(no name)") for e in result.events[:50]]
        parts.append(pair_table("Events", happened))
    if result.changes:
        parts.append(pair_table("Changes of topology", changes(result)))
    return "\n".join(p for p in parts if p)


def changes(result: Result) -> Rows:
    """The closures attached, released, locked and unlocked, with the impulses, and the active ones in between."""
    done = [str(change).split(": ", 1) for change in result.changes[:CHANGES]]
    rows: Rows = [(when, what) for when, what in done]
    if len(result.changes) > CHANGES:
        rows.append(("", f"and {len(result.changes) - CHANGES} more"))
    for interval in result.topology[:CHANGES]:
        active = ", ".join(interval.closures[:LISTED]) or "no closures"
        more = len(interval.closures) - LISTED
        text = active + (f" and {more} more" if more > 0 else "")
        rows.append((f"{interval.start:.6g} to {interval.end:.6g} s", f"active: {text}"))
    return rows


def run(result: Result) -> Rows:
    """Settings and cost of the simulation."""
    import matplotlib  # noqa: PLC0415 (slow to import)
    import scipy  # noqa: PLC0415 (slow to import)

    s, cost = result.system, result.statistics
    rows: Rows = [
        ("time", f"{result.t[0]:g} to {result.t[-1]:g} s, {len(result)} rows"),
        ("end", result.message or "-"),
    ]
    if cost.steps:
        span = float(result.t[-1] - result.t[0])
        ratio = span / cost.seconds if cost.seconds > 0.0 else 0.0
        pace = (
            f", {ratio:,.0f} times real time" if ratio >= 10.0 else f", {ratio:.2g} times real time"
        )
        rows += [
            ("steps", f"{cost.steps} taken, {cost.rejected} rejected"),
            ("evaluations", f"{cost.evaluations} of the dynamics"),
            ("wall time", f"{cost.seconds:.3g} s{pace}"),
        ]
    versions = f"Limber {__version__}, Python {platform.python_version()}, NumPy {np.__version__}, "
    rows.append(
        ("made by", f"{versions}SciPy {scipy.__version__}, Matplotlib {matplotlib.__version__}")
    )
    rows.append(("fidelity", s.fidelity))
    return rows


def model(result: Result) -> Rows:
    """Properties of the system."""
    s = result.system
    flexible = [b for b in s.bodies.values() if b.modes]
    gravity = ", ".join(f"{x:g}" for x in s.gravity)
    closures = [
        f"{c.name} ({type(c.joint).__name__ if isinstance(c, Closure) else 'relation'})"
        for c in list(s.closures.values())[:LISTED]
    ]
    more = [f"and {len(s.closures) - LISTED} more"] if len(s.closures) > LISTED else []
    closed = [("closures", ", ".join([*closures, *more]))] if closures else []
    return [
        ("system", s.name),
        ("bodies", f"{len(s.bodies)}, {len(flexible)} of them flexible"),
        *closed,
        ("degrees of freedom", f"{s.nv}: {sum(j.dofs for j in s.joints.values())} of joints, {sum(b.modes for b in flexible)} modes"),
        ("mass", f"{sum(b.mass for b in s.bodies.values()):.6g} kg"),
        ("gravity", f"({gravity}) m/s²" if np.any(s.gravity) else "none"),
    ]  # fmt: skip


_HEADS_JOINTS = ("joint", "coordinate", "speed", "torque or force")


def joints(result: Result) -> Rows:
    """Largest absolute coordinate, speed and force of every joint degree of freedom."""
    rows: Rows = []
    for name, joint in result.system.joints.items():
        theta, beta = result.joint(name), result.joint_speed(name)
        tau = result.tau[:, result.system.layout[name].v_joint]
        straight = joint.nq == joint.dofs  # each coordinate is the integral of its speed
        for i, (kind, part) in enumerate(C.speeds(joint)):
            units = _UNITS[kind]
            place = f"{_largest(theta[:, i])} {units[0]}" if straight else ""
            rows.append(
                (
                    f"{name} {part}".strip(),
                    place,
                    f"{_largest(beta[:, i])} {units[1]}",
                    f"{_largest(tau[:, i])} {units[2]}",
                )
            )
    return rows[:60]


def deflections(result: Result, nodes: dict[str, int]) -> Rows:
    """Largest absolute deflection of a node of every flexible body."""
    rows: Rows = []
    for name, node in nodes.items():
        moved = result.deflection(name, node)
        label = f"{name} {result.system.bodies[name].node_set.names[node]}"
        rows.append((label, *(_largest(moved[:, i]) for i in range(3))))
    return rows[:60]


def energies(result: Result) -> Rows:
    """Initial, final, lowest and highest energies."""
    kinds = (
        ("kinetic", result.kinetic_energy),
        ("potential", result.potential_energy),
        ("total", result.energy),
    )
    rows = [(n, *(_shown(x) for x in (e[0], e[-1], e.min(), e.max()))) for n, e in kinds]
    if result.supplied is not None:
        audit = result.power_audit()
        for name, x in (
            ("work of torques", audit.work),
            ("work of external forces", audit.external),
            ("dissipation", audit.dissipation),
            ("actions of events", audit.actions),
            ("impacts", audit.impacts),
            ("residual", audit.residual),
        ):
            if name in ("work of torques", "dissipation", "residual") or np.any(x):
                rows.append((name, *(_shown(v) for v in (x[0], x[-1], x.min(), x.max()))))
    return rows


def balance(result: Result) -> str:
    """The accuracy of the energies, in words."""
    if result.supplied is None:
        return "This result has no record of the energy supplied, so its energy balance is not checked."
    if result.system.fidelity == "ruthless":
        return "A ruthless model does not conserve energy: the residual says nothing about the integration."
    return (
        "The residual is the change of energy minus the energy supplied, integrated along the steps. It is the error of "
        f"the integration, at most {result.power_audit().accuracy:.1e} of the largest energy exchanged."
    )


def _largest(values: np.ndarray) -> str:
    return _shown(np.abs(values).max(initial=0.0))


def _shown(value: float) -> str:
    return f"{value:.4g}".replace("-", "\N{MINUS SIGN}")


def pair_table(caption: str, rows: Rows) -> str:
    """A table of names and values."""
    lines = [f"<tr><th>{escape(a)}</th><td>{escape(b)}</td></tr>" for a, b in rows]
    return f"<table><caption>{escape(caption)}</caption><tbody>{''.join(lines)}</tbody></table>"


def wide_table(caption: str, heads: tuple[str, ...], rows: Rows) -> str:
    """A table with heads; empty without rows."""
    if not rows:
        return ""
    head = "".join(f"<th>{escape(h)}</th>" for h in heads)
    lines = [
        f"<tr><th>{escape(first)}</th>" + "".join(f"<td>{escape(x)}</td>" for x in rest) + "</tr>"
        for first, *rest in rows
    ]
    return (
        f'<div class="wide"><table class="numbers"><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )
