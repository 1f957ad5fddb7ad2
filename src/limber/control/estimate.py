r"""Estimates of the state of a system with the covariance of their error, for filters.

The error x has the states of `lb.linearize`: [dq, dv] of an open system, and independent entries of it in a closed one,
where [dq, dv] = T x. Its covariance P is that of x; that of [dq, dv] is T P T^T, and does not depend on which entries
are the independent ones. A closed estimate satisfies the closures: when it moves by x, the independent coordinates and
speeds do, and the others follow.

P has further rows for the biases of sensors and the loads of joints (`bias`), and for the unknown forces at the time of the
estimate, if readings depend on them.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from limber.assembly.system import System
from limber.checks import Array
from limber.control.closed_joints import closed_configuration, closed_speeds
from limber.control.closed_motions import all_freedoms, independent_speeds
from limber.control.joints import not_plain
from limber.control.linear_model import LinearModel
from limber.dynamics import integrate
from limber.dynamics.difference import displacement
from limber.dynamics.rows import row_space

#: Directions of the closure rows below this fraction of the largest are those of redundant ones.
DEPENDENT = 1e-9


class Estimate:
    """The estimate of an open system.

    q, v, bias, force : the estimate.
    P : the covariance of the errors of [x, bias, force].

    These arrays are replaced, never changed in place, so that a shallow copy keeps an estimate.
    """

    def __init__(self, system: System, q: Array, v: Array, deviation: Array, biases: Array):
        self.system, self.q, self.v = system, np.array(q), np.array(v)
        self.bias, self.force = np.zeros(len(biases)), np.zeros(0)
        self.P = np.diag(np.append(deviation, biases) ** 2)
        self._plain = not not_plain(system)

    @property
    def states(self) -> int:
        """The number of entries of x."""
        return len(self.P) - len(self.bias) - len(self.force)

    @property
    def covariance(self) -> Array:
        """(2 nv, 2 nv) of the error [dq, dv]."""
        return self.P[: self.states, : self.states]

    def advance(self, Phi: Array, by_others: Array, Q: Array, walk: Array) -> None:
        """Advance P by a time in which x becomes Phi x + by_others others, with the variances Q and walk that are added.

        The others are the biases and loads.
        """
        n, kept = self.states, len(self.P) - len(self.force)
        F = np.eye(kept)
        F[:n, :n], F[:n, n:] = Phi, by_others
        self.P = F @ self.P[:kept, :kept] @ F.T + scipy.linalg.block_diag(Q, np.diag(walk))
        self.force = np.zeros(0)

    def add_forces(self, by_force: Array, variance: Array) -> None:
        """Add unknown forces to P, which have acted on x by `by_force` (states, forces)."""
        n, kept, m = self.states, len(self.P), len(variance)
        P = np.zeros((kept + m, kept + m))
        P[:kept, :kept], P[kept:, kept:] = self.P, np.diag(variance)
        P[:n, kept:] = by_force * variance
        P[kept:, :n] = P[:n, kept:].T
        self.P, self.force = P, np.zeros(m)

    def shift_others(self, change: Array) -> None:
        """Change [bias, force]."""
        nb = len(self.bias)
        self.bias, self.force = self.bias + change[:nb], self.force + change[nb:]

    @property
    def T(self) -> Array:
        """(2 nv, states): maps x to [dq, dv]."""
        return np.eye(2 * self.system.nv)

    def states_of(self, model: LinearModel) -> None:
        """Change P to the states of a model that is linearized about this estimate."""

    def in_states(self, x: Array) -> Array:
        """The entries of x among those (2 nv,) of [dq, dv]."""
        return x

    def off(self, point: Array) -> Array:
        """x of this estimate from a configuration at rest, along `lb.integrate`."""
        return self.in_states(np.concatenate([displacement(self.system, point, self.q), self.v]))

    def move(self, x: Array) -> None:
        """Change the estimate by x."""
        self.q, self.v = self._moved(self.q, x), self.v + x[self.system.nv :]

    def move_to(self, point: Array, x: Array, T: Array) -> None:
        """Set the estimate to x from a configuration at rest, where T is that of the configuration."""
        self.q, self.v = self._moved(point, x), x[self.system.nv :]

    def _moved(self, q: Array, x: Array) -> Array:
        """A configuration after the step in x."""
        dq = x[: self.system.nv]
        return q + dq if self._plain else integrate(self.system, q, dq, 1.0)


class ClosedEstimate(Estimate):
    """The estimate of a closed system; `independent` has the places in v of the coordinates of x.

    T is that of the estimate, or that of the configuration to which `move_to` refers.
    """

    def __init__(
        self,
        system: System,
        q: Array,
        v: Array,
        deviation: Array,
        biases: Array,
        unread: np.ndarray,
        point: Array,
    ):
        """Satisfy the closures at rest near q, where joints that no encoder has read, at `unread` in v, move first.

        deviation : (2 nv,) as if all coordinates and speeds were independent: P is then their covariance where the
            closures are known to hold.
        point : the independent coordinates are those of the model about this configuration.
        """
        super().__init__(system, q, v, deviation, np.zeros(0))
        self.bias = np.zeros(len(biases))
        self.q = closed_configuration(system, q, unread, np.arange(system.nv))
        self.independent = independent_speeds(system, point)
        self._T: Array | None = None
        A = row_space(system, self.q).A
        _, s, Vt = np.linalg.svd(A)
        rows = Vt[: int((s > DEPENDENT * s.max(initial=0.0)).sum())]
        C, P = scipy.linalg.block_diag(rows, rows), self.P
        P = P - P @ C.T @ np.linalg.pinv(C @ P @ C.T, hermitian=True) @ C @ P
        self.P = scipy.linalg.block_diag(P[np.ix_(self._rows, self._rows)], np.diag(biases**2))

    @property
    def _rows(self) -> np.ndarray:
        """The places of x in [dq, dv]."""
        return np.append(self.independent, self.system.nv + self.independent)

    @property
    def T(self) -> Array:
        """(2 nv, states): maps x to [dq, dv]."""
        if self._T is None:
            self._T = all_freedoms(self.system, self.q, self.v, self.independent, "")
        return self._T

    @property
    def covariance(self) -> Array:
        """(2 nv, 2 nv) of the error [dq, dv]; its rank is that of the covariance of x."""
        T, n = self.T, self.states
        return T @ self.P[:n, :n] @ T.T

    def states_of(self, model: LinearModel) -> None:
        """Change P to the states of a model that is linearized about this estimate."""
        found = independent_speeds(self.system, self.q)
        if np.array_equal(found, self.independent):
            return
        assert model.T is not None
        others = np.eye(len(self.P) - self.states)
        change = scipy.linalg.block_diag(np.linalg.inv(model.T[self._rows]), others)
        self.P, self.independent, self._T = change @ self.P @ change.T, found, model.T

    def in_states(self, x: Array) -> Array:
        """The entries of x among those (2 nv,) of [dq, dv]."""
        return x[self._rows]

    def move(self, x: Array) -> None:
        """Change the estimate by x."""
        self._move(x, self.T)
        self._T = None

    def move_to(self, point: Array, x: Array, T: Array) -> None:
        """Set the estimate to x from a configuration at rest, where T is that of the configuration."""
        self.q, self.v = point, np.zeros(self.system.nv)
        self._move(x, T)
        self._T = T

    def _move(self, x: Array, T: Array) -> None:
        s, n = self.system, len(self.independent)
        everything = np.arange(s.nv)
        others = np.setdiff1d(everything, self.independent)
        q = integrate(s, self.q, T[: s.nv] @ x, 1.0)
        self.q = closed_configuration(s, q, others, everything)
        v = np.zeros(s.nv)
        v[self.independent] = self.v[self.independent] + x[n:]
        self.v = closed_speeds(s, self.q, v, others, everything, row_space(s, self.q))
