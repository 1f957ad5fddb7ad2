"""The motion of joints without force, such as a floating base, while other joints follow their paths."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from limber.assembly import System
from limber.checks import Array
from limber.dynamics import inverse_dynamics, mass_matrix, qdot
from limber.dynamics.refusals import quaternions
from limber.errors import ArgumentValueError

#: The prescribed motion at times (n,): q, v, vdot of all joints; the floating ones are at rest where they start.
Prescribed = Callable[[Array], tuple[Array, Array, Array]]
#: The tolerance of the integration as a fraction of that of the torques, and the smallest tolerance SciPy takes.
FINER, FINEST = 1e-3, 1e-13


def floats(joint: Any) -> bool:
    """Whether a joint without a path moves without force; joints with a quaternion, such as Free, do."""
    return any(True for _ in joint.quaternions())


class Floating:
    """The floating joints (f) of a rigid system, while the others (p) move as prescribed.

    Solves    M_ff vdot_f = -(M_fp vdot_p + bias_f)
    Given     the initial q_f, v_f, and q_p, v_p, vdot_p over time
    Computes  q_f, v_f, vdot_f over time; the forces of these joints are zero
    Cost      a mass matrix, an inverse dynamics and 12 of both for every step of the integration
    """

    def __init__(self, rigid: System, prescribed: Prescribed):
        self.rigid, self.prescribed = rigid, prescribed
        places = [p for name, p in rigid.layout.items() if floats(rigid.joints[name])]
        self.q_columns = [i for p in places for i in range(p.q_joint.start, p.q_joint.stop)]
        self.v_columns = [i for p in places for i in range(p.v_joint.start, p.v_joint.stop)]
        self._motion: Any = None

    def integrate(self, q0: Array, v0: Array, edges: Array, inset: float, tolerance: float) -> None:
        """Find the motion between `edges`, the times at which prescribed accelerations jump.

        q0, v0 : the state of all joints at the first edge.
        inset : the distance from an edge at which accelerations are evaluated, as a fraction of the interval.
        """
        from scipy.integrate import OdeSolution, solve_ivp  # noqa: PLC0415 (slow to import)

        if not self.v_columns:
            return
        y = np.concatenate([q0[self.q_columns], v0[self.v_columns]])
        rtol = max(FINER * tolerance, FINEST)
        times, pieces = [edges[0]], []
        for a, b in pairwise(edges):
            inside = a + inset * (b - a), b - inset * (b - a)

            def rates(t: float, y: Array, inside: tuple[float, float] = inside) -> Array:
                q, v, vdot = self._states(np.clip([t], *inside), y[None])
                return np.concatenate(
                    [qdot(self.rigid, q[0], v[0])[self.q_columns], vdot[0, self.v_columns]]
                )

            found = solve_ivp(rates, (a, b), y, "DOP853", rtol=rtol, atol=rtol, dense_output=True)
            if not found.success:
                raise ArgumentValueError(
                    f"the motion of the base while the joints follow their paths was found only up to t = {found.t[-1]:g} "
                    f"s: {found.message}"
                )
            y = found.y[:, -1]
            times.extend(found.sol.ts[1:])
            pieces.extend(found.sol.interpolants)
        self._motion = OdeSolution(times, pieces)

    def states(self, at: Array) -> tuple[Array, Array, Array]:
        """q, v and vdot of all joints at times (n,)."""
        if not self.v_columns:
            return self.prescribed(at)
        return self._states(at, self._motion(at).T)

    def _states(self, at: Array, y: Array) -> tuple[Array, Array, Array]:
        """The same, given [q_f; v_f] at each time."""
        q, v, vdot = self.prescribed(at)
        f, count = self.v_columns, len(self.q_columns)
        q[:, self.q_columns], v[:, f] = y[:, :count], y[:, count:]
        for _, place in quaternions(self.rigid):
            q[:, place] /= np.linalg.norm(q[:, place], axis=1, keepdims=True)
        needed = inverse_dynamics(self.rigid, q, v, vdot)[:, f]
        M = mass_matrix(self.rigid, q)[:, f][:, :, f]
        vdot[:, f] = -np.linalg.solve(M, needed[:, :, None])[:, :, 0]
        return q, v, vdot
