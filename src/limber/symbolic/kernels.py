"""The kernels on polynomials: how sines, rotations of nodes and joint frames enter the ring.

`KERNELS` are those of `limber.kernels`, loaded once more by `plain.load`, once for all models.  A function that
replaces a kernel here uses the ring of the polynomials that it is given, so models that are derived at the same time
share nothing.  Sine and cosine make generators, and so do the coefficients of exp(x~) and of its left Jacobian, which
the compiled kernels sum as polynomials in x . x.  A joint whose configuration has generators of its own (`Ring.poses`)
is placed by them.  Square roots are for SymPy's own scalars (`physics`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from math import factorial

import sympy as sp

from limber.kernels import layout as L
from limber.kernels import plain
from limber.symbolic.polynomial import Polynomial, Ring, index_of

#: Terms of the series: one more than the compiled kernels sum, beyond rounding below 1 rad.
TERMS = 10


def _series() -> dict[str, list[Fraction]]:
    """The coefficients of a, b, c of exp(x~) and Tl(x), and of the rates of b and c, in powers of u = x . x."""
    terms = range(TERMS)
    exact = {k: [Fraction((-1) ** i, factorial(2 * i + k)) for i in terms] for k in (1, 2, 3)}
    rates = {k: [i * exact[k][i] for i in terms[1:]] for k in (2, 3)}
    return {"a": exact[1], "b": exact[2], "c": exact[3], "b'": rates[2], "c'": rates[3]}


SERIES = _series()


def sine(angle):
    """sin of a polynomial or a number."""
    if isinstance(angle, Polynomial):
        return angle.ring.sine_and_cosine(angle)[0]
    return math.sin(angle)


def cosine(angle):
    """cos of a polynomial or a number."""
    if isinstance(angle, Polynomial):
        return angle.ring.sine_and_cosine(angle)[1]
    return math.cos(angle)


def root(x):
    """sqrt of a SymPy expression or a number."""
    return sp.sqrt(x) if isinstance(x, sp.Basic) else math.sqrt(x)


def _series_by_generators(ordinary: Callable) -> Callable:
    """`so3.series` in the ring of u."""

    def series(u):
        if not isinstance(u, Polynomial):
            return ordinary(u)
        return tuple(node_function(name, u) for name in SERIES)

    return series


def _bend_exactly(ordinary: Callable) -> Callable:
    """`so3.bend`, exp(x~) in sines and cosines where x keeps its axis and no terms are dropped."""

    def bend(x):
        E, *series = ordinary(x)
        axes = [i for i in range(3) if x[i]]
        if len(axes) == 1 and x[axes[0]].ring.limit is None:
            s, versine = sine(x[axes[0]]), 1 - cosine(x[axes[0]])
            E = KERNELS.so3.matrix(s, versine, tuple(float(i == axes[0]) for i in range(3)))
        return E, *series

    return bend


def _pose_by_generators(ordinary: Callable) -> Callable:
    """`joints.group_pose`, from the ring where it knows the configuration of the group."""

    def group_pose(topo, const, q, g):
        coordinates = group_coordinates(topo, q, g)
        known = coordinates[0].ring.poses.get(coordinates)
        return ordinary(topo, const, q, g) if known is None else known

    return group_pose


def group_coordinates(topo, q, g) -> tuple[Polynomial, ...]:
    """The coordinates of group g of a joint."""
    start = topo[g + L.G_Q]
    return tuple(q[start : start + topo[g + L.G_DOFS]])


def node_function(name: str, u: Polynomial) -> Polynomial:
    """One of the functions in SERIES at u.

    In a truncated ring it is a polynomial in u.  Otherwise it is a generator that prints as its series, with
    a' = (c - b)/2 and b', c' generators in turn; a second derivative is never needed.
    """
    ring = u.ring
    if not u:
        return ring.number(SERIES[name][0])
    if ring.limit is not None:
        total = ring.zero
        for c in reversed(SERIES[name]):
            total = total * u + c
        return total
    if (name, u) not in ring.generators:
        _make(ring, name, u)
    return ring.generators[name, u]


def _make(ring: Ring, name: str, u: Polynomial) -> None:
    """A new generator with its rates."""
    inner = sp.factor_terms(u.expand())
    expression: sp.Expr = sp.Integer(0)
    for c in reversed(SERIES[name]):
        expression = expression * inner + sp.Rational(c.numerator, c.denominator)

    def complete(generator: Polynomial) -> None:
        if name == "a":
            slope = (node_function("c", u) - node_function("b", u)) * Fraction(1, 2)
        elif name.endswith("'"):
            return
        else:
            slope = node_function(name + "'", u)
        ring.rates[index_of(generator)] = (u, slope)

    ring.generator((name, u), expression, complete=complete)


KERNELS = plain.load(
    sine,
    cosine,
    root,
    instead={
        "so3.series": _series_by_generators,
        "so3.bend": _bend_exactly,
        "joints.group_pose": _pose_by_generators,
        # positions are met where the sine of an error is zero; half turns, where it is zero too, must be excluded numerically
        "cut_joint.chord": lambda _: lambda cosine: 1.0,
        "violations.half_turn": lambda _: lambda cosine: 0.0,
    },
)
