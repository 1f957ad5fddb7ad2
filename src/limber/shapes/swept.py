"""Shapes along the line of a flexible body: tubes and panels, which bend and twist with it."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from limber.checks import Array, number
from limber.errors import ArgumentValueError
from limber.shapes.shape import Shape, Triangles

#: Sides of a tube.
SIDES = 12


@dataclass(frozen=True, eq=False, kw_only=True)
class Swept(Shape):
    """A cross section that is swept along the line of a flexible body, from its first to its last node.

    `at` shifts it and `rotation` rotates it, in the frame of the body.  The section is perpendicular to the line, with
    its first axis along the y axis of the body (along z for a line along y).
    """

    @abstractmethod
    def section(self) -> Array:
        """(k, 2): the corners of the section, in order."""

    def along(self, stations: Array) -> Triangles:
        """Return the surface along stations (n, 3) on a straight line.

        The first points are the section at the first station, and so on.
        """
        direction = stations[-1] - stations[0]
        direction /= np.linalg.norm(direction)
        y = np.eye(3)[2 if abs(direction[1]) > 0.9 else 1]
        y = y - (y @ direction) * direction
        y /= np.linalg.norm(y)
        corners = self.section()
        offsets = np.outer(corners[:, 0], y) + np.outer(corners[:, 1], np.cross(direction, y))
        offsets = offsets @ self.rotation.T + self.at
        points = (stations[:, None] + offsets).reshape(-1, 3)
        k, n = len(corners), len(stations)
        i = np.arange(k)
        j = (i + 1) % k
        faces = []
        for s in range(n - 1):
            a, b, c, d = s * k + i, s * k + j, (s + 1) * k + j, (s + 1) * k + i
            faces += [np.column_stack([a, b, c]), np.column_stack([a, c, d])]
        fan = np.column_stack([np.zeros(k - 2, np.int64), i[1:-1], i[2:]])
        faces += [fan[:, ::-1], (n - 1) * k + fan]
        return points, np.concatenate(faces)

    def triangles(self) -> Triangles:
        """Raise an error: there is no surface without a body."""
        raise ArgumentValueError(f"a {self.kind} has a surface only along a body.")


@dataclass(frozen=True, eq=False)
class Tube(Swept):
    """A tube along a beam.

    radius : m.
    """

    kind: ClassVar[str] = "tube"
    radius: float

    def _check(self) -> None:
        object.__setattr__(self, "radius", number("radius", self.radius, above=0.0))

    def section(self) -> Array:
        """A circle."""
        angle = 2.0 * np.pi * np.arange(SIDES) / SIDES
        return self.radius * np.column_stack([np.cos(angle), np.sin(angle)])


@dataclass(frozen=True, eq=False)
class Panel(Swept):
    """A panel along a beam, such as a solar panel.

    width, thickness : along the y axis of the body, and perpendicular to the panel, m.
    """

    kind: ClassVar[str] = "panel"
    width: float
    thickness: float

    def _check(self) -> None:
        for name in ("width", "thickness"):
            object.__setattr__(self, name, number(name, getattr(self, name), above=0.0))

    def section(self) -> Array:
        """A rectangle."""
        y, z = 0.5 * self.width, 0.5 * self.thickness
        return np.array([(-y, -z), (y, -z), (y, z), (-y, z)])
