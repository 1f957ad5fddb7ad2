r"""How a closed system at rest changes with a number of the model: its configuration, the torques that hold it, and its
motions.

Some joints are held, as many coordinates y as there are degrees of freedom begin with them, and [the others follow]
dq = T dy, A T = 0. The forces w = f(q; p) - tau that remain are those of the closures, w = A^T lambda, T^T w = 0. Along p,
with the motion c of what follows where closures move, dq = c + T dy, dy = 0 at held joints, and because of
dT^T A^T = -T^T dA^T,

    T^T (df - dA^T lambda) = [dtau of held joints; 0]

gives dy of the others, and then G^T dtau, G = E T at the rows E of the held joints. T changes by  dT = -A_o^+ dA T  in the
rows of what follows. Of the torques of redundant motors, those with the least squares are taken, tau = G c, so that
dtau = dG c + G dc.
"""

from __future__ import annotations

import numpy as np

from limber.assembly.parameters import Parameter
from limber.assembly.system import System
from limber.checks import Array, listed
from limber.control.closed_joints import independent_places, owners
from limber.control.closed_motions import (
    closed_motions,
    independent_speeds,
    moving_rows,
    rows_at,
)
from limber.control.kernel_slopes import slopes_of
from limber.dynamics import derivatives, inverse_dynamics
from limber.dynamics.rows import row_space
from limber.errors import ArgumentValueError
from limber.identification.closed_starts import completed_slopes
from limber.simulation.table import joint_speeds

#: Stiffnesses below this fraction of the largest, in units of the inertias, are zero: nothing moves there.
SOFT = 1e-11
#: Closures cannot follow if more than this fraction of their motion is left.
MOVED = 1e-9


class ClosedRest:
    """The changes along one number, at `place` of a parameter.

    kept : the places in v of the independent coordinates of `lb.linearize`.
    along_p : (nv,) the derivative of q, in the layout of v.
    torques : (nv,) that of the torques.
    """

    def __init__(
        self,
        system: System,
        q: Array,
        tau: Array,
        held: np.ndarray,
        parameter: Parameter,
        place: tuple[int, ...],
    ):
        self.system, self.q, self.parameter = system, q, parameter
        self._step = int(np.ravel_multi_index(place, parameter.value.shape)) if place else 0
        self.kept = independent_speeds(system, q)
        nv, rest = system.nv, np.zeros(system.nv)
        others = np.setdiff1d(np.arange(nv), held)
        y = independent_places(system, q, [held, others])
        T = closed_motions(system, q, rest, y, "").T
        number = parameter.name, place
        c = completed_slopes(system, q, rest, y, [number], np.zeros((2 * nv, 1)))[:nv]
        by = derivatives(system, q, rest, rest, "inverse_dynamics", by=("q", parameter.name))
        force = by.parameters[parameter.name][(slice(None), *place)]
        lam = row_space(system, rows_at(system, q)).multipliers(
            inverse_dynamics(system, q, rest, rest) - tau
        )
        turned = np.einsum("irj,r->ij", self._rows(T, False), lam)
        pushed = self._rows(c, True)[..., 0] @ lam
        H = T.T @ (by.q @ T - turned)
        h = T.T @ (force + by.q @ c[:, 0] - pushed)
        free = ~np.isin(y, held)
        unit = np.sqrt(np.einsum("ij,ik,kj->j", T, _mass(system, q), T))[free]
        stiffness = H[np.ix_(free, free)] / np.outer(unit, unit)
        dy = np.zeros(len(y))
        dy[free] = -np.linalg.pinv(stiffness, rcond=SOFT) @ (h[free] / unit) / unit
        self.along_p = c[:, 0] + T @ dy
        self._refuse_overdriven(c[:, 0], held)
        G, dG = T[held][:, ~free], self._turned(T, y)[held][:, ~free]
        inverse = np.linalg.pinv(G)
        drift = dG @ (inverse @ tau[held])
        self.torques = rest
        self.torques[held] = drift + inverse.T @ ((H @ dy + h)[~free] - G.T @ drift)

    def _refuse_overdriven(self, c: Array, held: np.ndarray) -> None:
        """Reject a number that moves closures, as c does, if the joints that are not held cannot follow alone."""
        s = self.system
        A = row_space(s, rows_at(s, self.q)).A
        followers = np.setdiff1d(joint_speeds(s), held)
        wanted = A @ c
        rest = wanted - A[:, followers] @ (np.linalg.pinv(A[:, followers], rcond=1e-10) @ wanted)
        if np.linalg.norm(rest) > MOVED * np.linalg.norm(np.abs(A) @ np.abs(c)):
            raise ArgumentValueError(
                f"parameter {self.parameter.name!r} moves the closures of {s.name!r}, which cannot follow while {listed(owners(s, held))} are "
                "held: redundant motors would push against each other, and it is not known which of them gives way. Leave this parameter "
                "out, or give only inputs whose joints are independent of each other."
            )

    def _rows(self, along: Array, stepped: bool) -> Array:
        """(nv, rows, d) the derivatives of A^T along directions (nv, d), and of the number of the model."""
        s, nv, d = self.system, self.system.nv, along.shape[1]
        start, slopes = moving_rows(s, self.q, along)
        given = {
            "q": (np.tile(start, (nv, 1)), np.tile(slopes, (nv, 1, 1))),
            "v": (np.eye(nv), np.zeros((nv, nv, d))),
        }
        number = (self.parameter, self._step) if stepped else None
        return slopes_of(s, "row_rates", given, stepped=number)["rates"][1]

    def motions(self) -> tuple[Array, Array]:
        """T (2 nv, 2 n) of `lb.linearize`, and its derivative."""
        s, kept = self.system, self.kept
        T = closed_motions(s, self.q, np.zeros(s.nv), kept, "").T
        none, dT = np.zeros_like(T), self._turned(T, kept)
        return np.block([[T, none], [none, T]]), np.block([[dT, none], [none, dT]])

    def _turned(self, T: Array, kept: np.ndarray) -> Array:
        """dT (nv, d) of motions T with the independent coordinates `kept`."""
        s = self.system
        moved = np.einsum("irj,ik->rk", self._rows(self.along_p[:, None], True), T)
        others = np.setdiff1d(np.arange(s.nv), kept)
        dT = np.zeros_like(T)
        A = row_space(s, rows_at(s, self.q)).A[:, others]
        dT[others] = -np.linalg.pinv(A, rcond=1e-10) @ moved
        return dT


def _mass(system: System, q: Array) -> Array:
    rest = np.zeros(system.nv)
    return derivatives(system, q, rest, rest, "inverse_dynamics", by="vdot").vdot
