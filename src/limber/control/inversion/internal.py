r"""The internal dynamics: the motion that remains while torques keep the outputs of a system on a path.

Solves    M(q) vdot + bias(q, v) = B u,    y'' = y_d'' + 2 a (y_d' - y') + a^2 (y_d - y)
          for vdot and the torques u, with y'' = G(q) vdot + drift(q, v), where G v is the rate of the outputs y(q).
          The terms in a let errors of the outputs decay, so that rounding and truncation errors do not accumulate.
Given     states x = [q, v] at times, in batches
Computes  xdot = [v, vdot], and its exact derivatives with respect to x: with W = [[M, -B], [G, 0]],
          W d[vdot; u] = -d[M vdot + bias; y'' - desired] at fixed vdot and u
Needs     W regular: torques act directly on the accelerations of the outputs (relative degree two)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from limber.assembly.system import System
from limber.checks import Array
from limber.control.inversion.outputs import Outputs
from limber.control.joints import JointPlaces
from limber.dynamics.derivatives import derivatives
from limber.dynamics.inverse import bias, mass_matrix
from limber.errors import DynamicsError

#: t (n,) -> position, velocity, acceleration of the outputs, each (n, m)
Path = Callable[[Array], tuple[Array, Array, Array]]
#: Torques that reach outputs by less than this fraction of what they would reach at best do not reach them.
UNREACHED = 1e-6


class InternalDynamics:
    """Rates and torques of states whose outputs follow the path; the head of this file has the equations."""

    def __init__(
        self, system: System, places: JointPlaces, outputs: Outputs, path: Path, decay: float
    ):
        self.system, self.places, self.outputs = system, places, outputs
        self.path, self.decay = path, decay
        self.B = np.zeros((system.nv, len(places)))
        self.B[places.v, np.arange(len(places))] = 1.0

    def solved(self, t: Array, q: Array, v: Array) -> tuple[Array, Array]:
        """vdot (n, nv) and torques (n, m) of states (n, nv), (n, nv) at times (n,)."""
        wanted, speed, acceleration = self.path(t)
        y = self.outputs.motion(q, v)
        a = self.decay
        target = acceleration + 2.0 * a * (speed - y.rate)
        target += a * a * self.outputs.missing(y.value, wanted) - y.drift
        right = np.concatenate([-bias(self.system, q, v), target], axis=1)
        found = np.linalg.solve(self._matrix(mass_matrix(self.system, q), y.slopes), right[..., None])[..., 0]  # fmt: skip
        nv = self.system.nv
        return found[:, :nv], found[:, nv:]

    def rates(self, t: Array, x: Array) -> Array:
        """xdot (2 nv, n) of states x (2 nv, n); nan for invalid states, which makes Newton's method shorten its
        step."""
        try:
            q, v = self._split(x)
            vdot, _ = self.solved(t, q, v)
        except (DynamicsError, np.linalg.LinAlgError):
            return np.full_like(x, np.nan)
        return np.vstack([v.T, vdot.T])

    def slopes(self, t: Array, x: Array) -> Array:
        """The derivatives (2 nv, 2 nv, n) of the rates."""
        q, v = self._split(x)
        n, nv = v.shape
        vdot, _ = self.solved(t, q, v)
        d = derivatives(self.system, q, v, vdot, of="inverse_dynamics")
        y, rate, second = self.outputs.slopes(q, v, vdot)
        a = self.decay
        moved = second + 2.0 * a * rate + a * a * y
        right = -np.concatenate([np.concatenate([d.q, d.v], axis=2), moved], axis=1)
        G = rate[:, :, nv:]
        J = np.zeros((n, 2 * nv, 2 * nv))
        J[:, :nv, nv:] = np.eye(nv)
        J[:, nv:] = np.linalg.solve(self._matrix(d.vdot, G), right)[:, :nv]
        return np.moveaxis(J, 0, -1)

    def reach(self, q: Array) -> float:
        """How strongly the torques act on the accelerations of the outputs in configurations (n, nv): the smallest
        value.

        It is the cosine, in the metric of M, between the motions that torques start and those that the outputs see: 1
        if these are the motions of the joints themselves, 0 where W is singular.
        """
        M, y = mass_matrix(self.system, q), self.outputs.motion(q, np.zeros_like(q))
        least = 1.0
        for mass, G in zip(M, y.slopes):
            L = np.linalg.cholesky(mass)
            torques, seen = (scipy.linalg.solve_triangular(L, x, lower=True) for x in (self.B, G.T))
            sizes = np.linalg.norm(seen, axis=0)
            if sizes.min() == 0.0:
                return 0.0
            seen = seen / sizes
            cosines = np.linalg.qr(seen)[0].T @ np.linalg.qr(torques)[0]
            parts = (np.linalg.svd(x, compute_uv=False).min() for x in (cosines, seen))
            least = min(least, *map(float, parts))
        return least

    def refuse_unmoved(self, q: Array) -> None:
        """Reject outputs that nothing moves in a configuration."""
        with np.errstate(invalid="ignore", divide="ignore"):
            slopes = self.outputs.motion(q[None], np.zeros((1, self.system.nv))).slopes[0]
        for output, row in zip(self.outputs.outputs, slopes):
            if not np.isfinite(row).all() or not row.any():
                raise DynamicsError(
                    f"stable inversion: no motion of {self.system.name!r} moves the output {output.name!r} in the "
                    "configuration at which the search begins, or an angle is measured from the position of the node "
                    "itself. Use another output, or give q, a configuration near the start of the path."
                )

    def refuse_unreached(self, q: Array) -> None:
        """Reject configurations (n, nv) in which the torques do not act on the accelerations of the outputs."""
        if self.reach(q) < UNREACHED:
            raise DynamicsError(
                f"stable inversion: the torques of {', '.join(self.places.labels)} do not act directly and independently "
                f"on the accelerations of {self.outputs.names}: at a point of the path the relative degree is not two. "
                "Use outputs that these joints move independently, and a path that stays away from singular positions "
                "such as a stretched-out arm."
            )

    def _matrix(self, M: Array, G: Array) -> Array:
        n, m = len(M), len(self.places)
        W = np.zeros((n, self.system.nv + m, self.system.nv + m))
        W[:, : -m, : -m], W[:, : -m, -m:], W[:, -m:, : -m] = M, -self.B, G  # fmt: skip
        return W

    def _split(self, x: Array) -> tuple[Array, Array]:
        nv = self.system.nv
        if not np.isfinite(x).all():
            raise DynamicsError("stable inversion: the state is not finite.")
        return np.ascontiguousarray(x[:nv].T), np.ascontiguousarray(x[nv:].T)
