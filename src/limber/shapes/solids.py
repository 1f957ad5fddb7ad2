"""Boxes, cylinders, spheres, ellipsoids and capsules."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array, array, number, shown
from limber.errors import ArgumentValueError
from limber.shapes.shape import Shape, Triangles, between

#: Sides of a circle, and rings of half a sphere.
SIDES, RINGS = 28, 7
#: Cylinders are divided along their length into parts of at most this many radii, but into no more than so many parts, so
#: that long ones can bend.
EVERY, PARTS = 2.0, 8


def lengths(name: str, value: ArrayLike) -> Array:
    """Three lengths, above zero."""
    found = array(name, value, (3,))
    if found.min() <= 0.0:
        raise ArgumentValueError(f"{name} must be three lengths above zero, got {shown(value)}.")
    return found


@dataclass(frozen=True, eq=False)
class Box(Shape):
    """A box.

    size : its edges along x, y and z, m.
    """

    kind: ClassVar[str] = "box"
    size: Any

    def _check(self) -> None:
        object.__setattr__(self, "size", lengths("size", self.size))

    def triangles(self) -> Triangles:
        """Return the six sides."""
        corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) / 2.0
        sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
        faces = [t for a, b, c, d in sides for t in ((a, b, c), (a, c, d))]
        return self.placed(corners * self.size), np.array(faces)


@dataclass(frozen=True, eq=False)
class Ellipsoid(Shape):
    """An ellipsoid.

    radii : along x, y and z, m.
    """

    kind: ClassVar[str] = "ellipsoid"
    radii: Any

    def _check(self) -> None:
        object.__setattr__(self, "radii", lengths("radii", self.radii))

    def triangles(self) -> Triangles:
        """Return a ball of triangles."""
        points, faces = ball()
        return self.placed(points * self.radii), faces


@dataclass(frozen=True, eq=False)
class Sphere(Shape):
    """A sphere of the given radius, m."""

    kind: ClassVar[str] = "sphere"
    radius: float

    def _check(self) -> None:
        object.__setattr__(self, "radius", number("radius", self.radius, above=0.0))

    def triangles(self) -> Triangles:
        """Return a ball of triangles."""
        points, faces = ball()
        return self.placed(points * self.radius), faces


@dataclass(frozen=True, eq=False)
class _Round(Shape):
    """A solid around the z axis with a radius and a length, m."""

    radius: float
    length: float

    def _check(self) -> None:
        for name in ("radius", "length"):
            object.__setattr__(self, name, number(name, getattr(self, name), above=0.0))

    @classmethod
    def between(cls, start: ArrayLike, end: ArrayLike, radius: float, **more: Any) -> Self:
        """Make the solid whose length is the distance between two points of the body; `more` are node and colour."""
        length, at, rotation = between(start, end)
        return cls(radius, length, at=at, rotation=rotation, **more)

    def _heights(self) -> Array:
        """The rings of the cylinder along z."""
        parts = min(math.ceil(self.length / (EVERY * self.radius)), PARTS)
        return np.linspace(-0.5 * self.length, 0.5 * self.length, parts + 1)


@dataclass(frozen=True, eq=False)
class Cylinder(_Round):
    """A cylinder along z, with its centre halfway along its length.

    radius, length : m.
    """

    kind: ClassVar[str] = "cylinder"

    def triangles(self) -> Triangles:
        """Return the lateral surface and the two ends."""
        points, faces = turned([(self.radius, z) for z in self._heights()])
        return self.placed(points), faces


@dataclass(frozen=True, eq=False)
class Capsule(_Round):
    """A cylinder along z between two hemispheres.

    radius, length : m; the length is that of the cylinder alone.
    """

    kind: ClassVar[str] = "capsule"

    def triangles(self) -> Triangles:
        """Return rings from one pole to the other."""
        angles = 0.5 * np.pi * np.arange(1, RINGS + 1) / RINGS
        r, z = self.radius * np.sin(angles), self.radius * np.cos(angles)
        half = 0.5 * self.length
        low = [(a, -half - b) for a, b in zip(r, z)]
        middle = [(self.radius, height) for height in self._heights()[1:-1]]
        high = [(a, half + b) for a, b in zip(r[::-1], z[::-1])]
        points, faces = turned([*low, *middle, *high], (-half - self.radius, half + self.radius))
        return self.placed(points), faces


def ball() -> Triangles:
    """A sphere of radius 1."""
    angles = np.pi * np.arange(1, 2 * RINGS) / (2 * RINGS)
    return turned([(np.sin(a), -np.cos(a)) for a in angles], (-1.0, 1.0))


def turned(
    profile: list[tuple[float, float]], poles: tuple[float, float] | None = None
) -> Triangles:
    """A body of revolution about z: rings (radius, z) from below, closed at the poles or at the outermost rings."""
    angle = 2.0 * np.pi * np.arange(SIDES) / SIDES
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    low, high = poles or (profile[0][1], profile[-1][1])
    rings = [np.column_stack([r * circle, np.full(SIDES, z)]) for r, z in profile]
    points = np.concatenate([*rings, [[0.0, 0.0, low], [0.0, 0.0, high]]])
    i = np.arange(SIDES)
    j = (i + 1) % SIDES
    bottom = len(points) - 2
    faces = [np.column_stack([j, i, np.full(SIDES, bottom)])]
    for k in range(len(profile) - 1):
        a, b, c, d = k * SIDES + i, k * SIDES + j, (k + 1) * SIDES + j, (k + 1) * SIDES + i
        faces += [np.column_stack([a, b, c]), np.column_stack([a, c, d])]
    last = (len(profile) - 1) * SIDES
    faces.append(np.column_stack([last + i, last + j, np.full(SIDES, bottom + 1)]))
    return points, np.concatenate(faces)
