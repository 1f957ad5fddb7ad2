r"""Uniform beams in exact mode shapes.

Bending shapes solve EI u'''' = rho A omega^2 u, clamped at x = 0; at x = L they are free or carry
the mass and inertia that `load` gives:

    EI u''(L) = omega^2 J u'(L),      EI u'''(L) = -omega^2 M u(L)

They are written in sin(b x/L), cos(b x/L), exp(-b x/L), exp(-b (1 - x/L)), which stay well conditioned
for any number of modes.  Integrals are taken over the continuous shapes by Gauss quadrature.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from limber.bodies.flexible import FlexibleBody, check_modes, modal_matrices
from limber.bodies.foreshortening import foreshortening
from limber.bodies.nodes import Nodes
from limber.bodies.points import MassPoints
from limber.bodies.recipe import BeamRecipe
from limber.bodies.shapes import Shapes
from limber.checks import Array, array, inertias, number, repeated, shown, whole
from limber.errors import ArgumentTypeError, ArgumentValueError

#: Lengths, masses and stiffnesses above this, or below its inverse, are mistakes.
LARGEST = 1e30


class _Shape(Protocol):
    """One mode: its kind ("y", "z", "torsion", "stretch"), frequency, shape and slope."""

    @property
    def kind(self) -> str: ...

    @property
    def omega(self) -> float: ...

    def value(self, x: Array) -> Array: ...

    def slope(self, x: Array) -> Array: ...


@dataclass(frozen=True)
class _Bending:
    """c0 sin s + c1 cos s + c2 exp(-s) + c3 exp(s - b), s = b x/L."""

    kind: str
    omega: float
    length: float
    b: float
    c: Array

    def value(self, x: Array) -> Array:
        s, c = self.b * x / self.length, self.c
        return c[0] * np.sin(s) + c[1] * np.cos(s) + c[2] * np.exp(-s) + c[3] * np.exp(s - self.b)

    def slope(self, x: Array) -> Array:
        s, c = self.b * x / self.length, self.c
        terms = c[0] * np.cos(s) - c[1] * np.sin(s) - c[2] * np.exp(-s) + c[3] * np.exp(s - self.b)
        return self.b / self.length * terms


@dataclass(frozen=True)
class _Bar:
    """a sin(k x): torsion or stretch, clamped and free."""

    kind: str
    omega: float
    k: float
    a: float

    def value(self, x: Array) -> Array:
        return self.a * np.sin(self.k * x)

    def slope(self, x: Array) -> Array:
        return self.a * self.k * np.cos(self.k * x)


def beam(
    length: float,
    mass: float,
    *,
    EI: float | ArrayLike | None = None,
    GJ: float | None = None,
    EA: float | None = None,
    modes: int | dict[str, int] = 2,
    elements: int = 10,
    damping: float | ArrayLike = 0.0,
    polar_inertia: float | None = None,
    load: tuple[float, float | ArrayLike] | None = None,
    geometric_stiffening: bool = False,
) -> FlexibleBody:
    """A uniform beam along x, clamped at x = 0, in exact mode shapes.

    Parameters
    ----------
    length, mass : m, kg (of the whole beam).
    EI : bending stiffness, N m^2: one number or (EIy, EIz).  EIz bends in the x-y plane, EIy in x-z.
    GJ, EA : torsional stiffness, N m^2, and axial stiffness, N; needed for those modes.
    modes : modes per bending plane, or {"bending": 2, "torsion": 1, "stretch": 1}.
    elements : the number of parts into which the nodes "root", "node1", ..., "tip" divide the beam.
    damping : damping ratio of all modes, or one per mode in their order.
    polar_inertia : moment of inertia of the whole beam about its axis, kg m^2.  None stands for that of a
        homogeneous section, mass (EIy + EIz) / EA, if there are torsion modes, and for zero otherwise.
    load : (mass, inertia) at the tip, an end condition of the bending shapes.  The inertia is one number for
        both planes, or, as for a body, (Ixx, Iyy, Izz) or a diagonal 3 x 3 matrix.  It only affects the
        shapes: attach the load itself as a body.  Without it, the shapes have no force or moment at the
        tip: frequencies with a heavy body there converge only like 1/modes, and those of beams welded in a
        row stay too high, however many beams there are.  With a load far above `mass` and
        `mass length^2`, two modes are a cubic finite element.
    geometric_stiffening : whether bending draws the points of the beam towards its root (`foreshortening`), so that it
        stiffens when it spins or is pulled and buckles when it is pressed.  All products of such second-order shapes
        are kept, so that the equations are those of a Lagrangian at any deflection; the deflections themselves should
        stay below about a tenth of the length.  For larger ones, divide the beam into several bodies.

    The modes are ordered y1, z1, y2, z2, ..., torsion, stretch and are mass-normalized, so that the
    stiffness is diag(omega^2) (with `load`, the normalization includes the load).
    """
    length = number("length", length, above=0.0)
    mass = number("mass", mass, above=0.0)
    counts = check_modes(modes)
    EIy, EIz = _bending_stiffness(EI, counts)
    GJ = _stiffness("GJ", GJ, "torsion", counts)
    EA = _stiffness("EA", EA, "stretch", counts)
    if not isinstance(geometric_stiffening, bool):
        raise ArgumentTypeError(
            f"geometric_stiffening must be True or False, got {shown(geometric_stiffening)}."
        )
    elements = whole("elements", elements, 1)
    polar = _polar_inertia(polar_inertia, mass, EIy, EIz, EA, counts)
    tip = _load(load)
    given = {"length": length, "mass": mass, "EI": EIz, "GJ": GJ, "EA": EA, "polar_inertia": polar}
    for name, value in [*given.items(), ("EI", EIy), *(("load", x) for x in tip)]:
        if value and not 1.0 / LARGEST <= value <= LARGEST:
            raise ArgumentValueError(
                f"{name} = {value:g} is out of range: beams are computed for values from {1.0 / LARGEST:g} to "
                f"{LARGEST:g} (frequencies overflow otherwise). Are the units SI?"
            )

    shapes: list[_Shape] = []
    for y, z in zip(
        _bending("y", length, mass, EIz, (tip[0], tip[3]), counts["bending"]),
        _bending("z", length, mass, EIy, (tip[0], tip[2]), counts["bending"]),
    ):
        shapes += [y, z]
    shapes += _bars("torsion", length, polar, GJ, counts["torsion"])
    shapes += _bars("stretch", length, mass, EA, counts["stretch"])

    most = max(counts.values())
    xi, weight = np.polynomial.legendre.leggauss(48 + 8 * most)
    x = 0.5 * length * (1.0 + xi)
    share = 0.5 * weight
    inertia = np.zeros((x.size, 3, 3))
    inertia[:, 0, 0] = polar * share
    zero = np.zeros((x.size, 3))
    order = 48 + 16 * most if geometric_stiffening else 0
    points = MassPoints(mass * share, _stations(shapes, x, length, order), inertia, zero)

    at = np.linspace(0.0, length, elements + 1)
    names = ("root", *(f"node{i}" for i in range(1, elements)), "tip")
    nodes = Nodes(names, _stations(shapes, at, length, order))

    omega = np.array([s.omega for s in shapes])
    ratio = _damping_ratios(damping, omega.size)
    recipe = BeamRecipe(
        length=length,
        mass=mass,
        EI=(EIy, EIz) if EIy else None,
        GJ=GJ or None,
        EA=EA or None,
        modes=tuple(counts.items()),
        elements=int(elements),
        damping=tuple(ratio.tolist()),
        polar_inertia=None if polar_inertia is None else polar,
        load=None if load is None else _load_recipe(tip),
        geometric_stiffening=geometric_stiffening,
    )
    matrices = modal_matrices(np.diag(omega**2), np.diag(2.0 * ratio * omega), omega.size)
    return FlexibleBody(points, nodes, *matrices, recipe)


def _stiffness(name: str, value: float | None, kind: str, counts: dict[str, int]) -> float:
    if value is None:
        if counts[kind]:
            raise ArgumentValueError(
                f"{name} is missing: modes asks for {counts[kind]} of {kind}. Give it, or ask for none."
            )
        return 0.0
    return number(name, value, above=0.0)


def _bending_stiffness(EI, counts: dict[str, int]) -> tuple[float, float]:
    if EI is None:
        _stiffness("EI", None, "bending", counts)
        return 0.0, 0.0
    pair = repeated("EI", EI, 2, "One number or (EIy, EIz).")
    return number("EI", pair[0], above=0.0), number("EI", pair[1], above=0.0)


def _polar_inertia(given, mass, EIy, EIz, EA, counts) -> float:
    if given is not None:
        bound = {"above": 0.0} if counts["torsion"] else {"minimum": 0.0}
        return number("polar_inertia", given, **bound)
    if not counts["torsion"]:
        return 0.0
    if EA and EIy:
        return mass * (EIy + EIz) / EA
    raise ArgumentTypeError(
        "polar_inertia is missing: torsion modes need the beam's moment of inertia about its axis. Give "
        "polar_inertia, or EI and EA, which determine it for a homogeneous section."
    )


def _load(load) -> Array:
    """(mass, Ixx, Iyy, Izz) of the load at the tip."""
    if load is None:
        return np.zeros(4)
    if isinstance(load, tuple | list) and len(load) == 2 and np.ndim(load[0]) < np.ndim(load[1]):
        mass, matrix = number("load[0]", load[0]), inertias("load[1]", load[1], ())
        moments = np.diag(matrix)
        if np.any(matrix != np.diag(moments)):
            raise ArgumentValueError(
                f"load[1] has products of inertia, {shown(load[1])}: they would couple the bending planes. Give the "
                "diagonal (Ixx, Iyy, Izz)."
            )
    else:
        mass, inertia = array("load", load, (2,), "(mass, inertia) at the tip.")
        moments = np.full(3, inertia)
    tip = np.array([mass, *moments])
    if tip.min() < 0.0:
        raise ArgumentValueError(f"load must not be negative, got {shown(load)}.")
    return tip


def _load_recipe(tip: Array) -> tuple:
    """The load in its shortest form."""
    mass, *moments = tip.tolist()
    return (mass, moments[0]) if len(set(moments)) == 1 else (mass, tuple(moments))


def _damping_ratios(damping, count: int) -> Array:
    ratios = repeated("damping", damping, count, "One damping ratio, or one per mode.")
    if ratios.min() < 0.0:
        raise ArgumentValueError(f"damping ratios must not be negative, got {shown(damping)}.")
    return ratios


def _bending(kind, length, mass, EI, load, count) -> list[_Shape]:
    """The first `count` bending modes in one plane, normalized with the load."""
    shapes: list[_Shape] = []
    ratios = load[0] / mass, load[1] / (mass * length**2)
    xi, weight = np.polynomial.legendre.leggauss(48 + 8 * count)
    x = 0.5 * length * (1.0 + xi)
    tip = np.array(length)
    for b in _bending_roots(*ratios, count):
        c = np.linalg.svd(_end_conditions(b, *ratios))[2][-1]
        omega = b**2 * math.sqrt(EI / (mass * length**3))
        raw = _Bending(kind, omega, length, b, c)
        norm = 0.5 * mass * weight @ raw.value(x) ** 2
        norm += load[0] * raw.value(tip) ** 2 + load[1] * raw.slope(tip) ** 2
        scale = np.sign(raw.value(tip)) / np.sqrt(norm)
        shapes.append(_Bending(kind, omega, length, b, scale * c))
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


def _bending_roots(ratio_mass: float, ratio_inertia: float, count: int) -> list[float]:
    """The first roots b of the frequency equation (clamped-free: 1.875, 4.694, ...)."""

    from scipy.optimize import brentq  # noqa: PLC0415 (slow to import)

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
            roots.append(brentq(determinant, left, right, xtol=1e-15, rtol=1e-15))
        left, f_left = right, f_right
        step = min(1.02 * step, 0.05)
    return roots


def _bars(kind, length, inertia, stiffness, count) -> list[_Shape]:
    """Torsion or stretch: sin((i - 1/2) pi x/L), clamped and free."""
    shapes: list[_Shape] = []
    for i in range(1, count + 1):
        k = (i - 0.5) * math.pi / length
        omega = k * math.sqrt(stiffness * length / inertia)
        shapes.append(_Bar(kind, omega, k, math.sqrt(2.0 / inertia)))
    return shapes


def _stations(shapes: list[_Shape], x: Array, length: float, order: int) -> Shapes:
    """The points of the axis of the beam at x, with foreshortening by a quadrature of this order unless it is 0."""
    translation = np.zeros((x.size, 3, len(shapes)))
    rotation = np.zeros((x.size, 3, len(shapes)))
    for r, shape in enumerate(shapes):
        value, slope = shape.value(x), shape.slope(x)
        if shape.kind == "y":
            translation[:, 1, r], rotation[:, 2, r] = value, slope
        elif shape.kind == "z":
            translation[:, 2, r], rotation[:, 1, r] = value, -slope
        elif shape.kind == "torsion":
            rotation[:, 0, r] = value
        else:
            translation[:, 0, r] = value
    second = foreshortening(length, partial(_slopes, shapes), x, order) if order else None
    return Shapes(np.outer(x, [1.0, 0, 0]), translation, rotation, second)


def _slopes(shapes: list[_Shape], x: Array) -> Array:
    """(n, 2, m): the slopes of the bending modes in y and in z at x; zero for other modes."""
    slopes = np.zeros((x.size, 2, len(shapes)))
    for r, shape in enumerate(shapes):
        if shape.kind in ("y", "z"):
            slopes[:, "yz".index(shape.kind), r] = shape.slope(x)
    return slopes
