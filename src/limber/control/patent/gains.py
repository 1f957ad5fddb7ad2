r"""Gains along a desired motion: how strongly the loop corrects forces, and how far it trusts its sensors.

At instants along the motion, the arm is linearized at rest and sampled.  Two Riccati equations give

    the gain of the corrections,    dT = -K dx,     which minimizes
        sum  (deformation and kinetic energy) / energy^2... see `Weights`
    the gain of the model state,    [x; load] <- [x; load] + L (y - C x)

where `load` are torques at the hinges that the model does not have, such as friction, taken as random walks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from limber.assembly.system import System
from limber.checks import Array
from limber.control.joints import JointPlaces
from limber.control.patent.desired import DesiredMotion, held, slopes
from limber.dynamics import mass_matrix


@dataclass(frozen=True)
class Weights:
    """What is large, for the design of the gains: each is as bad as any other.

    force : N m, the torque of a hinge; one number, or one for each hinge.
    position : rad, the deviation of a hinge.
    energy : J, the energy of the deviation in deformation and motion.
    encoder, tachometer : standard deviations of the readings, rad and rad/s.
    disturbance : N m, the standard deviation of torques at the hinges that differ from sample to sample.
    load : N m/sqrt(s), how fast the constant unknown torques at the hinges wander.
    """

    force: float | tuple[float, ...] = 1000.0
    position: float = 0.02
    energy: float = 10.0
    encoder: float = 1e-5
    tachometer: float = 1e-3
    disturbance: float = 10.0
    load: float = 2.0


@dataclass(frozen=True, eq=False)
class Gains:
    """The gains of one instant.

    target : (joints, 2 nv), the accelerations of the hinges that the deviations [dq, dv] should have, with feedback.
    inertia : (joints, joints), the force that a unit acceleration of each hinge takes while the modes are free.
    response : (nv, joints), accelerations of all freedoms by forces of the hinges.
    step : (2 nv, 2 nv), the change of the state in a sample by its rate: the integral of exp(A t).
    observer : (2 nv + joints, readings).
    feedback : (joints, 2 nv), K.
    """

    target: Array
    inertia: Array
    response: Array
    step: Array
    observer: Array
    feedback: Array


class Schedule:
    """Gains along a motion, those of the nearest instant."""

    def __init__(
        self,
        system: System,
        places: JointPlaces,
        motion: DesiredMotion,
        weights: Weights,
        speeds: bool,
        instants: int = 21,
    ):
        self._rows = np.unique(np.linspace(0, len(motion.t) - 1, instants).astype(int))
        q = motion.q[self._rows]
        rest = np.zeros_like(q)
        A, B = slopes(system, places, q, rest, rest)
        M = mass_matrix(system, q)
        self.gains = [
            _gains(A[i], B[i], M[i], places, motion.sample_time, weights, speeds)
            for i in range(len(q))
        ]

    def at(self, row: int) -> Gains:
        """The gains at a row of the motion."""
        return self.gains[int(np.argmin(np.abs(self._rows - row)))]


def _gains(
    A: Array, B: Array, M: Array, places: JointPlaces, time: float, w: Weights, speeds: bool
) -> Gains:
    nv, m = len(M), len(places)
    n = 2 * nv
    F, G = (x[0] for x in held(A[None], B[None], time))
    step = held(A[None], np.eye(n)[None], time)[1][0]
    # feedback: elastic and kinetic energy, positions of the hinges, forces
    stiffness = -M @ A[nv:, :nv]
    Q = scipy.linalg.block_diag(0.5 * (stiffness + stiffness.T), M) / w.energy
    Q[places.v, places.v] += 1.0 / w.position**2
    R = np.diag(1.0 / np.broadcast_to(np.asarray(w.force, dtype=float), (m,)) ** 2)
    X = scipy.linalg.solve_discrete_are(F, G, Q, R)
    K = np.linalg.solve(R + G.T @ X @ G, G.T @ X @ F)
    # model state: readings of hinges, unknown torques
    wide = np.block([[F, G], [np.zeros((m, n)), np.eye(m)]])
    C = np.zeros((m * (2 if speeds else 1), n + m))
    C[:m, places.q] = np.eye(m)
    noise = np.full(len(C), w.encoder**2)
    if speeds:
        C[m:, nv + places.v] = np.eye(m)
        noise[m:] = w.tachometer**2
    drive = scipy.linalg.block_diag(w.disturbance**2 * G @ G.T, w.load**2 * time * np.eye(m))
    drive += 1e-16 * np.eye(n + m)
    Y = scipy.linalg.solve_discrete_are(wide.T, C.T, drive, np.diag(noise))
    L = np.linalg.solve(C @ Y @ C.T + np.diag(noise), C @ Y).T
    response = B[nv:]
    hinges = places.v
    target = (A[nv:] - response @ K)[hinges]
    return Gains(target, np.linalg.inv(response[hinges]), response, step, L, K)
