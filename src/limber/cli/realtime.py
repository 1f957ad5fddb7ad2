"""`limber realtime`: runs the loop of a scenario in real time, plant and controller in two processes or programs."""

from __future__ import annotations

import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from limber.cli import exits
from limber.cli.exits import guarded
from limber.cli.output import Debug, Json, escape, note, print_json, show, table
from limber.cli.positive import positive
from limber.cli.subject import File, Subject, read
from limber.cli.write import refuse_inputs
from limber.errors import ArgumentValueError, FileError


class Side(StrEnum):
    """What this process runs."""

    both = "both"
    plant = "plant"
    controller = "controller"


def realtime(
    file: File,
    duration: Annotated[
        float | None, positive("Seconds to run; by default the duration in the file.")
    ] = None,
    side: Annotated[
        Side, typer.Option(help="Run both sides, or only one; the other side is then another program.")
    ] = Side.both,
    address: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="udp:HOST:PORT, where the plant listens, or shm:FILE; with --side both, just udp or shm.",
            show_default=False,
        ),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write plant.log and controller.log there during the run."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Write a picture of how well the deadlines were met.")
    ] = None,
    priority: Annotated[
        int | None,
        typer.Option(metavar="N", help="SCHED_FIFO priority, 1 to 99; needs permission."),
    ] = None,
    cores: Annotated[
        tuple[int, int] | None,
        typer.Option(metavar="PLANT CONTROLLER", help="Processor cores for the two sides."),
    ] = None,
    spin: Annotated[
        float, typer.Option(metavar="S", help="Busy-wait during the last S seconds of each wait instead of sleeping.")
    ] = 2e-4,
    lockstep: Annotated[
        bool, typer.Option("--lockstep", help="Advance as soon as each command arrives, and ignore the clock.")
    ] = False,
    layout: Annotated[
        bool, typer.Option("--layout", help="Print the layout of the packets, and exit.")
    ] = False,
    worst_case: Annotated[
        bool,
        typer.Option("--worst-case", help="Print the worst-case time of the generated code, and exit."),
    ] = False,
    json: Json = False,
    debug: Debug = False,
) -> None:  # fmt: skip
    """Run the control loop of a scenario in real time, and report how well its deadlines were met.

    The plant is simulated at the pace of the clock. The controller runs in another process or program, connected by a
    UDP socket or by shared memory. Each side writes a log that survives if its process is killed.

      limber realtime examples/canadarm_realtime.yaml --log out --plot out/deadlines.png
      limber realtime examples/canadarm_realtime.yaml --address shm --priority 50 --cores 0 1
      limber realtime examples/canadarm_realtime.yaml --layout
      limber realtime examples/canadarm_realtime.yaml --worst-case

    To run the plant or the controller on another machine or in another program:

      limber realtime examples/canadarm_realtime.yaml --side plant --address udp:127.0.0.1:5500
      limber realtime examples/canadarm_realtime.yaml --side controller --address udp:127.0.0.1:5500
    """
    with guarded(json, debug):
        subject = read(file)
        if plot is not None:
            refuse_inputs([("--plot", plot)], subject.inputs)
        from limber.control import realtime as rt  # noqa: PLC0415

        if worst_case:
            found = rt.worst_case_time(subject.system, priority=priority)
            if json:
                print_json({"file": file, "microseconds": found.summary()})
            else:
                typer.echo(str(found))
            return
        loop = _loop(subject)
        if layout:
            _print_layout(subject, rt.Layout(loop), json)
            return
        pacing = rt.Pacing(spin=spin, priority=priority, cores=cores)
        settings = _settings(subject)
        seconds = duration if duration is not None else _scenario(subject).duration
        if log is not None:
            log.mkdir(parents=True, exist_ok=True)
        if side is not Side.both:
            _one_side(
                rt, side, loop, seconds, address, log, pacing, settings, paced=not lockstep, json=json
            )  # fmt: skip
            return
        run = rt.run(
            loop, seconds, link=address or "udp", log=log, pacing=pacing, paced=not lockstep,
            **settings,
        )  # fmt: skip
        if plot is not None:
            run.plot(plot)
        if json:
            print_json({"file": file, "name": subject.name} | run.summary())
        else:
            typer.echo(str(run))
            if plot is not None:
                typer.echo(f"wrote {plot}")
        if run.message:
            note(run.message, "error")
            raise typer.Exit(exits.SIMULATION)


