r"""Closed systems in independent speeds, by the null space of the closure rows.

With the speeds p = N u that the closures allow, N = P / d of polynomials (d the determinant of the columns of A that
belong to the dependent speeds), the multipliers drop out:

    N^T M N udot + N^T (C N + M Ndot) u + N^T (G + R) = N^T Q_p,     pdot = N udot + Ndot u
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from limber.checks import shown
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.symbolic.compact import compact
from limber.symbolic.names import symbol_named
from limber.symbolic.polynomial import Polynomial, index_of, polynomials
from limber.symbolic.quotient import adjugate_and_determinant

if TYPE_CHECKING:
    from limber.symbolic.equations import Equations


class Reduced:
    """M(q) udot + C(q, u) u + G(q) + R(q, u) = Q_u with p = N(q) u and Q_u = N^T Q_p, as SymPy objects.

    u are the independent speeds among p.  q are all coordinates of the tree; the `residual` of the closures determines
    as many of them as there are dependent speeds.  N is undefined where det A_d = 0: other speeds are independent
    there.
    """

    def __init__(self, equations: Equations, independent: Sequence[int], change: Callable):
        self.name: str = equations.name
        self.q: sp.Matrix = equations.q
        self.u = sp.Matrix([equations.p[i] for i in independent])
        dependent = [i for i in range(len(equations.p)) if i not in independent]
        self.dependent = sp.Matrix([equations.p[i] for i in dependent])
        self._equations, self._change = equations, change
        self._poincare = equations.framed
        self._floats = equations.floats
        model = self._poincare.model
        rows = self._poincare.rows.A
        n, one = model.size, model.ring.one
        adjugate, self._det = adjugate_and_determinant(rows[:, dependent])
        if not self._det:
            raise ArgumentValueError(
                f"independent={[str(x) for x in self.u]}: they do not determine {[str(x) for x in self.dependent]} "
                "through the closures. Choose other independent speeds."
            )
        P = np.full((n, len(independent)), model.ring.zero, dtype=object)
        P[dependent] = -(adjugate @ rows[:, independent])
        for j, i in enumerate(independent):
            P[i, j] = self._det * one
        self._P = P
        self._p = P @ model.p[list(independent)]  # det times the speeds

    @cached_property
    def N(self) -> sp.Matrix:
        """The null-space matrix, n x (n - m): all speeds are p = N u."""
        return self._over(self._P, 1)

    @cached_property
    def M(self) -> sp.Matrix:
        """N^T M N."""
        return self._over(self._P.T @ self._poincare.mass @ self._P, 2)

    @cached_property
    def C(self) -> sp.Matrix:
        """N^T (C N + M Ndot)."""
        return self._over(self._coriolis, 4)

    @cached_property
    def F(self) -> sp.Matrix:
        """C u."""
        u = self._poincare.model.p[[list(self._equations.p).index(x) for x in self.u]]
        return self._over((self._coriolis @ u)[:, None], 4)

    @cached_property
    def G(self) -> sp.Matrix:
        """N^T G."""
        return self._over((self._P.T @ self._poincare.gradient)[:, None], 1)

    @cached_property
    def R(self) -> sp.Matrix:
        """N^T R, with p = N u substituted."""
        speeds = dict(zip(self._equations.p, self.N * self.u))
        return self.N.T * self._equations.R.subs(speeds, simultaneous=True)

    @cached_property
    def Ndot_u(self) -> sp.Matrix:
        """Ndot u, n x 1: pdot = N udot + Ndot u."""
        u = self._poincare.model.p[[list(self._equations.p).index(x) for x in self.u]]
        return self._over((self._rate @ u)[:, None], 3)

    @property
    def residual(self) -> sp.Matrix:
        """The position constraints of the closures, m x 1, which are zero."""
        return self._equations.residual

    @cached_property
    def _rate(self) -> np.ndarray:
        """det^3 Ndot."""
        rates = self._differentiated(self._P)
        slope = self._differentiated(_spread(self._det))[0, 0]
        return rates * _spread(self._det) - self._P * _spread(slope)

    def _differentiated(self, A: np.ndarray) -> np.ndarray:
        """det times the rates of polynomials in q."""
        zero = self._poincare.model.ring.zero
        out = np.empty_like(A)
        for at, x in np.ndenumerate(A):
            out[at] = sum((slope * self._p[k] for k, slope in x.gradient().items()), zero)
        return out

    @cached_property
    def _coriolis(self) -> np.ndarray:
        """det^4 C."""
        model = self._poincare.model
        C = self._poincare.coriolis
        at_rest = {index_of(p): model.ring.zero for p in model.p}
        moving = {index_of(p): x for p, x in zip(model.p, self._p)}
        resting = _substituted(C, at_rest)
        det = _spread(self._det)
        whole = resting * det + _substituted(C - resting, moving)
        return self._P.T @ ((whole @ self._P) * det + self._poincare.mass @ self._rate)

    def _over(self, A: np.ndarray, power: int) -> sp.Matrix:
        """A / det^power in SymPy."""
        model = self._poincare.model
        det, k = self._det, power
        bottom = compact(model.with_frames(det), self._floats)
        entries = []
        for x in polynomials(model.ring, A):
            top, rest = x, k
            while rest and top and (shorter := _divided(top, det)) is not None:
                top, rest = shorter, rest - 1
            entries.append(compact(model.with_frames(top), self._floats) / bottom**rest)
        return self._change(sp.Matrix(*A.shape, entries))

    def __str__(self):
        resisting = "" if self._equations.R.is_zero_matrix else " + R"
        lines = [
            f"Equations of {self.name!r} in independent speeds: M udot + C u + G{resisting} = Q_u, p = N u, Q_u = N^T Q_p",
            f"u = {list(self.u)}",
            f"N = {self.N.tolist()}",
        ]
        for i in range(self.M.rows):
            lines += [f"M[{i}, {j}] = {x}" for j, x in enumerate(self.M[i, : i + 1]) if x != 0]
        lines += [f"G[{i}] = {x}" for i, x in enumerate(self.G) if x != 0]
        lines += [f"0 = {x}" for x in self.residual]
        return "\n".join(lines)

    def __repr__(self):
        return f"Reduced({self.name!r}, u={list(self.u)})"


def chosen_speeds(equations: Equations, independent: Any) -> list[int]:
    """The places in p of the speeds that are named to be independent."""
    wanted = len(equations.p) - equations.A.rows
    if isinstance(independent, (str, sp.Symbol)):
        independent = [independent]
    if not isinstance(independent, (list, tuple)):
        raise ArgumentTypeError(
            f"independent must be a list of speeds or their names, got {shown(independent)}."
        )
    speeds = list(equations.p)
    found = [speeds.index(symbol_named("independent", x, frozenset(speeds))) for x in independent]
    if len(found) != wanted or len(set(found)) != wanted:
        raise ArgumentValueError(
            f"independent={shown(independent)} must name {wanted} different speeds: {len(speeds)} speeds and "
            f"{equations.A.rows} closure rows. If closure rows depend on each other, this number is not that of the "
            "degrees of freedom."
        )
    return found


def _spread(x: Polynomial) -> np.ndarray:
    """A polynomial by which arrays of polynomials can be multiplied."""
    out = np.empty((1, 1), dtype=object)
    out[0, 0] = x
    return out


def _substituted(A: np.ndarray, values: dict[int, Polynomial]) -> np.ndarray:
    out = np.empty_like(A)
    for at, x in np.ndenumerate(A):
        out[at] = x.substitute(values) if x else x
    return out


def _divided(x: Polynomial, y: Polynomial) -> Polynomial | None:
    """x / y if it is a number times x, or one (x = c y); None if that is not known."""
    if y.is_number():
        return x * Fraction(y.den, y.terms[0])
    if x.terms.keys() == y.terms.keys():
        m = next(iter(y.terms))
        ratio = Fraction(x.terms[m] * y.den, x.den * y.terms[m])
        if x == y * ratio:
            return x.ring.number(ratio)
    return None
