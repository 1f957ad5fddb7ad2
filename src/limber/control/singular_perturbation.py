r"""Singular perturbation: computed torque for the slow motion of a flexible arm, and damping for its fast vibration.

If the links vibrate much faster than the joints need to move, the motion has two time scales (Siciliano & Book, Int. J.
Robotics Research 7 (1988) 79). With joints r and modes f,

    slow    modes are in equilibrium, eta_s = -K^-1 (M_fr a + bias_f), and the joints move like those of a rigid arm:
            u_s = M_rr a + bias_r,  a = reference acceleration + kd r + kp e
    fast    the joints stand still, and z = eta - eta_s vibrates (the boundary layer):
            S z'' + D z' + K z = -M_fr M_rr^-1 B u_f,   S = M_ff - M_fr M_rr^-1 M_rf

    u = u_s + u_f,    u_f = -k [z, z']

k minimizes the sum over samples of the energy z'S z' + z K z and of p u_f^T N u_f, N = B^T M_rr^-1 B, as `lqr_gain`
does. The weight p is the one that would give the lowest fast vibration, alone, the requested damping ratio. The gains
are recomputed whenever a joint has moved by REFRESH.

Range     The lowest fast frequency, that of links on joints without torques, must be several times the rates of the
          slow motion, sqrt(kp) and kd / 2; otherwise a ModelWarning says so.  eta_s is that of the reference, without
          feedback.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from limber.checks import Array, number
from limber.control.computed_torque import ComputedTorque
from limber.control.controller import Measured
from limber.control.linear_model import LinearModel
from limber.control.lqr import lqr_gain
from limber.dynamics import inverse_dynamics, mass_matrix
from limber.errors import ArgumentValueError, ModelWarning, warn

#: The lowest fast frequency over the largest slow rate, at least.
APART = 3.0
#: Vibrations that torques reach by less than this fraction of the best are left alone.
UNREACHED = 1e-9
#: Gains are recomputed when a joint has moved by this much, rad or m.
REFRESH = 0.1


class SingularPerturbation(ComputedTorque):
    """Rigid computed torque with damping of the links; the head of this file has the equations.

    Parameters
    ----------
    kp, kd : 1/s^2 and 1/s, for the slow motion, as for `ComputedTorque`.
    damping : the damping ratio that is added to the lowest fast vibration.
    sample_time, system, bodies, reference, limit, observer : as for `ComputedTorque`.

    The rates of the modes must be known, exactly or from an observer.
    """

    _modes_wanted = "the rates of the modes, which the fast feedback needs: give an observer=..."

    def __init__(
        self,
        kp: ArrayLike,
        kd: ArrayLike,
        *,
        damping: float = 0.3,
        sample_time: float,
        **options: Any,
    ):
        if "model" in options:
            raise ArgumentValueError(
                "SingularPerturbation has no model=...: its slow part always uses the rigid model."
            )
        super().__init__(kp, kd, sample_time=sample_time, model="rigid", **options)
        self.damping = number("damping", damping, minimum=0.0)

    @property
    def _needs_modes(self) -> bool:
        return True

    def prepare(self, loop: Any) -> None:
        """Find the joints and the modes."""
        if loop.system.closures:
            raise ArgumentValueError(
                f"SingularPerturbation is for open systems, but {loop.system.name!r} has closures: "
                f"{', '.join(loop.system.closures)}. Use ComputedTorque."
            )
        super().prepare(loop)
        s = self._design
        self._modes, self._modes_q, self._joints_q = (
            np.concatenate(
                [
                    np.zeros(0, dtype=int),
                    *(np.arange(s.nq)[getattr(w, part)] for w in s.layout.values()),
                ]
            )
            for part in ("v_modes", "q_modes", "q_joint")
        )
        if not len(self._modes):
            raise ArgumentValueError(
                f"SingularPerturbation is for flexible systems, but {s.name!r} has no modes: use ComputedTorque."
            )
        flexible = [body for body in s.bodies.values() if body.modes]
        self._K = scipy.linalg.block_diag(*(body.stiffness for body in flexible))
        self._D = scipy.linalg.block_diag(*(body.damping for body in flexible))

    def start(self, t: float, measured: Measured) -> None:
        """Reset the controller."""
        super().start(t, measured)
        self._gains_at: Array | None = None

    def _tell_range(self, lowest: float) -> None:
        """Warn if the two time scales are not well separated."""
        slow = float(max(np.sqrt(self._kp.max()), 0.5 * self._kd.max()))
        if lowest < APART * slow:
            warn(
                f"SingularPerturbation: the lowest fast frequency is {lowest:.3g} rad/s and the joints follow at "
                f"{slow:.3g} /s: there are two separate time scales only if these differ by a factor of {APART:g}. Lower "
                "kp and kd, or use LQR.",
                ModelWarning,
            )

    def _torque(self, t: float, q: Array, v: Array, a: Array) -> Array:
        h = self.sample_time
        here, before, after = (self._balanced(t + x, q) for x in (0.0, -h, h))
        z = np.append(q[self._modes_q] - here, v[self._modes] - (after - before) / (2.0 * h))
        joints, at = q[self._joints_q], self._gains_at
        if at is None or np.abs(joints - at).max() > REFRESH:
            self._gains, lowest = self._fast(q)
            self._gains_at = joints
            if at is None:
                self._tell_range(lowest)
        return self._rigid(q, v, a) - self._gains @ z

    def _fast(self, q: Array) -> tuple[Array, float]:
        """The gains of u_f on [z, z'], and the lowest fast frequency that torques reach."""
        s, r, f = self._design, self._joints, self._modes
        M = mass_matrix(s, self._undeformed(q))
        rr, rf, ff = M[np.ix_(r, r)], M[np.ix_(r, f)], M[np.ix_(f, f)]
        S = ff - rf.T @ np.linalg.solve(rr, rf)
        inverse = np.linalg.inv(rr)
        chosen = np.searchsorted(r, self._prepared.v)
        force = -rf.T @ inverse[:, chosen]  # of u_f on the modes
        N = inverse[np.ix_(chosen, chosen)]
        squares, shapes = scipy.linalg.eigh(self._K, S)
        omega = np.sqrt(np.maximum(squares, 0.0))
        reach = shapes.T @ force
        effect = np.einsum("ij,ij->i", reach, np.linalg.solve(N, reach.T).T)
        moved = np.flatnonzero(effect > UNREACHED * effect.max())
        gains, n = np.zeros((len(chosen), 2 * len(f))), len(moved)
        lowest = float(omega[moved[0]])
        if self.damping == 0.0:
            return gains, lowest
        # in the coordinates of the fast vibrations that the torques move
        still = np.zeros((n, n))
        damped = shapes[:, moved].T @ self._D @ shapes[:, moved]
        A = np.block([[still, np.eye(n)], [-np.diag(squares[moved]), -damped]])
        B = np.vstack([np.zeros((n, len(chosen))), reach[moved]])
        weight = effect[moved[0]] / (2.0 * self.damping * lowest) ** 2
        names = [
            tuple(f"{what} {i}" for i in range(k)) for what, k in (("z", 2 * n), ("u", len(chosen)))
        ]
        fast = LinearModel(
            A, B, np.eye(2 * n), np.zeros_like(B), names[0], names[1], names[0], "fast"
        )
        k = lqr_gain(fast, np.append(squares[moved], np.ones(n)), weight * N, self.sample_time)
        see = shapes[:, moved].T @ S
        gains[:, : len(f)], gains[:, len(f) :] = k[:, :n] @ see, k[:, n:] @ see
        return gains, lowest

    def _balanced(self, t: float, q: Array) -> Array:
        """eta_s along the reference; joints that are not controlled are taken to stand still."""
        s, places = self._design, self._prepared
        wanted, speed, acceleration = self._wanted(t)
        there = np.array(q)
        there[places.q] = wanted
        v, vdot = np.zeros((2, s.nv))
        v[places.v], vdot[places.v] = speed, acceleration
        force = inverse_dynamics(s, self._undeformed(there), v, vdot)[self._modes]
        return -np.linalg.solve(self._K, force)

    def _undeformed(self, q: Array) -> Array:
        """q without deformations."""
        found = self._design.neutral()
        for where in self._design.layout.values():
            found[where.q_joint] = q[where.q_joint]
        return found
