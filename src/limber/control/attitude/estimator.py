r"""Attitude and rate of a hub from a star tracker and a gyro: a multiplicative extended Kalman filter.

The state is the attitude, a unit quaternion, and the bias b of the gyro.  With the error x = [rotation in body axes, error of b],
and the rate w = reading of the gyro - b,

    attitude <- attitude turned by w T
    Phi = [[exp(-[w x] T), -T], [0, 1]],    Q = [[n^2 T + u^2 T^3 / 3, -u^2 T^2 / 2], [-u^2 T^2 / 2, u^2 T]]

for a gyro of the noise density n whose bias walks by u (Lefferts, Markley & Shuster, Kalman filtering for spacecraft attitude
estimation, 1982; Farrenkopf's Q).  A reading of the star tracker differs from the attitude by a small rotation, of which the
gain of the filter is taken.  A reading that arrives late is turned on by the rate meanwhile.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array, numbers
from limber.control.controller import Measured
from limber.control.rotations import (
    conjugate,
    matrix_of,
    product,
    quaternion_of,
    quaternion_of_vector,
)
from limber.control.sensors import Gyro, StarTracker
from limber.errors import ArgumentValueError


class AttitudeEstimator:
    """Attitude, rate and gyro bias from a star tracker and a gyro on the hub; the head of this file has the equations.

    Parameters
    ----------
    bias : standard deviation of the bias of the gyro at the start, rad/s: one number, or three.
    bias_walk : of the bias, rad/s/sqrt(s); that of the gyro unless given.  What is greater lets the filter forget sooner.

    Noise is taken from the sensors.  After a sample, `quaternion` and `rate` are the estimate of the hub, `bias` that of the gyro
    in body axes, and `covariance` (6, 6) that of [rotation, bias].
    """

    def __init__(self, bias: ArrayLike = 1e-4, bias_walk: ArrayLike | None = None):
        self.first_bias = numbers("bias", bias, "() or (3,)")
        self.bias_walk = (
            None if bias_walk is None else numbers("bias_walk", bias_walk, "() or (3,)")
        )

    def prepare(self, loop: Any, hub: str) -> None:
        """Find the sensors on the hub."""
        gyro, tracker = (_sensor(loop, hub, kind) for kind in (Gyro, StarTracker))
        self.uses = (gyro.name, tracker.name)
        self.sample_time = loop.sample_time
        self._gyro_axes = gyro.rotation
        self._tracker_turn = conjugate(quaternion_of(tracker.rotation))
        density = np.sqrt(_three(gyro.noise_density) ** 2 + _three(gyro.noise) ** 2 / gyro.rate)
        walk = _three(gyro.bias_walk if self.bias_walk is None else self.bias_walk)
        noise = np.sqrt(
            _three(tracker.noise) ** 2 + _three(tracker.noise_density) ** 2 * tracker.rate
        )
        # variances in body axes; a tracker without noise still counts as one of a micro-arcsecond
        R, G = tracker.rotation, gyro.rotation
        self._R = R @ np.diag(np.maximum(noise, 5e-12) ** 2) @ R.T
        N, U = G @ np.diag(density**2) @ G.T, G @ np.diag(walk**2) @ G.T
        T = self.sample_time
        self._Q = np.block([[N * T + U * T**3 / 3.0, -U * T**2 / 2.0], [-U * T**2 / 2.0, U * T]])
        self._P0 = np.zeros((6, 6))
        self._P0[:3, :3] = self._R
        self._P0[3:, 3:] = G @ np.diag(_three(self.first_bias) ** 2) @ G.T

    def start(self, t: float, measured: Measured) -> None:
        """Begin at the first reading of the star tracker, without a bias."""
        gyro, tracker = self.uses
        self.bias, self.covariance = np.zeros(3), self._P0.copy()
        self.rate = self._gyro_axes @ measured[gyro]
        self._used = measured.taken(tracker)
        late = quaternion_of_vector(self.rate * (t - self._used))
        self.quaternion = product(product(measured[tracker], self._tracker_turn), late)
        self._last = t

    def update(self, t: float, measured: Measured) -> tuple[Array, Array]:
        """The attitude and the rate at a sample."""
        gyro, tracker = self.uses
        step = t - self._last
        before = self.rate
        self.rate = self._gyro_axes @ measured[gyro] - self.bias
        if step > 0.0:
            self._propagate(0.5 * (before + self.rate), step)
        self._last = t
        taken = measured.taken(tracker)
        if taken > self._used:
            self._used = taken
            self._correct(measured[tracker], t - taken)
        return self.quaternion, self.rate

    def _propagate(self, w: Array, T: float) -> None:
        turn = quaternion_of_vector(w * T)
        q = product(self.quaternion, turn)
        self.quaternion = q / np.sqrt(q @ q)
        Phi = np.eye(6)
        Phi[:3, :3] = matrix_of(turn).T
        Phi[:3, 3:] = -T * np.eye(3)
        self.covariance = Phi @ self.covariance @ Phi.T + self._Q * (T / self.sample_time)

    def _correct(self, reading: Array, age: float) -> None:
        """Take a reading of the star tracker into account."""
        late = quaternion_of_vector(self.rate * age)
        read = product(product(reading, self._tracker_turn), late)
        error = product(conjugate(self.quaternion), read)
        small = 2.0 * error[1:] * (1.0 if error[0] >= 0.0 else -1.0)
        P = self.covariance
        G = P[:, :3] @ np.linalg.inv(P[:3, :3] + self._R)
        x = G @ small
        q = product(self.quaternion, quaternion_of_vector(x[:3]))
        self.quaternion = q / np.sqrt(q @ q)
        self.bias = self.bias + x[3:]
        self.rate = self.rate - x[3:]
        left = np.eye(6)
        left[:, :3] -= G
        self.covariance = left @ P @ left.T + G @ self._R @ G.T


def _three(given: Array) -> Array:
    return np.broadcast_to(np.asarray(given, dtype=float), (3,))


def _sensor(loop: Any, hub: str, kind: Any) -> Any:
    """The first sensor of a kind on the hub."""
    for sensor in loop.sensors:
        if isinstance(sensor, kind) and sensor.body == hub:
            return sensor
    raise ArgumentValueError(
        f"AttitudeController: no {kind.__name__} sits on {hub!r}. With sensors, attitude and rate come from a Gyro and a StarTracker "
        "on the hub; a loop without sensors knows them exactly."
    )
