"""Panels: the content of one pair of axes, before any drawing."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from limber.checks import Array
from limber.drawing.colours import COLOURS, colour
from limber.plotting.style import LINES, plain
from limber.plotting.text import fitted, text_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: A line that stays below this part of the largest of its panel is left out, and the panel says so.
NOTHING = 1e-9
#: At most so many lines are named one by one.
NAMED = len(COLOURS)
#: In a legend, the width of a handle with what is around it, and the height of a line; beside axes, that of labels;
#: inches.
HANDLE, LINE, LEFT = 0.37, 0.13, 0.75


@dataclass(frozen=True, eq=False)
class Line:
    """One curve. `key` selects the colour, `variant` the dashes; both count from 0. key None: black."""

    label: str
    t: Array
    y: Array
    key: int | None
    variant: int = 0


@dataclass(frozen=True, eq=False)
class Panel:
    """Curves over time with one vertical axis; `reference` curves are drawn beneath, wide and pale."""

    label: str
    lines: list[Line]
    title: str = ""
    reference: list[Line] = field(default_factory=list)

    def shown(self) -> tuple[list[Line], list[Line]]:
        """The lines to draw, and those left out because they are zero compared with the others."""
        size = [float(np.abs(x.y).max(initial=0.0)) for x in self.lines]
        least = NOTHING * max(size, default=0.0)
        drawn = [x for x, s in zip(self.lines, size) if s > least]
        if not drawn:
            return self.lines, []
        return drawn, [x for x, s in zip(self.lines, size) if s <= least]

    def thinned(self, points: int) -> Panel:
        """The same with every n-th point, so that about this many points remain at most."""
        every = -(-sum(len(x.t) for x in self.lines) // points)
        if every <= 1:
            return self
        lines, reference = (
            [replace(x, t=x.t[::every], y=x.y[::every]) for x in part]
            for part in (self.lines, self.reference)
        )
        return replace(self, lines=lines, reference=reference)


def draw(axes: Axes, panel: Panel, events: tuple[float, ...] = (), foreground: str = "k") -> float:
    """Draw a panel on axes, with its legend above; returns the height of the legend beyond one line, inches."""
    above = 0.0
    lines, left_out = panel.shown()
    for t in events:
        axes.axvline(t, color=foreground, linewidth=0.5, linestyle=(0, (1, 2)), alpha=0.6)
    labels = {x.label for x in lines}
    pale = []
    for line in panel.reference:
        if line.label in labels:
            (curve,) = axes.plot(line.t, line.y, color=_colour(line, foreground), zorder=1.5)
            curve.set(linewidth=3.6, alpha=0.3, label="_reference")
            pale.append(curve)
    curves = []
    alike = len({x.variant for x in lines}) == 1 and all(x.key is not None for x in lines)
    for line in lines:
        (curve,) = axes.plot(line.t, line.y, color=_colour(line, foreground))
        curve.set(linestyle="-" if alike else LINES[line.variant % len(LINES)])
        curve.set_label(plain(line.label))
        if len(line.t) == 1:
            curve.set_marker("o")  # a line of one point is none
        curves.append(curve)
    if len(curves) > NAMED:
        curves = [curves[0], curves[len(curves) // 2], curves[-1]]
    names = [str(c.get_label()) for c in curves]
    if pale:
        curves, names = [*curves, pale[0]], [*names, "reference"]
    if len(lines) > NAMED:
        names[:3] = [names[0], f"... {names[1]}", f"... {names[2]} ({len(lines)} lines)"]
    axes.set_ylabel(_scaled_label(axes, panel.label, lines))
    axes.margins(x=0.0)
    title = plain(panel.title)
    if len(names) == 1 and not title and not left_out:
        axes.set_title(fitted(names[0], _room(axes), 8.0), loc="left")
    else:
        if left_out:
            few = ", ".join(plain(x.label) for x in left_out)
            zero = f"{few}: zero" if len(few) < 20 else f"{len(left_out)} others: zero"
            if title and text_width(f"{title} ({zero})", 8.0) <= _room(axes):
                title += f" ({zero})"
            else:
                names.append(f"({zero})")
                curves = [*curves, axes.plot([], [], linestyle="none", label="_zero")[0]]
        above = _legend(axes, curves, names, title)
    if all(not np.any(x.y) for x in lines):
        axes.set_ylim(-1.0, 1.0)
    return above


def _scaled_label(axes: Axes, label: str, lines: list[Line]) -> str:
    """The label with the power of ten in which very small or large values are written."""
    from matplotlib.ticker import FuncFormatter  # noqa: PLC0415

    largest = max((float(np.abs(x.y).max(initial=0.0)) for x in lines), default=0.0)
    if largest == 0.0 or not np.isfinite(largest) or 1e-2 <= largest < 1e4:
        return label
    power = 3 * math.floor(math.log10(largest) / 3.0)
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda y, _: f"{y / 10.0**power:.6g}".replace("-", "\N{MINUS SIGN}"))
    )
    words, bracket, unit = label.partition(" (")
    return f"{words} ($10^{{{power}}}$ {unit}" if bracket else f"{words} ($10^{{{power}}}$)"


def _colour(line: Line, foreground: str) -> str:
    return foreground if line.key is None else colour(line.key)


def _legend(axes: Axes, curves, names: list[str], title: str) -> float:
    """Draw a legend above the axes, with as many columns as fit; names that are too long are shortened.

    Returns its height beyond one line, inches.
    """
    room = _room(axes)
    names = [fitted(name, room - HANDLE, 7.0) for name in names]
    inches = np.array([HANDLE + text_width(name, 7.0) for name in names])
    columns = len(names)
    while columns > 1 and _across(inches, columns) > room:
        columns -= 1
    legend = axes.legend(
        curves, names, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns,
        borderaxespad=0.1, borderpad=0.2, title=fitted(title, room, 8.0) or None, alignment="left",
    )  # fmt: skip
    legend.get_title().set_fontsize(8.0)
    rows = -(-len(names) // columns)
    return LINE * (rows - 1 + bool(title))


def _room(axes: Axes) -> float:
    """The available width above the axes of a panel, inches."""
    figure, place = axes.get_figure(root=True), axes.get_subplotspec()
    assert figure is not None and place is not None
    return float(figure.get_size_inches()[0]) / place.get_gridspec().ncols - LEFT


def _across(inches: Array, columns: int) -> float:
    """The width of a legend with entries of these widths in this number of columns."""
    return sum(float(part.max()) for part in np.array_split(inches, columns))
