"""Equations as NumPy functions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import sympy as sp

from limber.errors import ArgumentValueError

if TYPE_CHECKING:
    from limber.symbolic.equations import Equations


class Functions:
    """M(q), C(q, p), F(q, p) = C p, G(q), V(q), potential(q) and pdot(q, p, Q_p) with numbers.

    Each is compiled to NumPy code, common subexpressions taken out, when first called.
    """

    def __init__(self, equations: Equations, values: Mapping):
        self._equations = equations
        self._values = {sp.sympify(k): v for k, v in values.items()}
        missing = [str(s) for s in equations.parameters if s not in self._values]
        if missing:
            raise ArgumentValueError(
                f"values lacks numbers for {', '.join(missing)}: give lambdify({{symbol: number}}) or use subs first."
            )

    def _compiled(self, expression, *arguments):
        numbers = list(self._values)
        function = sp.lambdify([*arguments, numbers], expression, "numpy", cse=True)
        values = [float(v) for v in self._values.values()]
        return lambda *x: function(*(np.asarray(a, dtype=float) for a in x), values)

    @cached_property
    def M(self):
        """Mass matrix of q."""
        return self._compiled(self._equations.M, list(self._equations.q))

    @cached_property
    def C(self):
        """Coriolis matrix of q and p."""
        e = self._equations
        return self._compiled(e.C, list(e.q), list(e.p))

    def F(self, q, p) -> np.ndarray:
        """C p of q and p, (n,)."""
        return self.C(q, p) @ np.asarray(p, dtype=float)

    @cached_property
    def G(self):
        """Gravity and elastic forces of q, (n,)."""
        function = self._compiled(self._equations.G, list(self._equations.q))
        return lambda q: function(q).reshape(-1)

    @cached_property
    def V(self):
        """Kinematic matrix of q."""
        return self._compiled(self._equations.V, list(self._equations.q))

    @cached_property
    def potential(self):
        """Potential energy of q."""
        return self._compiled(self._equations.potential, list(self._equations.q))

    def pdot(self, q, p, Q_p) -> np.ndarray:
        """The accelerations M^-1 (Q_p - C p - G)."""
        return np.linalg.solve(self.M(q), np.asarray(Q_p) - self.F(q, p) - self.G(q))
