"""`limber view`: shows a model, a scenario or a result live in a browser."""

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
            help="A model (.yaml), a scenario (.yaml), a robot (.urdf, .sdf, MuJoCo .xml) or a result (.h5).",
            show_default=False,
        ),
    ],
    port: Annotated[
        int,
        typer.Option(
            min=0, max=65535, help="Port of the address; the next free one if it is in use."
        ),
    ] = 8080,
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 admits browsers on other machines.")
    ] = "127.0.0.1",
    scale: Annotated[float, typer.Option(min=0.0, help="Initial scale of the deformation.")] = 1.0,
    still: Annotated[
        bool,
        typer.Option("--still", help="Show the initial state of a scenario without simulating it."),
    ] = False,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the browser on this machine.")
    ] = True,
    lenient: Lenient = False,
    debug: Debug = False,
) -> None:
    """Show a model or a result live in a browser, until Ctrl-C. Needs the extra `view` (viser).

    The page has sliders for every joint and mode, animated natural modes, and a load that you drag at a node. A
    scenario is simulated first and then played; a result is played. Bodies are drawn with their shapes if the file has
    any: `shapes` in model files, the visuals of robots.

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
