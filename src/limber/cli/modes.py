"""`limber modes`: prints natural frequencies and damping ratios."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from limber import constraints, dynamics
from limber.checks import listed
from limber.cli.exits import guarded
from limber.cli.output import Debug, Json, escape, note, print_json, show, table
from limber.cli.statics import joint_coordinates, loads_at_start, settled
from limber.cli.subject import File, Lenient, Subject, read
from limber.cli.write import refuse_inputs
from limber.errors import ArgumentValueError
from limber.joints.physics import FRICTION

#: The width of a picture with several columns, inches.
PAGE = 7.2


def modes(
    file: File,
    locked: Annotated[
        list[str] | None,
        typer.Option(metavar="BODY", help="A body whose joint is locked; may be repeated."),
    ] = None,
    all_locked: Annotated[bool, typer.Option("--all-locked", help="Lock all joints.")] = False,
    equilibrium: Annotated[
        bool,
        typer.Option(
            "--equilibrium",
            help="Linearize about the equilibrium near that configuration, under the torques of a scenario; joints that are locked, or "
            "held by its controller, stay where they are.",
        ),
    ] = False,
    motion: Annotated[
        bool,
        typer.Option(
            "--motion", help="Linearize about the initial motion of a scenario, such as a spin."
        ),
    ] = False,
    count: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Print only the N lowest modes.", show_default=False),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="PNG", help="Write a picture of the first modes (.png, .svg or .pdf)."
        ),
    ] = None,
    lenient: Lenient = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Print the natural frequencies (Hz) and damping ratios of small motion.

    The system is linearized about the neutral configuration of a model (if the model has closures, the nearby
    configuration that satisfies them), or about the initial configuration of a scenario with its external forces at t =
    0. It is at rest: an initial spin of the scenario is ignored, and a note says so, unless --motion includes it. A
    note also says where the configuration is not an equilibrium. A rigid-body motion has frequency zero. So has an
    unstable direction, which comes first and has a growth rate. The last column names the joint, or the mode of a body,
    with most of the kinetic energy.

      limber modes examples/canadarm.yaml --locked link1 --locked link2
      limber modes examples/dh_arm.yaml --all-locked --count 4 --plot modes.png
      limber modes examples/dh_arm.yaml --all-locked --equilibrium
    """
    with guarded(json, debug):
        subject = read(file, lenient)
        if plot is not None:
            refuse_inputs([("--plot", plot)], subject.inputs)
        s, q = subject.system, subject.q0
        if subject.scenario is None and s.closures:
            q = constraints.assemble(s, q)
        held = list(s.layout) if all_locked else list(locked or ())
        case = subject.scenario
        moving = case is not None and bool(np.any(case.v0))
        if motion and not moving:
            raise ArgumentValueError(
                f"--motion: {subject.name} does not start in motion. It is for scenarios with initial.v."
            )
        v = case.v0 if case is not None and motion else None
        loads = loads_at_start(subject)
        external, tau = loads.external, None
        if equilibrium:
            q, tau = settled(subject, loads, v, held), None if loads.held or held else loads.tau
        found = dynamics.modes(s, q, v, held, tau=tau, external=external)
        if moving and not motion:
            note(
                f"{subject.name} starts in motion (initial.v), which these modes ignore: they are those of its initial "
                "configuration at rest. A spin changes frequencies; --motion includes it."
            )
        still = {s.body_of(name) for name in held}
        rubbing = [
            body
            for body, joint in s.joints.items()
            if body not in still and joint.physics.options & FRICTION
        ]
        if rubbing and not motion:
            note(
                f"the friction of {listed(rubbing)} acts as a strong damper here: at rest these joints stick and hardly "
                "move. --locked BODY holds a joint; to see how it moves freely, remove its friction from the file."
            )
        if found.note and not motion:  # with a motion, a warning has said so
            note(found.note.replace("lb.equilibrium finds one", "--equilibrium finds one"))
        if plot is not None:
            from limber.plotting import mode_shapes  # noqa: PLC0415 (Matplotlib)
            from limber.plotting.style import COLUMN  # noqa: PLC0415

            shown = min(count or 4, 12)
            columns = 1 if shown <= 4 else 2 if shown <= 6 else 3
            width = COLUMN if columns == 1 else PAGE
            mode_shapes(
                s, q, v=v, external=external, locked=held, count=shown, columns=columns, width=width, path=plot
            )  # fmt: skip
        n = len(found.omega) if count is None else min(count, len(found.omega))
        if json:
            summary = {
                "file": file,
                "name": subject.name,
                "locked": held,
                "about": _about(moving, motion),
                "configuration": _configuration(subject, equilibrium),
                "q": q,
                "equilibrium": not found.note,
                "frequencies": found.frequencies[:n],
                "damping": found.damping[:n],
                "growth": found.growth[:n],
                "moves": [{"what": what, "share": share} for what, share in found.moves[:n]],
                "eigenvalues": [[x.real, x.imag] for x in found.eigenvalues[:n]],
                "plot": plot,
            }
            print_json(summary)
            return
        which = f"locked: {', '.join(held)}" if held else "joints free"
        heads = ["mode", "frequency Hz", "rad/s", "damping", "growth 1/s", "moves most"]
        unstable = bool(found.growth.any())
        title = f"Natural modes of {escape(subject.name)}, {escape(which)}"
        made = table(title, *(h for h in heads if unstable or h != "growth 1/s"), left=0)
        made.columns[-1].justify = "left"
        for i in range(n):
            growth = [f"{found.growth[i]:.4f}" if found.growth[i] else ""] if unstable else []
            what, share = found.moves[i]
            made.add_row(
                str(i + 1),
                f"{found.frequencies[i]:.4f}",
                f"{found.omega[i]:.4f}",
                _ratio(found.damping[i]),
                *growth,
                f"{escape(what)}, {100.0 * share:.0f} %",
            )
        show(made)
        where = f"{loads.words}: {joint_coordinates(s, q)}" if equilibrium else ""
        typer.echo(f"About {_configuration(subject, equilibrium)}{where}.")
        if n < len(found.omega):
            typer.echo(f"The lowest {n} of {len(found.omega)}.")
        if plot is not None:
            typer.echo(f"wrote {plot}")


def _about(moving: bool, motion: bool) -> str:
    """The state that the modes are about, for --json."""
    if motion:
        return "the initial motion"
    return "the initial configuration, at rest; the scenario starts in motion" if moving else "rest"


def _configuration(subject: Subject, equilibrium: bool) -> str:
    """The configuration that the modes are about, in words."""
    where = "the neutral configuration"
    if subject.scenario is not None:
        where = "the initial configuration of the scenario"
    elif subject.system.closures:
        where = "the configuration that satisfies the closures, found from the neutral one"
    return f"the equilibrium found from {where}" if equilibrium else where


def _ratio(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.5f}"
