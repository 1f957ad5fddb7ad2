"""Pictures of natural modes: the system deformed in each of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, array, number, shown, whole
from limber.drawing.colours import COLOURS
from limber.drawing.geometry import Geometry, geometry
from limber.drawing.skeleton import Skeleton
from limber.dynamics.evaluate import External, check_system
from limber.dynamics.kinematics import integrate, jacobian, pose
from limber.dynamics.modes import Modes, modes
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.plotting.plot import heading_height
from limber.plotting.stage import Stage, joint_points, line_width, mass_centre, mass_markers, stage
from limber.plotting.style import COLUMN, library, new_figure, plain, save, style, target
from limber.plotting.text import wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

#: The colour of the other end of the swing.
PALE = "#9CC7E2"
#: Above and below every mode, inches.
APART = 0.08
#: The largest twist that is drawn, and the smallest that is seen, rad.
TWIST, SEEN = 1.0, 0.05
#: The step of the differences, and the rounding errors that remain of zero, as fractions of the largest motion.
STEP, ROUNDING = 1e-4, 1e-6


def mode_shapes(
    system: System,
    q: ArrayLike | None = None,
    *,
    v: ArrayLike | None = None,
    external: External | None = None,
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
    """Plot the natural modes of a system about q, at rest or in a steady motion, each with its frequency in Hz.

    Parameters
    ----------
    q : the configuration; neutral by default.
    v, external : speeds of a steady motion, and external forces, as in `modes`.
    locked : names of bodies whose joints do not move, as in `modes`.
    count : the number of modes, by increasing frequency; those without a frequency (rigid motions, unstable directions)
        are skipped. The modes keep the numbers that they have in the table of `modes`.
    amplitude : the largest displacement, as a fraction of the size of the system; a body that twists is not rotated by
        more than 1 rad.
    view : "auto" (the world plane in which the mode moves, or space), "xy", "xz", "yz" or "3d".
    title : above the figure.
    width, panel_height : inches.
    columns : modes side by side.
    path : also write the figure to this file, .png, .svg or .pdf.

    Displacements are those of the small motion, scaled up; the configuration itself is grey. Bars across a body show
    its twist. Surfaces are bright where they move most. Squares mark the centres of mass of rigid bodies; their sides
    grow with the cube root of the mass. Bodies known only by their nodes, such as superelements and those of SID files,
    are drawn as dots at the nodes, with thin lines between neighbours.
    """
    if hasattr(system, "system"):  # a Result, or a scenario
        raise ArgumentTypeError(
            f"mode_shapes takes a System and a configuration, got {shown(system)}. Give its .system, and for a "
            "Result the row to look at: mode_shapes(result.system, result.q[-1])."
        )
    check_system(system)
    if system.nv == 0:
        raise ArgumentValueError(f"{system.name!r} has no modes: nothing in it moves or bends.")
    file = None if path is None else target(path)
    amplitude = number("amplitude", amplitude, above=0.0)
    count, columns = whole("count", count, 1), whole("columns", columns, 1)
    q = system.neutral() if q is None else array("q", q, (system.nq,))
    found = modes(system, q, v, locked, external=external)
    with_frequency = np.flatnonzero(found.omega > 0.0)[:count]
    if with_frequency.size == 0:
        raise ArgumentValueError(
            f"{system.name!r} has no mode with a frequency here: nothing in it bends, and no gravity or spring makes it "
            "swing."
        )
    columns = min(columns, len(with_frequency))
    rows = -(-len(with_frequency) // columns)
    with style():
        heading = wrapped(plain(title), width - 0.2, 9.0)
        tall = (panel_height + 2 * APART) * rows + 0.15 + heading_height(heading)
        figure = new_figure(width, tall)
        figure.set_layout_engine("constrained", h_pad=APART)  # titles off the labels above them
        draw_modes(
            figure,
            (rows, columns),
            system,
            q,
            found,
            with_frequency,
            amplitude,
            view,
            width / columns,
        )
        if title:
            figure.suptitle(heading, fontsize=9)
    if file is not None:
        save(figure, file)
    return figure


def draw_modes(
    figure: Figure | SubFigure,
    grid: tuple[int, int],
    system: System,
    q: Array,
    found: Modes,
    which: Iterable[int],
    amplitude: float,
    view: str,
    width: float,
) -> None:
    """Draw modes in the cells of a grid of rows and columns, of this width in inches, with their numbers in the
    table."""
    still = geometry(system, q)
    for k, i in enumerate(which):
        swing = displacement(system, q, found.shapes[:, i], still)
        axes, seen = _panel(figure, (*grid, k + 1), system, still, swing, amplitude, view)
        label = f"mode {i + 1}: {_hertz(found.frequencies[i])} Hz"
        if abs(found.damping[i]) > ROUNDING:
            label += f", damping {found.damping[i]:.2g}"
        label = label if seen else f"{label}; turns in place"
        # west: the title has the whole width, also where the picture is narrower; north: titles of a row side by side
        axes.set_anchor("NW")
        axes.set_title(wrapped(label, width - 0.4, 8.0), loc="left")


@dataclass(frozen=True, eq=False)
class Swing:
    """The motion of everything that is drawn in a mode: points, lines and ribs by body, (p, 3), (e, 2, 3) and (r, 2,
    3), scaled so that nothing rotates by more than one radian or moves by more than the size of the system.

    reach : the largest displacement of a line or of a surface, m.
    twist : the largest rotation of a body with ribs about its own line, rad.
    size : of the system, m.
    shape : (nv,) the shape at that scale.
    """

    points: dict[str, Array]
    lines: dict[str, Array]
    ribs: dict[str, Array]
    reach: float
    twist: float
    size: float
    shape: Array

    def factor(self, amplitude: float) -> float:
        """The factor that brings the largest displacement to this fraction of the size of the system, or the largest
        twist to TWIST, whichever comes first. Motion at rounding level is ignored.
        """
        limits = []
        if self.reach > ROUNDING * self.size:
            limits.append(amplitude * self.size / self.reach)
        if self.twist > ROUNDING:
            limits.append(TWIST / self.twist)
        return min(limits, default=0.0)


def displacement(system: System, q: Array, shape: np.ndarray, still: Geometry) -> Swing:
    """The displacement of everything that is drawn in a mode, by central differences, exact to about 1e-8."""
    if np.iscomplexobj(shape):  # where most of it moves at once
        shape = (shape * np.exp(-0.5j * np.angle((shape**2).sum()))).real
    low, high = still.bounds()
    size = float((high - low).max()) or 1.0
    shape = shape / _pace(system, q, shape, still, size)
    ahead, behind = (geometry(system, integrate(system, q, shape, h)) for h in (STEP, -STEP))
    bodies = list(system.layout)

    def change(of: Callable[[Geometry, str], Array]) -> dict[str, Array]:
        return {b: (of(ahead, b) - of(behind, b)) / (2.0 * STEP) for b in bodies}

    points = change(lambda g, b: g.points[b])
    lines = change(lambda g, b: g.segments(b))
    ribs = change(lambda g, b: g.ribs[b])
    surfaces = (points[b][still.skeletons[b].triangles] for b in bodies)
    reach = max(np.linalg.norm(m, axis=-1).max(initial=0.0) for m in (*lines.values(), *surfaces))
    twist = max(_twist(system, q, shape, b, still) for b in bodies)
    return Swing(points, lines, ribs, float(reach), float(twist), size, shape)


def _twist(system: System, q: Array, shape: Array, body: str, still: Geometry) -> float:
    """The rate at which a body rotates about its own line, where it has ribs."""
    drawn = still.skeletons[body]
    ribs = drawn.ribs
    rate = pose(system, q, body)[0].T @ jacobian(system, q, body)[:3] @ shape
    turns = rate + drawn.shapes[ribs.points].turns(shape[system.layout[body].v_modes])
    return float(np.abs((ribs.along * turns).sum(axis=1)).max(initial=0.0))


def _pace(system: System, q: Array, shape: Array, still: Geometry, size: float) -> float:
    """The rate of motion of the bodies in a mode: the largest rate of rotation, or of displacement relative to the
    size.
    """
    paces = []
    for body, where in system.layout.items():
        twist, drawn = jacobian(system, q, body) @ shape, still.skeletons[body]
        rates, ribs = shape[where.v_modes], drawn.shapes[drawn.ribs.points]
        bends, turns = (
            np.linalg.norm(x, axis=1).max(initial=0.0)
            for x in (drawn.shapes.velocities(q[where.q_modes], rates), ribs.turns(rates))
        )
        paces += [math.hypot(*twist[:3]), math.hypot(*twist[3:]) / size, bends / size, turns]
    return max(paces) or 1.0


def _panel(figure, where, system, still: Geometry, swing: Swing, amplitude: float, view: str):
    """Draw one mode; return the axes, and whether any motion is visible."""
    factor = swing.factor(amplitude)
    straight = {b: still.segments(b) for b in system.layout}
    bent = [{b: straight[b] + k * factor * swing.lines[b] for b in straight} for k in (1, -1)]
    surfaces = {
        b: [still.points[b] + k * factor * swing.points[b] for k in (0, 1, -1)]
        for b in system.layout
        if len(still.skeletons[b].triangles)
    }
    parts = [x for part in (straight, *bent) for x in part.values()]
    parts += [points for states in surfaces.values() for points in states]
    twists = factor * swing.twist > SEEN
    turned = [
        {b: _as_long(r, r + k * factor * swing.ribs[b]) for b, r in still.ribs.items()}
        for k in (1, -1)
    ]
    if twists:
        parts += [x for part in (still.ribs, *turned) for x in part.values()]
        view = "3d" if view == "auto" else view
    scene = stage(np.concatenate([x.reshape(-1, 3) for x in parts]), view)
    axes = scene.open(figure, where)
    for body, states in surfaces.items():
        _surface(scene, axes, still.skeletons[body], states, swing.points[body], swing.reach)
    for body in system.layout:
        thin = line_width(len(straight[body]), still.skeletons[body])
        scene.lines(axes, straight[body], colors="0.72", linewidths=1.6 * thin)
        scene.lines(axes, bent[1][body], colors=PALE, linewidths=0.8 * thin)
        if twists:
            scene.lines(axes, still.ribs[body], colors="0.8", linewidths=0.8 * thin)
            scene.lines(axes, turned[1][body], colors=PALE, linewidths=0.8 * thin)
            scene.lines(axes, turned[0][body], colors=COLOURS[0], linewidths=1.2 * thin)
        scene.lines(axes, bent[0][body], colors=COLOURS[0], linewidths=1.8 * thin)
        marks = still.skeletons[body].marks
        for k, look in ((0, "0.72"), (-1, PALE), (1, COLOURS[0])):
            at = still.points[body][marks] + k * factor * swing.points[body][marks]
            scene.dots(axes, at, marker="o", markersize=3.5, color=look, zorder=2.05)
    for body, size in mass_markers(system, still).items():
        centre = mass_centre(still, body)
        move = factor * swing.points[body][still.skeletons[body].centre]
        for k, look, order in ((0, "0.72", 2.1), (-1, PALE, 2.2), (1, COLOURS[0], 2.3)):
            scene.dots(
                axes, (centre + k * move)[None], marker="s", color=look, markersize=size,
                markeredgecolor="white", markeredgewidth=0.5, zorder=order,
            )  # fmt: skip
    moving = [b for b in system.layout if system.joints[b].dofs]
    if moving:
        scene.dots(
            axes, joint_points(still, moving), marker="o", markersize=3.0, color="0.4", zorder=2.4
        )
    scene.lines(axes, still.closure_lines(), colors="0.4", linewidths=0.8, zorder=2.45)
    scene.dots(
        axes, still.closure_points(), marker="D", markersize=3.5, color="0.4", markerfacecolor="w", zorder=2.5
    )  # fmt: skip
    return axes, factor > 0.0


def _surface(
    scene: Stage, axes: Any, drawn: Skeleton, states: list[Array], moves: Array, reach: float
):
    """Draw a moving surface: at rest and at one end by its creases, at the other end coloured by its displacement."""
    still, ahead, behind = states
    far = np.linalg.norm(moves, axis=1)[drawn.triangles].mean(axis=1) / (reach or 1.0)
    colours = library().colormaps["viridis"](0.1 + 0.85 * far)[:, :3]
    scene.lines(axes, still[drawn.creases], colors="0.72", linewidths=0.8, zorder=1.0)
    scene.lines(axes, behind[drawn.creases], colors=PALE, linewidths=0.6, zorder=1.1)
    scene.facets(axes, ahead[drawn.triangles], colours, linewidths=0.15, zorder=1.5)


def _as_long(ribs: Array, moved: Array) -> Array:
    """Displaced ribs with their original length."""
    middle = moved.mean(axis=-2, keepdims=True)
    length = np.linalg.norm(np.diff(ribs, axis=-2), axis=-1, keepdims=True)
    return middle + (moved - middle) * length / np.linalg.norm(
        np.diff(moved, axis=-2), axis=-1, keepdims=True
    )


def _hertz(value: float) -> str:
    return f"{value:.3g}" if value < 1000.0 else f"{value:.0f}"
