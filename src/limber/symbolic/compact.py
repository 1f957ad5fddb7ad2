"""From a polynomial to a short SymPy expression.

Three rewritings, each kept where it leaves fewer terms: two angles become one (cos a cos b - sin a sin b =
cos(a + b)), squares of cosines become squares of sines, and common factors are taken out one after the
other, the most frequent first (a Horner scheme in many variables).
"""

from __future__ import annotations

from collections import Counter
from math import comb, gcd

import sympy as sp

from limber.symbolic.polynomial import BITS, FIELD, Polynomial, Ring, factors

#: Rational coefficients with longer numerators or denominators print as floats unless told otherwise.
LONGEST = 10**6
#: Polynomials with more terms are searched for sums of angles only where coefficients match.
EXHAUSTIVE = 60


def compact(x: Polynomial, floats: bool | None = None) -> sp.Expr:
    """A short expression equal to x.

    floats: True prints coefficients as floats, False as rationals; None prints rationals but for long ones.
    """
    x = with_angle_sums(x)
    return _nested(x.ring, _with_sine_squares(x), x.den, floats)


def with_angle_sums(x: Polynomial) -> Polynomial:
    """x with pairs of angles replaced by an angle and a sum or difference, while that shortens it."""
    while len(x.terms) > 1:
        best = x
        for values in _angle_sums(x):
            trial = x.substitute(values)
            if len(trial.terms) < len(best.terms):
                best = trial
        if best is x:
            return x
        x = best
    return x


def _angle_sums(x: Polynomial):
    """Substitutions worth trying: sine and cosine of one angle by those of a sum and of the other."""
    ring = x.ring
    used = set(x.used())
    pairs = [(s, c) for s, c in ring.pairs.items() if s in used]
    for i, (sa, ca) in enumerate(pairs):
        for sb, cb in pairs[:i]:
            plus, minus = _matches(x, sa, ca, sb, cb)
            if not plus and not minus and len(x.terms) > EXHAUSTIVE:
                continue
            for sign, count in ((1, plus), (-1, minus)):
                if not count and len(x.terms) > EXHAUSTIVE:
                    continue
                for c1, s2, c2 in ((ca, sb, cb), (cb, sa, ca)):
                    # angle 2 = sign (sum - angle 1)
                    total = ring.angles[c1] + ring.angles[c2] * sign
                    S, C = ring.sine_and_cosine(total)
                    s, c = ring.sine_and_cosine(ring.angles[c1])
                    yield {s2: (S * c - C * s) * sign, c2: C * c + S * s}


def _matches(x: Polynomial, sa: int, ca: int, sb: int, cb: int) -> tuple[int, int]:
    """How many terms look like parts of a function of a + b, and of a - b."""
    ring = x.ring
    shift = [BITS * (i + 1) for i in (sa, sb)]
    ua, va, ub, vb = (ring.units[i] for i in (sa, ca, sb, cb))
    plus = minus = 0
    for m, c in x.terms.items():
        if not m >> shift[0] & FIELD:
            continue
        if m >> shift[1] & FIELD:  # sin sin against cos cos
            other = x.terms.get(m - ua - ub + va + vb)
            plus, minus = plus + (other == -c), minus + (other == c)
        else:  # sin cos against cos sin
            other = x.terms.get(m - ua + va - vb + ub) if m >> BITS * (cb + 1) & FIELD else None
            plus, minus = plus + (other == c), minus + (other == -c)
    return plus, minus


def _with_sine_squares(x: Polynomial) -> dict[int, int]:
    """The terms of x, with cos^2 = 1 - sin^2 put in for the angles where that leaves fewer."""
    ring, terms = x.ring, x.terms
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
