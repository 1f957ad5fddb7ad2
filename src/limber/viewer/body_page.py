"""`body_page`: the report on a flexible body as one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from limber.checks import shown, whole
from limber.errors import ArgumentTypeError
from limber.plotting.body import COLUMNS, MODE_HEIGHT, mode_figure, panels_of
from limber.plotting.style import PAGE, new_figure, style, target
from limber.structures import report_text
from limber.structures.report import BodyReport
from limber.viewer.page import page
from limber.viewer.svg import INK, THEMED, svg_of
from limber.viewer.tables import pair_table, wide_table
from limber.whole import replacing


def body_page(report: BodyReport, path: Any, *, title: str = "", count: int = 6) -> Path:
    """Write a report on a body as one HTML file with tables and pictures.

    Parameters
    ----------
    report : of a body, from `body.report()`.
    path : the file, .html.
    title : the heading; by default the name of the body.
    count : how many modes are drawn, from the lowest; 0 for none.
    """
    file = target(path, ("html", "htm"))
    if not isinstance(report, BodyReport):
        raise ArgumentTypeError(
            f"body_page takes a report, got {shown(report)}. Give body.report()."
        )
    if not isinstance(title, str):
        raise ArgumentTypeError(f"title must be text, got {shown(title)}.")
    drawn = min(whole("count", count, 0), int((report.omega > 0.0).sum()))
    compared = report.comparison
    against = "" if compared is None else f"; compared with {compared.full}, {compared.held}"
    text = page(
        title=title or report.name or "Flexible body",
        summary=f"{report.body.modes} modes, {report.mass:.6g} kg{against}",
        notes="\n".join(f"<p>{escape(note)}</p>" for note in report.notes),
        main=f"<h2>Mode shapes</h2>\n{_shapes(report, drawn)}",
        plots="\n".join(_panel(report, draw, i) for i, draw in enumerate(panels_of(report))),
        tables=_tables(report),
    )
    with replacing(file) as stream:
        stream.write(text.encode())
    return file


def _shapes(report: BodyReport, count: int) -> str:
    rows = -(-count // COLUMNS)

    def draw(figure: Any) -> None:
        mode_figure(report, figure, count, rows, PAGE)

    return _figure(draw, PAGE, MODE_HEIGHT * rows, "modes-") if count else ""


def _panel(report: BodyReport, draw: Callable[[BodyReport, Any], None], number: int) -> str:
    return _figure(lambda figure: draw(report, figure.subplots()), 4.0, 3.0, f"plot{number}-")


def _figure(draw: Callable[[Any], None], width: float, height: float, prefix: str) -> str:
    """A picture as a figure of the page, in the colours of its text."""
    with style(
        figure_facecolor="none", axes_facecolor="none", savefig_facecolor="none", grid_alpha=0.14, **THEMED
    ):  # fmt: skip
        figure = new_figure(width, height)
        draw(figure)
        for axes in figure.axes:
            for text in axes.texts:
                if text.get_color() == "black":
                    text.set_color(INK)
        return f'<figure class="plot" style="cursor: auto" role="img">{svg_of(figure, prefix)}</figure>'


def _modes(report: BodyReport) -> str:
    caption = "Modes with the body frame held, and their fractions of mass and inertia"
    found = [tuple(row) for row in report_text.modes(report)]
    return wide_table(caption, report_text.MODES, found)


def _tables(report: BodyReport) -> str:
    rows = report_text
    parts = [
        pair_table("Body", list(rows.summary(report).items())),
        f'<div style="grid-column: 1 / -1">{_modes(report)}</div>',
    ]
    if report.comparison is not None:
        found = [tuple(rows.match(m)) for m in report.matches]
        parts.append(wide_table(rows.heading(report), rows.MATCHES, found))
    if report.static:
        loads = [tuple(rows.static(s)) for s in report.static]
        parts.append(
            wide_table("Deflection under unit loads, m/N and rad/(N m)", rows.STATIC, loads)
        )
    return "\n".join(parts)
