"""`limber examples`: lists and runs the examples."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

import limber
from limber.checks import did_you_mean
from limber.cli.exits import guarded
from limber.cli.output import Debug, escape, show, table
from limber.errors import ArgumentValueError, LimberError


def examples(
    name: Annotated[str | None, typer.Argument(help="The example to run.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the picture and the report.")] = Path("out"),
    debug: Debug = False,
) -> None:
    """List the examples, or run one of them: it prints its results and writes a picture and an HTML report.

      limber examples
      limber examples scissor_boom --out out

    The scripts are meant to be read and copied; the list says where they are.
    """
    with guarded(False, debug):
        scripts = {path.stem: path for path in sorted(folder().glob("*.py"))}
        if name is None:
            made = table("Examples", "name", "what it shows", left=2)
            for each, path in scripts.items():
                made.add_row(escape(each), escape(_title(path)))
            show(made)
            typer.echo(f"Scripts, models and scenarios are in {folder()}")
        elif name not in scripts:
            raise ArgumentValueError(
                f"there is no example {name!r}. {did_you_mean(name, scripts)} `limber examples` lists them."
            )
        else:
            loaded(scripts[name]).main(out)
            typer.echo(f"wrote {out / f'{name}.png'}\nwrote {out / f'{name}.html'}")


def folder() -> Path:
    """The folder of the examples: inside the package if it is installed, otherwise next to its sources."""
    package = Path(limber.__file__).parent
    for place in (package / "examples", package.parents[1] / "examples"):
        if place.is_dir():
            return place
    raise LimberError(
        f"the examples are not installed: there is no folder 'examples' in {package}. They are part of the repository."
    )


def loaded(path: Path) -> ModuleType:
    """Load an example as a module."""
    name = f"limber_example_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


def _title(path: Path) -> str:
    """The first line of the docstring of a script."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]
