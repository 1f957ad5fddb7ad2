r"""Poincare's equations M pdot + C p + G = Q_p from the mass matrix and the potential.

With D_k the derivative along speed k (column k of V), c the structure functions [v_i, v_j] = c^k_ij v_k,
S^l_j = c^l_kj p_k and T_ij = c^l_ji (M p)_l, C is the Levi-Civita form

    C_ij = 1/2 (D_k M_ij + D_j M_ik - D_i M_jk) p_k + 1/2 (M S - S^T M - T)_ij  (+ damping)
    G_k  = D_k (potential)

It has the product C p of Kwatny & Blankenship, Eq. (53b), with its sign put right, and makes
dM/dt - 2 C antisymmetric without damping; where V = I the C_ij are Christoffel's symbols.
Cost: n^2 (n + 1)/2 derivatives of the entries of M.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

import numpy as np

from limber.assembly import modal
from limber.kernels import layout as L
from limber.symbolic.closures import ClosureRows
from limber.symbolic.kernels import KERNELS
from limber.symbolic.model import Model
from limber.symbolic.physics import records
from limber.symbolic.polynomial import Polynomial, polynomials

HALF = Fraction(1, 2)


class Poincare:
    """M, C, G and the potential of a model, as polynomials.

    With `written_out` the entries of the joints' frames are put in as sines and cosines; without it they
    stay generators, which keeps large systems small where only numbers are wanted.
    """

    def __init__(self, model: Model, order: int | None = None, written_out: bool = True):
        self.model = model
        self.order = order
        self.written_out = written_out

    @cached_property
    def _framed_mass(self) -> np.ndarray:
        """M with the frames of the joints as generators."""
        model, n = self.model, self.model.size
        out = np.zeros(n * n, dtype=object)
        KERNELS.composite.mass_matrix(
            model.topo, model.const, model.scratch(), model.coordinates(), out
        )
        M = np.empty((n, n), dtype=object)
        M[np.ix_(model.places, model.places)] = polynomials(model.ring, out).reshape(n, n)
        if self.order is not None:
            modal = self._modal
            for i in range(n):
                for j in range(n):
                    M[i, j] = M[i, j].truncated(self.order + 1 - modal[i] - modal[j])
        return M

    @cached_property
    def _modal(self) -> list[bool]:
        """Which degrees of freedom are modal."""
        modal = [False] * self.model.size
        for k in self.model.numbers.values():
            for i in range(self.model.topo[k + L.Q_MODES], self.model.topo[k + L.Q_JOINT]):
                modal[i] = True
        return modal

    @cached_property
    def mass(self) -> np.ndarray:
        """M (n, n)."""
        return self._symmetric(self._framed_mass)

    @cached_property
    def derivatives(self) -> list[np.ndarray]:
        """D_k M for every speed k."""
        n, zero = self.model.size, self.model.ring.zero
        slopes = [np.full((n, n), zero, dtype=object) for _ in range(n)]
        for i in range(n):
            for j in range(i + 1):
                for k, slope in self._framed_mass[i, j].gradient().items():
                    slopes[k][i, j] = slopes[k][j, i] = slope
        return [self._symmetric(slope) for slope in slopes]

    @cached_property
    def coriolis(self) -> np.ndarray:
        """C (n, n)."""
        model, n = self.model, self.model.size
        D, p = self.derivatives, model.p
        C = np.full((n, n), model.ring.zero, dtype=object)
        for i in range(n):
            for j in range(n):
                for k in range(n):
                    C[i, j] = C[i, j] + (D[k][i, j] + D[j][i, k] - D[i][j, k]) * p[k] * HALF
        return C + self._structure_terms() + self._damping()

    @cached_property
    def force(self) -> np.ndarray:
        """C p (n,)."""
        return self.coriolis @ self.model.p

    @cached_property
    def potential(self) -> Polynomial:
        """Energy of gravity, of the modes and of the springs of joints."""
        return self._finished(self._framed_potential)

    @cached_property
    def _framed_potential(self) -> Polynomial:
        model = self.model
        out = np.zeros(1, dtype=object)
        KERNELS.energy.potential_energy(
            model.topo, model.const, model.scratch(), model.coordinates(), out
        )
        return polynomials(model.ring, out)[0]

    @cached_property
    def gradient(self) -> np.ndarray:
        """G (n,)."""
        slopes = self._framed_potential.gradient()
        zero = self.model.ring.zero
        G = np.empty(self.model.size, dtype=object)
        G[:] = [self._finished(slopes.get(k, zero)) for k in range(len(G))]
        return G

    @cached_property
    def rows(self) -> ClosureRows:
        """The rows of the closures."""
        found = ClosureRows(self.model)
        for part in (found.residual, found.A, found.bias):
            for at, x in np.ndenumerate(part):
                part[at] = self._finished(x)
        return found

    def pose(self, body: str, node: int | None) -> np.ndarray:
        """R by rows and position of a node in the world."""
        model = self.model
        k = model.numbers[body]
        out = np.zeros(12, dtype=object)
        record = model.records[k // L.COLUMNS][node]
        KERNELS.observe.pose(
            model.topo, model.const, model.scratch(), model.coordinates(), k, record, out
        )
        framed = polynomials(model.ring, out)
        framed[:] = [model.with_frames(x) for x in framed]
        return framed

    def _finished(self, x: Polynomial) -> Polynomial:
        """x with the frames written out, if that is wanted."""
        return self.model.with_frames(x) if self.written_out else x

    def _symmetric(self, A: np.ndarray) -> np.ndarray:
        """A symmetric matrix, finished."""
        B = np.empty_like(A)
        for i in range(len(A)):
            for j in range(i + 1):
                B[i, j] = B[j, i] = self._finished(A[i, j])
        return B

    def _structure_terms(self) -> np.ndarray:
        """1/2 (M S - S^T M - T), what the quasi-velocities add."""
        model, n = self.model, self.model.size
        zero = model.ring.zero
        if not model.structures:
            return np.full((n, n), zero, dtype=object)
        S = np.full((n, n), zero, dtype=object)
        T = np.full((n, n), zero, dtype=object)
        h = self.mass @ model.p
        for places, c in model.structures:
            r = range(len(places))
            for l in r:
                for i in r:
                    for j in r:
                        a, b = places[i], places[j]
                        S[places[l], b] = S[places[l], b] + c[l][i][j] * model.p[a]
                        T[b, a] = T[b, a] + c[l][i][j] * h[places[l]]
        MS = self.mass @ S
        return (MS - MS.T - T) * HALF

    def _damping(self) -> np.ndarray:
        """The damping matrices of the flexible bodies, and the dampers of the joints."""
        model = self.model
        D = np.full((model.size, model.size), model.ring.zero, dtype=object)
        for k in model.numbers.values():
            m, e = model.topo[k + L.MODES], model.topo[k + L.V_MODES]
            if m:
                place = modal.places(model.topo, k)["D"]
                D[e : e + m, e : e + m] = model.const[place].reshape(m, m)
        for i, record in records(model.topo):
            D[model.places[i], model.places[i]] = model.const[record + L.PH_DAMPING]
        return D
