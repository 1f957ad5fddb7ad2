"""Pictures of natural modes: the system bent in each of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, array, number, whole
from limber.dynamics.evaluate import check_system
from limber.dynamics.kinematics import integrate
from limber.dynamics.modes import modes
from limber.errors import ArgumentValueError
from limber.plotting.stage import joint_points, stage
from limber.plotting.style import COLOURS, COLUMN, new_figure, plain, save, style, target
from limber.viewer.geometry import Geometry, geometry

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The colour of the other end of the swing.
PALE = "#9CC7E2"


def mode_shapes(
    system: System,
    q: ArrayLike | None = None,
    *,
    locked: Iterable[str] = (),
    count: int = 4,
    amplitude: float = 0.12,
    view: str = "auto",
    title: str = "",
    width: float = COLUMN,
    panel_height: float = 1.45,
    columns: int = 1,
    path: Any = None,
) -> Figure:
    """The system in its natural modes about q at rest, each with its frequency in Hz.

    Parameters
    ----------
    q : the configuration; neutral unless given.
    locked : names of bodies whose joints do not move, as in `modes`.
    count : how many modes, by rising frequency; those without a frequency (rigid motions, unstable
        directions) are passed over.
    amplitude : of the largest displacement, as a part of the size of the system.
    view : "auto" (the world plane in which the mode moves, or space), "xy", "xz", "yz" or "3d".
    title : above the figure.
    width, panel_height : inches.
    columns : modes side by side.
    path : also write the figure to this file, .png, .svg or .pdf.

    Displacements are those of the small motion, enlarged in proportion; grey is the configuration itself.
    """
    check_system(system)
    file = None if path is None else target(path)
    amplitude = number("amplitude", amplitude, above=0.0)
    count, columns = whole("count", count, 1), whole("columns", columns, 1)
    q = system.neutral() if q is None else array("q", q, (system.nq,))
    bodies = list(locked) if not isinstance(locked, str) else locked
    found = modes(system, q, locked=bodies)
    with_frequency = np.flatnonzero(found.omega > 0.0)[:count]
    if with_frequency.size == 0:
        raise ArgumentValueError(
            f"{system.name!r} has no mode with a frequency here: it has nothing that bends, or no gravity to swing in."
        )
    still = geometry(system, q)
    n = len(with_frequency)
    columns = min(columns, n)
    rows = -(-n // columns)
    with style():
        figure = new_figure(width, panel_height * rows + 0.15 + 0.25 * bool(title))
        for k, i in enumerate(with_frequency):
            moved, size = displacement(system, q, found.shapes[:, i], still)
            _panel(figure, (rows, columns, k + 1), system, still, moved, amplitude * size, view)
            label = f"mode {k + 1}: {_hertz(found.frequencies[i])} Hz"
            if found.damping[i] > 0.0:
                label += f", damping {found.damping[i]:.2g}"
            figure.axes[-1].set_title(label, loc="left")
        if title:
            figure.suptitle(plain(title), fontsize=9)
    if file is not None:
        save(figure, file)
    return figure


def displacement(
    system: System, q: Array, shape: np.ndarray, still: Geometry
) -> tuple[dict[str, Array], float]:
    """How every segment moves in a mode, (e, 2, 3) per body, the largest displacement being one; and the
    size of the system.

    By central differences of the geometry, exact to about 1e-9 of that size.
    """
    if np.iscomplexobj(shape):  # where most of it moves at once
        shape = (shape * np.exp(-0.5j * np.angle((shape**2).sum()))).real
    low, high = still.bounds()
    size = float((high - low).max()) or 1.0
    step = 1e-3 / np.abs(shape).max()
    for _ in range(2):
        ahead, behind = (
            geometry(system, integrate(system, q, shape, sign * step)) for sign in (1, -1)
        )
        moved = {b: 0.5 * (ahead.segments(b) - behind.segments(b)) for b in system.layout}
        largest = max(np.linalg.norm(m, axis=-1).max(initial=0.0) for m in moved.values())
        if largest == 0.0:
            return moved, size
        step *= 1e-4 * size / largest
    return {b: m / largest for b, m in moved.items()}, size


def _panel(figure, where, system, still: Geometry, moved, amplitude: float, view: str) -> None:
    straight = {b: still.segments(b) for b in system.layout}
    bent = [{b: straight[b] + sign * amplitude * moved[b] for b in straight} for sign in (1, -1)]
    every = np.concatenate(
        [x.reshape(-1, 3) for x in (*straight.values(), *bent[0].values(), *bent[1].values())]
    )
    scene = stage(every, view)
    axes = scene.open(figure, where)
    for body in system.layout:
        scene.lines(axes, straight[body], colors="0.72", linewidths=1.6)
        scene.lines(axes, bent[1][body], colors=PALE, linewidths=0.8)
        scene.lines(axes, bent[0][body], colors=COLOURS[0], linewidths=1.8)
    moving = [b for b in system.layout if system.joints[b].dofs]
    if moving:
        scene.dots(axes, joint_points(still, moving), marker="o", markersize=3.0, color="0.4")


def _hertz(value: float) -> str:
    return f"{value:.3g}" if value < 1000.0 else f"{value:.0f}"
