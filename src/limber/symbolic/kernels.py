"""The kernels on polynomials: how sines, rotations of nodes and joint frames enter the ring.

The kernels are those of `limber.kernels`, loaded once more by `plain.load`.  What is replaced here are
elementary functions only: sine and cosine make generators, and so do the coefficients of exp(x~) and of
its left Jacobian, which the compiled kernels sum as polynomials in x . x.
"""

from __future__ import annotations

from fractions import Fraction
from math import factorial
from types import SimpleNamespace

import sympy as sp

from limber.kernels import plain
from limber.symbolic.polynomial import Polynomial, Ring, index_of

#: Terms of the series: one more than the compiled kernels sum, beyond rounding below 1 rad.
TERMS = 10


def load(ring: Ring) -> SimpleNamespace:
    """The plain kernels on polynomials of `ring`."""

    def sine(angle):
        return ring.sine_and_cosine(angle)[0] if isinstance(angle, Polynomial) else 0

    def cosine(angle):
        return ring.sine_and_cosine(angle)[1] if isinstance(angle, Polynomial) else 1

    kernels = plain.load(sine, cosine)
    so3 = kernels.so3
    so3.series = NodeSeries(ring).all
    matrix, bend = so3.matrix, so3.bend

    def bend_exactly(x):
        """`so3.bend`, exp(x~) in sines and cosines where x keeps its axis."""
        E, *series = bend(x)
        axes = [i for i in range(3) if x[i]]
        if len(axes) == 1 and ring.limit is None:
            s, c = ring.sine_and_cosine(x[axes[0]])
            E = matrix(s, 1 - c, tuple(float(i == axes[0]) for i in range(3)))
        return E, *series

    so3.bend = kernels.placement.bend = bend_exactly
    return kernels


class NodeSeries:
    """The coefficients a, b, c of exp(x~) and Tl(x), and the rates of b and c, as functions of u = x . x.

    In a truncated ring they are polynomials in u.  Otherwise each is a generator that prints as its
    series, with a' = (c - b)/2 and b', c' generators in turn; a second derivative is never needed.
    """

    def __init__(self, ring: Ring):
        self.ring = ring
        terms = range(TERMS)
        exact = {k: [Fraction((-1) ** i, factorial(2 * i + k)) for i in terms] for k in (1, 2, 3)}
        rates = {k: [i * exact[k][i] for i in terms[1:]] for k in (2, 3)}
        self.series = {"a": exact[1], "b": exact[2], "c": exact[3], "b'": rates[2], "c'": rates[3]}

    def all(self, u) -> tuple[Polynomial, ...]:
        """What `so3.series(u)` stands for."""
        return tuple(self.function(name, u) for name in self.series)

    def function(self, name: str, u) -> Polynomial:
        """One of the five functions of u."""
        if not isinstance(u, Polynomial) or not u:
            return self.ring.number(self.series[name][0])
        if self.ring.limit is not None:
            return self._summed(name, u)
        if (name, u) not in self.ring.generators:
            self._make(name, u)
        return self.ring.generators[name, u]

    def _summed(self, name: str, u: Polynomial) -> Polynomial:
        total = self.ring.zero
        for c in reversed(self.series[name]):
            total = total * u + c
        return total

    def _make(self, name: str, u: Polynomial) -> None:
        """A new generator with its rates."""
        inner = sp.factor_terms(u.expand())
        expression: sp.Expr = sp.Integer(0)
        for c in reversed(self.series[name]):
            expression = expression * inner + sp.Rational(c.numerator, c.denominator)
        generator = self.ring.generator((name, u), expression)
        if name.endswith("'"):
            return
        if name == "a":
            slope = (self.function("c", u) - self.function("b", u)) * Fraction(1, 2)
        else:
            slope = self.function(name + "'", u)
        self.ring.rates[index_of(generator)] = (u, slope)
