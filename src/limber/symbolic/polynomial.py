"""Sparse polynomials over the rationals: the scalars on which the kernels run symbolically.

A generator stands for a SymPy expression: a parameter, a speed, the sine or cosine of an angle, a
square root, or a function that stays as it is.  A generator may have a known square (sin^2 = 1 - cos^2,
sqrt(14)^2 = 14), which is substituted after every product, so polynomials are in normal form, and a
difference that is zero has no terms.  A generator may also have derivatives along directions.

A monomial is one integer: a field of BITS bits per generator for its exponent, and at the bottom one for the
total degree in the generators called small; terms above `Ring.limit` in it are dropped.  The top bit of
every field is zero in every polynomial, so the fields of a product of two monomials cannot overflow;
a product that sets such a bit is rejected.
Cost of a product: one dictionary update per pair of terms.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import gcd, lcm

import numpy as np
import sympy as sp

from limber import forks
from limber.errors import ArgumentValueError

BITS = 9
FIELD = (1 << BITS) - 1
#: The largest exponent that a field may hold.
LARGEST_EXPONENT = FIELD >> 1

#: Held while a generator is made: threads may work in one ring, such as that of shared equations.
_making = forks.lock()


class Ring:
    """The generators of a family of polynomials, in the order in which they came."""

    def __init__(self, limit: int | None = None):
        self.limit = limit
        self.expressions: list[sp.Expr] = []
        self.units: list[int] = []
        self.generators: dict[object, Polynomial] = {}
        self.pairs: dict[int, int] = {}  # sine -> cosine, by number
        self.angles: dict[int, Polynomial] = {}  # cosine -> angle
        #: per generator its derivatives {direction: rate}, or (inner, slope): slope times those of inner
        self.rates: list[dict[int, Polynomial] | tuple[Polynomial, Polynomial]] = []
        #: the configurations (R, p) of joints that have generators for entries, by the joint's coordinates
        self.poses: dict[tuple[Polynomial, ...], tuple] = {}
        self._squares: dict[int, tuple[int, list[tuple[int, int]]]] = {}
        self._top_bits = LARGEST_EXPONENT + 1  # of every field
        self._special = self._top_bits  # with the bits that say that a square is known
        self.zero = Polynomial(self, {}, 1)
        self.one = Polynomial(self, {0: 1}, 1)

    def generator(
        self,
        key: object,
        expression: sp.Expr,
        small: bool = False,
        complete: Callable[[Polynomial], None] | None = None,
    ) -> Polynomial:
        """The generator known as `key`, made if it is new.

        `complete` gives a new generator its square and its rates, before anyone else can see it.
        """
        if key not in self.generators:
            with _making:
                if key not in self.generators:
                    made = self._new(expression, small)
                    if complete is not None:
                        complete(made)
                    self.generators[key] = made
        return self.generators[key]

    def _new(self, expression: sp.Expr, small: bool) -> Polynomial:
        shift = BITS * (len(self.units) + 1)
        self._top_bits |= (LARGEST_EXPONENT + 1) << shift
        self._special |= self._top_bits
        self.expressions.append(expression)
        self.units.append(1 << shift | small)
        self.rates.append({})
        return Polynomial(self, {self.units[-1]: 1}, 1)

    def number(self, value) -> Polynomial:
        """A rational number (int, float taken as it is, Fraction) as a polynomial."""
        exact = Fraction(value)
        return Polynomial(self, {0: exact.numerator} if exact else {}, exact.denominator)

    def derivatives(self, i: int) -> dict[int, Polynomial]:
        """{direction: derivative} of generator i."""
        rates = self.rates[i]
        if isinstance(rates, tuple):
            inner, slope = rates
            return {direction: slope * rate for direction, rate in inner.gradient().items()}
        return rates

    def set_square(self, generator: Polynomial, square: Polynomial) -> None:
        """Replace generator^2 by `square`, which has integer coefficients, from now on."""
        i = index_of(generator)
        bit = 2 << (BITS * (i + 1))
        self._squares[bit] = (2 * self.units[i], list(square.terms.items()))
        self._special |= bit

    def sine_and_cosine(self, angle: Polynomial) -> tuple[Polynomial, Polynomial]:
        """sin and cos of an angle, generators with sin^2 = 1 - cos^2."""
        if not angle:
            return self.zero, self.one
        leading = angle.terms[max(angle.terms)]
        if leading < 0:
            s, c = self.sine_and_cosine(-angle)
            return -s, c
        if ("sin", angle) not in self.generators:
            expression = angle.expand()
            c = self.generator(("cos", angle), sp.cos(expression))

            def complete(s: Polynomial) -> None:
                self.set_square(s, self.one - c * c)
                self.angles[index_of(c)] = angle
                self.rates[index_of(s)] = (angle, c)
                self.rates[index_of(c)] = (angle, -s)
                # A new dictionary, and last: other threads may be iterating over the old one.
                self.pairs = {**self.pairs, index_of(s): index_of(c)}

            self.generator(("sin", angle), sp.sin(expression), complete=complete)
        return self.generators["sin", angle], self.generators["cos", angle]

    def reduced(self, terms: dict[int, int]) -> dict[int, int]:
        """`terms` of a product with every known square put in; exponents that are too large are rejected."""
        mask = self._special
        todo = [(m, c) for m, c in terms.items() if m & mask]
        for m, _ in todo:
            del terms[m]
        while todo:
            m, c = todo.pop()
            self.refuse_overflow(m)
            hit = m & mask
            unit, square = self._squares[hit & -hit]
            for m2, c2 in square:
                n = m - unit + m2
                if n & mask:
                    todo.append((n, c * c2))
                else:
                    terms[n] = terms.get(n, 0) + c * c2
        return terms

    def refuse_overflow(self, monomial: int) -> None:
        """Reject a monomial, the product of two, that has an exponent above LARGEST_EXPONENT."""
        over = monomial & self._top_bits
        if not over:
            return
        field = (over.bit_length() - 1) // BITS
        what = f"the power {self.expressions[field - 1]}**{monomial >> (BITS * field) & FIELD}"
        if field == 0:
            what = f"a product of {monomial & FIELD} modal coordinates"
        raise ArgumentValueError(
            f"the equations would have {what}, but exponents are limited to {LARGEST_EXPONENT}. Represent a high power by "
            "a separate symbol, and substitute it with subs(...) afterwards."
        )


class Polynomial:
    """Integer terms {monomial: coefficient} over one common denominator.  Immutable."""

    __slots__ = ("_hash", "den", "ring", "terms")
    __array_ufunc__ = None  # numpy scalars leave the arithmetic to this class

    def __init__(self, ring: Ring, terms: dict[int, int], den: int):
        self.ring, self.terms, self.den = ring, terms, den
        self._hash: int | None = None

    def coerce(self, other) -> Polynomial:
        """`other`, a polynomial or a number, in the same ring."""
        return other if isinstance(other, Polynomial) else self.ring.number(other)

    def __bool__(self):
        return bool(self.terms)

    def __eq__(self, other):
        if not isinstance(other, (Polynomial, int, float, Fraction)):
            return NotImplemented
        other = self.coerce(other)
        return self.den == other.den and self.terms == other.terms

    def __hash__(self):
        if self._hash is None:
            self._hash = hash((self.den, frozenset(self.terms.items())))
        return self._hash

    def __neg__(self):
        return Polynomial(self.ring, {m: -c for m, c in self.terms.items()}, self.den)

    def __add__(self, other):
        other = self.coerce(other)
        if not other.terms:
            return self
        if not self.terms:
            return other
        den = lcm(self.den, other.den)
        f, g = den // self.den, den // other.den
        terms = {m: c * f for m, c in self.terms.items()} if f != 1 else dict(self.terms)
        for m, c in other.terms.items():
            terms[m] = terms.get(m, 0) + c * g
        return normal(self.ring, terms, den)

    __radd__ = __add__

    def __sub__(self, other):
        return self + -self.coerce(other)

    def __rsub__(self, other):
        return self.coerce(other) - self

    def __mul__(self, other):
        if not isinstance(other, Polynomial):
            if other == 1:
                return self
            exact = Fraction(other)
            n = exact.numerator
            if not n:
                return self.ring.zero
            terms = {m: c * n for m, c in self.terms.items()}
            return normal(self.ring, terms, self.den * exact.denominator)
        ring = self.ring
        product: dict[int, int] = {}
        get = product.get
        limit = FIELD if ring.limit is None else ring.limit
        right = list(other.terms.items())
        for m1, c1 in self.terms.items():
            for m2, c2 in right:
                m = m1 + m2
                if m & FIELD <= limit:
                    product[m] = get(m, 0) + c1 * c2
        return normal(ring, ring.reduced(product), self.den * other.den)

    __rmul__ = __mul__

    def __truediv__(self, other):
        """The quotient by a number, or by a polynomial that is one."""
        by = self.coerce(other)
        if not by.is_number():
            raise TypeError("a polynomial can be divided by a number only.")
        return self * Fraction(by.den, by.terms[0])

    def __pow__(self, exponent: int):
        result = self.ring.one
        for _ in range(exponent):
            result = result * self
        return result

    def is_number(self) -> bool:
        """Whether no generator occurs."""
        return not self.terms or (len(self.terms) == 1 and 0 in self.terms)

    def used(self) -> list[int]:
        """The numbers of the generators that occur."""
        union = 0
        for m in self.terms:
            union |= m
        return [i for i in range(len(self.ring.units)) if union >> (BITS * (i + 1)) & FIELD]

    def partial(self, i: int) -> Polynomial:
        """The derivative with respect to generator i alone."""
        shift, unit = BITS * (i + 1), self.ring.units[i]
        terms = {}
        for m, c in self.terms.items():
            e = m >> shift & FIELD
            if e:
                terms[m - unit] = c * e
        return normal(self.ring, terms, self.den)

    def gradient(self) -> dict[int, Polynomial]:
        """The derivatives along all directions, {direction: derivative}, zeros left out."""
        result: dict[int, Polynomial] = {}
        for i in self.used():
            rates = self.ring.derivatives(i)
            if rates:
                partial = self.partial(i)
                for direction, rate in rates.items():
                    result[direction] = result.get(direction, self.ring.zero) + partial * rate
        return {direction: rate for direction, rate in result.items() if rate}

    def truncated(self, degree: int) -> Polynomial:
        """Without the terms of higher degree in the small generators."""
        terms = {m: c for m, c in self.terms.items() if m & FIELD <= degree}
        return normal(self.ring, terms, self.den)

    def substitute(self, values: dict[int, Polynomial]) -> Polynomial:
        """With generators (by number) replaced by polynomials."""
        units = self.ring.units
        fields = [(i, BITS * (i + 1)) for i in values]
        parts: dict[tuple[int, ...], dict[int, int]] = {}
        for m, c in self.terms.items():
            exponents = tuple(m >> shift & FIELD for _, shift in fields)
            rest = m - sum(e * units[i] for e, (i, _) in zip(exponents, fields))
            parts.setdefault(exponents, {})[rest] = c
        products: dict[tuple[int, ...], Polynomial] = {}

        def product(exponents: tuple[int, ...]) -> Polynomial:
            if exponents not in products:
                at = next((k for k, e in enumerate(exponents) if e), None)
                if at is None:
                    return self.ring.one
                less = (*exponents[:at], exponents[at] - 1, *exponents[at + 1 :])
                products[exponents] = product(less) * values[fields[at][0]]
            return products[exponents]

        scaled = [product(e) * Polynomial(self.ring, terms, 1) for e, terms in parts.items()]
        den = lcm(*(x.den for x in scaled))
        total: dict[int, int] = {}
        for x in scaled:
            factor = den // x.den
            for m, c in x.terms.items():
                total[m] = total.get(m, 0) + c * factor
        return normal(self.ring, total, den * self.den)

    def expand(self) -> sp.Expr:
        """As a plain SymPy sum of monomials."""
        return sp.Add(
            *(
                sp.Rational(c, self.den)
                * sp.Mul(*(self.ring.expressions[i] ** e for i, e in factors(self.ring, m)))
                for m, c in self.terms.items()
            )
        )

    def __repr__(self):
        return f"Polynomial({self.expand()})"


def factors(ring: Ring, monomial: int) -> list[tuple[int, int]]:
    """(generator, exponent) of a monomial."""
    found = []
    for i in range(len(ring.units)):
        e = monomial >> (BITS * (i + 1)) & FIELD
        if e:
            found.append((i, e))
    return found


def index_of(generator: Polynomial) -> int:
    """The number of a generator."""
    (monomial,) = generator.terms
    return factors(generator.ring, monomial)[0][0]


def normal(ring: Ring, terms: dict[int, int], den: int) -> Polynomial:
    """Zero terms removed and the fraction in lowest terms."""
    terms = {m: c for m, c in terms.items() if c}
    if den != 1:
        common = gcd(den, *terms.values())
        if common != 1:
            den //= common
            terms = {m: c // common for m, c in terms.items()}
    return Polynomial(ring, terms, den)


def polynomials(ring: Ring, values) -> np.ndarray:
    """An object array of polynomials from numbers and polynomials (what a kernel left)."""
    flat = [v if isinstance(v, Polynomial) else ring.number(v) for v in np.ravel(values)]
    out = np.empty(len(flat), dtype=object)
    out[:] = flat
    return out
