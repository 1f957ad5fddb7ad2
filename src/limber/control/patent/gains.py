r"""Gains along a desired motion: how strongly the loop corrects forces, and how far it trusts its sensors.

At instants along the motion the arm is linearized: moving, for its state of the next step, and held at rest, for gains. The
forces of the hinges are corrected by dT = -K dx, with

    `Impedance`   K of the hinges alone, each a spring and a damper.  If hinges are measured where they are driven, it
                  removes energy from the arm, whatever its payload and stiffness are.
    `Optimal`     K of hinges and deformations, which minimizes the sum of the squares of forces, of deviations of the
                  hinges and of the energy of the deviation.  It needs a good model of the arm.

With `state="observer"` the state is corrected by [x; load] <- [x; load] + L (y - C x), with L from a Riccati equation,
where `load` are torques at the hinges that the model does not have, modelled as random walks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from limber.assembly.system import System
from limber.checks import Array
from limber.control.joints import JointPlaces
from limber.control.patent.desired import DesiredMotion, slopes
from limber.control.riccati import discrete_riccati
from limber.control.sampled import held
from limber.dynamics import inverse_dynamics, mass_matrix
from limber.errors import ArgumentValueError

OneEach = float | tuple[float, ...]


@dataclass(frozen=True)
class Impedance:
    """A spring and a damper at each hinge: N m/rad and N m s/rad, one number or one for each hinge."""

    stiffness: OneEach
    damping: OneEach

    def feedback(self, A: Array, B: Array, M: Array, places: JointPlaces, time: float) -> Array:
        """K (joints, 2 nv)."""
        nv, m = len(M), len(places)
        K = np.zeros((m, 2 * nv))
        K[np.arange(m), places.q] = one_each("stiffness", self.stiffness, m)
        K[np.arange(m), nv + places.v] = one_each("damping", self.damping, m)
        return K


@dataclass(frozen=True)
class Optimal:
    """The discrete linear-quadratic regulator. The following values are equally costly.

    force : N m, the torque of a hinge; one number, or one for each hinge.
    position : rad, the deviation of a hinge.
    energy : J, the energy of the deviation, elastic and kinetic.
    """

    force: OneEach
    position: float = 0.02
    energy: float = 3.0

    def feedback(self, A: Array, B: Array, M: Array, places: JointPlaces, time: float) -> Array:
        """K (joints, 2 nv)."""
        nv, m = len(M), len(places)
        F, G = held(A, B, time)
        force = one_each("force", self.force, m)
        unit = force.max() ** 2  # of the cost, so that R is near 1
        stiffness = -M @ A[nv:, :nv]
        Q = unit / self.energy * scipy.linalg.block_diag(0.5 * (stiffness + stiffness.T), M)
        Q[places.v, places.v] += unit / self.position**2
        R = unit * np.diag(1.0 / force**2)
        X = _riccati(F, G, Q, R, "Optimal")
        return np.linalg.solve(R + G.T @ X @ G, G.T @ X @ F)


@dataclass(frozen=True)
class Noise:
    """Standard deviations, for the observer.

    encoder, tachometer : of the readings of a sample, rad and rad/s.
    torque : of torques at the hinges that are independent from sample to sample, N m.
    load : random walk of the unexplained torques at the hinges, N m/sqrt(s).
    """

    encoder: float = 1e-5
    tachometer: float = 1e-3
    torque: float = 0.1
    load: float = 0.03

    def observer(self, A: Array, B: Array, places: JointPlaces, time: float, speeds: bool) -> Array:
        """L (2 nv + joints, readings)."""
        F, G = held(A, B, time)
        n, m = B.shape
        wide = np.block([[F, G], [np.zeros((m, n)), np.eye(m)]])
        C = np.zeros((m * (2 if speeds else 1), n + m))
        C[:m, places.q] = np.eye(m)
        noise = np.full(len(C), self.encoder**2)
        if speeds:
            C[m:, n // 2 + places.v] = np.eye(m)
            noise[m:] = self.tachometer**2
        drive = scipy.linalg.block_diag(
            self.torque**2 * G @ G.T, self.load**2 * time * np.eye(m)
        ) + 1e-16 * np.eye(n + m)
        Y = _riccati(wide.T, C.T, drive, np.diag(noise), "Noise")
        gain = np.linalg.solve(C @ Y @ C.T + np.diag(noise), C @ Y)
        return np.array(gain.T, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Gains:
    """The gains at one instant.

    feedback : (joints, 2 nv), K.
    stiffness : (nv, 2 nv), the accelerations that deviations [dq, dv] cause.
    inertia : (joints, joints), the force required for a unit acceleration of each hinge while the modes are free.
    response : (nv, joints), the accelerations caused by forces of the hinges.
    impulse : (nv, joints), the change of all speeds that accompanies a change of the hinge speeds by impulses at the
        hinges.
    step : (2 nv, 2 nv), the change of the state in a sample per unit of its rate: the integral of exp(A t).
    observer : (2 nv + joints, readings), L; None without an observer.
    """

    feedback: Array
    stiffness: Array
    inertia: Array
    response: Array
    impulse: Array
    step: Array
    observer: Array | None


class Schedule:
    """Gains along a motion: those of the nearest of several instants."""

    def __init__(
        self,
        system: System,
        places: JointPlaces,
        motion: DesiredMotion,
        law: Impedance | Optimal,
        noise: Noise | None,
        speeds: bool,
        instants: int = 21,
    ):
        rows = np.unique(np.linspace(0, len(motion.t) - 1, instants).astype(int))
        between = 0.5 * (rows[1:] + rows[:-1])
        self._nearest = np.searchsorted(between, np.arange(len(motion.t))).tolist()
        q, v = motion.q[rows], motion.v[rows]
        rest, acting = np.zeros_like(q), np.zeros_like(q)
        acting[:, places.v] = motion.force[rows]
        still = slopes(system, places, q, rest, inverse_dynamics(system, q, rest, rest))
        moving = slopes(system, places, q, v, acting)[0]
        self.gains = [
            self._made(system, places, motion.sample_time, law, noise, speeds, *x)
            for x in zip(*still, moving, mass_matrix(system, q))
        ]

    @staticmethod
    def _made(
        system: System,
        places: JointPlaces,
        time: float,
        law: Impedance | Optimal,
        noise: Noise | None,
        speeds: bool,
        A: Array,
        B: Array,
        moving: Array,
        M: Array,
    ) -> Gains:
        """The gains of one instant: A and B of the arm at rest, A of the moving one, and its mass matrix."""
        nv = system.nv
        response = B[nv:]
        inertia = np.linalg.inv(response[places.v])
        return Gains(
            law.feedback(A, B, M, places, time),
            moving[nv:],
            inertia,
            response,
            response @ inertia,
            held(moving, np.eye(2 * nv), time)[1],
            None if noise is None else noise.observer(A, B, places, time, speeds),
        )

    def at(self, row: int) -> Gains:
        """The gains at a row of the motion."""
        return self.gains[self._nearest[row]]


def one_each(name: str, given: OneEach, count: int) -> Array:
    """One number for each hinge."""
    values = np.asarray(given, dtype=float)
    if values.shape not in ((), (count,)):
        raise ArgumentValueError(
            f"{name} must be one number, or {count} of them, one for each hinge; got {given}."
        )
    return np.broadcast_to(values, (count,))


def _riccati(A: Array, B: Array, Q: Array, R: Array, owner: str) -> Array:
    try:
        return discrete_riccati(A, B, Q, R)
    except np.linalg.LinAlgError as error:
        raise ArgumentValueError(
            f"{owner}: the Riccati equation has no solution to working accuracy ({error}). Leave motions that the hinges "
            "neither drive nor feel out of the model, such as bending in another plane, and choose weights that differ "
            "less."
        ) from error
