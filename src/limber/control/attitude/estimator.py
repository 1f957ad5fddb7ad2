r"""Attitude and rate of a hub from a star tracker and a gyro: a multiplicative extended Kalman filter.

The state is the attitude, a unit quaternion, and the gyro bias b. With the error x = [rotation in body axes, error of
b], and the rate w = reading of the gyro - b,

    attitude <- attitude rotated by w T
    Phi = [[exp(-[w x] T), -T], [0, 1]],    Q = [[n^2 T + u^2 T^3 / 3, -u^2 T^2 / 2], [-u^2 T^2 / 2, u^2 T]]

for a gyro with the noise density n and the bias random walk u (Lefferts, Markley & Shuster, Kalman filtering for
spacecraft attitude estimation, 1982; Farrenkopf's Q). Of a gyro that is read several times per sample of the
controller, only the last reading counts: n^2 is then that of the sensor times the number of readings per sample. A
reading of the star tracker differs from the attitude by a small rotation, which is multiplied by the filter gain. A
reading that arrives late is turned by the rates since then. The filter works at the time at which the last reading of the
gyro was taken; from there to the present, the attitude is propagated by the last rate.

For margins the filter is linear: its gains are the steady-state gains, and a star tracker slower than the loop is
replaced by one that is read at every sample, with noise increased such that it corrects as much per second.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array, finite_numbers, shown
from limber.control.controller import Measured
from limber.control.linear_model import LinearModel
from limber.control.riccati import discrete_riccati
from limber.control.rotations import (
    conjugate,
    matrix_of,
    product,
    quaternion_of,
    quaternion_of_vector,
)
from limber.control.sampled import WHOLE
from limber.control.sensors import Gyro, StarTracker
from limber.errors import ArgumentValueError, DynamicsError


class AttitudeEstimator:
    """Estimates attitude, rate and gyro bias from a star tracker and a gyro on the hub.

    The head of this file has the equations.

    Parameters
    ----------
    bias : standard deviation of the initial gyro bias, rad/s: one number, or three.
    bias_walk : random walk of the bias, rad/s/sqrt(s); by default that of the gyro. A larger value makes the filter
        forget sooner.

    The noise is taken from the sensors. After a sample, `quaternion` and `rate` are the estimate for the hub, `bias` is
    that of the gyro in body axes, and `covariance` (6, 6) is that of [rotation, bias].
    """

    #: Arguments whose names are those of the estimate, and the attributes that keep them.
    kept_as: ClassVar[Mapping[str, str]] = {"bias": "first_bias"}

    def __init__(self, bias: ArrayLike = 1e-4, bias_walk: ArrayLike | None = None):
        self.first_bias = _deviations("bias", bias)
        self.bias_walk = None if bias_walk is None else _deviations("bias_walk", bias_walk)

    def prepare(self, loop: Any, hub: str) -> None:
        """Find the sensors on the hub."""
        gyro, tracker = (_sensor(loop, hub, kind) for kind in (Gyro, StarTracker))
        self.uses = (gyro.name, tracker.name)
        self.sample_time = loop.sample_time
        self._gyro_axes = gyro.rotation
        self._tracker_turn = conjugate(quaternion_of(tracker.rotation))
        # A reading is used for one sample of the controller, or until the next one: readings in between are not averaged.
        used = max(self.sample_time, 1.0 / gyro.rate)
        single = _three(gyro.noise) ** 2 + _three(gyro.quantization) ** 2 / 12.0
        density = np.sqrt((_three(gyro.noise_density) ** 2 * gyro.rate + single) * used)
        walk = _three(gyro.bias_walk if self.bias_walk is None else self.bias_walk)
        noise = np.sqrt(
            _three(tracker.noise) ** 2 + _three(tracker.noise_density) ** 2 * tracker.rate
        )
        # variances in body axes; a tracker without noise still counts as one of a micro-arcsecond
        R, G = tracker.rotation, gyro.rotation
        self._R = R @ np.diag(np.maximum(noise, 5e-12) ** 2) @ R.T
        N, U = G @ np.diag(density**2) @ G.T, G @ np.diag(walk**2) @ G.T
        self._walk, self._rates = U, (gyro.rate, tracker.rate)
        self._delays = gyro.delay, tracker.delay
        self._oldest = (
            tracker.delay + 2.0 * self.sample_time
        )  # age of a reading when it is used, at most
        T = self.sample_time
        self._Q = np.block([[N * T + U * T**3 / 3.0, -U * T**2 / 2.0], [-U * T**2 / 2.0, U * T]])
        self._P0 = np.zeros((6, 6))
        self._P0[:3, :3] = self._R
        self._P0[3:, 3:] = G @ np.diag(_three(self.first_bias) ** 2) @ G.T

    def start(self, t: float, measured: Measured) -> None:
        """Reset the estimator at the first reading of the star tracker, with zero bias."""
        gyro, tracker = self.uses
        self.bias, self.covariance = np.zeros(3), self._P0.copy()
        self.rate = self._gyro_axes @ measured[gyro]
        self._used = measured.taken(tracker)
        self._last = measured.taken(gyro)
        late = quaternion_of_vector(self.rate * (self._last - self._used))
        self._attitude = product(product(measured[tracker], self._tracker_turn), late)
        self._propagate_to(t)
        #: Past times of a constant rate, the latest last: from, until, rate.
        self._turning: deque[tuple[float, float, Array]] = deque()

    def update(self, t: float, measured: Measured) -> tuple[Array, Array]:
        """Return the attitude and the rate at a sample."""
        gyro, tracker = self.uses
        read = measured.taken(gyro)
        step = read - self._last
        before = self.rate
        self.rate = self._gyro_axes @ measured[gyro] - self.bias
        if step > 0.0:
            mean = 0.5 * (before + self.rate)
            self._propagate(mean, step)
            self._turning.append((self._last, read, mean))
            while self._turning[0][1] < read - self._oldest:
                self._turning.popleft()
            self._last = read
        taken = measured.taken(tracker)
        if taken > self._used:
            self._used = taken
            self._correct(measured[tracker], self._turned_since(taken))
        self._propagate_to(t)
        return self.quaternion, self.rate

    def _propagate_to(self, t: float) -> None:
        """The attitude at the present, from that at the last reading of the gyro."""
        self.quaternion = product(
            self._attitude, quaternion_of_vector(self.rate * (t - self._last))
        )

    def _propagate(self, w: Array, T: float) -> None:
        turn = quaternion_of_vector(w * T)
        q = product(self._attitude, turn)
        self._attitude = q / np.sqrt(q @ q)
        Phi = np.eye(6)
        Phi[:3, :3] = matrix_of(turn).T
        Phi[:3, 3:] = -T * np.eye(3)
        self.covariance = Phi @ self.covariance @ Phi.T + self._Q * (T / self.sample_time)

    def _turned_since(self, taken: float) -> Array:
        """The rotation of the hub from a time until the last reading of the gyro."""
        turn, rate, until = quaternion_of_vector(np.zeros(3)), self.rate, self._last
        if taken >= until:
            return quaternion_of_vector(rate * (until - taken))
        for first, last, rate in reversed(self._turning):
            if until <= taken:
                break
            until = max(first, taken)
            turn = product(quaternion_of_vector(rate * (last - until)), turn)
        forgotten = quaternion_of_vector(rate * (until - taken))
        return product(forgotten, turn)

    def _correct(self, reading: Array, late: Array) -> None:
        """Correct the estimate with a reading of the star tracker, and the rotation since it was taken."""
        read = product(product(reading, self._tracker_turn), late)
        error = product(conjugate(self._attitude), read)
        small = 2.0 * error[1:] * (1.0 if error[0] >= 0.0 else -1.0)
        P = self.covariance
        G = P[:, :3] @ np.linalg.inv(P[:3, :3] + self._R)
        x = G @ small
        q = product(self._attitude, quaternion_of_vector(x[:3]))
        self._attitude = q / np.sqrt(q @ q)
        self.bias = self.bias + x[3:]
        self.rate = self.rate - x[3:]
        left = np.eye(6)
        left[:, :3] -= G
        self.covariance = left @ P @ left.T + G @ self._R @ G.T

    def with_feedback(self, feedback: LinearModel) -> LinearModel:
        """The filter and a feedback as one sampled model; the head of this file says which quantities are constant in
        it.

        feedback : a sampled model from the rotation and the rate of the hub to commands. The result has the same
            inputs, as the star tracker and the gyro read them.
        """
        T, k = self.sample_time, feedback
        gyro_rate = self._rates[0]
        if gyro_rate * T < 1.0 - WHOLE:
            raise ArgumentValueError(
                f"AttitudeEstimator: the gyro is not read at every sample of the controller ({gyro_rate:g} Hz and "
                f"{1.0 / T:g} Hz), so the loop has no linear model."
            )
        to_rotation, to_bias = self._steady_gains()
        rate_late, star_late = (math.ceil(x / T - WHOLE) for x in self._delays)
        # Columns: rotation, bias and rate of the last estimate, readings that are late, rotations since, the states of the feedback;
        # and apart from these the inputs, rotation and rate.
        ago = (
            star_late - rate_late
        )  # samples from a reading of the star tracker to the last one of the gyro
        since = max(ago - 1, 0)
        read, late = 3 * (star_late + rate_late), 3 * (star_late + rate_late + since)
        width = 9 + late + k.order
        x, u = np.eye(width, width + 6), np.eye(width + 6)[width:]
        rotation, bias, before = x[:3], x[3:6], x[6:9]
        lines = [np.vstack([u[:3], x[9 : 9 + 3 * star_late]])]
        lines.append(np.vstack([u[3:], x[9 + 3 * star_late : 9 + read]]))
        star, gyro = (line[-3:] for line in lines)
        rate = gyro - bias
        turn = 0.5 * T * (before + rate)
        ahead = rotation + turn
        turns = np.vstack([turn, x[9 + read : 9 + late]])  # the latest first
        turned = ago * T * rate
        if ago > 0:
            turned = turns[: 3 * ago].reshape(ago, 3, width + 6).sum(axis=0)
        off = star + turned - ahead
        estimate = np.vstack([ahead + to_rotation @ off, rate - to_bias @ off])
        now = np.vstack([estimate[:3] + rate_late * T * estimate[3:], estimate[3:]])
        inner = x[9 + late :]
        new = np.vstack([
            estimate[:3], bias + to_bias @ off, estimate[3:], *(line[:-3] for line in lines), turns[:-3],
            k.A @ inner + k.B @ now,
        ])  # fmt: skip
        command = k.C @ inner + k.D @ now
        kept = np.ones(width, dtype=bool)
        if not to_bias.any():  # the bias is known by then
            kept[3:6] = False
        states = (
            *(f"{what} {axis}" for what in ("estimated rotation", "estimated bias", "estimated rate") for axis in "xyz"),
            *(f"star tracker {axis}, {i} ago" for i in range(1, star_late + 1) for axis in "xyz"),
            *(f"gyro {axis}, {i} ago" for i in range(1, rate_late + 1) for axis in "xyz"),
            *(f"rotation {axis}, {i} ago" for i in range(1, since + 1) for axis in "xyz"),
            *k.states,
        )  # fmt: skip
        return LinearModel(
            new[:, :width][np.ix_(kept, kept)], new[kept, width:], command[:, :width][:, kept], command[:, width:],
            tuple(name for name, keep in zip(states, kept) if keep), k.inputs, k.outputs, k.name, T,
        )  # fmt: skip

    def _steady_gains(self) -> tuple[Array, Array]:
        """The steady-state gains of rotation and bias; that of a constant bias is zero."""
        T = self.sample_time
        n = 6 if self._walk.any() else 3
        Phi, H = np.eye(6), np.eye(3, 6)
        Phi[:3, 3:] = -T * np.eye(3)
        R = self._R * max(1.0, 1.0 / (T * self._rates[1]))
        Phi, H, Q = Phi[:n, :n], H[:, :n], self._Q[:n, :n]
        if not Q.any():
            return np.zeros((3, 3)), np.zeros((3, 3))
        try:
            # in units of the readings, so that small numbers do not look like zero
            scale = float(np.abs(R).max())
            P = discrete_riccati(Phi.T, H.T, Q / scale, R / scale)
        except np.linalg.LinAlgError:
            raise DynamicsError(
                "AttitudeEstimator: the gains of the filter do not converge: give the gyro noise and a bias_walk about "
                "each axis."
            ) from None
        G = np.linalg.solve(H @ P @ H.T + R / scale, H @ P).T
        return G[:3], G[3:] if n == 6 else np.zeros((3, 3))


def _deviations(name: str, given: ArrayLike) -> Array:
    """One standard deviation for all three axes, or one for each."""
    found = finite_numbers(name, given, "() or (3,)")
    if found.shape not in ((), (3,)) or (found < 0.0).any():
        raise ArgumentValueError(
            f"{name} must be one non-negative number or three, got {shown(given)}."
        )
    return found


def _three(given: Array) -> Array:
    return np.broadcast_to(np.asarray(given, dtype=float), (3,))


def _sensor(loop: Any, hub: str, kind: Any) -> Any:
    """The first sensor of a kind on the hub."""
    for sensor in loop.sensors:
        if isinstance(sensor, kind) and sensor.body == hub:
            return sensor
    raise ArgumentValueError(
        f"AttitudeController: no {kind.__name__} is mounted on {hub!r}. In a loop with sensors, attitude and rate come "
        "from a Gyro and a StarTracker on the hub; in a loop without sensors they are known exactly."
    )
