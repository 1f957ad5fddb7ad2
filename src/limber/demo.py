"""The main job, so far: the flexible Canadarm, its modes and its dynamics at one state."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table

import limber as lb


def run(console: Console | None = None) -> None:
    """Print the tables."""
    console = console or Console()
    arm = lb.models.canadarm(modes=2)
    full, ruthless = arm.build(), arm.build(fidelity="ruthless")
    rigid = lb.models.canadarm(modes=0).build()
    console.print(
        f"[bold]Flexible Canadarm[/bold] (Mohan & Saha, Table 2): {len(full.bodies)} links, two bending modes in "
        f"each plane and link, {full.nv} degrees of freedom\n"
    )
    console.print(links(full))
    console.print(frequencies(full))
    console.print(torques(full, ruthless, rigid))
    console.print(checks(full))


def links(system: lb.System) -> Table:
    """What the arm is made of."""
    table = Table(title="Links")
    for head in ("link", "joint", "length m", "mass kg", "modes", "clamped frequencies Hz"):
        table.add_column(head, justify="left" if head in ("link", "joint") else "right")
    for name, body in system.bodies.items():
        assert isinstance(body, lb.FlexibleBody)
        hertz = np.sqrt(np.diag(body.stiffness))[::2] / (2 * np.pi)
        tip = body.nodes.position[-1, 0]
        listed = ", ".join(f"{f:.2f}" for f in hertz)
        joint = f"{type(system.joints[name]).__name__} z"
        table.add_row(name, joint, f"{tip:g}", f"{body.mass:.0f}", str(body.modes), listed)
    return table


def frequencies(system: lb.System) -> Table:
    """Natural frequencies of the arm, stretched out, joints locked and free."""
    q = system.neutral()
    locked = lb.modes(system, q, locked=list(system.bodies)).frequencies
    free = lb.modes(system, q).frequencies
    table = Table(title="Natural frequencies, arm stretched out, Hz")
    table.add_column("mode", justify="right")
    table.add_column("joints locked", justify="right")
    table.add_column("joints free", justify="right")
    for i, f in enumerate(free):
        table.add_row(str(i + 1), f"{locked[i]:.3f}" if i < len(locked) else "", f"{f:.3f}")
    return table


def torques(full: lb.System, ruthless: lb.System, rigid: lb.System) -> Table:
    """Joint torques that a joint motion needs, links straight and bent."""
    table = Table(
        title="Joint torques for 0.01 rad/s² at every joint while they turn at 0.1 rad/s, N m"
    )
    for head in ("model", *full.bodies):
        table.add_column(head, justify="left" if head == "model" else "right")
    cases = (
        ("rigid", rigid, 0.0),
        ("flexible, full, straight", full, 0.0),
        ("flexible, full, tips bent 0.5 m", full, 0.5),
        ("flexible, ruthless, tips bent 0.5 m", ruthless, 0.5),
    )
    for label, system, bend in cases:
        q, v, vdot = system.neutral(), np.zeros(system.nv), np.zeros(system.nv)
        for i, (name, where) in enumerate(system.layout.items()):
            q[where.q_joint], v[where.v_joint], vdot[where.v_joint] = (0.3, 0.2, 0.4)[i], 0.1, 0.01
            if bend:
                q[where.q_modes.start] = bend / system.bodies[name].node_set.translation[-1, 1, 0]
        tau = lb.inverse_dynamics(system, q, v, vdot)
        table.add_row(label, *(f"{tau[w.v_joint][0]:.3f}" for w in system.layout.values()))
    return table


def checks(system: lb.System) -> Table:
    """Laws that hold at a random state."""
    rng = np.random.default_rng(1)
    q = system.neutral() + 0.1 * rng.standard_normal(system.nq)
    v, tau = 0.1 * rng.standard_normal(system.nv), 10.0 * rng.standard_normal(system.nv)
    vdot = lb.forward_dynamics(system, q, v, tau)
    other = lb.forward_dynamics(system, q, v, tau, method="composite")
    back = lb.inverse_dynamics(system, q, v, vdot)
    M = lb.mass_matrix(system, q)
    table = Table(title="Checks at a random state (relative)")
    table.add_column("law")
    table.add_column("residual", justify="right")
    table.add_row("articulated = composite forward dynamics", relative(vdot, other))
    table.add_row("inverse dynamics of that = torques", relative(back, tau))
    table.add_row(
        "kinetic energy = v·M v/2", relative(lb.kinetic_energy(system, q, v), v @ M @ v / 2)
    )
    return table


def relative(a, b) -> str:
    """The largest difference over the largest value."""
    return f"{np.abs(a - b).max() / np.abs(b).max():.1e}"
