"""The command line: `limber demo`."""

from __future__ import annotations

import typer

app = typer.Typer(
    help="Dynamics and control of flexible multibody systems.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def main() -> None:
    """Dynamics and control of flexible multibody systems."""


@app.command()
def demo() -> None:
    """Build the flexible Canadarm of Mohan & Saha, evaluate its dynamics and print what comes out."""
    from limber import demo as canadarm  # noqa: PLC0415 (keeps `limber --help` quick)

    canadarm.run()


if __name__ == "__main__":
    app()
