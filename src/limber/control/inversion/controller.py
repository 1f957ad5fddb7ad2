"""Feedforward of a stable inversion with feedback of the joints.

At every sample, with the errors e of positions and r of speeds of the joints from those of the inversion,

    torque = u + kp e + kd r

u is the mean of the torque of the inversion over the time for which the command is held, the delay of the loop included, so that
holding it changes no impulse.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array, finite_numbers, number, shown
from limber.control.controller import Measured
from limber.control.inversion.solve import Inversion
from limber.control.joint_controller import JointController, one_each
from limber.control.joints import bodies_of
from limber.errors import ArgumentTypeError, ArgumentValueError


class StableInversion(JointController):
    """A controller with which outputs of a flexible arm follow a path; see `stable_inversion`.

    Parameters
    ----------
    inversion : the result of `stable_inversion` for the system, or for a model with the same joints.
    kp, kd : N m/rad and N m s/rad, one number or one for each joint speed; small gains are enough, and zero is allowed.
    sample_time : s.
    begin : the time at which the path begins, s; by default the torques begin at time 0, so the path begins `before`
        later.
    limit : as for `PID`.

    Positions and speeds of the joints must be measured, unless kp and kd are zero.
    """

    def __init__(
        self,
        inversion: Inversion,
        kp: ArrayLike = 0.0,
        kd: ArrayLike = 0.0,
        *,
        sample_time: float,
        begin: float | None = None,
        limit: ArrayLike | None = None,
    ):
        if not isinstance(inversion, Inversion):
            raise ArgumentTypeError(
                f"inversion must be the result of lb.control.stable_inversion, got {shown(inversion)}."
            )
        internal = inversion.internal
        bodies = bodies_of(internal.system, internal.places)
        super().__init__(sample_time, bodies, None, limit)
        self.kp, self.kd = (
            finite_numbers(name, x, "() or (joints,)") for name, x in (("kp", kp), ("kd", kd))
        )
        self.inversion = inversion
        self.begin = inversion.before if begin is None else number("begin", begin)

    def prepare(self, loop: Any) -> None:
        """Find the joints, and note the torques and the motion of the joints at all samples."""
        super().prepare(loop)
        places, made = self._prepared, self.inversion
        if places.labels != made.internal.places.labels:
            raise ArgumentValueError(
                f"inversion: it has torques of {', '.join(made.internal.places.labels)}, but the joints are "
                f"{', '.join(places.labels)}."
            )
        self._kp, self._kd = one_each("kp", self.kp, places), one_each("kd", self.kd, places)
        if self._kd.any() and not self._measures_speeds:
            raise ArgumentValueError(
                "StableInversion: no sensor reads the speeds of all joints, which kd needs: add a Tachometer, or use kd=0."
            )
        points, weights = np.polynomial.legendre.leggauss(3)
        held = loop.delay + 0.5 * self.sample_time * (1.0 + points)
        self._ahead, self._weights = np.append(0.0, held), 0.5 * weights

    def start(self, t: float, measured: Measured) -> None:
        """Reset the controller: the torques, positions and speeds of all samples to the end are computed at once."""
        super().start(t, measured)
        made, own = self.inversion, self.inversion.internal.places
        last = self.begin + made.path.duration + made.after
        count = max(1, math.ceil((last - t) / self.sample_time) + 2)
        times = t - self.begin + self.sample_time * np.arange(count)
        q, v, u = made(times[:, None] + self._ahead)
        self._first = t
        self._plan = (
            np.tensordot(u[:, 1:], self._weights, ([1], [0])),
            q[:, 0, own.q],
            v[:, 0, own.v],
        )

    def command(self, t: float, measured: Measured) -> Array:
        """The torques of the joints."""
        places, (torques, positions, speeds) = self._prepared, self._plan
        i = min(max(round((t - self._first) / self.sample_time), 0), len(torques) - 1)
        torque = torques[i]
        if self._kp.any():
            torque = torque + self._kp * (positions[i] - measured.q[places.q])
        if self._kd.any():
            torque = torque + self._kd * (speeds[i] - measured.v[places.v])
        if self._limited:
            torque = np.minimum(np.maximum(torque, -self._limit), self._limit)
        return self._placed(torque)
