"""`limber body`: reduces a structure to a flexible body and reports how far to trust it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from limber.cli.exits import guarded
from limber.cli.flexible import Reading, Reducing, flexible_body, saved
from limber.cli.output import Debug, Json, escape, pairs, print_json, show, table
from limber.cli.write import refuse_inputs
from limber.whole import refuse_unwritable

_NODE = "NODE"
_STRUCTURE = "Of a structure"
_FILES = "Files"


def _option(
    help_text: str, metavar: str | None = None, panel: str = _STRUCTURE, *names: str
) -> Any:
    return typer.Option(
        *names, metavar=metavar, help=help_text, rich_help_panel=panel, show_default=False
    )


def body(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A structure (.npz, .inp, .asm, .bdf, .op4, .mtx), a body (.sid, .npz) or a model (.yaml, .urdf).",
            show_default=False,
        ),
    ],
    which: Annotated[
        str | None,
        typer.Option(
            "--body", metavar="NAME", help="Which body of the model to report.", show_default=False
        ),
    ] = None,
    clamped: Annotated[
        list[str] | None,
        _option(
            "A node or group (a node set) to clamp, or a plane of nodes: x=0, x=min, x=max; may be repeated.",
            _NODE,
        ),
    ] = None,
    pinned: Annotated[
        list[str] | None,
        _option(
            "A node whose displacements are fixed but not its rotations; may be repeated.", _NODE
        ),
    ] = None,
    interface: Annotated[
        list[str] | None,
        _option(
            "A node or group where other bodies attach or forces act; a group becomes one node; may be repeated.",
            _NODE,
        ),
    ] = None,
    nodes: Annotated[
        list[str] | None,
        _option(
            "A further node or group to keep, or all; may be repeated.",
            _NODE,
            _STRUCTURE,
            "--node",
        ),
    ] = None,
    modes: Annotated[
        int | None, _option("Keep the N lowest normal modes; 10 by default.", "N")
    ] = None,
    band: Annotated[
        tuple[float, float] | None,
        _option("Keep the normal modes between two frequencies, Hz.", "LOW HIGH"),
    ] = None,
    effective_mass: Annotated[
        float | None,
        _option(
            "Keep as many modes as it takes to reach this fraction of the mass in x, y and z.",
            "PART",
        ),
    ] = None,
    method: Annotated[
        str | None, _option("normal, static-correction or craig-bampton.", "METHOD")
    ] = None,
    load: Annotated[
        list[str] | None,
        _option(
            "Mass attached to a node, for the mode shapes and the comparison: NODE=MASS[,INERTIA]; may be repeated.",
            "LOAD",
        ),
    ] = None,
    patch: Annotated[
        list[str] | None,
        _option(
            "The nodes of a solid with which a node moves: NODE:NODES, names or x=max; may be repeated.",
            "PATCH",
        ),
    ] = None,
    origin: Annotated[
        str | None,
        _option(
            "Origin of the body frame: a node, a group or a point X,Y,Z; by default the first clamped node or group.",
            "POINT",
        ),
    ] = None,
    damping: Annotated[float | None, _option("Damping ratio of all modes.", "RATIO")] = None,
    geometric_stiffening: Annotated[
        bool,
        _option(
            "Let loads stiffen or soften the body; for solids of CalculiX and Abaqus decks.",
            None,
            _STRUCTURE,
            "--geometric-stiffening",
        ),
    ] = False,
    units: Annotated[
        str | None,
        _option("Units of the file: m-kg, mm-t, mm-kg, in-slinch or ft-slug.", "UNITS", _FILES),
    ] = None,
    mass: Annotated[
        Path | None, _option("The mass matrix, if FILE is a stiffness matrix .mtx.", "MTX", _FILES)
    ] = None,
    table_of_nodes: Annotated[
        Path | None,
        _option(
            "The nodes of .mtx matrices: lines `name x y z`, or an .inp deck; for a CalculiX job, another .inp or .frd file.",
            "TABLE",
            _FILES,
            "--table",
        ),
    ] = None,
    matrices: Annotated[
        Path | None,
        _option("The matrices of a Nastran model, if they are not next to FILE.", "OP4", _FILES),
    ] = None,
    matrix_names: Annotated[
        tuple[str, str] | None,
        _option(
            "Names of the mass and stiffness matrices of a Nastran model, such as MGG KGG.",
            "MASS STIFFNESS",
            _FILES,
        ),
    ] = None,
    name: Annotated[
        str | None, _option("Name of the body; by default that of the file.", "NAME", _FILES)
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Write a picture (.png, .svg or .pdf).")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="HTML", help="Write a page with tables and pictures.")
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the body exactly: .yaml is a model of this body alone, .npz is for use in model files.",
        ),
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Reduce a structure to a flexible body, or read one from a file, and report how far to trust it.

    The tables list mass, centre of mass and inertia; frequencies and effective masses with their sums; the modes of the
    full structure and of the body side by side, with the modal assurance criterion (MAC); and deflections under unit
    forces and moments at interface nodes. For bodies without a structure (those of models and of Standard Input Data)
    only the properties of the body itself are known; beams are compared with beam theory.

      limber body boom.npz --clamped root --interface tip --modes 6 --method craig-bampton
      limber body job.inp --units mm-t --clamped x=min --interface 12 --patch 12:x=max --plot body.png
      limber body job.inp --clamped ROOT --interface FLANGE --method static-correction --html body.html
      limber body boom.npz --clamped root --save boom_body.npz
      limber body examples/canadarm.yaml --body link2 --html link2.html
    """
    with guarded(json, debug):
        outputs = _outputs(plot, html, save)
        refuse_inputs(outputs, [file])
        reading = Reading(units, mass, table_of_nodes, matrices, matrix_names)
        reducing = Reducing(
            tuple(clamped or ()), tuple(pinned or ()), tuple(interface or ()), tuple(nodes or ()), modes, band,
            effective_mass, method, tuple(load or ()), tuple(patch or ()), origin, damping,
            geometric_stiffening or None,
        )  # fmt: skip
        found = flexible_body(file, which, reading, reducing)
        refuse_inputs(outputs, found.inputs)
        if name:
            found = replace(found, name=name)
        report = found.body.report(name=found.name)
        use = None if save is None else saved(found, save)
        if plot is not None:
            report.plot(path=plot)
        if html is not None:
            report.html(html)
        if json:
            print_json(
                described(report)
                | {"file": file}
                | dict(zip(("plot", "html", "save"), (plot, html, save)))
            )
            return
        _show(report)
        for path in (plot, html):
            if path is not None:
                typer.echo(f"wrote {path}")
        if save is not None:
            typer.echo(f"wrote {save}: {use}")


