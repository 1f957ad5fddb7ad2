"""Figures as inline SVG: in the text colours of the page, with unique identifiers."""

from __future__ import annotations

import io
import re
from html import escape
from typing import TYPE_CHECKING, Any

from limber.plotting.panel import Panel
from limber.plotting.plot import figure_of
from limber.plotting.style import save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: A panel has at most about so many points, so that pages of long results stay small.
POINTS = 40_000
#: The colour that becomes that of the text of the page.
INK = "#010203"
THEMED: dict[str, Any] = dict.fromkeys(
    (
        "text_color", "axes_edgecolor", "axes_labelcolor", "axes_titlecolor", "xtick_color", "ytick_color",
        "grid_color", "legend_labelcolor",
    ),
    INK,
)  # fmt: skip


def plot_html(
    panels: list[Panel], events: tuple[float, ...], span: tuple[float, float], number: int
) -> str:
    """Panels as a figure of the page; `span` is the time range of its axes."""
    figure = figure_of(
        [p.thinned(POINTS) for p in panels], events, width=4.9, panel_height=1.9, foreground=INK,
        figure_facecolor="none", axes_facecolor="none", savefig_facecolor="none", grid_alpha=0.14, **THEMED,
    )  # fmt: skip
    for axes in figure.axes:
        axes.set_xlim(*span)
    svg = svg_of(figure, f"plot{number}-")
    box = figure.axes[-1].get_position()
    where = f"{box.x0:.5f} {box.x1:.5f} {1 - box.y1:.5f} {1 - box.y0:.5f} {span[0]!r} {span[1]!r}"
    label = escape(", ".join(p.label for p in panels), quote=True)
    return (
        f'<figure class="plot" data-span="{where}" role="img" aria-label="{label}">{svg}</figure>'
    )


def svg_of(figure: Figure, prefix: str) -> str:
    """A figure as an <svg> element, its identifiers beginning with `prefix`."""
    file = io.StringIO()
    save(figure, file, format="svg")
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, count=1, flags=re.DOTALL)

    def tag(match: re.Match) -> str:
        found = match[0]
        found = re.sub(r'\s+xmlns(:\w+)?="[^"]*"', "", found)
        found = re.sub(r'\bid="', f'id="{prefix}', found)
        found = found.replace("url(#", f"url(#{prefix}").replace('href="#', f'href="#{prefix}')
        return found.replace(INK, "currentColor")

    return re.sub(r"<[^<>]*>", tag, text).strip()
