"""Numbers and SymPy expressions as polynomials, exactly.

Floats are read as people mean them: 0.35 is 7/20, 0.333... is 1/3, 0.70710678... is sqrt(2)/2; any other
float is its shortest decimal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from numbers import Real
from typing import Any

import sympy as sp

from limber.symbolic.polynomial import Polynomial, Ring, index_of

DENOMINATOR = 10**5
SQUARE_DENOMINATOR = 1000
ROUNDING = 4  # units in the last place that sums and products may have lost


def exact_number(x: float) -> sp.Expr:
    """The simple rational number or square root that a float stands for."""
    simple = Fraction(x).limit_denominator(DENOMINATOR)
    if abs(float(simple) - x) <= ROUNDING * math.ulp(x):
        return sp.Rational(simple.numerator, simple.denominator)
    square = Fraction(x * x).limit_denominator(SQUARE_DENOMINATOR)
    if abs(math.sqrt(square) - abs(x)) <= ROUNDING * math.ulp(x):
        root = sp.sqrt(sp.Rational(square.numerator, square.denominator))
        return root if x > 0 else -root
    decimal = Fraction(repr(float(x)))
    return sp.Rational(decimal.numerator, decimal.denominator)


def expression(value: Any) -> sp.Expr:
    """A number or SymPy expression as a SymPy one: TypeError if it is neither, ValueError if not finite and real.

    A string is neither: SymPy would run it as Python code.
    """
    try:
        found = None if isinstance(value, bool) else sp.sympify(value, strict=True)
    except sp.SympifyError:
        found = None
    if not isinstance(found, sp.Expr):
        raise TypeError(value)
    if found.has(sp.nan, sp.oo, -sp.oo, sp.zoo, sp.I):
        raise ValueError(value)
    return found


def exact_expression(value: Any) -> sp.Expr:
    """`expression` with exact numbers for floats."""
    x = expression(value)
    return x.replace(lambda e: isinstance(e, sp.Float), lambda e: exact_number(float(e)))


def matrix(given: Any, entry: Callable[[Any], sp.Expr] = expression) -> sp.Matrix:
    """A matrix of rows, or a column of entries, each made by `entry`; TypeError or ValueError for no such thing."""
    rows = given.tolist() if hasattr(given, "tolist") else list(given)
    if isinstance(given, str):
        raise TypeError(given)
    lists = [row.tolist() if hasattr(row, "tolist") else row for row in rows]
    lists = [row if isinstance(row, list | tuple) else [row] for row in lists]
    return sp.Matrix([[entry(x) for x in row] for row in lists])


def polynomial(ring: Ring, value) -> Polynomial:
    """A number or SymPy expression in the ring.

    Sines and cosines of anything, square roots and integer powers keep their algebra; other functions
    become generators as they stand.
    """
    if isinstance(value, Polynomial):
        return value
    if not isinstance(value, sp.Basic):
        value = exact_number(float(value)) if isinstance(value, Real) else expression(value)
    if isinstance(value, sp.Float):
        value = exact_number(float(value))
    if value.is_Rational:
        return ring.number(Fraction(int(value.p), int(value.q)))
    if value.is_Add or value.is_Mul:
        result = ring.zero if value.is_Add else ring.one
        for part in value.args:
            x = polynomial(ring, part)
            result = result + x if value.is_Add else result * x
        return result
    if value.is_Pow and value.exp.is_Rational and value.exp.q in (1, 2):
        return _power(ring, value)
    if isinstance(value, (sp.sin, sp.cos)):
        pair = ring.sine_and_cosine(polynomial(ring, value.args[0]))
        return pair[isinstance(value, sp.cos)]
    if isinstance(value, sp.tan):
        s, c = ring.sine_and_cosine(polynomial(ring, value.args[0]))
        return s * inverse(ring, c)
    return ring.generator(value, value)


def _power(ring: Ring, value: sp.Pow) -> Polynomial:
    """base^(n/2), n a whole number."""
    base = polynomial(ring, value.base)
    root = base if value.exp.q == 1 else square_root(ring, base)
    n = int(value.exp.p)
    return root**n if n >= 0 else inverse(ring, root) ** -n


def square_root(ring: Ring, square: Polynomial) -> Polynomial:
    """sqrt of a polynomial: rational if it can be, else a generator with that square."""
    if square.is_number():
        root = sp.sqrt(sp.Rational(square.terms.get(0, 0), square.den))
        outside, inside = root.as_coeff_Mul()
        number = ring.number(Fraction(int(outside.p), int(outside.q)))
        if inside == 1:
            return number
        return number * _root(ring, ring.number(int(inside**2)), inside)
    expression = sp.factor(square.expand())
    root = sp.sqrt(expression)
    if not root.has(sp.Pow) or all(p.exp.is_Integer for p in root.atoms(sp.Pow)):
        return polynomial(ring, root)
    if len(square.terms) == 1:
        bare = sp.powdenest(root, force=True)
        if all(p.exp.is_Integer for p in bare.atoms(sp.Pow)):
            return polynomial(ring, bare)
    whole = square * (square.den * square.den)  # integer coefficients
    return _root(ring, whole, sp.sqrt(sp.factor(whole.expand()))) * Fraction(1, square.den)


def _root(ring: Ring, square: Polynomial, expression: sp.Expr) -> Polynomial:
    """The generator sqrt(square)."""

    def complete(root: Polynomial) -> None:
        ring.set_square(root, square)
        ring.rates[index_of(root)] = (square, root * inverse(ring, square) * Fraction(1, 2))

    return ring.generator(("sqrt", square), expression, complete=complete)


def inverse(ring: Ring, x: Polynomial) -> Polynomial:
    """1/x: a number, a multiple of a square root, or a generator."""
    if x.is_number():
        return ring.number(Fraction(x.den, x.terms[0]))
    square = x * x
    if square.is_number():
        return x * inverse(ring, square)
    content = math.gcd(*x.terms.values()) * (-1 if x.terms[max(x.terms)] < 0 else 1)
    bare = x * Fraction(x.den, content)

    def complete(known: Polynomial) -> None:
        ring.rates[index_of(known)] = (bare, -(known * known))

    expression = 1 / sp.factor(bare.expand())
    known = ring.generator(("inverse", bare), expression, complete=complete)
    return known * Fraction(x.den, content)
