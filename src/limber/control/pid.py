r"""Proportional, integral and derivative control of joints.

At every sample, with the errors e = reference - position and r = reference speed - speed of each joint,

    i  <-  i + ki T e
    d  <-  a d + (1 - a) r,         a = exp(-T / filter_time)
    torque = kp e + i + kd d + feedforward

Where no sensor gives the speed, r is (e - e of the last sample) / T.  The integral stands still while the torque is at its
limit and the error would push it further (conditional integration; Astrom & Hagglund, Advanced PID Control, 3.5).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, number, numbers, shown
from limber.control.controller import Controller, Measured
from limber.control.joints import JointPlaces, joint_places
from limber.control.linear_model import LinearModel
from limber.control.reference import Reference, reference_of
from limber.dynamics import inverse_dynamics
from limber.errors import ArgumentTypeError, ArgumentValueError


class PID(Controller):
    """Each joint by itself follows its reference; the head of this file has the equations.

    Parameters
    ----------
    kp, ki, kd : gains, N m/rad, N m/(rad s), N m s/rad; one number, or one for each joint speed.
    sample_time : s.
    bodies : the bodies whose joints are controlled; None for all that have plain coordinates.
    reference : None to hold the position at the start; positions; a `Trajectory` at the times of the simulation; a
        function t -> position, (position, velocity) or (position, velocity, acceleration); or {body: any of these}.
    filter_time : time constant of the low-pass filter of the derivative, s.
    limit : the largest torque, one number or one for each joint; actuators with a limit bring their own.
    gravity : True to add the torque that holds the undeformed system at rest in the measured position.

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
        self.sample_time = number("sample_time", sample_time, above=0.0)
        self.bodies, self.reference = bodies, reference
        self.kp, self.ki, self.kd = (
            numbers(name, x, "() or (joints,)") for name, x in (("kp", kp), ("ki", ki), ("kd", kd))
        )
        self.filter_time = number("filter_time", filter_time, minimum=0.0)
        self.limit = None if limit is None else numbers("limit", limit, "() or (joints,)")
        if self.limit is not None and not (self.limit > 0.0).all():
            raise ArgumentValueError(f"limit must be greater than 0, got {shown(limit)}.")
        if not isinstance(gravity, bool):
            raise ArgumentTypeError(f"gravity must be True or False, got {shown(gravity)}.")
        self.gravity = gravity
        self._places: JointPlaces | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.sample_time:g} s)"

    # --- the loop -----------------------------------------------------------------------------------

    def prepare(self, loop: Any) -> None:
        """Find the joints in the system, their sensors and their actuators."""
        s: System = loop.system
        self._system = s
        places = self._places = joint_places(s, self.bodies, type(self).__name__)
        n = len(places)
        self._kp, self._ki, self._kd = (
            _one_each(name, x, places)
            for name, x in (("kp", self.kp), ("ki", self.ki), ("kd", self.kd))
        )
        self._reference: Reference | None = reference_of(self.reference, places)
        self._limit = np.full(n, math.inf)
        if self.limit is not None:
            self._limit = _one_each("limit", self.limit, places)
        self._measures_speeds = self._find_sensors(loop, places)
        self._width, self._out = s.nv, places.v
        if loop.actuators:
            self._width = len(loop.channels)
            missing = [label for label in places.labels if label not in loop.channels]
            if missing:
                raise ArgumentValueError(
                    f"{type(self).__name__}: no actuator drives {', '.join(map(repr, missing))}; the channels of the actuators are "
                    f"{', '.join(map(repr, loop.channels))}. Name the joints to be controlled: bodies=[...]."
                )
            self._out = np.array([loop.channels.index(label) for label in places.labels])
            self._limit = np.minimum(self._limit, loop.limits[self._out])
        self._limited = bool(np.isfinite(self._limit).any())
        self._fade = 0.0
        if self.filter_time > 0.0:
            self._fade = math.exp(-self.sample_time / self.filter_time)

    def _find_sensors(self, loop: Any, places: JointPlaces) -> bool:
        """Note which sensors are needed; whether they give the speeds of all joints."""
        if not loop.sensors:
            self.uses: tuple[str, ...] = ()
            return True
        positions: set[int] = set()
        speeds: set[int] = set()
        uses: list[str] = []
        for sensor, reader in zip(loop.sensors, loop.readers):
            for found, wanted, read in (
                (positions, places.q, reader.q),
                (speeds, places.v, reader.v),
            ):
                common = set() if read is None else {int(i) for i in read} & set(wanted.tolist())
                if common:
                    found.update(common)
                    uses.append(sensor.name)
        missing = [
            label for label, i in zip(places.labels, places.q.tolist()) if i not in positions
        ]
        if missing:
            raise ArgumentValueError(
                f"{type(self).__name__}: no sensor reads the position of {', '.join(map(repr, missing))}. Add an Encoder, or name the "
                "joints to be controlled: bodies=[...]."
            )
        self.uses = tuple(dict.fromkeys(uses))
        return speeds == set(places.v.tolist())

    def start(self, t: float, measured: Measured) -> None:
        """Begin anew, at rest where the joints are."""
        places = self._prepared
        n = len(places)
        self._held = np.array(measured.q[places.q])
        self._integral, self._rate = np.zeros(n), np.zeros(n)
        self._position_error: Array | None = None

    def command(self, t: float, measured: Measured) -> Array:
        """The torques of the joints."""
        places = self._prepared
        wanted, speed = self._held, np.zeros(len(places))
        if self._reference is not None:
            position, speed, _ = self._reference(t)
            wanted = np.where(np.isnan(position), self._held, position)
        error = wanted - measured.q[places.q]
        rate = speed - measured.v[places.v] if self._measures_speeds else None
        extra = self._holding(measured) if self.gravity else 0.0
        torque = self._torque(error, rate, extra)
        command = np.zeros(self._width)
        command[self._out] = torque
        return command

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
        """The torques that hold the undeformed system at rest; what is not measured is where it is in the neutral position."""
        s = self._system
        q = s.neutral()
        for where in s.layout.values():
            here = measured.q[where.q_joint]
            if np.isfinite(here).all():
                q[where.q_joint] = here
        rest = np.zeros(s.nv)
        return inverse_dynamics(s, q, rest, rest)[self._prepared.v]

    @property
    def _prepared(self) -> JointPlaces:
        if self._places is None:
            raise ArgumentTypeError(
                f"{type(self).__name__} is in no loop yet: give it to lb.control.Loop or to lb.simulate."
            )
        return self._places

    # --- analysis ------------------------------------------------------------------------------------

    def linear(self) -> LinearModel:
        """The controller within its limits, without its reference, as a discrete linear model."""
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
        return LinearModel(
            A[np.ix_(needed, needed)], B[needed, :width], C[:, needed], D[:, :width],
            tuple(x for x, keep in zip(states, needed) if keep), inputs[:width],
            tuple(f"torque {label}" for label in places.labels), repr(self), T,
        )  # fmt: skip


class PD(PID):
    """PID without the integral: torque = kp e + kd d + feedforward; see `PID` for the options."""

    def __init__(self, kp: ArrayLike, kd: ArrayLike = 0.0, *, sample_time: float, **options: Any):
        if "ki" in options:
            raise ArgumentTypeError("PD has no ki; take lb.control.PID.")
        super().__init__(kp, 0.0, kd, sample_time=sample_time, **options)


def _one_each(name: str, given: Array, places: JointPlaces) -> Array:
    """One number for each joint."""
    if given.ndim > 1 or given.size not in (1, len(places)):
        raise ArgumentValueError(
            f"{name} must be one number, or {len(places)} of them, one for each of {', '.join(places.labels)}; got "
            f"{shown(given)}."
        )
    return np.broadcast_to(given, (len(places),)).astype(float)
