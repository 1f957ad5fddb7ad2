"""The view in which bodies are drawn: the world plane in which they lie, or space seen from a corner above."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from limber.assembly.system import System
from limber.checks import Array, shown
from limber.drawing.geometry import Geometry
from limber.drawing.skeleton import Skeleton
from limber.errors import ArgumentValueError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: A system lies in a plane if it leaves it by no more than this part of its size.
FLAT = 0.02
VIEWS = ("auto", "xy", "xz", "yz", "3d")
#: Direction of the eye in space: turned about z from x, and above the ground; degrees.
AZIMUTH, ELEVATION = -60.0, 25.0
#: The length of the lines that show the directions of the axes, points.
TRIAD = 11.0
#: The sizes of the squares at the mass centres of a rigid body without mass and of the heaviest body, points.
LIGHTEST, HEAVIEST = 3.5, 9.5


@dataclass(frozen=True, eq=False)
class Stage:
    """A view of world points: the 2 x 3 projection matrix, and the visible range (2, 2).

    `plane` names the axes of a plane; "" is space, drawn with a ground of `squares` metres.
    """

    projection: Array
    limits: Array
    plane: str
    ground: Array  # (e, 2, 3) lines of the ground
    squares: float

    @property
    def flat(self) -> bool:
        """Whether it is a plane."""
        return bool(self.plane)

    def project(self, points: Array) -> Array:
        """Projections (..., 2) of points (..., 3)."""
        return points @ self.projection.T

    def open(self, figure: Figure, where: Any = (1, 1, 1)) -> Any:
        """Make Matplotlib axes for it, with equal scales."""
        axes = figure.add_subplot(*where, aspect="equal")
        axes.set(
            xlim=self.limits[0], ylim=self.limits[1], anchor="N"
        )  # titles of a row side by side
        if self.flat:
            axes.set(xlabel=f"{self.plane[0]} (m)", ylabel=f"{self.plane[1]} (m)")
            return axes
        axes.set_axis_off()
        self.lines(axes, self.ground, colors="0.85", linewidths=0.5, zorder=0)
        self._triad(axes)
        return axes

    def _triad(self, axes: Any) -> None:
        """The directions of the world axes and the size of the squares, in the lower corners."""
        from matplotlib.lines import Line2D  # noqa: PLC0415
        from matplotlib.offsetbox import AnchoredOffsetbox, DrawingArea  # noqa: PLC0415
        from matplotlib.text import Text  # noqa: PLC0415

        directions = TRIAD * self.projection.T
        letters = 1.5 * directions
        low, high = letters.min(axis=0) - 4.0, letters.max(axis=0) + 4.0  # points
        area = DrawingArea(*(high - low), *(-low))
        for name, tip, at in zip("xyz", directions, letters):
            area.add_artist(Line2D([0.0, tip[0]], [0.0, tip[1]], color="0.35", linewidth=0.8))
            area.add_artist(Text(at[0], at[1], name, fontsize=7, ha="center", va="center"))
        axes.add_artist(
            AnchoredOffsetbox("lower left", child=area, pad=0, borderpad=0, frameon=False)
        )
        axes.annotate(
            f"squares of {self.squares:g} m", (1.0, 0.0), (-2, -1), "axes fraction", "offset points",
            fontsize=6, color="0.35", ha="right", va="top",
        )  # fmt: skip

    def lines(self, axes: Any, segments: Array, **look: Any) -> Any:
        """Draw segments (e, 2, 3); the returned object is passed to `move`."""
        from matplotlib.collections import LineCollection  # noqa: PLC0415

        drawn = axes.add_collection(
            LineCollection(list(self.project(segments)), **look), autolim=False
        )
        drawn.set_capstyle("round")
        return drawn

    def move(self, drawn: Any, segments: Array) -> None:
        """Change the segments that `lines` drew."""
        drawn.set_segments(self.project(segments))

    def facets(self, axes: Any, triangles: Array, colours: Array, **look: Any) -> Any:
        """Draw triangles (t, 3, 3) in colours (t, 3) or one (3,), lit from the eye; the returned object is passed to
        `move_facets`.
        """
        from matplotlib.collections import PolyCollection  # noqa: PLC0415

        drawn = axes.add_collection(PolyCollection([], **look), autolim=False)
        self.move_facets(drawn, triangles, colours)
        return drawn

    def move_facets(self, drawn: Any, triangles: Array, colours: Array) -> None:
        """Change the triangles and colours that `facets` drew."""
        eye = np.cross(*self.projection)
        order = np.argsort(triangles.mean(axis=1) @ eye)  # the far ones first
        seen = triangles[order]
        normal = np.cross(seen[:, 1] - seen[:, 0], seen[:, 2] - seen[:, 0])
        size = np.linalg.norm(normal, axis=1)
        light = eye + 0.6 * self.projection[1] - 0.35 * self.projection[0]
        lit = np.abs(normal @ light) / np.maximum(size * np.linalg.norm(light), 1e-300)
        shade = (0.55 + 0.45 * lit)[:, None]
        lit_colours = shade * np.broadcast_to(colours, (len(triangles), 3))[order]
        drawn.set_verts(self.project(seen))
        drawn.set_facecolor(lit_colours)
        drawn.set_edgecolor(0.96 * lit_colours)

    def dots(self, axes: Any, points: Array, **look: Any) -> Any:
        """Draw points (n, 3) as markers; the returned object is passed to `move_dots`."""
        (drawn,) = axes.plot(*self.project(points).T, linestyle="none", **look)
        return drawn

    def move_dots(self, drawn: Any, points: Array) -> None:
        """Change the points that `dots` drew."""
        drawn.set_data(*self.project(points).T)


def stage(points: Array, view: str = "auto", margin: float = 0.07) -> Stage:
    """The stage for points (n, 3): the world plane in which they lie if there is one, else space."""
    if not isinstance(view, str) or view not in VIEWS:
        raise ArgumentValueError(f"view={shown(view)} must be one of {', '.join(VIEWS)}.")
    low, high = points.min(axis=0), points.max(axis=0)
    size = float((high - low).max()) or 1.0
    if view == "auto":
        thin = int(np.argmin(high - low))
        flat = (high - low)[thin] <= FLAT * size
        view = "xyz".replace("xyz"[thin], "") if flat else "3d"
    if view == "3d":
        projection = _from_above(AZIMUTH, ELEVATION)
        squares = _nice(size / 8.0)
        ground = _ground(low, high, squares)
        seen = np.concatenate([points, ground.reshape(-1, 3)]) @ projection.T
    else:
        projection = np.eye(3)[["xyz".index(a) for a in view]]
        ground, squares = np.zeros((0, 2, 3)), 0.0
        seen = points @ projection.T
    lowest, highest = seen.min(axis=0), seen.max(axis=0)
    wide = float((highest - lowest).max()) or 1.0
    half = np.maximum(0.5 * (highest - lowest) + margin * wide, 0.18 * wide)
    middle = 0.5 * (lowest + highest)
    limits = np.column_stack([middle - half, middle + half])
    return Stage(projection, limits, "" if view == "3d" else view, ground, squares)


def _from_above(azimuth: float, elevation: float) -> Array:
    """The projection (2, 3) for an eye at that azimuth and elevation, degrees: right and up."""
    a, e = math.radians(azimuth), math.radians(elevation)
    right = [-math.sin(a), math.cos(a), 0.0]
    up = [-math.sin(e) * math.cos(a), -math.sin(e) * math.sin(a), math.cos(e)]
    return np.array([right, up])


def _nice(value: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not below."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(float(m * power) for m in (1, 2, 5, 10) if m * power >= value * (1 - 1e-9))


def _ground(low: Array, high: Array, squares: float) -> Array:
    """Lines (e, 2, 3) of a ground of squares below points."""
    first, last = (
        np.floor(low / squares),
        np.maximum(np.ceil(high / squares), np.floor(low / squares) + 1),
    )
    x, y = (squares * np.arange(first[i], last[i] + 1) for i in (0, 1))
    z = low[2]
    lines = [[(u, y[0], z), (u, y[-1], z)] for u in x] + [[(x[0], u, z), (x[-1], u, z)] for u in y]
    return np.array(lines)


def joint_points(drawn: Geometry, moving: list[str]) -> Array:
    """(..., n, 3): the positions of the moving joints."""
    return np.stack([drawn.joints[name].outboard for name in moving], axis=-2)


def mass_markers(system: System, drawn: Geometry) -> dict[str, float]:
    """The sizes of the squares at the centres of mass of rigid bodies, points, by body; they grow with the cube root of
    mass.
    """
    heaviest = max(body.mass for body in system.bodies.values())
    return {
        name: LIGHTEST
        + (HEAVIEST - LIGHTEST) * (system.bodies[name].mass / heaviest) ** (1.0 / 3.0)
        for name, skeleton in drawn.skeletons.items()
        if skeleton.centre is not None
    }


def mass_centre(drawn: Geometry, body: str) -> Array:
    """(..., 3): the centre of mass of a rigid body."""
    return drawn.points[body][..., drawn.skeletons[body].centre, :]


def line_width(lines: int, drawn: Skeleton) -> float:
    """The relative line width of a body: frames of many members have thin lines, and so have bodies known only by their
    nodes.
    """
    return float(np.clip(np.sqrt(60.0 / max(lines, 1)), 0.3, 1.0)) * (
        0.5 if len(drawn.marks) else 1.0
    )
