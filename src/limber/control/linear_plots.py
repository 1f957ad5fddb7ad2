"""Figures of linear models and loops, in the common style (`limber.plotting.style`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array, finite_numbers, number, numbers, shown
from limber.control.feedback import feedback_of, frequencies_of
from limber.control.frequency import response, usual_frequencies
from limber.control.linear_model import LinearModel
from limber.control.locus import followed
from limber.control.poles import transmission_zeros
from limber.drawing.colours import colour
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.plotting.style import COLUMN, LINES, new_figure, plain, save, style, target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from limber.control.margins import Margins
    from limber.control.spillover import Spillover

#: At most this many pairs of inputs and outputs are drawn; above the second number, each input has its own column.
DRAWN, TOGETHER = 24, 6
HERTZ = 2.0 * np.pi
#: A response below this fraction of the largest one at every frequency is rounding, and is not drawn.
ROUNDING = 1e-11


@contextmanager
def _figure(width: float, height: float, title: str, path: Any) -> Iterator[Any]:
    """A new figure in the common style, with a title, which is written at the end if a path is given."""
    file = None if path is None else target(path)
    with style():
        figure = new_figure(number("width", width, above=0.0), height)
        yield figure
        if title:
            figure.suptitle(plain(title), fontsize=9)
    if file is not None:
        save(figure, file)


def bode(
    model: LinearModel,
    omega: ArrayLike | None = None,
    *,
    against: dict[str, LinearModel] | None = None,
    title: str = "",
    width: float = COLUMN,
    path: Any = None,
) -> Figure:
    """Plot magnitude and phase over frequency, one line for each pair of an input and an output.

    With more than 6 such pairs, each input has its own column of axes, and a line is an output.  Pairs without an effect
    on each other, whose response is zero or rounding, are left out.

    Parameters
    ----------
    model : with at most 24 such pairs; `model.select(...)` selects some of them.
    omega : frequencies, rad/s; by default chosen to show all poles.
    against : further models by name, such as reduced ones, with the same inputs and outputs; drawn with other dashes.
    title : above the figure.
    width : inches, of the figure, or of each column if there are several.
    path : also write the figure to this file, .png, .svg or .pdf.
    """
    pairs = [(i, j) for i in range(len(model.outputs)) for j in range(len(model.inputs))]
    if len(pairs) > DRAWN:
        raise ArgumentValueError(
            f"{len(pairs)} pairs of inputs and outputs are too many to draw (at most {DRAWN}): choose some with "
            "model.select(inputs=[...], outputs=[...])."
        )
    w, width = _frequencies(model, omega), number("width", width, above=0.0)
    every = {"": model, **_compared(model, against)}
    apart = len(pairs) > TOGETHER and len(model.inputs) > 1
    columns = len(model.inputs) if apart else 1
    lines = (len(model.outputs) if apart else len(pairs)) + len(every) - 1
    height = 3.4 + 0.17 * max(0, lines // (2 if apart else 1) - 3)
    wide = width if columns == 1 else max(width, 0.75 * width * columns)
    with _figure(wide, height, title, path) as figure:
        grid = figure.subplots(2, columns, sharex=True, sharey="row", squeeze=False)
        for k, (name, one) in enumerate(every.items()):
            values = response(one, w)
            shows = _shows(values)
            for n, (i, j) in enumerate(pairs):
                G = values[:, i, j]
                if not shows[i, j]:
                    continue
                hue = i if apart else n
                look = {
                    "color": colour(hue + (k if len(pairs) == 1 else 0)),
                    "linestyle": LINES[k % 4],
                }
                full = f"{model.inputs[j]} → {model.outputs[i]}"
                label = name or (model.outputs[i] if apart else full)
                shown = label if not name or n == 0 else "_"
                magnitude, phase = grid[:, j if apart else 0]
                magnitude.loglog(w / HERTZ, np.abs(G), label=plain(shown), **look)
                phase.semilogx(w / HERTZ, np.degrees(np.unwrap(np.angle(G))), **look)
        for j in range(columns if apart else 0):
            grid[0, j].set_title(plain(model.inputs[j]), fontsize=9)
        grid[0, 0].set_ylabel("magnitude")
        grid[1, 0].set_ylabel("phase (deg)")
        for axes in grid[1]:
            axes.set_xlabel("frequency (Hz)")
        _quarter_turns(grid[1, 0])
        _legend(figure, *grid[0])
    return figure


def loop_gains(
    found: Margins,
    omega: ArrayLike | None = None,
    *,
    title: str = "",
    width: float = COLUMN,
    path: Any = None,
) -> Figure:
    """Plot the loop gain L of each loop with the others closed, and mark where its margins are.

    The closed loop is on the stability limit where L = -1: magnitude 1 and phase -180 degrees, or a whole turn away from
    it.  Black lines show both.  Circles mark the gain margins and squares the phase margin, in the colour of the loop.
    The frequencies of a sampled loop end at half its sample rate.

    omega, title, width, path : as for `bode`.
    """
    loop, margins = found.loop, {m.input: m for m in found.loops}
    names = loop.plant.inputs
    with _figure(width, 3.4 + 0.17 * max(0, len(names) // 2 - 1), title, path) as figure:
        magnitude, phase = figure.subplots(2, 1, sharex=True)
        for i, name in enumerate(names):
            L = loop.opened(i)
            w = (
                frequencies_of(loop, transmission_zeros(L))
                if omega is None
                else _frequencies(L, omega)
            )
            G, look = response(L, w)[:, 0, 0], {"color": colour(i)}
            magnitude.loglog(w / HERTZ, np.abs(G), label=plain(name), **look)
            angle = _phase(G)
            phase.semilogx(w / HERTZ, angle, **look)
            m = margins.get(name)
            places = (
                [] if m is None else [(m.gain_up_at, "o"), (m.gain_down_at, "o"), (m.phase_at, "s")]
            )
            for at, marker in places:
                if np.isfinite(at) and w[0] <= at <= w[-1]:
                    mark = {"marker": marker, "markersize": 5, "markeredgecolor": "w", **look}
                    magnitude.plot(at / HERTZ, np.abs(response(L, np.array([at]))[0, 0, 0]), **mark)
                    phase.plot(at / HERTZ, np.interp(at, w, angle), **mark)
        low, high = phase.get_ylim()
        turns = np.arange(np.ceil((low - 180.0) / 360.0), np.floor((high - 180.0) / 360.0) + 1.0)
        for axes, critical in ((magnitude, [1.0]), (phase, 180.0 + 360.0 * turns)):
            for level in critical:
                axes.axhline(level, color="k", linewidth=0.6, zorder=0)
        magnitude.set_ylabel("loop gain")
        phase.set_ylabel("phase (deg)")
        phase.set_xlabel("frequency (Hz)")
        _quarter_turns(phase)
        _legend(figure, magnitude)
    return figure


def _compared(model: LinearModel, against: Any) -> dict[str, LinearModel]:
    """The models to compare with, their inputs and outputs in the order of the model."""
    if against is None:
        return {}
    if not isinstance(against, dict) or not all(
        isinstance(x, LinearModel) for x in against.values()
    ):
        raise ArgumentTypeError(f"against must be {{name: LinearModel}}, got {shown(against)}.")
    found = {}
    for name, given in against.items():
        same = set(given.inputs) == set(model.inputs) and set(given.outputs) == set(model.outputs)
        one = given.select(model.inputs, model.outputs) if same else given
        if one.D.shape != model.D.shape:
            raise ArgumentValueError(
                f"against: {name!r} has {one.sizes}, and {model.name!r} has {model.sizes}: they must have the same inputs and outputs."
            )
        found[str(name)] = one
    return found


def singular_values(
    model: LinearModel,
    omega: ArrayLike | None = None,
    *,
    title: str = "",
    width: float = COLUMN,
    path: Any = None,
) -> Figure:
    """Plot the singular values of the frequency response: the gains in the strongest to the weakest directions.

    omega, title, width, path : as for `bode`.
    """
    w = _frequencies(model, omega)
    values = np.linalg.svd(response(model, w), compute_uv=False)
    with _figure(width, 2.2, title, path) as figure:
        axes = figure.subplots()
        for i in range(values.shape[1]):
            axes.loglog(w / HERTZ, values[:, i], color=colour(0), linestyle=LINES[i % len(LINES)])
        axes.set_xlabel("frequency (Hz)")
        axes.set_ylabel("singular values")
    return figure


def pole_zero(
    model: LinearModel,
    *,
    limit: float | None = None,
    title: str = "",
    width: float = COLUMN,
    path: Any = None,
) -> Figure:
    """Plot the poles (crosses) and, with as many outputs as inputs, the transmission zeros (circles), in rad/s or in
    the z plane.

    limit : half-width of the plot, in rad/s or in the z plane; by default all poles are shown.
    title, width, path : as for `bode`.
    """
    zeros = transmission_zeros(model) if len(model.inputs) == len(model.outputs) else np.zeros(0)
    with _figure(width, 2.8, title, path) as figure:
        axes = figure.subplots()
        _plane(axes, model.dt)
        _marks(axes, model.poles, "x", colour(0), "poles")
        if zeros.size:
            _marks(axes, zeros, "o", colour(1), "zeros")
            _legend(figure, axes)
        _window(
            axes, model.poles if limit is None else np.append(model.poles, zeros), model.dt, limit
        )
    return figure


def root_locus(
    model: LinearModel,
    controller: Any = None,
    *,
    factors: ArrayLike | None = None,
    limit: float | None = None,
    sample_time: float | None = None,
    delay: float = 0.0,
    title: str = "",
    width: float = COLUMN,
    path: Any = None,
) -> Figure:
    """Plot the poles of the closed loop as all controller gains are multiplied by a factor; squares mark the factor 1.

    Parameters
    ----------
    controller, sample_time, delay : as in `lb.control.margins`; without a controller, u = -y, for one input and output.
    factors : increasing from 0 or more; 0 to 100 by default.
    limit : half-width of the plot, in rad/s or in the z plane; by default all poles at factors 0 and 1 are shown.
    title, width, path : as for `bode`.
    """
    if controller is None:
        if len(model.inputs) != 1 or len(model.outputs) != 1:
            raise ArgumentValueError(
                "root_locus without a controller needs a model with one input and one output: give gains, or use "
                "model.select(...)."
            )
        controller = [[1.0]]
    loop = feedback_of(model, controller, sample_time, delay)
    if factors is None:
        gains = np.concatenate(
            [[0.0], np.geomspace(1e-4, 1.0, 200), np.geomspace(1.0, 100.0, 160)[1:]]
        )
    else:
        gains = finite_numbers("factors", factors, "(k,)")
        if gains.ndim != 1 or len(gains) < 2 or gains[0] < 0.0 or (np.diff(gains) <= 0.0).any():
            raise ArgumentValueError(
                "factors must be two or more increasing numbers that are not negative."
            )
    paths = followed(loop, loop.poles(gains[0]), gains)
    with _figure(width, 2.8, title, path) as figure:
        axes = figure.subplots()
        _plane(axes, loop.dt)
        for i in range(paths.shape[1]):
            axes.plot(paths[:, i].real, paths[:, i].imag, color=colour(0), linewidth=0.8)
        _marks(axes, paths[0], "x", colour(0), f"factor {gains[0]:g}")
        if gains[0] < 1.0 < gains[-1]:
            _marks(axes, loop.poles(1.0), "s", colour(1), "factor 1")
        _window(axes, np.append(paths[0], loop.poles(1.0)), loop.dt, limit)
        _legend(figure, axes)
    return figure


def spillover_figure(
    found: Spillover, *, title: str = "", width: float = COLUMN, path: Any = None
) -> Figure:
    """Plot the damping ratio of each mode over its frequency: hollow without the controller, filled with it; truncated
    modes are orange.

    title, width, path : as for `bode`.
    """
    modes = [m for m in found.modes if not (m.before.at_rest or m.after.at_rest)]
    with _figure(width, 2.4, title, path) as figure:
        axes = figure.subplots()
        axes.axhline(0.0, color="k", linewidth=0.8)
        seen = set()
        for mode in modes:
            label = "truncated modes" if mode.truncated else "modes of the design model"
            look = colour(1) if mode.truncated else colour(0)
            x = [mode.before.omega / HERTZ, mode.after.omega / HERTZ]
            y = [100.0 * mode.before.damping, 100.0 * mode.after.damping]
            axes.plot(x, y, color=look, linewidth=0.6)
            axes.plot(x[:1], y[:1], "o", color=look, markerfacecolor="w", markersize=4)
            marker = "o" if mode.stable else "X"
            axes.plot(
                x[1:], y[1:], marker, color=look, markersize=4 if mode.stable else 6,
                label="_" if label in seen else label,
            )  # fmt: skip
            seen.add(label)
        axes.set_xscale("log")
        axes.set_yscale("symlog", linthresh=1.0)
        axes.margins(0.08, 0.12)
        axes.set_xlabel("frequency (Hz)")
        axes.set_ylabel("damping ratio (%)")
        _legend(figure, axes)
    return figure


# --- parts ----------------------------------------------------------------------------------------


def _frequencies(model: LinearModel, omega: ArrayLike | None) -> Array:
    if omega is None:
        return usual_frequencies(model)
    w = numbers("omega", omega, "(k,)")
    if w.ndim != 1 or len(w) < 2 or not (w > 0.0).all():
        raise ArgumentValueError("omega must be two or more positive frequencies, rad/s.")
    return np.sort(w)


def _shows(values: np.ndarray) -> np.ndarray:
    """Which of the responses (frequencies, outputs, inputs) are more than rounding compared with the others."""
    size = np.abs(values)
    largest = size.max(axis=(1, 2), keepdims=True, initial=0.0)
    return (size > ROUNDING * largest).any(axis=0)


def _phase(G: np.ndarray) -> Array:
    """The phase in degrees without jumps, from between -360 and 0 at the lowest frequency."""
    angle = np.degrees(np.unwrap(np.angle(G)))
    return np.asarray(angle - 360.0 * np.ceil(angle[0] / 360.0))


def _plane(axes: Any, dt: float) -> None:
    """The axes of the s plane, or the unit circle of the z plane."""
    axes.axhline(0.0, color="k", linewidth=0.4)
    if dt:
        angle = np.linspace(0.0, 2.0 * np.pi, 200)
        axes.plot(np.cos(angle), np.sin(angle), color="k", linewidth=0.6)
        axes.set_aspect("equal", adjustable="box")
        axes.set_xlabel("Re z")
        axes.set_ylabel("Im z")
    else:
        axes.axvline(0.0, color="k", linewidth=0.6)
        axes.set_xlabel("real part (1/s)")
        axes.set_ylabel("imaginary part (rad/s)")


def _marks(axes: Any, points: np.ndarray, marker: str, look: str, label: str) -> None:
    hollow = {} if marker == "x" else {"markerfacecolor": "none"}
    axes.plot(
        points.real, points.imag, linestyle="none", marker=marker, color=look, markersize=4,
        markeredgewidth=0.9, label=label, **hollow,
    )  # fmt: skip


def _window(axes: Any, points: np.ndarray, dt: float, limit: float | None) -> None:
    """Axes that show these points and the unit circle, or those up to a limit; branches beyond are cut off."""
    size = np.abs(points).max(initial=1.0 if dt else 1e-9)
    if limit is not None:
        size = number("limit", limit, above=0.0)
    if dt:
        size = 1.1 * (1.0 if limit is None else size)
        axes.set_xlim(-size, size)
        axes.set_ylim(-size, size)
        return
    inside = points[np.abs(points) <= size * (1.0 + 1e-9)]
    left = max(float(-inside.real.min(initial=0.0)), 1e-3 * size)
    right = max(float(inside.real.max(initial=0.0)), 0.25 * left)
    axes.set_xlim(-1.2 * left, 1.2 * right)
    axes.set_ylim(-1.1 * size, 1.1 * size)


def _quarter_turns(axes: Any) -> None:
    """Ticks of a phase at multiples of 45, 90, 180, ... degrees."""
    low, high = axes.get_ylim()
    step = next((s for s in (45.0, 90.0, 180.0, 360.0, 720.0) if (high - low) / s <= 6.0), 1440.0)
    axes.set_yticks(np.arange(np.ceil(low / step), np.floor(high / step) + 1.0) * step)


def _legend(figure: Any, *every: Any) -> None:
    """A legend below the figure, in which a label of several axes stands once."""
    found: dict[str, Any] = {}
    for axes in every:
        for handle, label in zip(*axes.get_legend_handles_labels()):
            found.setdefault(label, handle)
    labels, handles = list(found), list(found.values())
    if labels:
        columns = 1 if max(map(len, labels)) > 22 else 2
        figure.legend(handles, labels, loc="outside lower center", ncols=columns)