def _scenario(subject: Subject) -> Any:
    if subject.scenario is None:
        raise FileError(
            f"{subject.file}: this is a model; a real-time run needs a scenario with a controller.",
            str(subject.file),
        )
    return subject.scenario


def _loop(subject: Subject) -> Any:
    """The loop of the scenario."""
    torque = _scenario(subject).torque
    if not hasattr(torque, "controller"):
        raise FileError(
            f"{subject.file}: this scenario has no controller, which a real-time run needs. Add one with `controller: "
            "...`.",
            str(subject.file),
        )
    return torque


def _settings(subject: Subject) -> dict[str, Any]:
    """The settings of the simulation of the plant."""
    return {k: x for k, x in _scenario(subject).settings.items() if k != "torque"}


def _print_layout(subject: Subject, layout: Any, json: bool) -> None:
    """Print the layout of the packets."""
    if json:
        print_json(
            {
                "file": subject.file,
                "sample_time": layout.numbers[0],
                "sample": layout.sample_labels,
                "command": layout.command_labels,
            }
        )
        return
    typer.echo(f"sample time {layout.numbers[0]:g} s")
    for kind, labels in (("SAMPLE", layout.sample_labels), ("COMMAND", layout.command_labels)):
        made = table(f"{kind}, {len(labels)} numbers", "number", "what it is", left=0)
        made.columns[1].justify = "left"
        for i, label in enumerate(labels):
            made.add_row(str(i), escape(label))
        show(made)


def _one_side(
    rt: Any, side: Side, loop: Any, duration: float, address: str | None, log: Path | None, pacing: Any,
    settings: dict[str, Any], *, paced: bool, json: bool,
) -> None:  # fmt: skip
    """Run the plant or the controller alone."""
    if address is None:
        raise ArgumentValueError(
            f"--side {side.value} needs --address, such as udp:127.0.0.1:5500."
        )
    with tempfile.TemporaryDirectory(prefix="limber-") as scratch:
        file = Path(scratch if log is None else log) / f"{side.value}.log"
        link = rt.opened(address, side.value)
        try:
            if side is Side.plant:
                plant = rt.plant_side(
                    loop, duration, pacing=pacing, paced=paced, log=file, settings=settings
                )
                note(f"the plant waits for its controller at {address}.")
                result, message, notes = plant.run(link)
                run = rt.RealTimeRun(
                    rt.read_log(file), None, result, message, tuple(notes), loop.sample_time
                )
                done = {"reached": float(run.plant.t[-1]) if run.samples else None}
            else:
                controller = rt.ControllerSide(
                    rt.paced_loop(loop) if paced else loop,
                    pacing=pacing,
                    log=str(file),
                    duration=duration,
                )
                message, notes = controller.run(link)
                run = rt.RealTimeRun(
                    None, rt.read_log(file), None, message, tuple(notes), loop.sample_time,
                    controller.lost, controller.skipped, controller.damaged,
                )  # fmt: skip
                done = {}
        finally:
            link.close()
    written = None if log is None else file
    if json:
        print_json({"side": side.value, "log": written} | run.summary() | done)
    else:
        typer.echo(str(run))
        if done:
            reached = done["reached"]
            typer.echo("reached nothing" if reached is None else f"reached t = {reached:.9g} s")
        if written is not None:
            typer.echo(f"wrote {written}")
    if message:
        note(message, "error")
        raise typer.Exit(exits.SIMULATION)
