"""The bodies of a system in the scene of a viser server, and their motion from one configuration to the next.

A body has a frame, to which its surfaces are attached in body axes. A new configuration needs one message for each
frame, and one for each surface of a flexible body whose modes have changed; rigid surfaces are sent once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from limber.assembly.system import System
from limber.bodies.shapes import Shapes
from limber.checks import Array
from limber.drawing.closures import drawn_ends
from limber.drawing.colours import rgb
from limber.drawing.geometry import carried
from limber.drawing.placer import Placer, quaternion_of
from limber.drawing.solids import looks
from limber.joints import Joint

#: At most about so many triangles of a body: those of flexible ones are sent again for every picture.
TRIANGLES = 6000
#: The colour of lines to closures and slides.
INK = (70, 70, 70)


class LiveScene:
    """The bodies of a system on a server."""

    def __init__(self, server: Any, system: System):
        self.server, self.system = server, system
        self._placer = Placer(system)
        look = looks(system, TRIANGLES)
        self.size, self.low, self.high = look.size, look.low, look.high
        self._frames: dict[str, Any] = {}
        self._surfaces: dict[str, list[_Bending]] = {}
        self._eta: dict[str, Array] = {}
        scene = server.scene
        scene.set_up_direction("+z")
        scene.configure_default_lights(cast_shadow=False)
        self._aim()
        self._ground()
        for name, surfaces in look.surfaces.items():
            path = f"/bodies/{name.replace('/', ' ')}"
            self._frames[name] = scene.add_frame(path, show_axes=False)
            bending = []
            for k, surface in enumerate(surfaces):
                mesh = scene.add_mesh_simple(
                    f"{path}/{k}",
                    surface.shapes.position.astype(np.float32),
                    surface.triangles.astype(np.uint32),
                    color=tuple(round(255 * x) for x in rgb(surface.colour or "#888888")),
                    flat_shading=True,
                    side="double",
                    cast_shadow=False,  # costs another pass over everything
                    receive_shadow=False,
                )
                if surface.shapes.translation.any():
                    bending.append(_Bending(mesh, surface.shapes))
            self._surfaces[name] = bending
            self._eta[name] = np.zeros(system.bodies[name].modes)
        self._ends = drawn_ends(system)
        self._slides = [
            x
            for x in system.attachments.values()
            if x.to != "world" and _slides(x.joint) and carried(x.joint) and not x.shapes
        ]
        self._lines = None
        if self._ends or self._slides:
            none = np.zeros((1, 2, 3), np.float32)
            self._lines = scene.add_line_segments(
                "/lines", none, INK, thickness=3.0, thickness_units="screen"
            )

    def _ground(self) -> None:
        """A grid below everything, and the world axes."""
        scene, size = self.server.scene, self.size
        middle = 0.5 * (self.low + self.high)
        cell = 10.0 ** np.floor(np.log10(size / 4.0))
        across = float(np.ceil(3.0 * size / cell) * cell)
        scene.add_grid(
            "/ground",
            width=across,
            height=across,
            cell_size=float(cell),
            section_size=float(5.0 * cell),
            cell_color=(225, 225, 225),
            section_color=(195, 195, 195),
            shadow_opacity=0.0,
            position=(middle[0], middle[1], self.low[2] - 0.03 * size),
        )
        scene.add_frame("/axes", axes_length=0.07 * size, axes_radius=0.003 * size)

    def _aim(self) -> None:
        """Place the cameras of new browsers at a corner above everything."""
        middle = 0.5 * (self.low + self.high)
        camera = self.server.initial_camera
        camera.look_at = tuple(middle)
        camera.position = tuple(middle + 0.52 * self.size * np.array([0.9, -1.5, 0.9]))
        camera.up = (0.0, 0.0, 1.0)
        camera.near, camera.far = 0.01 * self.size, 100.0 * self.size

    def show(self, q: Array, scale: float = 1.0) -> None:
        """Move all bodies to a configuration (nq,), with scaled deformation."""
        s = self.system
        frames = self._placer.frames(q, scale)
        with self.server.atomic():
            for name, (R, p) in frames.items():
                frame = self._frames[name]
                frame.wxyz, frame.position = quaternion_of(R), p
                if not self._surfaces[name]:
                    continue
                eta = scale * q[s.layout[name].q_modes]
                if not np.array_equal(eta, self._eta[name]):
                    self._eta[name] = eta
                    for surface in self._surfaces[name]:
                        surface.bend(eta)
            if self._lines is not None:
                self._lines.points = self._segments(frames, q, scale)

    def _segments(
        self, frames: dict[str, tuple[Array, Array]], q: Array, scale: float
    ) -> np.ndarray:
        """(n, 2, 3): lines along slides, and from nodes to the frames of closures."""

        def place(body: str, node: int | None, offset: Array) -> tuple[Array, Array]:
            if body == "world":
                return offset, offset
            R, p = self._placer.node(frames[body], body, node, q, scale)
            return p, p + R @ offset

        lines = []
        for item in self._slides:
            node, start = place(item.to, item.at, item.offset)
            end = self._placer.node(frames[item.name], item.name, item.inboard, q, scale)[1]
            lines += [(node, start), (start, end)]
        for a, b in self._ends.values():
            (node_a, at_a), (node_b, at_b) = (place(x.body, x.node, x.offset) for x in (a, b))
            lines += [(node_a, at_a), (at_a, at_b), (at_b, node_b)]
        return np.array(lines, dtype=np.float32)

    def node(self, body: str, node: int | None, q: Array, scale: float = 1.0) -> Array:
        """(3,): the position of a node, or of the frame of a body, as drawn."""
        frame = self._placer.frames(q, scale)[body]
        return self._placer.node(frame, body, node, q, scale)[1]


class _Bending:
    """A surface whose points move with the modes of its body."""

    def __init__(self, mesh: Any, shapes: Shapes):
        self.mesh, self.shapes = mesh, shapes
        self._position = shapes.position.astype(np.float32)
        self._matrix = shapes.translation.reshape(-1, shapes.modes).astype(np.float32)

    def bend(self, eta: Array) -> None:
        """Move the points according to the modal coordinates."""
        if self.shapes.second is not None:
            self.mesh.vertices = self.shapes.places(eta).astype(np.float32)
            return
        moved = self._matrix @ eta.astype(np.float32)
        self.mesh.vertices = self._position + moved.reshape(-1, 3)


def _slides(joint: Joint) -> bool:
    """Whether a joint can move its frames apart."""
    return any(np.any(group.H[3:]) for group in joint.groups)
