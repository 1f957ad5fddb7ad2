"""`limber view`: a model, a scenario or a result, live in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from limber import simulation
from limber.cli.case import Options, prepared
from limber.cli.exits import guarded
from limber.cli.output import Debug, note
from limber.cli.simulate import run_case
from limber.cli.subject import Lenient, read


def view(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A model (.yaml), a scenario (.yaml), a robot (.urdf, .sdf, .xml of MuJoCo) or a result (.h5).",
            show_default=False,
        ),
    ],
    port: Annotated[
        int,
        typer.Option(min=0, max=65535, help="Of the address; the next free one if it is taken."),
    ] = 8080,
    host: Annotated[
        str, typer.Option(help="0.0.0.0 for browsers of other machines as well.")
    ] = "127.0.0.1",
    scale: Annotated[float, typer.Option(min=0.0, help="Of the deformation at first.")] = 1.0,
    still: Annotated[
        bool, typer.Option("--still", help="Do not simulate a scenario: show its start.")
    ] = False,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the browser of this machine.")
    ] = True,
    lenient: Lenient = False,
    debug: Debug = False,
) -> None:
    """Show a model or a result live in a browser, until Ctrl-C; needs the extra `view` (viser).

    The page has sliders for every joint and mode, natural modes in motion, and a load that one drags at a node. A
    scenario is simulated first and played, and a result is played. Bodies are drawn by their shapes where the file
    gives them any: `shapes` in model files, the visuals of robots.

      limber view examples/canadarm.yaml
      limber view examples/canadarm_slew.yaml --scale 5
      limber view robot.urdf --port 9000 --no-browser
    """
    with guarded(False, debug):
        from limber.viewer import view as open_view  # noqa: PLC0415 (keeps `limber --help` quick)

        if file.suffix.lower() == ".h5":
            shown, q = simulation.Result.load(file), None
        else:
            subject = read(file, lenient)
            shown, q = subject.system, subject.q0  # type: ignore[assignment]
            if subject.scenario is not None and not still:
                note(f"simulating {subject.name} ...")
                options = Options()
                shown, error = run_case(prepared(subject, options), file, options)
                if error is not None:
                    note(f"{error} What was computed is shown.".replace(" (error.result)", ""))
                q = None
        made = open_view(shown, q, port=port, host=host, scale=scale, open_browser=browser)
        typer.echo(f"{made.system.name}: {made.url} (Ctrl-C ends it)")
        made.wait()
