"""Air density over altitude, and the faces of a system on which drag acts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import array, axis, number, shown
from limber.errors import ArgumentTypeError, ArgumentValueError


@dataclass(frozen=True)
class Atmosphere:
    """The density of the air over altitude; `exponential` or `density_table` makes it.

    Between the altitudes, m, and beyond them, the logarithm of the density, kg/m^3, is linear.
    """

    altitude: tuple[float, ...]
    density: tuple[float, ...]


def exponential(density: float, altitude: float, scale_height: float) -> Atmosphere:
    """Air of a given density, kg/m^3, at an altitude; it decreases by the factor e over each scale height, m."""
    at = number("density", density, above=0.0)
    low, height = number("altitude", altitude), number("scale_height", scale_height, above=0.0)
    return Atmosphere((low, low + height), (at, at / float(np.e)))


def density_table(altitude: ArrayLike, density: ArrayLike) -> Atmosphere:
    """Air with given densities, kg/m^3, at increasing altitudes, m; the logarithm is linear between them."""
    heights = array("altitude", altitude, ("n",))
    values = array("density", density, (len(heights),), "One for each altitude.")
    if len(heights) < 2 or (np.diff(heights) <= 0.0).any():
        raise ArgumentValueError("altitude must have at least two increasing values.")
    if (values <= 0.0).any():
        raise ArgumentValueError(
            f"density must be positive, got {values.min():g}: leave out the altitudes without air."
        )
    return Atmosphere(tuple(heights.tolist()), tuple(values.tolist()))


#: The mean atmosphere of the Earth above 100 km: Vallado, Fundamentals of Astrodynamics and Applications, table 8-4 (CIRA-72).
EARTH_AIR = density_table(
    1e3 * np.array([100, 110, 120, 130, 140, 150, 180, 200, 250, 300, 350, 400, 450, 500, 600, 700, 800, 900, 1000]),
    [
        5.297e-7, 9.661e-8, 2.438e-8, 8.484e-9, 3.845e-9, 2.070e-9, 5.464e-10, 2.789e-10, 7.248e-11, 2.418e-11,
        9.518e-12, 3.725e-12, 1.585e-12, 6.967e-13, 1.454e-13, 3.614e-14, 1.170e-14, 5.245e-15, 3.019e-15,
    ],
)  # fmt: skip


@dataclass(frozen=True)
class Face:
    """A face of a body on which drag acts, with its centre at a node.

    body, node : the place of the face; the node None is the body frame.
    area : m^2.
    normal : outward, in the axes of the node, which rotate with the deforming body.  None: the face has this area from
        all directions, like a sphere.
    cd : drag coefficient; about 2.2 in free-molecular flow, due to the molecules that hit the face and those that leave
        it.
    two_sided : whether the air also hits the back of the face, as on a panel.
    """

    body: str
    node: str | int | None = None
    area: float = 1.0
    normal: tuple[float, float, float] | None = None
    cd: float = 2.2
    two_sided: bool = False

    def __post_init__(self) -> None:
        for name in ("area", "cd"):
            object.__setattr__(self, name, number(name, getattr(self, name), minimum=0.0))
        if self.normal is not None:
            object.__setattr__(self, "normal", tuple(axis("normal", self.normal).tolist()))


@dataclass(frozen=True)
class Drag:
    """The drag of free-molecular air, which rotates with the planet, on the faces of a system.

    The force is along the flow, 1/2 density cd area cos(angle) u^2, at the node of the face; u is the velocity of the
    node through the air.  Faces do not shade each other.

    faces : the faces.
    air : `lb.orbit.EARTH_AIR`, `lb.orbit.exponential(...)` or `lb.orbit.density_table(...)`, over the altitude above
        the equatorial radius.
    """

    faces: Sequence[Face]
    air: Atmosphere = EARTH_AIR

    def __post_init__(self) -> None:
        object.__setattr__(self, "faces", listed_as(Face, "faces", self.faces))
        if not isinstance(self.air, Atmosphere):
            raise ArgumentTypeError(
                f"air must be an atmosphere, such as lb.orbit.EARTH_AIR, got {shown(self.air)}."
            )


def listed_as(kind: type, name: str, given: object) -> tuple:
    """`given`, one object of a kind or several of them, as a tuple."""
    found = (given,) if isinstance(given, kind) else given
    if not isinstance(found, Sequence) or not all(isinstance(x, kind) for x in found):
        raise ArgumentTypeError(
            f"{name} must be lb.orbit.{kind.__name__} objects, got {shown(given)}."
        )
    return tuple(found)
