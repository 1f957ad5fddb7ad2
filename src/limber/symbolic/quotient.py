"""Quotients of polynomials, for the left inverse in a kinematic matrix."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import sympy as sp

from limber.symbolic.compact import LONGEST, compact
from limber.symbolic.polynomial import Polynomial, Ring


def adjugate_and_determinant(A: np.ndarray) -> tuple[np.ndarray, Polynomial]:
    """Adjugate and determinant of a small matrix of polynomials, by minors."""
    n = len(A)
    minors: dict[tuple[tuple[int, ...], tuple[int, ...]], Polynomial] = {}
    one = A[0, 0].ring.one

    def minor(rows: tuple[int, ...], columns: tuple[int, ...]) -> Polynomial:
        if not rows:
            return one
        if (rows, columns) not in minors:
            total = one * 0
            for k, c in enumerate(columns):
                if A[rows[0], c]:
                    rest = minor(rows[1:], columns[:k] + columns[k + 1 :])
                    total = total + A[rows[0], c] * rest * (-1) ** k
            minors[rows, columns] = total
        return minors[rows, columns]

    every = tuple(range(n))
    without = [every[:i] + every[i + 1 :] for i in every]
    adjugate = np.empty((n, n), dtype=object)
    for i in every:
        for j in every:
            adjugate[i, j] = minor(without[j], without[i]) * (-1) ** (i + j)
    return adjugate, minor(every, every)


def quotient(x: Polynomial, y: Polynomial) -> sp.Expr:
    """x / y in lowest terms, with tangents and secants for what a cosine divides."""
    ring = x.ring
    if y.is_number():
        return compact(x * Fraction(y.den, y.terms[0]))
    if max(map(abs, [*x.terms.values(), *y.terms.values()])) > LONGEST:
        return compact(x) / compact(y)  # rounded numbers: no common factors to be found
    plain = [sp.Dummy() for _ in ring.expressions]
    names = dict(zip(plain, ring.expressions))
    hidden = Ring()
    hidden.expressions, hidden.units = plain, ring.units
    top, bottom = (Polynomial(hidden, p.terms, p.den).expand() for p in (x, y))
    top, bottom = sp.fraction(sp.cancel(top / bottom))
    cosines = {plain[c]: plain[s] for s, c in ring.pairs.items()}
    single = [f for f in sp.Mul.make_args(sp.factor(bottom)) if f in cosines]
    terms = []
    for term in sp.Add.make_args(sp.expand(top / (bottom / sp.Mul(*single)))):
        for c in single:
            term = _divided(term, cosines[c], c, names)  # noqa: PLW2901
        terms.append(term)
    return sp.factor_terms(sp.Add(*terms)).xreplace(names)


def _divided(term: sp.Expr, s: sp.Dummy, c: sp.Dummy, names: dict) -> sp.Expr:
    """One term over the cosine c of an angle: a tangent if it has the sine s, else a secant."""
    if term.has(c):
        return term / c
    function = sp.tan if term.has(s) else sp.sec
    ratio = sp.Dummy()
    known = {value: key for key, value in names.items()}
    ratio = known.get(function(names[c].args[0]), ratio)
    names[ratio] = function(names[c].args[0])
    return term / s * ratio if function is sp.tan else term * ratio
