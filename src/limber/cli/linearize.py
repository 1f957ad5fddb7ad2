"""`limber linearize`: makes a linear model of a system; prints its poles, draws a Bode plot, writes its matrices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from limber import constraints, simulation
from limber.assembly import System
from limber.checks import Array
from limber.cli.case import Options, prepared
from limber.cli.exits import guarded
from limber.cli.output import Debug, Json, escape, note, print_json, show, table
from limber.cli.statics import holding, joint_coordinates, loads_at_start, settled
from limber.cli.subject import File, Lenient, Subject, read
from limber.cli.write import refuse_inputs
from limber.dynamics.modes import imbalance_note
from limber.errors import ArgumentValueError

#: A run to the start of a scenario, whose torques it gives, lasts so much of its duration.
INSTANT = 1e-6


def linearize(
    file: File,
    at: Annotated[
        str,
        typer.Option(
            metavar="STATE",
            help="start: the initial state of a scenario or the neutral state of a model; equilibrium: the equilibrium near that state, under the "
            "torques of the scenario, or with the joints fixed that a controller holds; or a time in s, up to which the scenario is simulated.",
        ),
    ] = "start",
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            metavar="INPUT",
            help=r'An input, as in Python: link1, or "\[force, link1, tip, y]"; may be repeated.',
        ),
    ] = None,
    outputs: Annotated[
        list[str] | None,
        typer.Option(
            "--output",
            metavar="OUTPUT",
            help=r'An output: link1, or "\[position, link1, tip, y]"; may be repeated.',
        ),
    ] = None,
    bode: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Write a Bode plot (.png, .svg or .pdf).")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="NPZ", help="Write A, B, C, D and their names (.npz).")
    ] = None,
    lenient: Lenient = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Linearize a model or a scenario, and print its poles as frequencies (Hz) and damping ratios.

    --at chooses the state; a note says where it is not an equilibrium. An input is the name of a body, for the torques
    of its joint, or a list that begins with a kind: torque, mode_force, force, moment, motion. An output is the name of
    a body, for the coordinates of its joint, or a list that begins with a kind such as position, rotation, velocity,
    acceleration, deflection, strain or joint_force. By default the inputs are all torques and the outputs are all
    states. Both options may be repeated.

      limber linearize examples/canadarm.yaml
      limber linearize examples/dh_arm.yaml --at equilibrium
      limber linearize examples/canadarm.yaml --input link1 --output "[position, link2, tip, y]" --bode tip.png
      limber linearize examples/canadarm_slew.yaml --at 5 --out slew.npz
    """
    with guarded(json, debug):
        subject = read(file, lenient)
        files = [("--bode", bode), ("--out", out)]
        refuse_inputs(
            [(option, path) for option, path in files if path is not None], subject.inputs
        )
        from limber.control.poles import grouped  # noqa: PLC0415 (SciPy)

        model, state = _model(subject, at, listed("--input", inputs), listed("--output", outputs))
        lacking = state.unbalanced()
        if lacking:
            note(lacking)
        if bode is not None:
            _refuse_many(len(model.inputs), len(model.outputs))
            model.bode(path=bode, title=subject.name)
        if out is not None:
            model.save(out)
        poles = grouped(model.rates)
        if json:
            print_json(
                {
                    "file": file,
                    "name": subject.name,
                    "at": at,
                    "q": state.q,
                    "equilibrium": not lacking,
                    "states": model.states,
                    "inputs": model.inputs,
                    "outputs": model.outputs,
                    "poles": [[x.real, x.imag] for x in model.poles],
                    "frequencies": [pole.omega / (2.0 * np.pi) for pole in poles],
                    "damping": [pole.damping for pole in poles],
                    "A": model.A, "B": model.B, "C": model.C, "D": model.D,
                    "bode": bode,
                    "out": out,
                }
            )  # fmt: skip
            return
        made = table(
            f"Poles of {escape(subject.name)}: {model.sizes}",
            "poles", "frequency Hz", "rad/s", "damping", "behaviour", left=0,
        )  # fmt: skip
        made.columns[-1].justify = "left"
        for pole in poles:
            damping = "-" if pole.at_rest else f"{pole.damping:.5f}"
            frequency = f"{pole.omega / (2.0 * np.pi):.4f}"
            made.add_row(str(pole.count), frequency, f"{pole.omega:.4f}", damping, pole.kind)
        show(made)
        if at == "equilibrium":
            where = joint_coordinates(state.system, state.q)
            typer.echo(f"About the equilibrium at {where}{loads_at_start(subject).words}.")
        for _, path in files:
            if path is not None:
                typer.echo(f"wrote {path}")


