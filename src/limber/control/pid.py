r"""Proportional, integral and derivative control of joints.

At every sample, with the errors e = reference - position and r = reference speed - speed of each joint,

    i  <-  i + ki T e
    d  <-  a d + (1 - a) r,         a = exp(-T / filter_time)
    torque = kp e + i + kd d + feedforward

If no sensor measures the speed, r is (e - e of the last sample) / T. The integral is frozen while the torque is at its
limit and the error would push it further (conditional integration; Astrom & Hagglund, Advanced PID Control, 3.5).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, finite_numbers, number, shown
from limber.control.controller import Measured
from limber.control.joint_controller import JointController, one_each
from limber.control.joints import joint_places
from limber.control.late_readings import samples_late, with_late_inputs
from limber.control.linear_model import LinearModel
from limber.control.reference import reference_of
from limber.control.weight import shared_weight, weight_torques
from limber.dynamics import derivatives
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.simulation.laws import Memory, SampledLaw, rigid_model
from limber.simulation.table import joint_speeds

#: Holding torques do not depend on joints by which their slope is below this fraction of the largest.
UNRELATED = 1e-9


class PID(JointController):
    """PID control of each joint separately; the head of this file has the equations.

    Parameters
    ----------
    kp, ki, kd : gains, N m/rad, N m/(rad s), N m s/rad; one number, or one for each joint speed.
    sample_time : s.
    bodies : the bodies whose joints are controlled; None for all joints whose speeds are the rates of their
        coordinates.
    reference : None to hold the initial position; positions; a `Trajectory` over simulation time; a function t ->
        position, (position, velocity) or (position, velocity, acceleration); or {body: any of these}.
    filter_time : time constant of the low-pass filter of the derivative, s.
    limit : the largest torque, one number or one for each joint; the limits of actuators apply in any case.
    gravity : True to add the torque that holds the undeformed system at rest in the measured position. In a closed
        system in which some joints are not controlled, the closures carry their part; all joints must then be measured.

    Positions and speeds come from encoders and tachometers, or are exact in a loop without sensors.
    """

    def __init__(
        self,
        kp: ArrayLike,
        ki: ArrayLike = 0.0,
        kd: ArrayLike = 0.0,
        *,
        sample_time: float,
        bodies: Any = None,
        reference: Any = None,
        filter_time: float = 0.0,
        limit: ArrayLike | None = None,
        gravity: bool = False,
    ):
        super().__init__(sample_time, bodies, reference, limit)
        self.kp, self.ki, self.kd = (
            finite_numbers(name, x, "() or (joints,)")
            for name, x in (("kp", kp), ("ki", ki), ("kd", kd))
        )
        self.filter_time = number("filter_time", filter_time, minimum=0.0)
        if not isinstance(gravity, bool):
            raise ArgumentTypeError(f"gravity must be True or False, got {shown(gravity)}.")
        self.gravity = gravity

    # --- the loop -----------------------------------------------------------------------------------

    def prepare(self, loop: Any) -> None:
        """Find the joints in the system, their sensors and their actuators."""
        super().prepare(loop)
        places = self._prepared
        self._kp, self._ki, self._kd = (
            one_each(name, x, places)
            for name, x in (("kp", self.kp), ("ki", self.ki), ("kd", self.kd))
        )
        self._fade = self._faded
        self._passive = np.setdiff1d(joint_speeds(self._system), places.v)
        self._shared = shared_weight(self._system, places.v)
        if self.gravity and self._shared:
            self._refuse_unseen(loop)

    @property
    def _faded(self) -> float:
        """What the filter keeps of a rate after a sample time."""
        return math.exp(-self.sample_time / self.filter_time) if self.filter_time else 0.0

    def _refuse_unseen(self, loop: Any) -> None:
        """Reject a closed system with joints that no sensor reads: the others alone do not determine their
        positions."""
        read = {int(i) for r in loop.readers if r.q is not None for i in r.q}
        unseen = [
            body
            for body, place in self._system.layout.items()
            if not read.issuperset(range(place.q_joint.start, place.q_joint.stop))
        ]
        if loop.sensors and unseen:
            raise ArgumentValueError(
                f"{type(self).__name__}: gravity=True in the closed system {self._system.name!r} needs the positions of "
                f"all joints, but no sensor reads those of {', '.join(map(repr, unseen))}. Add an Encoder, or leave out "
                "gravity and use ki=..."
            )

    def start(self, t: float, measured: Measured) -> None:
        """Reset the controller, at rest at the current joint positions."""
        super().start(t, measured)
        n = len(self._prepared)
        self._integral, self._rate = np.zeros(n), np.zeros(n)
        self._position_error: Array | None = None

    def command(self, t: float, measured: Measured) -> Array:
        """The torques of the joints."""
        places = self._prepared
        wanted, speed, _ = self._wanted(t)
        error = wanted - measured.q[places.q]
        rate = speed - measured.v[places.v] if self._measures_speeds else None
        if not math.isfinite(error.sum()) or (rate is not None and not math.isfinite(rate.sum())):
            return self._placed(np.full(len(error), math.nan))  # and nothing of it is remembered
        extra = self._holding(measured) if self.gravity else 0.0
        return self._placed(self._torque(error, rate, extra))

    def sampled_law(self, system: System) -> SampledLaw | str:
        """The control law for batches of generated code, or a text that names the obstacle."""
        if type(self).command is not PID.command:
            return type(self).__name__
        if self.observer is not None:
            return f"{type(self).__name__} with an observer"
        places = joint_places(system, self.bodies, type(self).__name__)
        n, T, fade = len(places), self.sample_time, self._faded
        kp, ki, kd = (
            np.diag(one_each(name, x, places))
            for name, x in (("kp", self.kp), ("ki", self.ki), ("kd", self.kd))
        )
        limit = np.full(n, math.inf)
        if self.limit is not None:
            limit = one_each("limit", self.limit, places)
        # memory: integral, filtered rate; those that are always zero are left out
        eye, none = np.eye(n), np.zeros((n, n))
        needed = np.repeat([bool(ki.any()), fade > 0.0], n)
        integrals = np.concatenate([np.arange(n), np.full(n, -1)])
        A = np.block([[eye, none], [none, fade * eye]])
        B = np.block([[T * ki, none], [none, (1.0 - fade) * eye]])
        C = np.hstack([eye, fade * kd])
        memory = Memory(A[np.ix_(needed, needed)], B[needed], C[:, needed], integrals[needed])
        gains = np.hstack([kp + T * ki, (1.0 - fade) * kd])
        followed = reference_of(self.reference, places)
        rest = np.zeros(n)

        def reference(t: float, start: Array) -> tuple[Array, Array]:
            position, speed = (start, rest) if followed is None else followed(t, start)[:2]
            return np.concatenate([position, speed]), rest

        model = rigid_model(system, places.v, accelerates=False) if self.gravity else None
        return SampledLaw(T, places.q, places.v, places.v, limit, reference, gains, memory, model)

    def _torque(self, error: Array, rate: Array | None, extra: Any) -> Array:
        """The torques, given the errors of a sample."""
        T, before = self.sample_time, self._position_error
        if rate is None:
            rate = (error - before) / T if before is not None else np.zeros_like(error)
        self._position_error = error
        self._rate = self._fade * self._rate + (1.0 - self._fade) * rate
        step = T * self._ki * error
        asked = self._kp * error + (self._integral + step) + self._kd * self._rate + extra
        if not self._limited:
            self._integral = self._integral + step
            return asked
        torque = np.minimum(np.maximum(asked, -self._limit), self._limit)
        self._integral = self._integral + np.where((asked - torque) * step > 0.0, 0.0, step)
        return torque

    def _holding(self, measured: Measured) -> Array:
        """The torques that hold the undeformed system at rest; unmeasured joints are taken in the neutral position."""
        s = self._system
        q = s.neutral()
        for where in s.layout.values():
            here = measured.q[where.q_joint]
            if np.isfinite(here).all():
                q[where.q_joint] = here
        return weight_torques(s, q, self._prepared.v)

    # --- analysis ------------------------------------------------------------------------------------

    def _holding_slope(self, q: Array) -> Array:
        """(joints, joints) the slope of the torques that hold the undeformed system at q; zero without gravity=True."""
        s, places = self._system, self._prepared
        if not self.gravity:
            return np.zeros((len(places), len(places)))
        straight, rest = s.neutral(), np.zeros(s.nv)
        for where in s.layout.values():
            straight[where.q_joint] = q[where.q_joint]
        slopes = derivatives(s, straight, rest, rest, "inverse_dynamics", by="q").q[places.v]
        others = np.abs(slopes[:, self._passive])
        if self._shared or others.max(initial=0.0) > UNRELATED * np.abs(slopes).max(initial=0.0):
            raise ArgumentTypeError(
                f"{type(self).__name__} has no linear model with gravity=True here: its torques also depend on the positions of joints that "
                "it does not control. Control these joints too, or leave out gravity: take the margins of a PD with the same gains and without "
                "it."
            )
        return slopes[:, places.v]

    def _operating_point(self) -> Array:
        """The configuration at the beginning of the reference; joints that have none are in the neutral position."""
        q, places = self._system.neutral(), self._prepared
        if self._reference is not None:
            q[places.q] = self._reference(0.0, q[places.q])[0]
        return q

    def linear(self) -> LinearModel:
        """Return the controller as a discrete linear model, without its limits and its reference.

        Readings that arrive late are part of it, in whole samples (`late_readings`). With gravity=True it includes the slope of the holding torques at the beginning of the reference, or in the
        neutral configuration if there is none.
        """
        places = self._prepared
        n, T, a = len(places), self.sample_time, self._fade
        kp, ki, kd = self._kp, self._ki, self._kd
        # states: integral, filtered rate, last error; inputs: coordinates, then speeds if they are measured
        eye, none = np.eye(n), np.zeros((n, n))
        if self._measures_speeds:
            by_last, by_coordinate, by_speed = none, none, -(1.0 - a) * eye
        else:
            by_last, by_coordinate, by_speed = -(1.0 - a) / T * eye, -(1.0 - a) / T * eye, none
        A = np.block([[eye, none, none], [none, a * eye, by_last], [none, none, none]])
        B = np.block([[-T * np.diag(ki), none], [by_coordinate, by_speed], [-eye, none]])
        C = np.hstack([eye, a * np.diag(kd), np.diag(kd) @ by_last])
        D = np.hstack(
            [-np.diag(kp) - T * np.diag(ki) + np.diag(kd) @ by_coordinate, np.diag(kd) @ by_speed]
        )
        D[:, :n] += self._holding_slope(self._operating_point())
        states = tuple(
            f"{what} {label}" for what in ("integral", "rate", "error") for label in places.labels
        )
        needed = np.repeat(
            [bool(ki.any()), a > 0.0, not self._measures_speeds], n
        )  # the others are always zero or not read
        inputs = tuple(
            f"{what} {label}" for what in ("coordinate", "speed") for label in places.labels
        )
        width = 2 * n if self._measures_speeds else n
        made = LinearModel(
            A[np.ix_(needed, needed)], B[needed, :width], C[:, needed], D[:, :width],
            tuple(x for x, keep in zip(states, needed) if keep), inputs[:width],
            tuple(f"torque {label}" for label in places.labels), repr(self), T,
        )  # fmt: skip
        return with_late_inputs(made, self._late()[:width])

    def _late(self) -> list[int]:
        """By how many samples the readings of positions, and then those of speeds, are late."""
        places, name = self._prepared, type(self).__name__
        wanted = [(0, i) for i in places.q.tolist()] + [(1, i) for i in places.v.tolist()]
        return [
            max(
                (
                    samples_late(name, x, self.sample_time)
                    for x, *read in self._read_by
                    if i in read[of]
                ),
                default=0,
            )
            for of, i in wanted
        ]


class PD(PID):
    """PID without the integral term: torque = kp e + kd d + feedforward. See `PID` for the options."""

    def __init__(self, kp: ArrayLike, kd: ArrayLike = 0.0, *, sample_time: float, **options: Any):
        if "ki" in options:
            raise ArgumentTypeError("PD has no ki; use lb.control.PID.")
        super().__init__(kp, 0.0, kd, sample_time=sample_time, **options)
