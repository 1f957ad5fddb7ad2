r"""Optimal attitude control: the feedback includes the state of the panels.

The sampled model x[k + 1] = Phi x[k] + Gamma u[k], y = C x describes small rotations, rates and modes
(`attitude_model`), and includes pending commands. With the readings y = [error of the attitude, error of the rate], at
every sample

    x <- x + L (y - C x)
    feedback = -K x
    x <- Phi x + Gamma (feedback + torque of the motion) - response of the rigid body to the motion itself

K minimizes the sum of |rotation|^2 / rotation^2 + v^T M v / (2 energy) + |torque|^2 / torque^2, where v are the rates
of the modes, and L is the gain of the steady-state Kalman filter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from limber.checks import Array, array, number
from limber.control.attitude.controller import AttitudeController
from limber.control.attitude.linear import attitude_model
from limber.control.attitude.rigid import undeformed
from limber.control.controller import Measured
from limber.control.linear_model import LinearModel
from limber.control.lqr import lqr_gain
from limber.control.riccati import discrete_riccati
from limber.dynamics import mass_matrix
from limber.errors import ArgumentTypeError, DynamicsError


class OptimalAttitude(AttitudeController):
    """An `AttitudeController` whose feedback includes the modes; the head of this file has the equations.

    Parameters
    ----------
    hub, sample_time, reference, unloading, observer, system, q : as for `AttitudeController`.
    rotation, torque, energy : rad, N m and J: values of the attitude error, the torque on the hub and the kinetic
        energy of the modes that are equally costly.
    noise : standard deviations of the attitude, rad, and of the rate, rad/s, as the observer returns them.
    disturbance : standard deviation of unknown torques on the hub, N m.

    The system must be known well, because the gains at the modes rely on the phase of the model. The delay of the loop
    is taken into account.
    """

    def __init__(
        self,
        hub: str,
        *,
        sample_time: float,
        rotation: float = 1e-3,
        torque: float = 0.1,
        energy: float = 1e-4,
        noise: tuple[float, float] = (2e-5, 1e-5),
        disturbance: float = 1e-3,
        **options: Any,
    ):
        for name in ("filters", "integral_time", "damping", "bandwidth"):
            if name in options:
                raise ArgumentTypeError(
                    f"OptimalAttitude has no {name}: its gains come from rotation, torque and energy."
                )
        super().__init__(hub, 1.0, sample_time=sample_time, **options)
        self.rotation, self.torque = (
            number("rotation", rotation, above=0.0),
            number("torque", torque, above=0.0),
        )
        self.energy = number("energy", energy, above=0.0)
        rotation_noise, rate_noise = array("noise", noise, (2,))
        self.noise = (
            number("noise[0]", rotation_noise, above=0.0),
            number("noise[1]", rate_noise, above=0.0),
        )
        self.disturbance = number("disturbance", disturbance, above=0.0)

    def __repr__(self) -> str:
        return f"OptimalAttitude({self.hub!r}, {self.sample_time:g} s)"

    def prepare(self, loop: Any) -> None:
        """Compute the gains for the system of the loop and its delay."""
        super().prepare(loop)
        system = loop.system if self.system is None else self.system
        q = undeformed(system, loop.system, self._q)
        model = attitude_model(system, self.hub, q=q)
        plant = model.sampled(self.sample_time, loop.delay)
        weights = np.zeros((plant.order, plant.order))
        weights[: model.order, : model.order] = self._weights(system, model, q)
        self._K = lqr_gain(plant, weights, 1.0 / self.torque**2)
        W = self.disturbance**2 * plant.B @ plant.B.T
        R = np.diag(np.repeat(np.square(self.noise), 3))
        try:
            P = discrete_riccati(plant.A.T, plant.C.T, W, R)
        except np.linalg.LinAlgError:
            raise DynamicsError(
                f"OptimalAttitude: the gains of its filter do not converge: some motions of {system.name!r} do not decay, "
                f"do not show in the attitude of {self.hub!r} and are not moved by its torques. Give the panels damping, "
                "or leave out their modes in other planes."
            ) from None
        self._L = P @ plant.C.T @ np.linalg.inv(plant.C @ P @ plant.C.T + R)
        self._plant = plant
        T = self.sample_time
        self._by_itself = np.linalg.pinv(plant.C) @ np.vstack(
            [0.5 * T * T * np.eye(3), T * np.eye(3)]
        )

    def _weights(self, system: Any, model: LinearModel, q: Array) -> Array:
        """Weights of rotations and of the rates of modes."""
        assert model.T is not None
        nv = system.nv
        place = system.layout[self.hub].v_joint.start
        modes = [
            i
            for where in system.layout.values()
            for i in range(where.v_modes.start, where.v_modes.stop)
        ]
        M = mass_matrix(system, q)[np.ix_(modes, modes)]
        turned, rates = model.T[place : place + 3], model.T[nv:][modes]
        return turned.T @ turned / self.rotation**2 + rates.T @ M @ rates / (2.0 * self.energy)

    def start(self, t: float, measured: Measured) -> None:
        """Reset the controller, at rest."""
        super().start(t, measured)
        self._x = np.zeros(self._plant.order)

    def _feedback(self, error: Array, rate: Array, moving: Array) -> Array:
        """The torque against errors, and the state of the next sample."""
        plant = self._plant
        x = self._x + self._L @ (np.concatenate([error, rate]) - plant.C @ self._x)
        torque = -self._K @ x
        motion = self._by_itself @ np.linalg.solve(self.craft.turned, moving)
        self._x = plant.A @ x + plant.B @ (torque + moving) - motion
        return torque

    def _law(self) -> LinearModel:
        """The law from estimated small rotations and rates to commands."""
        spread, names = self._spread()
        plant, K, L = self._plant, self._K, self._L
        seen = np.eye(plant.order) - L @ plant.C
        closed = plant.A - plant.B @ K
        return LinearModel(
            closed @ seen, closed @ L, -spread @ K @ seen, -spread @ K @ L, plant.states, self._inputs(),
            names, repr(self), self.sample_time,
        )  # fmt: skip
