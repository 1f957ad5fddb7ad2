"""`plot`: a result as a publication figure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from limber.assembly.system import System
from limber.bodies.beam_forces import section_forces_of
from limber.checks import number, shown, whole
from limber.drawing.tip import tip
from limber.errors import ArgumentTypeError, ArgumentValueError, LimberError
from limber.plotting.panel import Panel, draw
from limber.plotting.panels import PANELS, Selection
from limber.plotting.reference import Reference, reference_of
from limber.plotting.results import pictured
from limber.plotting.style import COLUMN, new_figure, plain, save, style, target
from limber.plotting.text import text_width, wrapped
from limber.simulation.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: At most this many events are marked.
MARKED = 12


def plot(
    result: Result,
    what: str | Iterable[str] = "joints",
    *,
    bodies: Iterable[str] | None = None,
    nodes: Mapping[str, str | int] | None = None,
    stations: Mapping[str, Any] | None = None,
    reference: Any = None,
    title: str = "",
    width: float = COLUMN,
    panel_height: float = 1.55,
    columns: int = 1,
    path: Any = None,
) -> Figure:
    """Plot a result over time as a Matplotlib figure, in SI units and the width of a journal column.

    Parameters
    ----------
    result : a Result with at least one row.
    what : "joints", "speeds", "accelerations", "torques", "modes" (modal coordinates), "deflection" (of a node of each
        flexible body, in body axes), "rotation" (of the same), "moments" and "forces" (in sections of beams and
        frames), "strain" (of gauges, or on the surface of beams and frames), "stress" (normal and von Mises, on that
        surface), "energy", "power" (the audit: power, work against change of energy, remainder), "errors" (joints minus
        those of `reference`), "signals" (measurements and commands of a sampled controller); or several, one below the
        other.
    bodies : names of the bodies to show; all by default.
    nodes : maps the name of a body to the node whose deflection and rotation are shown; by default its tip: the node
        "tip", else one that carries another body, else the one farthest from the body frame.
    stations : maps the name of a body to the stations whose moments, forces, strain and stress are shown, like `at` of
        `Result.section_forces`; by default the one where they are largest.
    reference : another Result, or a function of t that returns joint coordinates (alone, or first in a tuple whose
        second entry are their rates, as trajectories do); drawn wide and pale beneath, and used as the reference of
        "errors".
    title : above the figure.
    width, panel_height : inches.
    columns : panels side by side.
    path : also write the figure to this file, .png, .svg or .pdf.

    Events of the result are dotted vertical lines.
    """
    names = what_names(what)
    file = None if path is None else target(path)
    result = pictured("plot", result, 1, "there is nothing to plot")
    chosen = chosen_bodies(result.system, bodies)
    known = None if reference is None else reference_of(result, reference, chosen)
    at = chosen_stations(result.system, stations)
    selection = Selection(result, chosen, chosen_nodes(result.system, nodes), known, at)
    panels = [panel for name in names for panel in panels_of(name, selection)]
    times = tuple(e.t for e in result.events if result.t[0] <= e.t <= result.t[-1])
    figure = figure_of(panels, times, title, width, panel_height, columns)
    if file is not None:
        save(figure, file)
    return figure


def figure_of(
    panels: list[Panel],
    events: tuple[float, ...] = (),
    title: str = "",
    width: float = COLUMN,
    panel_height: float = 1.55,
    columns: int = 1,
    foreground: str = "k",
    **settings: Any,
) -> Figure:
    """A figure of panels over a common time axis; `settings` as in `style`."""
    width, height = (
        number("width", width, above=0.0),
        number("panel_height", panel_height, above=0.0),
    )
    columns = min(whole("columns", columns, 1), len(panels))
    rows = -(-len(panels) // columns)
    with style(**settings):
        heading = wrapped(plain(title), width - 0.2, 9.0)
        tall = height * rows + 0.25 + heading_height(heading)
        figure = new_figure(width, tall)
        grid = figure.subplots(rows, columns, sharex=True, squeeze=False)
        every = list(grid.T.ravel())  # down the first column, then the next
        legends = np.zeros(grid.shape)
        for i, (axes, panel) in enumerate(zip(every, panels)):
            legends.T.flat[i] = draw(axes, panel, events[:MARKED], foreground)
            if rows > 1:
                axes.set_ylabel(_broken(axes.get_ylabel(), height - 0.15))
        figure.set_size_inches(width, tall + legends.max(axis=1).sum())
        for axes in every[len(panels) :]:
            axes.set_axis_off()
        for i, axes in enumerate(every[: len(panels)]):
            if i % rows == rows - 1 or i == len(panels) - 1:
                axes.set_xlabel("time (s)")
                axes.tick_params(labelbottom=True)
        if title:
            figure.suptitle(heading, fontsize=9, color=foreground)
        figure.align_ylabels()
    return figure


def heading_height(text: str) -> float:
    """The height of the title of a figure, inches."""
    return 0.25 + 0.14 * text.count("\n") if text else 0.0


def _broken(label: str, inches: float) -> str:
    """The label of an axis, with its unit on a separate line if it is too long."""
    words, bracket, unit = label.rpartition(" (")
    if not bracket or text_width(label, 8.0) <= inches:
        return label
    return f"{words}\n({unit}"


def panels_of(name: str, selection: Selection) -> list[Panel]:
    """The panels of one name, with those of a reference result beneath."""
    make, comparable = PANELS[name]
    panels = make(selection)
    known: Reference | None = selection.reference
    if not comparable or known is None or known.result is None:
        return panels
    try:
        beneath = make(selection.of(known.result))
    except LimberError:  # a rigid reference has no modes
        return panels
    if len(beneath) != len(panels):
        return panels
    return [replace(a, reference=b.lines) for a, b in zip(panels, beneath)]


def what_names(what: Any) -> list[str]:
    """Check the names of panels that a user requested."""
    if isinstance(what, str):
        names = [what]
    else:
        try:
            names = list(what)
        except TypeError:
            names = [what]
    if not names:
        raise ArgumentValueError(f"what is empty; choose among {', '.join(PANELS)}.")
    for name in names:
        if not isinstance(name, str) or name not in PANELS:
            raise ArgumentValueError(
                f"what={shown(name)} is unknown; choose among {', '.join(PANELS)}."
            )
    return names


def chosen_bodies(system: System, bodies: Iterable[str] | None) -> list[str]:
    """The bodies that a user requested, or all."""
    if bodies is None:
        return list(system.layout)
    if isinstance(bodies, str):
        bodies = [bodies]
    try:
        names = list(bodies)
    except TypeError:
        raise ArgumentTypeError(
            f"bodies must be a list of body names, got {shown(bodies)}."
        ) from None
    if not names:
        raise ArgumentValueError("bodies is empty: name at least one, or leave it out for all.")
    return [system.body_of(name, "bodies: body") for name in names]


def chosen_nodes(system: System, nodes: Mapping[str, str | int] | None) -> dict[str, int]:
    """The node of every flexible body whose deflection is shown."""
    if nodes is not None and not isinstance(nodes, Mapping):
        raise ArgumentTypeError(
            f"nodes must map body names to nodes, as in {{'link1': 'tip'}}, got {shown(nodes)}."
        )
    found = {b: tip(system, b) for b, body in system.bodies.items() if body.modes}
    for body, node in (nodes or {}).items():
        where = system.node_number(body, node, f"nodes[{body!r}]")
        if where is None:
            raise ArgumentTypeError(f"nodes[{body!r}] must be a node name or number, got None.")
        found[body] = where
    return found


def chosen_stations(system: System, stations: Mapping[str, Any] | None) -> dict[str, Any]:
    """The stations of beams and frames that a user requested."""
    if stations is not None and not isinstance(stations, Mapping):
        raise ArgumentTypeError(
            f"stations must map body names to stations, as in {{'link1': ['root', 0.5]}}, got {shown(stations)}."
        )
    found = {body: at for body, at in (stations or {}).items() if at is not None}
    for body, at in found.items():
        system.number(body, "stations: body")
        section_forces_of(system.bodies[body], at, f"body {body!r}")
    return found
