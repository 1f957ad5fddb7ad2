"""`limber simulate`: simulates a scenario, or the free motion of a model."""

from __future__ import annotations

import sys
import traceback
from contextlib import redirect_stdout
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from limber import simulation
from limber.cli import exits
from limber.cli.case import Case, Options, prepared
from limber.cli.case import numbers as given_numbers
from limber.cli.exits import guarded
from limber.cli.output import Debug, Json, note, print_json, show
from limber.cli.positive import positive
from limber.cli.subject import File, Lenient, read
from limber.cli.summary import summary, tables
from limber.cli.write import Outputs, refuse_inputs, write_more, write_rows
from limber.errors import ArgumentTypeError, ArgumentValueError, FileError, SimulationError
from limber.integrators.methods import method_names
from limber.simulation.closed_states import apart
from limber.simulation.peers import PEERS

METHODS = ("auto", *method_names(), *PEERS)


class Engine(StrEnum):
    """Which code evaluates the dynamics."""

    general = "general"
    generated = "generated"


def _method(value: str | None) -> str | None:
    if value is not None and value not in METHODS:
        raise typer.BadParameter(f"{value!r} is unknown; choose one of {', '.join(METHODS)}.")
    return value


def simulate(
    file: File,
    duration: Annotated[
        float | None, positive("Seconds to simulate; required for a model.")
    ] = None,
    every: Annotated[float | None, positive("Seconds between output times.")] = None,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"auto; {', '.join(method_names())} of Limber (rk4 needs --step, sdirk4 is for stiff systems); RK23, "
            "RK45, DOP853, Radau, BDF, LSODA of SciPy; cvode, ida of SUNDIALS.",
            callback=_method,
            show_default=False,
        ),
    ] = None,
    rtol: Annotated[float | None, positive("Relative tolerance per step.", "X")] = None,
    atol: Annotated[float | None, positive("Absolute tolerance per step.", "X")] = None,
    step: Annotated[
        float | None, positive("Size of the first step; for rk4, of all steps.")
    ] = None,
    engine: Annotated[
        Engine,
        typer.Option(
            help="generated uses C code for this system, which is faster; it needs a C compiler."
        ),
    ] = Engine.general,
    rigid: Annotated[
        bool, typer.Option("--rigid", help="Remove all modes first; the torques stay the same.")
    ] = False,
    numbers: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=NUMBER",
            help="Change a parameter of the model, such as link1.EI=1e4; may be repeated. The initial state and the torques stay as in the file.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Write result.csv and summary.json there.", show_default=False
        ),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write t, q, v, tau.", show_default=False)
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.html",
            help="Write a page with plots and an animation.",
            show_default=False,
        ),
    ] = None,
    video: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.mp4",
            help="Write a video: .mp4, which needs the program ffmpeg, or .gif.",
            show_default=False,
        ),
    ] = None,
    plots: Annotated[
        bool, typer.Option("--plots", help="Write plots (PNG) into the folder of --out.")
    ] = False,
    lenient: Lenient = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Simulate a scenario, or (with --duration) the free motion of a model from its neutral state.

    Options override the file. The printed table has numbers to check a run by: the energy and the part of its change
    that work and dissipation do not explain, the momentum drift of free-floating systems, the final joint coordinates
    compared with their paths, deflections, and solver statistics.

      limber simulate examples/canadarm_slew.yaml --out out --plots
      limber simulate examples/canadarm_slew.yaml --rigid
      limber simulate examples/canadarm_slew.yaml --set link1.EI=8e4 --set link3.mass=120
      limber simulate examples/free_floating.yaml --report floating.html
      limber simulate examples/dh_arm.yaml --duration 2 --csv fall.csv

    Ctrl-C ends a run early, and a run that diverges stops. In both cases the results so far are written.
    """
    with guarded(json, debug):
        outputs = Outputs(out, csv, report, plots, video).checked()
        options = Options(
            duration,
            every,
            method,
            rtol,
            atol,
            step,
            engine.value,
            rigid,
            given_numbers(numbers or ()),
        )
        subject = read(file, lenient)
        refuse_inputs(outputs.files, subject.inputs)
        case = prepared(subject, options)
        result, error = run_case(case, file, options)
        files = write_rows(outputs, result)
        found = summary(case, result)
        files += write_more(outputs, case, result, found)
        found |= {"file": file, "files": files}
        if error is not None:
            found["error"] = exits.described(error)
        if json:
            print_json(found)
        else:
            show(*tables(found))
            for path in files:
                typer.echo(f"wrote {path}")
        if error is not None:
            if debug:
                traceback.print_exception(error)
            note(str(error).replace(" (error.result)", ""), "error")
            note(_kept(result, files))
            raise typer.Exit(exits.SIMULATION)
        if result.message.startswith("interrupted"):
            note(_kept(result, files))
            raise typer.Exit(exits.INTERRUPTED)


def run_case(
    case: Case, file: Path, options: Options
) -> tuple[simulation.Result, SimulationError | None]:
    """The result, and the error of a simulation that failed with what there is up to then."""
    if off := apart(case.system, case.q0):
        raise FileError(
            f"{file}: the start does not satisfy the closures of {case.system.name!r}: {off}. Give a scenario "
            "`initial: {assemble: true}`, which uses initial.q or the neutral configuration as the guess.",
            str(file),
        )
    try:
        with redirect_stdout(sys.stderr):  # SUNDIALS prints its errors
            done = simulation.simulate(
                case.system, case.duration, q0=case.q0, v0=case.v0, torque=case.torque, external=case.external,
                motion=case.motion, environment=case.environment, events=case.events, t_eval=case.times, **case.settings,
            )  # fmt: skip
    except SimulationError as error:
        if not isinstance(error.result, simulation.Result):
            raise
        return error.result, error
    except (ArgumentValueError, ArgumentTypeError) as error:
        if (
            options.method is None and options.step is None
        ):  # the file requests something impossible
            raise FileError(f"{file}: {error}", str(file)) from error
        raise
    return done, None


def _kept(result: simulation.Result, files: list[Path]) -> str:
    """What remains of a run that did not reach its end, in words."""
    if not len(result):
        return "nothing was computed."
    reached = f"what was computed, up to t = {result.t[-1]:g} s,"
    if files:
        return f"{reached} is in {', '.join(map(str, files))}."
    return f"{reached} was not written: --out FOLDER or --csv FILE would keep it."
