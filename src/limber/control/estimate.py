r"""Estimates of the state of a system with the covariance of their error, for filters.

The error x has the states of `lb.linearize`: [dq, dv] of an open system, and independent entries of it in a closed one,
where [dq, dv] = T x. Its covariance P is that of x; that of [dq, dv] is T P T^T, and does not depend on which entries
are the independent ones. A closed estimate satisfies the closures: when it moves by x, the independent coordinates and
speeds do, and the others follow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from limber.assembly.system import System
from limber.checks import Array
from limber.control.closed_joints import closed_configuration, closed_speeds
from limber.control.closed_motions import all_freedoms, independent_speeds
from limber.control.joints import not_plain
from limber.control.linear_model import LinearModel
from limber.control.sensors.base import Instant
from limber.dynamics import integrate
from limber.dynamics.rows import row_space

#: Derivatives of readings are central differences with this step.
STEP = 1e-6
#: Directions of the closure rows below this fraction of the largest are those of redundant ones.
DEPENDENT = 1e-9


class Estimate:
    """The estimate of an open system.

    q, v : the estimate.
    P : the covariance of the error x.
    """

    def __init__(self, system: System, q: Array, v: Array, deviation: Array):
        self.system, self.q, self.v = system, np.array(q), np.array(v)
        self.P = np.diag(deviation**2)
        self._plain = not not_plain(system)

    @property
    def covariance(self) -> Array:
        """(2 nv, 2 nv) of the error [dq, dv]."""
        return self.P

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
        """x of this estimate from a configuration at rest, for plain coordinates."""
        return self.in_states(np.concatenate([self.q - point, self.v]))

    def move(self, x: Array) -> None:
        """Change the estimate by x."""
        nv = self.system.nv
        if self._plain:
            self.q = self.q + x[:nv]
        else:
            self.q = integrate(self.system, self.q, x[:nv], 1.0)
        self.v = self.v + x[nv:]

    def move_to(self, point: Array, x: Array, T: Array) -> None:
        """Set the estimate to x from a configuration at rest, where T is that of the configuration."""
        nv = self.system.nv
        self.q, self.v = point + x[:nv], x[nv:]


class ClosedEstimate(Estimate):
    """The estimate of a closed system; `independent` has the places in v of the coordinates of x.

    T is that of the estimate, or that of the configuration to which `move_to` refers.
    """

    def __init__(
        self, system: System, q: Array, v: Array, deviation: Array, unread: np.ndarray, point: Array
    ):
        """Satisfy the closures at rest near q, where joints that no encoder has read, at `unread` in v, move first.

        deviation : (2 nv,) as if all coordinates and speeds were independent: P is then their covariance where the
            closures are known to hold.
        point : the independent coordinates are those of the model about this configuration.
        """
        super().__init__(system, q, v, deviation)
        self.q = closed_configuration(system, q, unread, np.arange(system.nv))
        self.independent = independent_speeds(system, point)
        self._T: Array | None = None
        A = row_space(system, self.q).A
        _, s, Vt = np.linalg.svd(A)
        rows = Vt[: int((s > DEPENDENT * s.max(initial=0.0)).sum())]
        C, P = scipy.linalg.block_diag(rows, rows), self.P
        P = P - P @ C.T @ np.linalg.pinv(C @ P @ C.T, hermitian=True) @ C @ P
        self.P = P[np.ix_(self._rows, self._rows)]

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
        """(2 nv, 2 nv) of the error [dq, dv]; its rank is that of P."""
        T = self.T
        return T @ self.P @ T.T

    def states_of(self, model: LinearModel) -> None:
        """Change P to the states of a model that is linearized about this estimate."""
        found = independent_speeds(self.system, self.q)
        if np.array_equal(found, self.independent):
            return
        assert model.T is not None
        change = np.linalg.inv(model.T[self._rows])
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


def reading_slopes(
    system: System, reader: Any, q: Array, v: Array, T: Array
) -> tuple[Array, Array]:
    """The derivatives of a reading with respect to x, [dq, dv] = T x, and the reading."""
    nv = system.nv
    h = np.asarray(reader.read(Instant(0.0, q, v, None)))
    if reader.rates is not None:
        return T[reader.rates], h
    if reader.v is not None:
        return T[nv + reader.v], h
    H = np.zeros((len(h), T.shape[1]))
    for i, direction in enumerate(T.T):
        dq, dv = STEP * direction[:nv], STEP * direction[nv:]
        up, down = (
            reader.read(Instant(0.0, integrate(system, q, sign * dq, 1.0), v + sign * dv, None))
            for sign in (1.0, -1.0)
        )
        H[:, i] = (up - down) / (2.0 * STEP)
    return H, h
