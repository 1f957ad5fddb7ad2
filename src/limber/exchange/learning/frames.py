"""Pictures of a system as arrays of pixels, all of one size and scale."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.drawing.geometry import geometry
from limber.plotting.picture import picture
from limber.plotting.stage import Stage, stage

#: The number of configurations that determine how much room the pictures need.
TRIED = 64
WIDTH, DPI = 4.0, 80  # inches, pixels an inch


class Frames:
    """The images that `render` returns for a system."""

    def __init__(self, system: System):
        self._system = system

    @cached_property
    def _stage(self) -> Stage:
        """A stage that fits the system at any joint angles."""
        s, rng = self._system, np.random.default_rng(0)
        q = np.tile(s.neutral(), (TRIED, 1))
        for name, where in s.layout.items():
            if s.joints[name].dofs == where.q_joint.stop - where.q_joint.start:  # no quaternions
                q[1:, where.q_joint] = rng.uniform(-np.pi, np.pi, q[1:, where.q_joint].shape)
        drawn = geometry(s, q, 1.0)
        points = [drawn.segments(b).reshape(-1, 3) for b in s.layout]
        points += [x.reshape(-1, 3) for x in drawn.points.values()]
        everything = np.concatenate(points)
        return stage(everything[np.isfinite(everything[:, 0])])

    def picture(self, q: Array) -> Array:
        """(height, width, 3): the system at a configuration, as bytes."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415

        where = self._stage
        figure = picture(self._system, q, view=where.plane or "3d", width=WIDTH)
        across, up = np.diff(where.limits, axis=1).ravel()
        figure.set_size_inches(WIDTH, WIDTH * float(np.clip(up / across, 0.35, 1.1)))
        figure.set_dpi(DPI)
        figure.axes[0].set(xlim=where.limits[0], ylim=where.limits[1])
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        return np.array(canvas.buffer_rgba())[..., :3]
