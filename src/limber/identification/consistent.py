r"""Physically consistent rigid-body inertias: those that some mass distribution has.

The pseudo-inertia of a body, J = [[S, m c], [m c^T, m]] with S = tr(I)/2 - I, is linear in the ten numbers p of the
body, and it is positive definite if and only if p belongs to a mass distribution in space (Wensing, Kim & Slotine
2018).

Solves    min over p of 1/2 |R (W p - b)|^2 + 1/2 |pull (p - start)|^2 - weight (sum log det J + sum log joint numbers)
          for weights that decrease almost to zero: a convex problem at each
How       Newton's method with steps from linear least squares; -log det J has the second derivative B^T B and the first
          derivative -B^T vec(1), where B dp = vec(L^-1 dJ L^-T) with J = L L^T
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import lstsq

from limber.checks import Array
from limber.identification.base_parameters import OF_BODY, Base, matrix

#: The least eigenvalue of a pseudo-inertia from which the search starts, relative to the largest, and the least joint number.
INSIDE = 1e-3
#: How much a change of a number by all of its value counts, in standard deviations of the torques' noise: it settles what
#: torques do not determine.
PULL = 1e-2
#: Torques almost without noise have at most this weight, in the same unit: otherwise nothing else would have any effect.
MOST = 1e6
#: The last weight of the barrier, in squares of such deviations; the weights before it fall by a factor.
LAST, FALL = 1e-8, 0.05
#: Newton's method ends at each weight if its step would gain less than this fraction of the weight, or after this
#: many steps.
GAIN, NEWTON = 0.1, 50


def consistent(base: Base, R: Array, b: Array, start: Array, bodies: Sequence[str]) -> Array:
    """The numbers p of physically possible bodies and joints that minimize |R (W p - b)| and are nearest to `start`."""
    problem = _Problem(base, R, b, start, bodies)
    x = problem.inside()
    weight = max(problem.misfit(x), 1.0)
    while weight > LAST:
        weight = max(FALL * weight, LAST)
        x = problem.centred(x, weight)
    return x * problem.size


def pseudo_inertia(p: Array) -> Array:
    """J (4, 4) from the ten numbers of a body."""
    inertia = matrix(p)
    J = np.zeros((4, 4))
    J[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    J[:3, 3] = J[3, :3] = p[1:4]
    J[3, 3] = p[0]
    return J


def _numbers(J: Array) -> Array:
    """The ten numbers of a body from its pseudo-inertia."""
    S = J[:3, :3]
    inertia = np.trace(S) * np.eye(3) - S
    return np.array([J[3, 3], *J[:3, 3], *inertia[(0, 0, 0, 1, 1, 2), (0, 1, 2, 1, 2, 2)]])


class _Problem:
    """The problem in x = p / size."""

    def __init__(self, base: Base, R: Array, b: Array, start: Array, bodies: Sequence[str]):
        places = {(one.body, one.place): j for j, one in enumerate(base.numbers) if one.parameter is None}  # fmt: skip
        self.places = [[places[body, i] for i in range(len(OF_BODY))] for body in bodies]
        self.joints = [j for j, one in enumerate(base.numbers) if one.parameter is not None]
        self.size = self._sizes(start)
        self.start = start / self.size
        told = R @ base.W * self.size
        share = min(1.0, MOST / max(float(np.linalg.norm(told, 2)), 1e-300))
        rows = np.vstack([share * told, PULL * np.eye(len(start))])
        Q, self.rows = np.linalg.qr(rows)
        self.right = Q.T @ np.concatenate([share * (R @ b), PULL * self.start])
        self.units = [
            np.stack([pseudo_inertia(unit * self.size[at]) for unit in np.eye(10)])
            for at in self.places
        ]

    def _sizes(self, start: Array) -> Array:
        """The scale of each number: the largest of its kind in the body, or one."""
        size = np.where(start != 0.0, np.abs(start), 1.0)
        for at in map(np.array, self.places):
            for kind in (at[:1], at[1:4], at[4:]):
                size[kind] = np.abs(start[kind]).max() or 1.0
        return size

    def inside(self) -> Array:
        """The start, with bodies and joints at the boundary of the feasible set moved slightly inside."""
        x = self.start.copy()
        for at in self.places:
            values, vectors = np.linalg.eigh(pseudo_inertia(x[at] * self.size[at]))
            least = INSIDE * (np.abs(values).max() or 1.0)
            J = vectors @ np.diag(np.maximum(values, least)) @ vectors.T
            x[at] = _numbers(J) / self.size[at]
        x[self.joints] = np.maximum(x[self.joints], INSIDE)
        return x

    def misfit(self, x: Array) -> float:
        """The cost without the barrier, up to a constant."""
        rest = self.rows @ x - self.right
        return 0.5 * float(rest @ rest)

    def _factors(self, x: Array) -> list[Array] | None:
        """L of every pseudo-inertia; None if x is not inside."""
        if (x[self.joints] <= 0.0).any():
            return None
        try:
            return [
                np.linalg.cholesky(np.asarray(np.tensordot(x[at], units, 1), dtype=float))
                for at, units in zip(self.places, self.units)
            ]
        except np.linalg.LinAlgError:
            return None

    def _cost(self, x: Array, weight: float) -> float:
        factors = self._factors(x)
        if factors is None:
            return np.inf
        barrier = -2.0 * sum(float(np.log(np.diag(L)).sum()) for L in factors)
        return self.misfit(x) + weight * (barrier - float(np.log(x[self.joints]).sum()))

    def centred(self, x: Array, weight: float) -> Array:
        """The best x for a weight of the barrier, starting from another x."""
        cost = self._cost(x, weight)
        for _ in range(NEWTON):
            rows, right = self._barrier(x)
            left = np.vstack([self.rows, np.sqrt(weight) * rows])
            rest = np.concatenate([self.right - self.rows @ x, np.sqrt(weight) * right])
            step = lstsq(left, rest, lapack_driver="gelsy", check_finite=False)[0]
            gain = float(np.square(left @ step).sum())
            if gain <= GAIN * weight:
                break
            part, moved = 1.0, self._cost(x + step, weight)
            while moved > cost - 1e-4 * part * gain and part > 1e-10:
                part *= 0.5
                moved = self._cost(x + part * step, weight)
            if moved >= cost:  # rounding errors are all that is left
                break
            x, cost = x + part * step, moved
        return x

    def _barrier(self, x: Array) -> tuple[Array, Array]:
        """B and vec(1) of all bodies, and the same of the joint numbers."""
        factors = self._factors(x)
        assert factors is not None
        rows, right = [], []
        for at, units, L in zip(self.places, self.units, factors):
            inverse = np.linalg.inv(L)
            block = np.zeros((16, len(x)))
            block[:, at] = (inverse @ units @ inverse.T).reshape(10, 16).T
            rows.append(block)
            right.append(np.eye(4).ravel())
        own = np.zeros((len(self.joints), len(x)))
        own[np.arange(len(self.joints)), self.joints] = 1.0 / x[self.joints]
        return np.vstack([*rows, own]), np.concatenate([*right, np.ones(len(self.joints))])
