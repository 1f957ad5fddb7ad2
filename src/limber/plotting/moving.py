"""A picture of a system whose parts can be moved, for stills and animations."""

from __future__ import annotations

from typing import Any

import numpy as np

from limber.assembly.system import System
from limber.drawing.colours import colour
from limber.drawing.geometry import Geometry
from limber.plotting.stage import joint_points, line_width, mass_centre, mass_markers, stage
from limber.plotting.style import new_figure


class Moving:
    """A figure of a system at the states of a geometry (n, ...); `show(k)` moves everything to state k.

    It must be made inside `style`; it is `width` inches wide.
    """

    def __init__(self, system: System, drawn: Geometry, view: str, width: float):
        self.drawn = drawn
        names = list(system.layout)
        self._segments = {b: drawn.segments(b) for b in names}
        self._ties, self._pins = drawn.closure_lines(), drawn.closure_points()
        parts = (*self._segments.values(), *drawn.points.values(), *drawn.ribs.values(), self._pins)
        everything = np.concatenate([x.reshape(-1, 3) for x in parts])
        self.scene = scene = stage(everything[np.isfinite(everything[:, 0])], view)
        across, up = np.diff(scene.limits, axis=1).ravel()
        around = 0.7 if scene.flat else 0.3  # labels and title
        height = float(np.clip((width - around) * up / across, 0.35 * width, 1.1 * width)) + around
        self.figure = new_figure(width, height)
        self.axes = axes = scene.open(self.figure)
        colours = {b: colour(i) for i, b in enumerate(names)}
        thin = {b: line_width(self._segments[b].shape[-3], drawn.skeletons[b]) for b in names}
        self._lines, self._bars = (
            {
                b: scene.lines(axes, of[b][0], colors=[colours[b]], linewidths=wide * thin[b])
                for b in names
            }
            for of, wide in ((self._segments, 3.0), (drawn.ribs, 1.2))
        )
        # the triangles of all bodies together, so that the near ones hide the far ones
        self._surfaces = np.concatenate([drawn.facets(b) for b in names], axis=-3)
        paints = [drawn.skeletons[b].triangle_colours(colours[b]) for b in names]
        self._paints = np.concatenate(paints)
        self._facets = scene.facets(
            axes, self._surfaces[0], self._paints, linewidths=0.15, zorder=1.5
        )
        # joints of bodies with shapes are within them
        moving = [b for b in names if system.joints[b].dofs and not drawn.skeletons[b].solid]
        none = np.zeros((len(self._surfaces), 0, 3))
        self._joints = joint_points(drawn, moving) if moving else none
        self._dots = scene.dots(
            axes,
            self._joints[0],
            marker="o",
            color="0.25",
            markersize=5.0 if len(moving) <= 20 else 1.5,
        )
        self._marked = {
            b: drawn.points[b][:, x.marks] for b, x in drawn.skeletons.items() if len(x.marks)
        }
        self._marks = {
            b: scene.dots(axes, x[0], marker="o", color=colours[b], markersize=4.0)
            for b, x in self._marked.items()
        }
        sizes = mass_markers(system, drawn)
        self._centres = {b: mass_centre(drawn, b)[:, None] for b in sizes}
        self._masses = {
            b: scene.dots(
                axes, self._centres[b][0], marker="s", color=colours[b], markersize=size, zorder=2.5,
                markeredgecolor="0.25", markeredgewidth=0.6,
            )
            for b, size in sizes.items()
        }  # fmt: skip
        self._tied = scene.lines(axes, self._ties[0], colors="0.25", linewidths=1.0, zorder=2.6)
        self._pinned = scene.dots(
            axes, self._pins[0], marker="D", color="0.25", markerfacecolor="w", markersize=4.5,
            zorder=2.7,
        )  # fmt: skip

    @property
    def parts(self) -> list[Any]:
        """The moving artists, in drawing order."""
        of_bodies = (self._bars, self._lines, self._marks, self._masses)
        listed = [part for parts in of_bodies for part in parts.values()]
        return [self._facets, *listed, self._dots, self._tied, self._pinned]

    def show(self, k: int) -> None:
        """Move everything to state k."""
        scene = self.scene
        for b, segments in self._segments.items():
            scene.move(self._lines[b], segments[k])
            scene.move(self._bars[b], self.drawn.ribs[b][k])
        scene.move_facets(self._facets, self._surfaces[k], self._paints)
        scene.move_dots(self._dots, self._joints[k])
        for b, marks in self._marks.items():
            scene.move_dots(marks, self._marked[b][k])
        for b, mass in self._masses.items():
            scene.move_dots(mass, self._centres[b][k])
        scene.move(self._tied, self._ties[k])
        scene.move_dots(self._pinned, self._pins[k])
