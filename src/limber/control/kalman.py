r"""Kalman filters: the state of a system, modes included, from encoders, tachometers, gyros and strain gauges.

With the error x = [dq, dv] of the state, along `lb.integrate`, its covariance P, and from one sample to the next

    x <- Phi x + w,    P <- Phi P Phi^T + Q,    Phi = exp(A T),    Q = integral of exp(A s) B W B^T exp(A s)^T over 0..T

where A, B are those of `lb.linearize`, and W holds the densities of forces that nobody knows.  A reading y = h(q, v) + noise
corrects the state by

    S = H P H^T + R,    G = P H^T S^-1,    x = G (y - h),    P <- (1 - G H) P (1 - G H)^T + G R G^T

(Joseph's form; Bar-Shalom, Li & Kirubarajan, Estimation with Applications, 5.2 and 10.3).  The linear filter has A, B and H of one
state; the extended one takes them anew at every estimate, which moves by

    x(T) = x + T phi_1(A T) f(x),    phi_1(z) = (e^z - 1) / z

(exponential Rosenbrock-Euler: of second order, and stable for modes of any frequency).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, numbers, shown
from limber.control.controller import Measured
from limber.control.joint_controller import driven_channels
from limber.control.joints import joint_places
from limber.control.linearize import linearize
from limber.control.sampled import held as over
from limber.control.sensors import Encoder, Gyro, StrainGauge, Tachometer
from limber.control.sensors.base import Instant, Sensor
from limber.dynamics import forward_dynamics, integrate
from limber.dynamics.inverse import inverse_dynamics
from limber.errors import ArgumentTypeError, ArgumentValueError

#: Sensors whose readings depend on q and v alone.
READ = (Encoder, Tachometer, Gyro, StrainGauge)
#: Slopes of readings are central differences with this step.
STEP = 1e-6
#: Parts of the sample time count as equal if they agree to so many digits; of so many the filter remembers its model.
DIGITS, REMEMBERED = 9, 1000


class Kalman:
    """An observer for `LQR`, `ComputedTorque`, `ActiveDamping` and others: it estimates q and v at every sample of the controller.

    Parameters
    ----------
    disturbance : density of unknown generalized forces, N m s^(1/2) and so on: one number, or one for each speed.
    q : (nq,) where the estimate starts; neutral unless given, joints that encoders read at their first readings.  The linear
        filter is of small motions about it, at rest.
    initial : standard deviation of the first estimate, [dq, dv]: one number, or (2 nv,).
    noise : {sensor: standard deviation} of sensors where it should not be what the sensor itself says, which is that of a
        sample: noise density, noise and quantization.
    extended : whether A, B and H follow the estimate.
    record : whether `covariances` keeps P after every sample.

    After a sample, `q`, `v` is the estimate and `covariance` P.  In a loop, "estimate" and "deviation" (square roots of the
    diagonal of P) are recorded, and "innovation <sensor>": S^(-1/2) (y - h), which is white with unit variance if the filter is
    consistent (`limber.control.consistency`), and nan where the sensor has sent nothing new.  A reading corrects the estimate of
    the time at which it was taken, be it between two samples.  It counts as new, so that sensors must not have a delay.
    """

    def __init__(
        self,
        disturbance: ArrayLike,
        *,
        q: ArrayLike | None = None,
        initial: ArrayLike = 1e-2,
        noise: Mapping[str, float] | None = None,
        extended: bool = False,
        record: bool = False,
    ):
        self.disturbance = numbers("disturbance", disturbance, "() or (nv,)")
        self.initial = numbers("initial", initial, "() or (2 nv,)")
        if (self.disturbance < 0.0).any() or (self.initial < 0.0).any():
            raise ArgumentValueError("disturbance and initial must not be negative.")
        self.about = None if q is None else numbers("q", q, "(nq,)")
        self.noise = dict(noise or {})
        self.extended, self.record = extended, record
        self.covariances: list[Array] = []
        self.uses: tuple[str, ...] = ()

    # --- the loop -------------------------------------------------------------------------------------

    def prepare(self, loop: Any) -> None:
        """Take note of the system, the sensors and the actuators."""
        s: System = loop.system
        if s.closures:
            raise ArgumentValueError(
                f"Kalman is for open systems, and {s.name!r} has closures: {', '.join(s.closures)}."
            )
        if not loop.sensors:
            raise ArgumentValueError(
                "Kalman: the loop has no sensors, so the state is known exactly. Leave out the observer, or add sensors."
            )
        self._system, self.sample_time = s, loop.sample_time
        self._sensors = [
            (sensor, reader, _deviation(sensor, reader.errors, self.noise))
            for sensor, reader in zip(loop.sensors, loop.readers)
            if isinstance(sensor, READ)
        ]
        if not self._sensors:
            raise ArgumentValueError(
                "Kalman: it takes readings of Encoder, Tachometer, Gyro and StrainGauge, and the loop has none of these."
            )
        self.uses = tuple(sensor.name for sensor, _, _ in self._sensors)
        n = 2 * s.nv
        self._W = _spread("disturbance", self.disturbance, s.nv) ** 2
        self._P0 = np.diag(_spread("initial", self.initial, n) ** 2)
        start = s.neutral() if self.about is None else self.about
        if start.shape != (s.nq,):
            raise ArgumentValueError(f"q must have shape ({s.nq},), got {start.shape}.")
        self._start = start
        self._out = None
        if loop.actuators:
            places = joint_places(s, None, "Kalman")
            driven = [i for i, label in enumerate(places.labels) if label in loop.channels]
            labels = tuple(places.labels[i] for i in driven)
            self._out = driven_channels(self, loop, labels), places.v[driven]
        self._fixed: tuple | None = None
        if not self.extended:
            if s.nq != s.nv:
                raise ArgumentValueError(
                    f"Kalman: {s.name!r} has joints with quaternions: give extended=True."
                )
            self._fixed = self._linear_model()

    def _linear_model(self) -> tuple:
        """Phi, Gamma, Q, the torques that hold the joints, and H and h of every sensor, about the start."""
        s, rest = self._system, np.zeros(self._system.nv)
        tau = np.zeros(s.nv)
        joints = _joints(s)
        tau[joints] = inverse_dynamics(s, self._start, rest, rest)[joints]
        model = linearize(s, self._start, rest, tau)
        Phi, Gamma = model.sampled(self.sample_time).A, model.sampled(self.sample_time).B
        Q = covariance_of_noise(model.A, model.B, self._W, self.sample_time)
        read = [self._slope(reader, self._start, rest) for _, reader, _ in self._sensors]
        return Phi, Gamma, Q, tau, read

    def start(self, t: float, measured: Measured) -> None:
        """Begin anew, with the joints where encoders read them."""
        self.q, self.v = np.array(self._start), np.zeros(self._system.nv)
        for sensor, reader, _ in self._sensors:
            if reader.q is not None:
                self.q[reader.q] = measured[sensor.name]
        self.covariance = self._P0.copy()
        self.covariances = []
        self._used = dict.fromkeys(self.uses, -math.inf)
        self._innovations: dict[str, Array] = {}
        self._at = t
        self._parts: dict[float, tuple[Array, Array, Array]] = {}

    def update(self, t: float, measured: Measured) -> tuple[Array, Array]:
        """The estimate of q and v at a sample."""
        tau = self._torques(measured)
        new = []
        for i, (sensor, _, deviation) in enumerate(self._sensors):
            self._innovations[sensor.name] = np.full(len(deviation), math.nan)
            taken = measured.taken(sensor.name)
            if taken > self._used[sensor.name]:
                self._used[sensor.name] = taken
                new.append((min(max(taken, self._at), t), i))
        for taken, i in sorted(new):
            self._predict_until(taken, tau)
            sensor, reader, deviation = self._sensors[i]
            self._correct(i, sensor.name, measured[sensor.name], reader, deviation)
        self._predict_until(t, tau)
        if self.record:
            self.covariances.append(self.covariance.copy())
        return self.q, self.v

    def outputs(self) -> dict[str, Array]:
        """What is recorded at a sample."""
        return {
            "estimate": np.concatenate([self.q, self.v]),
            "deviation": np.sqrt(np.diag(self.covariance)),
            **{f"innovation {name}": x for name, x in self._innovations.items()},
        }

    # --- the filter -----------------------------------------------------------------------------------

    def _torques(self, measured: Measured) -> Array:
        """The generalized forces since the last sample."""
        tau = np.zeros(self._system.nv)
        if measured.applied is None:
            return tau
        if self._out is None:
            return np.asarray(measured.applied)
        channels, places = self._out
        tau[places] = np.asarray(measured.applied)[channels]
        return tau

    def _predict_until(self, t: float, tau: Array) -> None:
        part = round((t - self._at) / self.sample_time, DIGITS)
        self._at = t
        if part:
            self._predict(tau, part)

    def _over(self, part: float) -> tuple[Array, Array, Array]:
        """Phi, Gamma and Q of the linear filter over a part of the sample time."""
        assert self._fixed is not None
        if part == 1.0:
            return self._fixed[:3]
        if part not in self._parts:
            if len(self._parts) >= REMEMBERED:
                self._parts.clear()
            s, T = self._system, part * self.sample_time
            model = linearize(s, self._start, np.zeros(s.nv), self._fixed[3])
            Q = covariance_of_noise(model.A, model.B, self._W, T)
            self._parts[part] = (*over(model.A, model.B, T), Q)
        return self._parts[part]

    def _predict(self, tau: Array, part: float) -> None:
        s, T, nv = self._system, part * self.sample_time, self._system.nv
        if self._fixed is not None:
            held = self._fixed[3]
            Phi, Gamma, Q = self._over(part)
            x = Phi @ np.concatenate([self.q - self._start, self.v]) + Gamma @ (tau - held)
            self.q, self.v = self._start + x[:nv], x[nv:]
        else:
            model = linearize(s, self.q, self.v, tau)
            rate = np.concatenate([self.v, forward_dynamics(s, self.q, self.v, tau)])
            block = np.zeros((2 * nv + 1, 2 * nv + 1))
            block[: 2 * nv, : 2 * nv], block[: 2 * nv, -1] = model.A * T, rate * T
            found = scipy.linalg.expm(block)
            Phi, moved = found[: 2 * nv, : 2 * nv], found[: 2 * nv, -1]
            Q = covariance_of_noise(model.A, model.B, self._W, T)
            self._move(moved)
        self.covariance = Phi @ self.covariance @ Phi.T + Q

    def _correct(self, i: int, name: str, y: Array, reader: Any, deviation: Array) -> None:
        H, h = self._read(i, reader)
        P, R = self.covariance, np.diag(deviation**2)
        S = H @ P @ H.T + R
        root = np.linalg.cholesky(S)
        error = y - h
        self._innovations[name] = scipy.linalg.solve_triangular(root, error, lower=True)
        G = scipy.linalg.cho_solve((root, True), H @ P).T
        self._move(G @ error)
        left = np.eye(len(P)) - G @ H
        self.covariance = left @ P @ left.T + G @ R @ G.T

    def _read(self, i: int, reader: Any) -> tuple[Array, Array]:
        """H and the reading that is expected."""
        if self._fixed is None:
            return self._slope(reader, self.q, self.v)
        H, h = self._fixed[-1][i]
        return H, h + H @ np.concatenate([self.q - self._start, self.v])

    def _move(self, x: Array) -> None:
        """Change the estimate by [dq, dv]."""
        nv = self._system.nv
        if self._system.nq == nv:
            self.q = self.q + x[:nv]
        else:
            self.q = integrate(self._system, self.q, x[:nv], 1.0)
        self.v = self.v + x[nv:]

    def _slope(self, reader: Any, q: Array, v: Array) -> tuple[Array, Array]:
        """The slopes of a reading by [dq, dv], and the reading."""
        s, nv = self._system, self._system.nv
        h = np.asarray(reader.read(Instant(0.0, q, v, None)))
        H = np.zeros((len(h), 2 * nv))
        for i in range(nv):
            step = np.zeros(nv)
            step[i] = STEP
            for column, states in (
                (i, [(integrate(s, q, sign * step, 1.0), v) for sign in (1.0, -1.0)]),
                (nv + i, [(q, v + sign * step) for sign in (1.0, -1.0)]),
            ):
                up, down = (reader.read(Instant(0.0, *state, None)) for state in states)
                H[:, column] = (up - down) / (2.0 * STEP)
        return H, h


def covariance_of_noise(A: Array, B: Array, W: Array, T: float) -> Array:
    """The integral of exp(A s) B diag(W) B^T exp(A s)^T over 0..T (Van Loan, 1978)."""
    n = len(A)
    block = np.zeros((2 * n, 2 * n))
    block[:n, :n], block[:n, n:], block[n:, n:] = -A, (B * W) @ B.T, A.T
    found = scipy.linalg.expm(block * T)
    Q = found[n:, n:].T @ found[:n, n:]
    return 0.5 * (Q + Q.T)


def _deviation(sensor: Sensor, width: int, given: Mapping[str, float]) -> Array:
    """The standard deviation of a reading's error."""
    if sensor.delay:
        raise ArgumentValueError(
            f"Kalman: readings of sensor {sensor.name!r} come {sensor.delay:g} s late, and the filter takes them as new. Set its "
            "delay to 0, or add the delay to that of the loop."
        )
    if sensor.name in given:
        found = numbers(f"noise[{sensor.name!r}]", given[sensor.name], "() or (width,)")
    else:
        found = np.sqrt(
            sensor.noise_density**2 * sensor.rate + sensor.noise**2 + sensor.quantization**2 / 12.0
        )
    if not (np.asarray(found) > 0.0).all():
        raise ArgumentValueError(
            f"Kalman: sensor {sensor.name!r} has no noise, and a filter needs to know how far to trust it: give "
            f"noise={{{sensor.name!r}: ...}}, a standard deviation."
        )
    return _spread(f"noise of sensor {sensor.name!r}", np.asarray(found), width)


def _spread(name: str, given: Array, n: int) -> Array:
    if given.shape not in ((), (n,), (1,)):
        raise ArgumentTypeError(f"{name} must be one number or {n}, got {shown(given)}.")
    return np.broadcast_to(given, (n,)).astype(float)


def _joints(system: System) -> np.ndarray:
    """The places in v of the speeds of all joints."""
    parts = [np.arange(w.v_joint.start, w.v_joint.stop) for w in system.layout.values()]
    return np.concatenate([np.zeros(0, dtype=int), *parts])
