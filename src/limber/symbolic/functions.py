"""Equations as NumPy functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np
import sympy as sp

from limber.checks import array
from limber.errors import ArgumentValueError
from limber.printable import printable
from limber.symbolic.polynomial import factors, polynomials

if TYPE_CHECKING:
    from limber.symbolic.equations import Equations


class Functions:
    """Numeric M(q), C(q, p), F(q, p) = C p, G(q), R(q, p), V(q), potential(q) and pdot(q, p, Q_p).

    With closures also residual(q), A(q), a0(q, p) and multipliers(q, p, Q_p).

    The sines, cosines and other functions of q are computed once per call, by code that SymPy generates; the
    entries are sums of products of them.
    """

    def __init__(self, equations: Equations, values: Mapping[sp.Symbol, float]):
        self._equations = equations
        self._values = dict(values)
        missing = [str(s) for s in equations.parameters if s not in self._values]
        if missing:
            raise ArgumentValueError(
                f"values lacks numbers for {printable(', '.join(missing))}: give lambdify({{symbol: number}}) or use subs first."
            )
        self._poincare = equations.framed
        self._polynomials: dict[str, SumsOfProducts] = {}

    def M(self, q) -> np.ndarray:
        """Mass matrix (n, n)."""
        return self._part("mass", q)

    def C(self, q, p) -> np.ndarray:
        """Coriolis matrix (n, n)."""
        return self._part("coriolis", q, p)

    def F(self, q, p) -> np.ndarray:
        """C p (n,)."""
        return self.C(q, p) @ self._numbers("p", p)

    def G(self, q) -> np.ndarray:
        """Gravity and elastic forces (n,)."""
        return self._part("gradient", q)

    def R(self, q, p) -> np.ndarray:
        """Forces of friction and stops (n,)."""
        values = self._resistance(self._numbers("q", q), self._numbers("p", p), *self._rest)
        return np.array(values, dtype=float).ravel()

    def potential(self, q) -> float:
        """Potential energy."""
        return float(self._part("potential", q)[0])

    def V(self, q) -> np.ndarray:
        """Kinematic matrix (n, n)."""
        return np.array(self._kinematic(self._numbers("q", q), *self._rest), dtype=float)

    def residual(self, q) -> np.ndarray:
        """The position constraints of the closures (m,)."""
        return self._part("rows.residual", q)

    def A(self, q) -> np.ndarray:
        """The closure rows (m, n)."""
        return self._part("rows.A", q)

    def a0(self, q, p) -> np.ndarray:
        """The accelerations of the closure rows at zero pdot (m,)."""
        return self._part("rows.bias", q, p)

    def pdot(self, q, p, Q_p) -> np.ndarray:
        """The accelerations: M^-1 (Q_p - C p - G - R), plus the contribution of the closures."""
        return self._solved(q, p, Q_p)[0]

    def multipliers(self, q, p, Q_p) -> np.ndarray:
        """The multipliers lambda of the closure rows (m,); those of least norm if the rows are dependent."""
        return self._solved(q, p, Q_p)[1]

    def _solved(self, q, p, Q_p) -> tuple[np.ndarray, np.ndarray]:
        """pdot and lambda of M pdot + F + G + R = Q_p + A^T lambda, A pdot + a0 = 0."""
        forces = self._numbers("Q_p", Q_p) - self.F(q, p) - self.G(q) - self.R(q, p)
        M, A = self.M(q), self.A(q)
        free = np.linalg.solve(M, forces)
        if not len(A):
            return free, np.zeros(0)
        moved = np.linalg.solve(M, A.T)
        multipliers = np.linalg.lstsq(A @ moved, -(A @ free + self.a0(q, p)), rcond=1e-12)[0]
        return free + moved @ multipliers, multipliers

    def _part(self, name: str, q, p=None) -> np.ndarray:
        poincare = self._poincare
        if name not in self._polynomials:
            entries = np.atleast_1d(np.array(attrgetter(name)(poincare), dtype=object))
            self._polynomials[name] = SumsOfProducts(poincare.model.ring, entries)
        speeds = np.zeros(len(self._equations.p)) if p is None else p
        values = self._generators(self._numbers("q", q), self._numbers("p", speeds), *self._rest)
        return self._polynomials[name](np.array(values, dtype=float))

    def _numbers(self, name: str, x) -> np.ndarray:
        """A checked vector of coordinates, speeds or forces."""
        return array(name, x, (len(self._equations.q),))

    @cached_property
    def _rest(self) -> list:
        return [list(self._values.values())]

    @cached_property
    def _generators(self):
        """Values of the generators of the polynomials."""
        e = self._equations
        for part in ("mass", "coriolis", "gradient", "potential", "rows"):
            getattr(self._poincare, part)  # brings in every generator
        known = {*e.q, *e.p, *self._values}
        # a parameter that acts on nothing, such as the mass centre of a body that only slides, has no value
        shared = [x if x.free_symbols <= known else sp.Integer(0) for x in e.shared]
        return _function([list(e.q), list(e.p), list(self._values)], shared)

    @cached_property
    def _resistance(self):
        e = self._equations
        return _function([list(e.q), list(e.p), list(self._values)], e.R)

    @cached_property
    def _kinematic(self):
        e = self._equations
        return _function([list(e.q), list(self._values)], e.V)


def _function(arguments: list, results) -> Callable:
    """SymPy's code for some results; a symbol named as a function of NumPy, such as sin, is not taken for it."""
    return sp.lambdify(arguments, results, "numpy", cse=True, dummify=True)


class SumsOfProducts:
    """An array of polynomials as a function of the values of their generators."""

    def __init__(self, ring, entries: np.ndarray):
        self.shape = entries.shape
        rows, coefficients, products = [], [], []
        for i, x in enumerate(polynomials(ring, entries)):
            for monomial, c in x.terms.items():
                rows.append(i)
                coefficients.append(c / x.den)
                products.append([g for g, e in factors(ring, monomial) for _ in range(e)])
        width = max(map(len, products), default=0)
        one = -1  # a 1 stands behind the generators
        self.index = np.array([f + [one] * (width - len(f)) for f in products], dtype=int)
        self.index = self.index.reshape(len(products), width)
        self.rows, self.coefficients = (
            np.array(rows, dtype=int),
            np.array(coefficients, dtype=float),
        )

    def __call__(self, generators: np.ndarray) -> np.ndarray:
        """The entries for these values of the generators."""
        values = np.append(generators, 1.0)
        terms = self.coefficients * values[self.index].prod(axis=1)
        size = int(np.prod(self.shape))
        return np.bincount(self.rows, terms, size).astype(float).reshape(self.shape)
