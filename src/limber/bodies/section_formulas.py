"""Closed forms for cross sections: areas, second moments, torsion constants and shear coefficients.

Every function returns the area A, the second moments (Iy, Iz) with Iy the integral of z^2, the torsion constant J, the
shear coefficients (ky, kz), points (y, z) on the surface and the largest shear stresses that unit loads cause.  Shear
coefficients are those of Cowper (1966), "The shear coefficient in Timoshenko's beam theory"; shear stresses of shear
forces are V Q / (I b), with Q the first moment of the part above the neutral axis and b the width there.
"""

from __future__ import annotations

import math
from typing import NamedTuple

#: The sum of 1 / n^5 over odd n, 31/32 zeta(5).
ODD_FIFTH_POWERS = 1.0045237627951398


class Geometry(NamedTuple):
    """The geometric constants of a cross section; lengths in metres."""

    area: float
    second_moments: tuple[float, float]
    torsion: float
    shear: tuple[float, float]
    surface: tuple[tuple[float, float], ...]
    #: the largest shear stress by unit torsion (1/m^3), by a unit shear force along y and along z (1/m^2)
    shear_stress: tuple[float, float, float]


def circle(radius: float, nu: float) -> Geometry:
    """A solid circle."""
    return tube(radius, radius, nu)


def tube(radius: float, wall: float, nu: float) -> Geometry:
    """A hollow circle of this outer radius; a wall as thick as the radius makes it solid."""
    inner = radius - wall
    moment = 0.25 * math.pi * (radius**4 - inner**4)
    square = (1.0 + (inner / radius) ** 2) ** 2
    shear = (
        6.0 * (1.0 + nu) * square
        / ((7.0 + 6.0 * nu) * square + (20.0 + 12.0 * nu) * (inner / radius) ** 2)
    )  # fmt: skip
    angles = [i * math.pi / 4.0 for i in range(8)]
    surface = tuple((radius * math.cos(a), radius * math.sin(a)) for a in angles)
    area = math.pi * (radius**2 - inner**2)
    sides = radius**2 + inner**2
    stress = 4.0 / 3.0 * (sides + radius * inner) / (sides * area)
    stresses = 0.5 * radius / moment, stress, stress
    return Geometry(area, (moment, moment), 2.0 * moment, (shear, shear), surface, stresses)


def rectangle(width: float, height: float, nu: float) -> Geometry:
    """A solid rectangle, `width` along y and `height` along z; the torsion constant is Saint-Venant's series."""
    long, short = max(width, height), min(width, height)
    # the sum of tanh(n pi long / (2 short)) / n^5 over odd n is that of 1 / n^5 except for terms that vanish fast
    series = ODD_FIFTH_POWERS - sum(
        2.0 / ((math.exp(min(n * math.pi * long / short, 700.0)) + 1.0) * n**5)
        for n in range(1, 14, 2)
    )
    torsion = long * short**3 * (1.0 / 3.0 - 64.0 / math.pi**5 * short / long * series)
    shear = 10.0 * (1.0 + nu) / (12.0 + 11.0 * nu)
    moments = width * height**3 / 12.0, height * width**3 / 12.0
    # in the middle of the long sides
    steep = sum(
        1.0 / (n**2 * math.cosh(min(0.5 * n * math.pi * long / short, 700.0)))
        for n in range(1, 14, 2)
    )
    area = width * height
    stresses = short * (1.0 - 8.0 / math.pi**2 * steep) / torsion, 1.5 / area, 1.5 / area
    return Geometry(area, moments, torsion, (shear, shear), corners(width, height), stresses)


def box(width: float, height: float, wall: float, nu: float) -> Geometry:
    """A hollow rectangle of these outer sizes with walls of one thickness.

    Torsion is Bredt's formula for one cell with the walls' own w^3 s / 3, good to a few per cent for walls below a
    tenth of the height; shear coefficients are Cowper's for thin walls.  Stresses are those away from the inner corners.
    """
    inner = width - 2.0 * wall, height - 2.0 * wall
    moments = (
        (width * height**3 - inner[0] * inner[1] ** 3) / 12.0,
        (height * width**3 - inner[1] * inner[0] ** 3) / 12.0,
    )
    b, h = width - wall, height - wall  # of the middle line
    cell = 2.0 * wall * (b * h) ** 2 / (b + h)
    torsion = cell + 2.0 * (b + h) * wall**3 / 3.0
    shear = _thin_box_shear(h, b, nu), _thin_box_shear(b, h, nu)
    area = width * height - inner[0] * inner[1]
    stresses = (
        (0.5 * cell / (b * h * wall) + wall) / torsion,
        (height * width**2 - inner[1] * inner[0] ** 2) / (16.0 * wall * moments[1]),
        (width * height**2 - inner[0] * inner[1] ** 2) / (16.0 * wall * moments[0]),
    )
    return Geometry(area, moments, torsion, shear, corners(width, height), stresses)


def _thin_box_shear(b: float, h: float, nu: float) -> float:
    """Cowper's coefficient of a thin-walled box for a force along its side h."""
    m = n = b / h
    below = 12.0 + 72.0 * m + 150.0 * m**2 + 90.0 * m**3
    below += nu * (11.0 + 66.0 * m + 135.0 * m**2 + 90.0 * m**3)
    below += 10.0 * n**2 * ((3.0 + nu) * m + 3.0 * m**2)
    return 10.0 * (1.0 + nu) * (1.0 + 3.0 * m) ** 2 / below


def corners(width: float, height: float) -> tuple[tuple[float, float], ...]:
    """The corners of a rectangle."""
    y, z = 0.5 * width, 0.5 * height
    return ((y, z), (-y, z), (-y, -z), (y, -z))
