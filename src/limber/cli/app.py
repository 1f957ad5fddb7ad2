"""The program `limber`: its commands and its help text."""

from __future__ import annotations

from collections.abc import Callable
from inspect import cleandoc
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import limber
from limber.cli import (
    bench,
    body,
    campaign,
    compare,
    demo,
    examples,
    fmu,
    info,
    linearize,
    modes,
    realtime,
    schema,
    simulate,
    tune,
    view,
)
from limber.cli.exits import readable

JSON = "--json"
HELP = """Dynamics of flexible multibody systems.

[bold]First steps[/bold], in the repository of Limber:

  limber demo
  limber examples
  limber info examples/canadarm.yaml
  limber modes examples/canadarm.yaml --all-locked
  limber simulate examples/canadarm_slew.yaml --out out --plots
  limber view examples/canadarm.yaml

Models and scenarios are YAML files; `limber schema` prints their JSON schemas.
A model can also be a URDF, SDF or MJCF file. Units are SI, and angles are in radians.

Every command except demo, examples, compare and view accepts [bold]--json[/bold], which prints one JSON object
on standard output. Messages go to standard error.

[bold]Exit codes[/bold]

    0  all went well
    1  this machine lacks something, such as a compiler, a library or a writable folder
    2  the command line is wrong
    3  a file, or the model in it, is invalid; the message says where
    4  the simulation failed; its results so far are still written
  130  interrupted (Ctrl-C, kill); a simulation writes its results so far
"""


def flowed(text: str | None) -> str:
    """Put each paragraph of a help text on one line, for the terminal to wrap; indented paragraphs stay as they are."""
    paragraphs = cleandoc(text or "").split("\n\n")
    return "\n\n".join(p if p[:1] == " " else " ".join(p.split("\n")) for p in paragraphs)


class Program(TyperGroup):
    """The group of commands. Errors in a command line are reported in JSON if --json is given."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments before the command."""
        ctx.meta[JSON] = JSON in args
        with readable(ctx.meta[JSON]):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Parse the command and its arguments, and run it."""
        with readable(ctx.meta[JSON]):
            return super().invoke(ctx)


app = typer.Typer(
    cls=Program,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"limber {limber.__version__}")
        raise typer.Exit


@app.callback(help=flowed(HELP))
def main(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Handle the options before the command."""


COMMANDS: tuple[Callable[..., Any], ...] = (
    demo.demo,
    examples.examples,
    info.info,
    modes.modes,
    linearize.linearize,
    tune.tune,
    compare.compare,
    body.body,
    simulate.simulate,
    campaign.campaign,
    view.view,
    realtime.realtime,
    fmu.fmu,
    schema.schema,
    bench.bench,
)
for command in COMMANDS:
    app.command(command.__name__, help=flowed(command.__doc__).replace("[", r"\["))(command)