def _model(
    subject: Subject, at: str, inputs: list | None, outputs: list | None
) -> tuple[Any, State]:
    """The linear model at the requested state, and that state."""
    from limber.control.linearize import linearize as linear_model  # noqa: PLC0415 (SciPy)

    s, case = subject.system, subject.scenario
    if case is None and at not in ("start", "equilibrium"):
        raise ArgumentValueError(
            f"--at {at}: {subject.name} is a model, which has no times. Use start or equilibrium, or a scenario file."
        )
    time = 0.0 if at in ("start", "equilibrium") else _seconds(at)
    loads, motion = loads_at_start(subject), None
    controlled = case is not None and hasattr(case.torque, "controller")
    if at == "equilibrium":
        q, v = settled(subject, loads), np.zeros(s.nv)
        if case is not None and case.motion:
            motion = {body: np.zeros(s.joints[body].dofs) for body in case.motion}
        state = State(s, q, v, holding(s, q, v, loads), loads.external, motion)
    elif case is None:
        q = constraints.assemble(s, subject.q0) if s.closures else subject.q0
        state = State(s, q, np.zeros(s.nv), None, None, None)
    elif controlled and case.in_equilibrium and not time:
        tau = holding(s, case.q0, case.v0, loads)
        state = State(s, case.q0, case.v0, tau, loads.external, None)
    else:
        state = _simulated(subject, time)
    model = linear_model(
        *state[:4], inputs, outputs, external=state.external, motion=state.motion
    )  # fmt: skip
    return model, state


class State(NamedTuple):
    """Where a system is linearized, as `lb.linearize` takes it."""

    system: System
    q: Array
    v: Array
    tau: Array | None
    external: Any
    motion: Any

    def unbalanced(self) -> str:
        """A note on a state that is not an equilibrium; empty for one that is."""
        if np.any(self.v):
            return (
                "Not at rest: the linear model describes small deviations from the motion through this state and is "
                "valid at this instant."
            )
        tau = np.zeros(self.system.nv) if self.tau is None else self.tau
        found = imbalance_note(self.system, self.q, tau, self.external, tuple(self.motion or ()))
        return found.replace("lb.equilibrium finds one", "--at equilibrium finds one")


def _simulated(subject: Subject, time: float) -> State:
    """The state of a scenario at a time."""
    s, case = subject.system, subject.scenario
    assert case is not None
    run = prepared(subject, Options(duration=time or INSTANT * case.duration))
    result = simulation.simulate(
        s, run.duration, q0=run.q0, v0=run.v0, torque=run.torque, external=run.external, motion=run.motion,
        environment=run.environment, events=run.events, t_eval=[0.0, run.duration], **run.settings,
    )  # fmt: skip
    if result.environment is not None:
        note("in the linear model, the forces of the environment are constant, as at this state.")
    row = result[-1:] if time else result[:1]
    external = {key: x[0] for key, x in row.external.items()} or None
    motion = {body: row.vdot[0, row.system.layout[body].v_joint] for body in row.driven} or None
    ((system, _, _),) = row.parts()  # as it is closed then, and with the propellant that is left
    return State(system, row.q[0], row.v[0], row.forces[0], external, motion)


def _refuse_many(inputs: int, outputs: int) -> None:
    """Reject a Bode plot with more pairs than it can show, with a message for the command line."""
    from limber.control.linear_plots import DRAWN  # noqa: PLC0415 (SciPy)

    if inputs * outputs > DRAWN:
        raise ArgumentValueError(
            f"--bode: {inputs} inputs and {outputs} outputs are {inputs * outputs} pairs, which are too many to draw (at most {DRAWN}): choose some with "
            '--input and --output. A list selects one component of a body: --input "[torque, BODY, 0]" --output "[position, BODY, NODE, x]".'
        )


def _seconds(at: str) -> float:
    """The time of --at."""
    try:
        time = float(at)
    except ValueError:
        time = -1.0
    if not 0.0 <= time < np.inf:
        raise ArgumentValueError(
            f"--at {at}: expected start, equilibrium, or a time in seconds, not below zero."
        )
    return time


def listed(option: str, given: list[str] | None) -> list | None:
    """Inputs or outputs from the command line, where lists are written as in YAML."""
    if not given:
        return None
    import yaml  # noqa: PLC0415

    found = []
    for text in given:
        if not text.lstrip().startswith("["):
            found.append(text)
            continue
        try:
            found.append(yaml.safe_load(text))
        except yaml.YAMLError as error:
            raise ArgumentValueError(
                f'{option} {text}: this is not a YAML list, such as "[force, link1, tip, y]".'
            ) from error
    return found
