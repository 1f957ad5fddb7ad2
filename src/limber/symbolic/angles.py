"""Sums of angles: cos a cos b - sin a sin b = cos(a + b) and similar identities, if they shorten a polynomial."""

from __future__ import annotations

from limber.symbolic.polynomial import BITS, FIELD, Polynomial, Ring

#: Polynomials with more terms are searched for sums of angles only where coefficients match.
EXHAUSTIVE = 60
#: Polynomials with more terms are left as they are.
LARGEST = 4000


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
            plus, minus = (len(_matches(ring, x.terms, sa, ca, sb, cb, sign)) for sign in (1, -1))
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


def merged(ring: Ring, terms: dict[int, int]) -> dict[int, int]:
    """`terms` with pairs of them, such as cos a cos b - sin a sin b, made one, while there are any."""
    if len(terms) > LARGEST:
        return terms
    terms = dict(terms)
    while True:
        best: list[tuple[int, int, bool]] = []
        choice = None
        used = _used(ring, terms)
        pairs = [(s, c) for s, c in ring.pairs.items() if s in used]
        for i, (sa, ca) in enumerate(pairs):
            for sb, cb in pairs[:i]:
                for sign in (1, -1):
                    found = _matches(ring, terms, sa, ca, sb, cb, sign)
                    if len(found) > len(best):
                        best, choice = found, (ca, cb, sign)
        if choice is None:
            return terms
        _merge(ring, terms, best, *choice)


def _used(ring: Ring, terms: dict[int, int]) -> set[int]:
    """The generators that occur."""
    return set(Polynomial(ring, terms, 1).used())


def _merge(ring: Ring, terms: dict, found: list, ca: int, cb: int, sign: int) -> None:
    """Replace the pairs of terms `found` by sines and cosines of a + b or a - b, in place."""
    S, C = ring.sine_and_cosine(ring.angles[ca] + ring.angles[cb] * sign)
    for first, second, even in found:
        c = terms.pop(first)
        other = terms.pop(second)
        ((unit, factor),) = (C if even else S).terms.items()
        if even:  # `second` is rest cos a cos b
            m, c = second - ring.units[ca] - ring.units[cb] + unit, other
        else:  # `first` is rest sin a cos b
            sa = next(s for s, cosine in ring.pairs.items() if cosine == ca)
            m = first - ring.units[sa] - ring.units[cb] + unit
        ring.refuse_overflow(m)
        terms[m] = terms.get(m, 0) + c * factor
        if not terms[m]:
            del terms[m]


def _matches(
    ring: Ring, terms: dict[int, int], sa: int, ca: int, sb: int, cb: int, sign: int
) -> list[tuple[int, int, bool]]:
    """Disjoint pairs of terms that make a cosine (True) or a sine (False) of a + b or a - b.

    cos(a + sign b) = cos a cos b - sign sin a sin b, sin(a + sign b) = sin a cos b + sign cos a sin b.
    """
    shift_a, shift_b, shift_c = (BITS * (i + 1) for i in (sa, sb, cb))
    ua, va, ub, vb = (ring.units[i] for i in (sa, ca, sb, cb))
    found, taken = [], set()
    for m, c in terms.items():
        if not m >> shift_a & FIELD or m in taken:
            continue
        if m >> shift_b & FIELD:
            other = m - ua - ub + va + vb
            if terms.get(other) == -sign * c and other not in taken:
                found.append((m, other, True))
                taken |= {m, other}
                continue
        if m >> shift_c & FIELD:
            other = m - ua + va - vb + ub
            if terms.get(other) == sign * c and other not in taken:
                found.append((m, other, False))
                taken |= {m, other}
    return found
