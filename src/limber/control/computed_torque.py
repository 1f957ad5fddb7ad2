r"""Computed torque: a model converts desired joint accelerations into torques.

At every sample, with the errors e of the positions and r of the speeds of the joints,

    a = reference acceleration + kd r + kp e
    torque = the torque that the model needs for these accelerations

so that the errors obey e'' + kd e' + kp e = 0 (Siciliano et al., Robotics, 8.5.2). There are two models:

    rigid      undeformed bodies: joint rows of M(q) a + bias(q, v), all modes at zero
    flexible   hybrid dynamics: the joints accelerate by a, and the modes move freely under the forces on them

With the flexible model the joints follow exactly, and the links vibrate as if their joints were clamped: only their own
damping damps this vibration. The modes must be known, exactly or from an observer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, finite_numbers, shown
from limber.control.controller import Measured, check_observer
from limber.control.joint_controller import JointController, one_each
from limber.control.joints import bodies_of
from limber.dynamics import inverse_dynamics, mass_matrix
from limber.dynamics.hybrid import hybrid_dynamics
from limber.errors import ArgumentTypeError, ArgumentValueError

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

    With sensors, the positions and speeds of all joints must be measured, or there must be an observer.
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

    def prepare(self, loop: Any) -> None:
        """Find the joints, and check that everything the model needs is measured or estimated."""
        super().prepare(loop)
        places, s = self._prepared, self._system
        self._kp, self._kd = one_each("kp", self.kp, places), one_each("kd", self.kd, places)
        self._design = s if self.system is None else self.system
        self._refuse_others()
        self._joints = _joint_speeds(s)
        if self.observer is not None:
            self.observer.prepare(loop)
            self.uses = tuple(dict.fromkeys((*self.uses, *self.observer.uses)))
        elif loop.sensors:
            known = {int(i) for r in loop.readers if r.v is not None for i in r.v}
            missing = sorted(set(self._joints.tolist()) - known)
            if missing or (self._needs_modes and s.nv > len(self._joints)):
                raise ArgumentValueError(
                    f"{type(self).__name__}: the sensors do not read "
                    + (
                        "the speeds of all joints: add a Tachometer, or give an observer=..."
                        if missing
                        else self._modes_wanted
                    )
                )
        free = set(self._joints.tolist()) - set(places.v.tolist())
        self._free = np.array(sorted(free), dtype=int)

    def _refuse_others(self) -> None:
        """Check that the model has the joints of the system, and the modes if they are needed."""
        s, design = self._system, self._design
        for x in (s, design):
            if x.closures:
                raise ArgumentValueError(
                    f"{type(self).__name__} is for open systems, and {x.name!r} has closures: {', '.join(x.closures)}."
                )
        same = {b: j.dofs for b, j in s.joints.items()} == {
            b: j.dofs for b, j in design.joints.items()
        }
        if not same or (self._needs_modes and design.nv != s.nv):
            raise ArgumentValueError(
                f"system: the model {design.name!r} must have the bodies and joints of {s.name!r}, and the modes too if it is "
                "used as a flexible one."
            )

    def command(self, t: float, measured: Measured) -> Array:
        """The torques of the joints."""
        places = self._prepared
        q, v = measured.q, measured.v
        if self.observer is not None:
            q, v = self.observer.update(t, measured)
        position, speed, acceleration = self._wanted(t)
        a = acceleration + self._kd * (speed - v[places.v]) + self._kp * (position - q[places.q])
        torque = self._torque(t, q, v, a)
        if self._limited:
            torque = np.minimum(np.maximum(torque, -self._limit), self._limit)
        return self._placed(torque)

    _modes_wanted = (
        "the modes, which the flexible model needs: give an observer=..., or model='rigid'."
    )

    @property
    def _needs_modes(self) -> bool:
        return self.model == "flexible"

    def _torque(self, t: float, q: Array, v: Array, a: Array) -> Array:
        """The torques for accelerations of the joints."""
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

    def _rigid(self, q: Array, v: Array, a: Array) -> Array:
        """The torques of the undeformed system; joints without torque move freely."""
        s, design, places = self._system, self._design, self._prepared
        joints, model_joints = self._joints, _joint_speeds(design)
        position, speeds, rates = design.neutral(), np.zeros(design.nv), np.zeros(s.nv)
        for body, where in s.layout.items():
            position[design.layout[body].q_joint] = q[where.q_joint]
        speeds[model_joints] = v[joints]
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


def _joint_speeds(system: System) -> np.ndarray:
    """The places in v of the speeds of all joints."""
    parts = [np.arange(w.v_joint.start, w.v_joint.stop) for w in system.layout.values()]
    return np.concatenate([np.zeros(0, dtype=int), *parts])
