r"""Computed torque: a model converts desired joint accelerations into torques.

At every sample, with the errors e of the positions and r of the speeds of the joints,

    a = reference acceleration + kd r + kp e
    torque = the torque that the model needs for these accelerations

so that the errors obey e'' + kd e' + kp e = 0 (Siciliano et al., Robotics, 8.5.2). There are two models:

    rigid      undeformed bodies: joint rows of M(q) a + bias(q, v), all modes at zero
    flexible   hybrid dynamics: the joints accelerate by a, and the modes move freely under the forces on them

With the flexible model the joints follow exactly, and the links vibrate as if their joints were clamped: only their own
damping damps this vibration. The modes must be known, exactly or from an observer.

In a closed system the torques are those of the mechanism, and the joints that are not controlled follow by the closures
or move freely (`closed_joints` has the equations). The rigid model is then the undeformed mechanism in the configuration
nearest to the measured joints.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, finite_numbers, listed, shown
from limber.control.closed_joints import (
    accelerating_torques,
    closed_configuration,
    closed_speeds,
    owners,
    unread_joints,
)
from limber.control.controller import Measured, check_observer
from limber.control.joint_controller import JointController, one_each
from limber.control.joints import bodies_of, same_layout
from limber.control.loop import Loop
from limber.dynamics import inverse_dynamics, mass_matrix
from limber.dynamics.hybrid import hybrid_dynamics
from limber.dynamics.rows import row_space
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.simulation.laws import SampledLaw, no_memory, rigid_model
from limber.simulation.table import joint_speeds

MODELS = ("rigid", "flexible")


class ComputedTorque(JointController):
    """Computed torque: the joints follow their reference by inverse dynamics.

    The head of this file has the equations.

    Parameters
    ----------
    kp, kd : 1/s^2 and 1/s, one number or one for each joint speed. kp = w^2, kd = 2 w is critically damped.
    sample_time : s.
    model : "rigid" or "flexible".
    system : the model used to compute the torques, if it is not the system of the loop; it must have the same joints.
    bodies, reference, limit : as for `PID`. All other joints are taken to be free of torque.
    observer : if the modes are not measured, an object that estimates the state, such as `Kalman`.
    weights : in a closed system with more controlled joints than degrees of freedom, the torques have the least sum of
        weights * torque^2; one positive number, or one for each joint speed. The references of such joints must agree
        with the closures; accelerations that do not are replaced by the nearest ones that the closures allow.
    near : (nq,) in a closed system in which no sensor reads the positions of some joints, a configuration near the
        initial one. A mechanism can often be assembled in several ways, and this chooses one of them.

    With sensors, the positions and speeds of all joints must be measured, or there must be an observer. In a closed
    system it is enough to measure joints that determine all others, for the rigid model.
    """

    def __init__(
        self,
        kp: ArrayLike,
        kd: ArrayLike,
        *,
        sample_time: float,
        model: str = "rigid",
        system: System | None = None,
        bodies: Any = None,
        reference: Any = None,
        limit: ArrayLike | None = None,
        observer: Any = None,
        weights: ArrayLike = 1.0,
        near: ArrayLike | None = None,
    ):
        super().__init__(sample_time, bodies, reference, limit)
        self.kp, self.kd = (
            finite_numbers(name, x, "() or (joints,)") for name, x in (("kp", kp), ("kd", kd))
        )
        if model not in MODELS:
            raise ArgumentValueError(f"model must be 'rigid' or 'flexible', got {shown(model)}.")
        if system is not None and not isinstance(system, System):
            raise ArgumentTypeError(f"system must be a System, got {shown(system)}.")
        check_observer(observer)
        self.model, self.system, self.observer = model, system, observer
        self.weights = finite_numbers("weights", weights, "() or (joints,)")
        if not (self.weights > 0.0).all():
            raise ArgumentValueError(f"weights must be greater than 0, got {shown(weights)}.")
        self.near = None if near is None else finite_numbers("near", near, "(nq,)")

    def prepare(self, loop: Any) -> None:
        """Find the joints, and check that everything the model needs is measured or estimated."""
        super().prepare(loop)
        places, s = self._prepared, self._system
        self._kp, self._kd = one_each("kp", self.kp, places), one_each("kd", self.kd, places)
        self._weights = one_each("weights", self.weights, places)
        self._design = s if self.system is None else self.system
        self._refuse_others()
        self._joints = np.array(joint_speeds(s))
        self._first_guess: Array | None = None
        self._unread = unread_joints(s, loop)
        if self.observer is not None:
            self.observer.prepare(loop)
            self.uses = tuple(dict.fromkeys((*self.uses, *self.observer.uses)))
        elif loop.sensors:
            self._refuse_unmeasured()
        if s.closures:
            self._find_followers(loop)
        self._free = np.setdiff1d(self._joints, places.v)

    def _refuse_others(self) -> None:
        """Check that the model has the joints and closures of the system, and the modes if they are needed."""
        s, design = self._system, self._design
        same = {b: j.dofs for b, j in s.joints.items()} == {
            b: j.dofs for b, j in design.joints.items()
        }
        if not same or (self._needs_modes and not same_layout(design, s)):
            raise ArgumentValueError(
                f"system: the model {design.name!r} must have the bodies and joints of {s.name!r}, and also the modes if "
                "it is used as a flexible model."
            )
        if set(s.closures) != set(design.closures):
            raise ArgumentValueError(
                f"system: the model {design.name!r} must have the closures of {s.name!r}, {listed(s.closures) or 'none'}; it has "
                f"{listed(design.closures) or 'none'}."
            )

    def _refuse_unmeasured(self) -> None:
        """Reject sensors that do not read what the model needs; the closures may determine joints without torque."""
        s, name = self._system, type(self).__name__
        missing = self._unread[1]
        if s.closures:
            missing = np.intersect1d(missing, self._prepared.v)
        if len(missing):
            raise ArgumentValueError(
                f"{name}: the sensors do not read the speeds of all joints: add a Tachometer, or give an observer=..."
            )
        if self._needs_modes and s.nv > len(self._joints):
            raise ArgumentValueError(f"{name}: the sensors do not read {self._modes_wanted}")

    def _find_followers(self, loop: Any) -> None:
        """Check that it is known where the search for joints that are not measured begins."""
        s, unread = self._system, self._unread[0]
        if self.near is not None and self.near.shape != (s.nq,):
            raise ArgumentValueError(f"near must have shape ({s.nq},), got {self.near.shape}.")
        self._first_guess = self.near
        if self.near is None:
            self._first_guess = getattr(self.observer, "about", None)
        if len(unread) and self._first_guess is None:
            raise ArgumentValueError(
                f"{type(self).__name__}: no sensor reads the positions of {listed(owners(s, unread))} in the closed system {s.name!r}. Add an "
                "Encoder, or give near=(nq,), a configuration near the initial one, from which the closures determine them."
            )
        if self.observer is not None:
            self._unread = (np.zeros(0, dtype=int),) * 2  # it estimates all joints
            return
        readers = [
            sensor.name
            for sensor, reader in zip(loop.sensors, loop.readers)
            if reader.q is not None or reader.v is not None
        ]
        self.uses = tuple(dict.fromkeys((*self.uses, *readers)))

    def start(self, t: float, measured: Measured) -> None:
        """Reset the controller, at rest at the current joint positions."""
        if self._first_guess is not None:
            self._guess = np.array(self._first_guess)
        else:
            self._guess = self._system.neutral()
        super().start(t, measured)

    def command(self, t: float, measured: Measured) -> Array:
        """The torques of the joints."""
        places = self._prepared
        q, v = measured.q, measured.v
        if self.observer is not None:
            q, v = self.observer.update(t, measured)
        position, speed, acceleration = self._wanted(t)
        a = acceleration + self._kd * (speed - v[places.v]) + self._kp * (position - q[places.q])
        torque = self._torque(t, q, v, a) - self._load(places.v)
        if self._limited:
            torque = np.minimum(np.maximum(torque, -self._limit), self._limit)
        return self._placed(torque)

    def sampled_law(self, system: System) -> SampledLaw | str:
        """The control law for batches of generated code, or a text that names the obstacle."""
        name = type(self).__name__
        for has, what in (
            (type(self) is not ComputedTorque, ""),
            (self.model != "rigid", " with a flexible model"),
            (self.observer is not None, " with an observer"),
        ):
            if has:
                return name + what
        made = copy.copy(self)  # this one may be prepared for another loop
        Loop(system, made)
        if len(made._free):
            return f"{name} with joints without torques"
        places, reference = made._prepared, made._reference
        rest, n = np.zeros(len(places)), len(places)
        limit = made._limit if made._limited else np.full(n, np.inf)
        gains = np.hstack([np.diag(made._kp), np.diag(made._kd)])

        def wanted(t: float, start: Array) -> tuple[Array, Array]:
            position, speed, acceleration = (
                (start, rest, rest) if reference is None else reference(t, start)
            )
            return np.concatenate([position, speed]), acceleration

        return SampledLaw(
            self.sample_time, places.q, places.v, places.v, limit, wanted, gains, no_memory(n, 2 * n),
            rigid_model(system, places.v, True, made._design),
        )  # fmt: skip

    _modes_wanted = (
        "the modes, which the flexible model needs: give an observer=..., or model='rigid'."
    )

    @property
    def _needs_modes(self) -> bool:
        return self.model == "flexible"

    def _torque(self, t: float, q: Array, v: Array, a: Array) -> Array:
        """The torques for accelerations of the joints."""
        if self._system.closures:
            return self._closed(q, v, a)
        return self._rigid(q, v, a) if self.model == "rigid" else self._flexible(q, v, a)

    def _flexible(self, q: Array, v: Array, a: Array) -> Array:
        """The torques with which these joints have the given accelerations while all other degrees of freedom move
        freely.
        """
        s, places = self._design, self._prepared
        vdot = np.zeros(s.nv)
        vdot[places.v] = a
        motion = {body: vdot[s.layout[body].v_joint] for body in bodies_of(s, places)}
        _, tau = hybrid_dynamics(s, q, v, np.zeros(s.nv), motion=motion)
        return tau[places.v]

    def _closed(self, q: Array, v: Array, a: Array) -> Array:
        """The torques in a closed system; the rigid model is in the nearest configuration that its closures allow."""
        design, at = self._design, self._prepared.v
        if self.model == "flexible":
            space, moving = row_space(design, q), np.arange(design.nv)
            return accelerating_torques(design, q, v, a, at, moving, self._weights, space)
        joints = np.array(joint_speeds(design))
        at, unread_q, unread_v = (
            joints[np.searchsorted(self._joints, x)] for x in (at, *self._unread)
        )
        assert self._guess is not None
        q, v = self._of_joints(np.where(np.isfinite(q), q, self._guess), v)
        q = closed_configuration(design, q, unread_q, joints)
        space = row_space(design, q, joints)
        v = closed_speeds(design, q, v, unread_v, joints, space)
        for body, where in self._system.layout.items():
            self._guess[where.q_joint] = q[design.layout[body].q_joint]
        return accelerating_torques(design, q, v, a, at, joints, self._weights, space)

    def _of_joints(self, q: Array, v: Array) -> tuple[Array, Array]:
        """The state of the joints in the layout of the model, without deformations."""
        design = self._design
        position, speeds = design.neutral(), np.zeros(design.nv)
        for body, where in self._system.layout.items():
            position[design.layout[body].q_joint] = q[where.q_joint]
            speeds[design.layout[body].v_joint] = v[where.v_joint]
        return position, speeds

    def _rigid(self, q: Array, v: Array, a: Array) -> Array:
        """The torques of the undeformed system; joints without torque move freely."""
        s, design, places = self._system, self._design, self._prepared
        joints, model_joints = self._joints, np.array(joint_speeds(design))
        position, speeds = self._of_joints(q, v)
        rates = np.zeros(s.nv)
        rates[places.v] = a
        vdot = np.zeros(design.nv)
        vdot[model_joints] = rates[joints]
        tau = np.zeros(s.nv)
        tau[joints] = inverse_dynamics(design, position, speeds, vdot)[model_joints]
        if not len(self._free):
            return tau[places.v]
        M = np.zeros((s.nv, s.nv))
        M[np.ix_(joints, joints)] = mass_matrix(design, position)[
            np.ix_(model_joints, model_joints)
        ]
        free = self._free
        moved = -np.linalg.solve(M[np.ix_(free, free)], tau[free])
        return tau[places.v] + M[np.ix_(places.v, free)] @ moved
