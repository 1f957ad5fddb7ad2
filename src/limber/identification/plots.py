"""Figures of identifications, in the common style (`limber.plotting.style`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from limber.checks import number
from limber.drawing.colours import colour
from limber.identification.whiteness import autocorrelation
from limber.plotting.style import PAGE, new_figure, plain, save, style, target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from limber.identification.identified import Identified, Residuals

#: The height of a row, and of what is around all rows, inches.
ROW, AROUND = 1.3, 0.4
#: White residuals stay within this many times 1 / sqrt(n) at 95 of 100 lags.
WHITE = 1.96
#: Lags of the autocorrelation that are drawn.
LAGS = 20
#: At most so many rows are drawn.
DRAWN = 24


def plot_residuals(found: Identified, width: float | None, path: Any) -> Figure:
    """Plot residuals over time, their distribution compared with that of the noise, and their autocorrelation."""
    rows = found.residuals[:DRAWN]
    file = None if path is None else target(path)
    with style():
        figure = new_figure(_width(width), AROUND + ROW * len(rows))
        axes = figure.subplots(len(rows), 3, squeeze=False, width_ratios=(2.2, 1.0, 1.0))
        for i, (row, (time, counts, lags)) in enumerate(zip(rows, axes)):
            one = row.normalized
            time.plot(row.t, one, ".", color=colour(i), markersize=2.0)
            for level in (-2.0, 2.0):
                time.axhline(level, color="0.5", linewidth=0.6, linestyle="--")
            time.set_title(plain(_name(found, row)), loc="left")
            time.set_ylabel("residual / noise")
            _scale(time, row)
            _histogram(counts, one, colour(i))
            _correlogram(lags, one, colour(i))
        axes[0, 1].set_title("distribution")
        axes[0, 2].set_title("autocorrelation")
        axes[-1, 0].set_xlabel(rows[-1].axis)
        axes[-1, 1].set_xlabel("residual / noise")
        axes[-1, 2].set_xlabel("lag (readings)")
    if file is not None:
        save(figure, file)
    return figure


def plot_fit(found: Identified, width: float | None, path: Any) -> Figure:
    """Plot measured and modelled readings over time."""
    rows = found.residuals[:DRAWN]
    file = None if path is None else target(path)
    with style():
        figure = new_figure(_width(width), AROUND + ROW * len(rows))
        axes = figure.subplots(len(rows), 1, squeeze=False)[:, 0]
        for i, (row, one) in enumerate(zip(rows, axes)):
            one.plot(row.t, row.measured, ".", color=colour(i), markersize=2.5, label="measured")
            one.plot(row.t, row.modelled, color="0.25", linewidth=0.8, label="model")
            one.set_title(plain(_name(found, row)), loc="left")
            one.set_ylabel(row.unit)
            _scale(one, row)
        axes[-1].set_xlabel(rows[-1].axis)
        axes[0].legend(ncols=2, loc="lower right", bbox_to_anchor=(1.0, 1.0))
    if file is not None:
        save(figure, file)
    return figure


def _width(width: float | None) -> float:
    return PAGE if width is None else number("width", width, above=0.0)


def _name(found: Identified, row: Residuals) -> str:
    """The name of a row, with that of its experiment if there are several."""
    several = len({one.experiment for one in found.residuals}) > 1
    return f"{row.label}, {row.experiment}" if several else row.label


def _scale(axes: Any, row: Residuals) -> None:
    """Frequencies are on a logarithmic scale."""
    if row.axis.startswith("frequency") and row.t.min(initial=1.0) > 0.0:
        axes.set_xscale("log")


def _histogram(axes: Any, x: np.ndarray, look: str) -> None:
    reach = max(4.0, float(np.abs(x).max(initial=0.0)))
    bins = np.linspace(-reach, reach, 25)
    axes.hist(x, bins, density=True, color=look, alpha=0.6)
    at = np.linspace(-reach, reach, 200)
    axes.plot(at, np.exp(-0.5 * at**2) / np.sqrt(2.0 * np.pi), color="0.25", linewidth=0.8)
    axes.set_yticks([])


def _correlogram(axes: Any, x: np.ndarray, look: str) -> None:
    most = min(LAGS, len(x) - 1)
    r = autocorrelation(x, most)[1:]
    axes.vlines(np.arange(1, most + 1), 0.0, r, color=look, linewidth=1.5)
    limit = WHITE / np.sqrt(len(x))
    axes.axhspan(-limit, limit, color="0.85", zorder=0)
    size = max(0.3, 1.1 * float(np.abs(r).max(initial=0.0)))
    axes.set_ylim(-size, size)
