"""`report`: a result as one self-contained HTML file with plots, numbers and an animation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any

from limber.assembly.system import System
from limber.checks import number, shown
from limber.drawing.skeleton import skeletons
from limber.drawing.tip import tip
from limber.errors import ArgumentTypeError
from limber.plotting.panel import Panel
from limber.plotting.panels import Selection
from limber.plotting.plot import MARKED, chosen_bodies, chosen_nodes, panels_of, what_names
from limber.plotting.reference import reference_of
from limber.plotting.results import pictured
from limber.plotting.style import target
from limber.simulation.result import Result
from limber.viewer.page import filled, page, source
from limber.viewer.scene import scene
from limber.viewer.svg import plot_html
from limber.viewer.tables import tables
from limber.whole import replacing

SCRIPTS = ("scene.js", "camera.js", "webgl.js", "canvas.js", "picture.js", "player.js")


def report(
    result: Result,
    path: Any,
    *,
    title: str = "",
    notes: str = "",
    scale: float = 1.0,
    what: str | Iterable[str] | None = None,
    bodies: Iterable[str] | None = None,
    nodes: Mapping[str, str | int] | None = None,
    reference: Any = None,
    trail: tuple[str, str | int] | None = None,
) -> Path:
    """Write one self-contained HTML file: plots, numbers, and an animation in space.

    Parameters
    ----------
    result : a Result with at least one row.
    path : the file, .html.
    title : the heading; by default the name of the system.
    notes : a paragraph of text below it.
    scale : the initial scale of the deformation; the page has a slider for it.
    what : the plots, as in `limber.plotting.plot`; by default those that suit the system.
    bodies, nodes, reference : for the plots, as there.
    trail : (body, node) whose path is drawn; by default the tip of the last body.

    The file contains the motion (thinned beyond 2000 rows or 1.5 MB) and no date; the same result gives the same file.
    """
    file = target(path, ("html", "htm"))
    result = pictured("report", result, 1, "there is nothing to report")
    s = result.system
    for name, text in (("title", title), ("notes", notes)):
        if not isinstance(text, str):
            raise ArgumentTypeError(f"{name} must be text, got {shown(text)}.")
    chosen, ends = chosen_bodies(s, bodies), chosen_nodes(s, nodes)
    known = None if reference is None else reference_of(result, reference, chosen)
    selection = Selection(result, chosen, ends, known)
    names = fitting(selection) if what is None else what_names(what)
    followed = _trail(s, trail)
    moving = scene(result, followed, number("scale", scale))
    chips = _bodies(moving["bodies"][:40], len(s.bodies))
    text = page(
        title=title or s.name,
        summary=_summary(result),
        notes=f"<p>{escape(notes)}</p>" if notes else "",
        main=filled(source("stage.html"), {"trail": escape(_named(s, followed)), "bodies": chips}),
        plots=_plots(selection, names),
        tables=tables(result, ends),
        scripts=filled(
            source("player.html"),
            {
                "scene": json.dumps(moving, separators=(",", ":")).replace("<", "\\u003c"),
                "script": "\n".join(source(name) for name in SCRIPTS),
            },
        ),
    )
    with replacing(file) as stream:
        stream.write(text.encode())
    return file


def fitting(selection: Selection) -> list[str]:
    """The plots that have something to show."""
    s, r = selection.result.system, selection.result
    moving = any(s.joints[b].dofs for b in selection.bodies)
    flexible = any(s.bodies[b].modes for b in selection.bodies)
    names = ["joints", "speeds"] if moving else []
    names += ["errors"] if moving and selection.reference is not None else []
    names += ["deflection"] if flexible else []
    drawn = skeletons(s)
    names += ["rotation"] if any(len(drawn[b].ribs.points) for b in selection.bodies) else []
    names += ["torques"] if moving and r.tau.any() else []
    names += ["signals"] if r.signals else []
    return [*names, "energy", *(["power"] if len(r) >= 3 else [])]


def _plots(selection: Selection, names: list[str]) -> str:
    r = selection.result
    span = (float(r.t[0]), float(r.t[-1]))
    if span[0] == span[1]:
        span = (span[0] - 0.5, span[0] + 0.5)
    events = tuple(e.t for e in r.events if span[0] <= e.t <= span[1])[:MARKED]
    every: list[Panel] = [panel for name in names for panel in panels_of(name, selection)]
    return "\n".join(plot_html([p], events, span, i) for i, p in enumerate(every))


def _trail(s: System, trail: Any) -> tuple[str, int]:
    """The (body, node number) to follow."""
    if trail is None:
        with_nodes = [b for b in s.layout if s.bodies[b].node_set.names]
        body = with_nodes[-1] if with_nodes else list(s.layout)[-1]
        return body, tip(s, body) if with_nodes else -1
    if not isinstance(trail, tuple) or len(trail) != 2:
        raise ArgumentTypeError(f"trail must be (body, node), got {shown(trail)}.")
    node = s.node_number(*trail, "trail: node")
    return trail[0], -1 if node is None else node


def _named(s: System, followed: tuple[str, int]) -> str:
    body, node = followed
    return body if node < 0 else f"{body} {s.bodies[body].node_set.names[node]}"


def _summary(result: Result) -> str:
    s, cost = result.system, result.statistics
    flexible = sum(1 for b in s.bodies.values() if b.modes)
    text = f"{s.name}: {len(s.bodies)} bodies, {flexible} flexible, {s.nv} degrees of freedom; "
    text += f"{result.t[0]:g} to {result.t[-1]:g} s"
    return text + (
        f" in {cost.steps} steps, {cost.seconds:.3g} s of wall time" if cost.steps else ""
    )


def _bodies(bodies: list[dict[str, Any]], count: int) -> str:
    chips = [
        f'<li><i style="background:{b["colour"]}"></i>{escape(b["name"])}</li>' for b in bodies
    ]
    more = [f'<li class="soft">and {count - len(bodies)} more</li>'] if count > len(bodies) else []
    return f'<ul class="bodies">{"".join(chips + more)}</ul>'
