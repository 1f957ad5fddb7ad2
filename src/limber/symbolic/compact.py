"""From a polynomial to a short SymPy expression.

Three rewritings, each kept where it leaves fewer terms: two angles become one (cos a cos b - sin a sin b =
cos(a + b)), squares of cosines become squares of sines, and common factors are taken out one after the
other, the most frequent first (a Horner scheme in many variables).
"""

from __future__ import annotations

from collections import Counter
from math import comb, gcd

import sympy as sp

from limber.symbolic.angles import merged, with_angle_sums
from limber.symbolic.polynomial import BITS, FIELD, Polynomial, Ring, factors

#: Rational coefficients with longer numerators or denominators print as floats unless specified otherwise.
LONGEST = 10**6


def compact(x: Polynomial, floats: bool | None = None) -> sp.Expr:
    """A short expression equal to x.

    floats: True prints coefficients as floats, False as rationals; None prints rationals except for long ones.
    """
    shorter = with_angle_sums(x)
    forms = [x] if shorter is x else [x, shorter]
    tried = [(_with_sine_squares(f.ring, merged(f.ring, f.terms)), f.den) for f in forms]
    terms, den = min(tried, key=lambda form: len(form[0]))
    return _nested(x.ring, terms, den, floats)


def with_numbers(x: sp.Expr, floats: bool | None = None) -> sp.Expr:
    """x, which has exact numbers, with its rational numbers printed as `compact` does; exponents stay."""
    if isinstance(x, sp.Rational):
        return _number(x.p, x.q, floats)
    if isinstance(x, sp.Pow):
        return with_numbers(x.base, floats) ** x.exp
    return x.func(*(with_numbers(a, floats) for a in x.args)) if x.args else x


def _with_sine_squares(ring: Ring, terms: dict[int, int]) -> dict[int, int]:
    """`terms` with cos^2 = 1 - sin^2 put in for the angles where that leaves fewer."""
    for s, c in ring.pairs.items():
        shift, us, uc = BITS * (c + 1), ring.units[s], ring.units[c]
        if not any(m >> shift & FIELD > 1 for m in terms):
            continue
        trial: dict[int, int] = {}
        for m, k in terms.items():
            half = (m >> shift & FIELD) // 2
            bare = m - 2 * half * uc
            for j in range(half + 1):
                n = bare + 2 * j * us
                trial[n] = trial.get(n, 0) + (-1) ** j * comb(half, j) * k
        trial = {m: k for m, k in trial.items() if k}
        if len(trial) < len(terms):
            terms = trial
    return terms


def _nested(ring: Ring, terms: dict[int, int], den: int, floats: bool | None) -> sp.Expr:
    """Terms over a common denominator as an expression with common factors taken out."""
    table = [(factors(ring, m), c) for m, c in terms.items()]
    return _horner(ring, [(dict(f), c) for f, c in table], den, floats)


def _horner(ring: Ring, terms: list[tuple[dict[int, int], int]], den, floats) -> sp.Expr:
    if not terms:
        return sp.Integer(0)
    shared = dict(terms[0][0])
    for exponents, _ in terms[1:]:
        shared = {i: min(e, exponents.get(i, 0)) for i, e in shared.items() if i in exponents}
        if not shared:
            break
    outside = sp.Mul(*(ring.expressions[i] ** e for i, e in shared.items()))
    if len(terms) == 1:
        return _number(terms[0][1], den, floats) * outside
    if shared:
        terms = [
            ({i: e - shared.get(i, 0) for i, e in f.items() if e > shared.get(i, 0)}, c)
            for f, c in terms
        ]
    if not floats:
        common = gcd(*(c for _, c in terms))
        if all(c < 0 for _, c in terms):
            common = -common
        outside *= _number(common, den, floats)
        terms, den = [(f, c // common) for f, c in terms], 1
    count = Counter(i for f, _ in terms for i in f)
    chosen, times = max(count.items(), key=lambda item: (item[1], item[0]))
    if times == 1:
        return outside * sp.Add(*(_horner(ring, [t], den, floats) for t in terms))
    inner = [t for t in terms if chosen in t[0]]
    rest = [t for t in terms if chosen not in t[0]]
    return outside * (_horner(ring, inner, den, floats) + _horner(ring, rest, den, floats))


def _number(n: int, den: int, floats: bool | None) -> sp.Expr:
    """n / den as SymPy prints it."""
    exact = sp.Rational(n, den)
    long = max(abs(exact.p), exact.q) >= LONGEST
    if exact.is_Integer and not (long and floats is None):
        return exact
    return sp.Float(n / den) if floats or (floats is None and long) else exact
