r"""Exact mode shapes of uniform slender beams.

Bending shapes solve EI u'''' = rho A omega^2 u, clamped at x = 0; at x = L they are free or carry a mass M and an
inertia J:

    EI u''(L) = omega^2 J u'(L),      EI u'''(L) = -omega^2 M u(L)

They are written in sin(b x/L), cos(b x/L), exp(-b x/L), exp(-b (1 - x/L)), which stay well conditioned
for any number of modes.  Shapes of torsion and stretch are sin(b x/L), with the load's inertia about the axis or its mass
at x = L.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np

from limber.bodies.quadrature import gauss_legendre
from limber.bodies.roots import bracketed_root
from limber.checks import Array


class BeamShape(Protocol):
    """One mode of a beam: its kind ("y", "z", "torsion", "stretch"), frequency and shape."""

    @property
    def kind(self) -> str: ...

    @property
    def omega(self) -> float: ...

    def value(self, x: Array) -> Array:
        """Deflection, angle of twist or displacement along the axis, u."""

    def slope(self, x: Array) -> Array:
        """The derivative of `value`, u'."""

    def turn(self, x: Array) -> Array:
        """The angle by which bending turns the section: the slope without the shear strain."""

    def strain(self, x: Array) -> Array:
        """The derivative of `turn` for bending, of `value` otherwise: curvature, rate of twist, or axial strain."""

    def shear_force(self, x: Array) -> Array:
        """The shear force of a bending mode, N."""


@dataclass(frozen=True)
class SlenderBending:
    """c0 sin s + c1 cos s + c2 exp(-s) + c3 exp(s - b), s = b x/L."""

    kind: str
    omega: float
    length: float
    EI: float
    b: float
    c: Array

    def _derivative(self, x: Array, order: int) -> Array:
        s, c = self.b * x / self.length, self.c
        # the derivatives of sin and cos are those at a quarter turn ahead, taken without rounding
        sin, cos = np.sin(s), np.cos(s)
        first, second = ((sin, cos), (cos, -sin), (-sin, -cos), (-cos, sin))[order]
        sign = -1.0 if order % 2 else 1.0
        waves = c[0] * first + c[1] * second
        terms = waves + sign * c[2] * np.exp(-s) + c[3] * np.exp(s - self.b)
        return (self.b / self.length) ** order * terms

    def value(self, x: Array) -> Array:
        return self._derivative(x, 0)

    def slope(self, x: Array) -> Array:
        return self._derivative(x, 1)

    turn = slope

    def strain(self, x: Array) -> Array:
        return self._derivative(x, 2)

    def shear_force(self, x: Array) -> Array:
        return -self.EI * self._derivative(x, 3)


@dataclass(frozen=True)
class UniformBar:
    """a sin(k x): torsion or stretch, clamped at x = 0."""

    kind: str
    omega: float
    k: float
    a: float

    def value(self, x: Array) -> Array:
        return self.a * np.sin(self.k * x)

    def slope(self, x: Array) -> Array:
        return self.a * self.k * np.cos(self.k * x)

    def turn(self, x: Array) -> Array:
        return np.zeros_like(x)

    strain = slope
    shear_force = turn


def bending_shapes(
    kind: str, length: float, mass: float, EI: float, load: tuple[float, float], count: int
) -> list[BeamShape]:
    """The first `count` bending modes in one plane, normalized with the load."""
    shapes: list[BeamShape] = []
    ratios = load[0] / mass, load[1] / (mass * length**2)
    xi, weight = gauss_legendre(48 + 8 * count)
    x = 0.5 * length * (1.0 + xi)
    tip = np.array(length)
    for b in _bending_roots(*ratios, count):
        c = np.linalg.svd(_end_conditions(b, *ratios))[2][-1]
        omega = b**2 * math.sqrt(EI / (mass * length**3))
        raw = SlenderBending(kind, omega, length, EI, b, c)
        norm = 0.5 * mass * weight @ raw.value(x) ** 2
        norm += load[0] * raw.value(tip) ** 2 + load[1] * raw.slope(tip) ** 2
        scale = np.sign(raw.value(tip)) / np.sqrt(norm)
        shapes.append(SlenderBending(kind, omega, length, EI, b, scale * c))
    return shapes


def _end_conditions(b: float, ratio_mass: float, ratio_inertia: float) -> Array:
    """Rows: u(0), u'(0), moment and shear at the tip; columns: sin, cos, exp(-s), exp(s - b)."""
    s, c, e = np.sin(b), np.cos(b), np.exp(-b)
    value = np.array([s, c, e, 1.0])
    slope = np.array([c, -s, -e, 1.0])
    moment = np.array([-s, -c, e, 1.0])
    shear = np.array([-c, s, -e, 1.0])
    rows = [
        np.array([0.0, 1.0, 1.0, e]),
        np.array([1.0, 0.0, -1.0, e]),
        moment - ratio_inertia * b**3 * slope,
        shear + ratio_mass * b * value,
    ]
    return np.array([r / np.abs(r).max() for r in rows])


@lru_cache(maxsize=256)
def _bending_roots(ratio_mass: float, ratio_inertia: float, count: int) -> tuple[float, ...]:
    """The first roots b of the frequency equation (clamped-free: 1.875, 4.694, ...); beams of other stiffness have the same."""

    def determinant(b):
        return np.linalg.det(_end_conditions(b, ratio_mass, ratio_inertia))

    roots: list[float] = []
    # heavy loads push the first two roots towards zero like (ratio)^(-1/4)
    start = 0.2 / (1.0 + ratio_mass + ratio_inertia) ** 0.25
    left, step = start, 0.02 * start
    f_left = determinant(left)
    while len(roots) < count:
        right = left + step
        f_right = determinant(right)
        if f_left * f_right < 0.0:
            roots.append(bracketed_root(determinant, left, right))
        left, f_left = right, f_right
        step = min(1.02 * step, 0.05)
    return tuple(roots)


def bar_shapes(
    kind: str, length: float, inertia: float, stiffness: float, load: float, count: int
) -> list[BeamShape]:
    """Torsion or stretch, sin(b x/L), normalized with the load: cot b = b load/inertia, b = (i - 1/2) pi without load."""
    shapes: list[BeamShape] = []
    for i in range(1, count + 1):
        b = _bar_root(load / inertia, i)
        k = b / length
        omega = k * math.sqrt(stiffness * length / inertia)
        norm = inertia * (0.5 - 0.25 * math.sin(2.0 * b) / b) + load * math.sin(b) ** 2
        if not load:
            norm = 0.5 * inertia
        shapes.append(UniformBar(kind, omega, k, 1.0 / math.sqrt(norm)))
    return shapes


def _bar_root(ratio: float, i: int) -> float:
    """The i-th root b of cos b = ratio b sin b."""
    right = (i - 0.5) * math.pi
    if ratio == 0.0:
        return right
    left = (i - 1) * math.pi
    return bracketed_root(lambda b: math.cos(b) - ratio * b * math.sin(b), left, right)