def _outputs(plot: Path | None, html: Path | None, save: Path | None) -> list[tuple[str, Path]]:
    """List the files to write; raise an error before the work starts if one of them cannot be written."""
    given = (
        ("--plot", plot, (".png", ".svg", ".pdf")),
        ("--html", html, (".html", ".htm")),
        ("--save", save, (".yaml", ".yml", ".npz")),
    )
    outputs = [(option, file) for option, file, _ in given if file is not None]
    for option, file, endings in given:
        if file is None:
            continue
        if file.suffix.lower() not in endings:
            raise typer.BadParameter(f"{file} must end in {', '.join(endings)}.", param_hint=option)
        if not file.parent.is_dir():
            raise typer.BadParameter(
                f"{file}: the folder {file.parent} does not exist.", param_hint=option
            )
        refuse_unwritable(file)
    return outputs


def described(report: Any) -> dict[str, Any]:
    """Convert a report for --json."""
    c = report.comparison
    full = None
    if c is not None:
        full = {
            "what": c.full,
            "held": c.held,
            "good_to_hz": report.good_to,
            "frequencies": c.omega / (2.0 * np.pi),
            "body_frequencies": c.own / (2.0 * np.pi),
            "mac": c.mac,
            "matches": [
                {"mode": m.full + 1, "body_mode": m.body + 1, "error": m.error, "mac": m.mac}
                for m in report.matches
            ],
            "static": [
                {"node": s.node, "load": s.load, "full": s.full, "body": s.body, "error": s.error}
                for s in c.static
            ],
            "movable": c.movable,
        }
    return {
        "name": report.name,
        "modes": report.body.modes,
        "mass": report.mass,
        "com": report.com,
        "inertia": report.inertia,
        "frequencies": report.frequencies,
        "damping": report.damping,
        "total": report.total,
        "effective_mass": report.effective_mass,
        "full": full,
        "buckling": None if report.buckling is None else vars(report.buckling),
        "notes": report.notes,
    }


def _show(report: Any) -> None:
    """Print the tables and notes of a report."""
    from limber.structures import report_text as rows  # noqa: PLC0415 (sparse matrices)

    made = [
        pairs(
            escape(report.name), {k: escape(v) for k, v in list(rows.summary(report).items())[1:]}
        )
    ]
    each = table(
        "Modes with the body frame held, and their fractions of mass and inertia",
        *rows.MODES,
        left=0,
    )
    for row in rows.modes(report):
        each.add_row(*row)
    made.append(each)
    if report.comparison is not None:
        beside = table(escape(rows.heading(report)), *rows.MATCHES, left=0)
        for m in report.matches:
            beside.add_row(*rows.match(m))
        made.append(beside)
    if report.static:
        loads = table("Deflection under unit loads, m/N and rad/(N m)", *rows.STATIC, left=2)
        for s in report.static:
            loads.add_row(*map(escape, rows.static(s)))
        made.append(loads)
    show(*made)
    for text in report.notes:
        typer.echo(text)
