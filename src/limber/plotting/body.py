"""`plot_body`: the report on a flexible body as a figure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from limber.assembly import Assembly, System
from limber.checks import number, shown, whole
from limber.drawing.colours import colour
from limber.dynamics.modes import modes
from limber.errors import ArgumentTypeError
from limber.joints import Fixed
from limber.plotting.mode_shapes import draw_modes
from limber.plotting.style import PAGE, new_figure, plain, save, style, target
from limber.structures.choice import DIRECTIONS
from limber.structures.report import BodyReport

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Modes side by side, and the height of a row of them, inches.
COLUMNS, MODE_HEIGHT = 3, 1.5
#: Numbers are written into a matrix of modal assurance of up to this many modes.
WRITTEN = 10
#: A part of a bar is numbered if it is at least so much of the whole.
NUMBERED = 0.045
#: At most this many static loads are drawn, those with the largest errors.
BARS = 18

Draw = Callable[[BodyReport, Any], None]


def plot_body(
    report: BodyReport,
    *,
    count: int = 6,
    amplitude: float = 0.12,
    view: str = "auto",
    title: str = "",
    width: float = PAGE,
    path: Any = None,
) -> Figure:
    """Plot a report on a body: mode shapes, modal assurance, effective masses and static deflections.

    Parameters
    ----------
    report : of a body, from `body.report()`.
    count : how many modes are drawn, from the lowest; 0 for none.
    amplitude, view : of the mode shapes, as in `mode_shapes`.
    title : above the figure; by default the name of the body.
    width : inches.
    path : also write the figure to this file, .png, .svg or .pdf.
    """
    if not isinstance(report, BodyReport):
        raise ArgumentTypeError(
            f"plot_body takes a report, got {shown(report)}. Give body.report()."
        )
    file = None if path is None else target(path)
    width, amplitude = number("width", width, above=0.0), number("amplitude", amplitude, above=0.0)
    drawn = min(whole("count", count, 0), int((report.omega > 0.0).sum()))
    rows = -(-drawn // COLUMNS)
    title = title or report.name
    with style():
        heights = [MODE_HEIGHT * rows] * bool(rows) + [2.7]
        figure = new_figure(width, sum(heights) + 0.3 * bool(title))
        parts = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
        if rows:
            mode_figure(report, parts[0], drawn, rows, width, amplitude, view)
        panels = panels_of(report)
        every = parts[-1].subplots(1, COLUMNS, width_ratios=[1.0, 1.25, 1.25])
        for axes in every[len(panels) :]:
            axes.set_axis_off()
        for axes, draw in zip(every, panels):
            draw(report, axes)
        if title:
            figure.suptitle(plain(title), fontsize=9)
    if file is not None:
        save(figure, file)
    return figure


def mode_figure(
    report: BodyReport,
    figure: Any,
    count: int,
    rows: int,
    width: float,
    amplitude: float = 0.12,
    view: str = "auto",
) -> None:
    """Draw the lowest modes of the body, with its frame held, in a figure of this width in inches."""
    system = held_body(report)
    found = modes(system)
    which = np.flatnonzero(found.omega > 0.0)[:count]
    grid = rows, COLUMNS
    wide = width / COLUMNS
    draw_modes(figure, grid, system, system.neutral(), found, which, amplitude, view, wide)


def held_body(report: BodyReport) -> System:
    """The body alone, with its frame held."""
    assembly = Assembly(report.name or "body")
    assembly.attach(report.name or "body", report.body, Fixed())
    return assembly.build()


def panels_of(report: BodyReport) -> list[Draw]:
    """The panels next to the mode shapes."""
    panels: list[Draw] = [effective_masses]
    if report.comparison is not None:
        panels.insert(0, assurance)
    if report.static:
        panels.append(static_deflections)
    return panels


def assurance(report: BodyReport, axes: Any) -> None:
    """The matrix of modal assurance."""
    assert report.comparison is not None
    mac = report.comparison.mac
    m, k = mac.shape
    axes.imshow(mac, cmap="Blues", vmin=0.0, vmax=1.0, aspect="equal", interpolation="nearest")
    if max(m, k) <= WRITTEN:
        for i, j in np.argwhere(mac >= 0.005):
            ink = "white" if mac[i, j] > 0.6 else "black"
            axes.text(j, i, f"{mac[i, j]:.2f}", ha="center", va="center", fontsize=5, color=ink)
    for ticks, n in ((axes.set_xticks, k), (axes.set_yticks, m)):
        every = -(-n // 10)
        ticks(range(0, n, every), [str(i + 1) for i in range(0, n, every)])
    axes.set(xlabel="mode of the full model", ylabel="mode of the body")
    axes.set_title("modal assurance (MAC)", loc="left")
    axes.grid(False)


def effective_masses(report: BodyReport, axes: Any) -> None:
    """Stacked bars of the effective mass of each mode in every direction, and a mark at the largest possible value."""
    parts = np.nan_to_num(report.parts)
    left = np.zeros(len(DIRECTIONS))
    for i, part in enumerate(parts):
        axes.barh(
            range(len(DIRECTIONS)), part, left=left, color=colour(i), edgecolor="white", linewidth=0.3
        )  # fmt: skip
        for j in np.flatnonzero(part >= NUMBERED):
            middle = left[j] + 0.5 * part[j]
            axes.text(middle, j, str(i + 1), ha="center", va="center", fontsize=6, color="white")
        left = left + part
    movable = report.movable_parts
    if movable is not None:
        known = np.flatnonzero(np.nan_to_num(movable) > 0.0)
        for j in known:
            axes.plot([movable[j]] * 2, [j - 0.42, j + 0.42], color="0.25", linewidth=1.0)
    axes.set_yticks(range(len(DIRECTIONS)), DIRECTIONS)
    axes.set(xlim=(0.0, 1.05), xlabel="fraction of mass or inertia")
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_axisbelow(True)
    if not parts.any():
        axes.text(0.525, 2.5, "none: modes of a free body", ha="center", va="center", color="0.35")
    marked = "; mark: can move" if movable is not None and np.nan_to_num(movable).any() else ""
    axes.set_title(f"effective mass, by mode{marked}", loc="left")


def static_deflections(report: BodyReport, axes: Any) -> None:
    """Bars of the static deflection that the body lacks; of many loads, the worst are shown."""
    loads = sorted(report.static, key=lambda s: -s.error)[:BARS]
    loads = [s for s in report.static if s in loads]
    several = len({s.node for s in loads}) > 1
    names = [plain(f"{s.node}: {s.load}" if several else s.load) for s in loads]
    errors = [100.0 * max(s.error, 0.0) for s in loads]
    axes.barh(range(len(loads)), errors, color=colour(0))
    most = max(*errors, 1.0) if len(errors) > 1 else max(errors[0], 1.0)
    for i, error in enumerate(errors):
        label = "0" if error < 5e-7 else f"{error:.3g}"
        axes.text(error + 0.02 * most, i, label, va="center", fontsize=6)
    axes.set_yticks(range(len(loads)), names, fontsize=7 if len(loads) <= 8 else 5)
    axes.set(xlim=(0.0, 1.18 * most), xlabel="missing deflection (%)")
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_axisbelow(True)
    at = "" if several else plain(f" at {loads[0].node}")
    axes.set_title(f"unit loads{at}", loc="left")
