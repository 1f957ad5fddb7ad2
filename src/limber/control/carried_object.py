r"""Several arms carry one object, with feedback of its pose and of the squeeze forces.

At every sample, with the error e of the object's position and orientation (as a rotation vector) and the error r of its
velocity, in world axes,

    a = reference acceleration + kd r + kp e
    f = desired squeeze force + p,     p' = ki (desired squeeze force - squeeze force)
    torques = those of least weighted norm that give the object the acceleration a and the squeeze force f  (`lb.share_load`)
              + joint_damping D (w - v)

where D is the diagonal of the mass matrix, and w are the joint speeds of least kinetic energy with which the object
moves as desired. With an exact rigid model, pose errors therefore obey e'' + kd e' + kp e = 0. The integral holds the
force even if the model is not exact (Siciliano & Khatib, Springer Handbook of Robotics, 2nd ed., chapter 39; hybrid of
motion and internal force).

Range     The torques are those of a rigid model.  If arms or object bend, this is their rigid model, moved to the
          measured joints and object as well as its closures allow; kp and kd must then keep the loop well below the
          lowest frequency of the held object.  The squeeze force is that just before the torques change.  Without
          sensors in the loop, the force and the state are exact; with sensors they come from the joints of the arms
          and from force-torque sensors inboard of the hands (`grips`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, finite_numbers, number, shown
from limber.checks import axis as unit_axis
from limber.constraints.forces import constraint_forces
from limber.constraints.grasps import grasp_map, object_bodies
from limber.constraints.load_sharing import share_load
from limber.constraints.projection import project
from limber.control.controller import Controller, Measured
from limber.control.grips import GripForces, MeasuredObject
from limber.control.rotations import quaternion_of
from limber.dynamics.forward import forward_dynamics
from limber.dynamics.inverse import mass_matrix
from limber.dynamics.kinematics import jacobian, pose
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.trajectories import Trajectory


class CarriedObject(Controller):
    """Arms that move an object along a path and squeeze it with controlled forces.

    The head of this file has the equations.

    Parameters
    ----------
    kp, kd : 1/s^2 and 1/s; one number, or six: about the world axes, then along them. kp = w^2, kd = 2 w is critically
        damped.
    sample_time : s.
    obj : the name of the object, as in `lb.grasp_map`; its frame is that of its first body.
    place : a Trajectory (3,) of the position of the object's frame in the world; None to hold the initial position.
    turn, axis : a Trajectory of the angle by which the object is rotated from its initial orientation, and the axis, in
        world axes.
    squeeze : {("left", "right"): force}: pairs of closures that press the object towards each other, with forces in N
        or Trajectories of them.
    ki : 1/s, integral gain of the squeeze forces.
    joint_damping : 1/s, damping of all joints of the arms. It damps motions of the arms that do not move the object,
        and the vibration of flexible arms.
    weights : how the torques are shared, as in `lb.share_load`.
    system : the rigid model of the system, with the same bodies and closures; required if the system of the loop has
        modes.
    forces : with sensors in the loop, {closure: name of a ForceTorque sensor} for each closure in `squeeze`; the sensor
        is inboard of the hand. Encoders and tachometers must read all joints of the arms.
    q : with sensors, (nq,) the initial configuration, from which the pose of the object is found.

    The loop records "object error" (rotation vector, rad, and position, m) and "squeeze" (N, one for each pair).
    """

    def __init__(
        self,
        kp: ArrayLike,
        kd: ArrayLike,
        *,
        sample_time: float,
        obj: str = "object",
        place: Trajectory | None = None,
        turn: Trajectory | None = None,
        axis: ArrayLike | str = "z",
        squeeze: Mapping[tuple[str, str], Any] | None = None,
        ki: float = 2.0,
        joint_damping: float = 0.0,
        weights: Any = None,
        system: System | None = None,
        forces: Mapping[str, str] | None = None,
        q: ArrayLike | None = None,
    ):
        self.sample_time = number("sample_time", sample_time, above=0.0)
        self.kp, self.kd = (_six(name, x) for name, x in (("kp", kp), ("kd", kd)))
        self.obj, self.axis = obj, unit_axis("axis", axis)
        self.place, self.turn = _path("place", place, 3), _path("turn", turn, 1)
        self.ki = number("ki", ki, minimum=0.0)
        self.joint_damping = number("joint_damping", joint_damping, minimum=0.0)
        self.squeeze = _pairs(squeeze)
        self.weights, self.system = weights, system
        self.forces, self.q = dict(forces or {}), q

    def __repr__(self) -> str:
        return f"CarriedObject({self.obj!r}, {self.sample_time:g} s)"

    def prepare(self, loop: Any) -> None:
        """Find the object and its closures, and check that the torques can be computed."""
        s: System = loop.system
        if loop.actuators:
            raise ArgumentValueError(
                "CarriedObject commands joint torques directly: use it in a loop without actuators."
            )
        self._system, self._model = s, s if self.system is None else self.system
        self._body = object_bodies(s, self.obj)[0]
        grasp = grasp_map(s, s.neutral(), self.obj)
        for pair in self.squeeze:
            for name in pair:
                if name not in grasp.columns:
                    raise ArgumentValueError(
                        f"squeeze: {shown(name)} is not a closure of the object; these are {', '.join(map(repr, grasp.columns))}."
                    )
        if any(body.modes for body in self._model.bodies.values()):
            raise ArgumentValueError(
                f"CarriedObject computes torques with a rigid model, but {self._model.name!r} has modes: give system=, "
                "its rigid counterpart, with "
                "the same bodies and closures (Assembly.rigid() of each part)."
            )
        self._own = self._model.layout[self._body].v_joint
        own = [self._model.layout[body].v_joint for body in object_bodies(self._model, self.obj)]
        self._of_object = np.concatenate([np.arange(x.start, x.stop) for x in own])
        same = {b: j.dofs for b, j in s.joints.items()} == {
            b: j.dofs for b, j in self._model.joints.items()
        }
        if not same or set(s.closures) != set(self._model.closures):
            raise ArgumentValueError(
                f"system: the rigid model {self._model.name!r} must have the bodies, joints and closures of {s.name!r}."
            )
        self._prepare_sensors(loop)

    def _prepare_sensors(self, loop: Any) -> None:
        """With sensors, check that they determine the state of the arms and the squeeze forces."""
        self._object: MeasuredObject | None = None
        self._grips: GripForces | None = None
        self.uses: tuple[str, ...] = ()
        if not loop.sensors:
            if self.forces:
                raise ArgumentValueError(
                    "forces: the loop has no sensors, so the forces are known exactly. Leave it out."
                )
            return
        for name in (name for pair in self.squeeze for name in pair):
            if name not in self.forces:
                raise ArgumentValueError(
                    f"forces: closure {name!r} has none: give the ForceTorque sensor of each closure in squeeze, {{{name!r}: sensor}}."
                )
        self._object = MeasuredObject(loop, self._model, self._of_object, self.q)
        self._grips = GripForces(loop, self._model, self.forces)
        joints = [
            sensor.name
            for sensor, reader in zip(loop.sensors, loop.readers)
            if reader.q is not None or reader.v is not None
        ]
        self.uses = (*joints, *self.forces.values())

    def start(self, t: float, measured: Measured) -> None:
        """Reset the controller, with the object at its current pose."""
        self._last = t
        if self._object is not None:
            self._object.reset()
        q, _ = self._known(t, measured)
        R, p = pose(self._seen, q, self._body)
        self._start = np.array(R), np.array(p)
        self._press = np.zeros(len(self.squeeze))
        self._asked: Array | None = None
        self._error, self._held = np.zeros(6), np.zeros(len(self.squeeze))

    def command(self, t: float, measured: Measured) -> Array:
        """The torques of the arms."""
        q, v = self._known(t, measured)
        R, p = pose(self._seen, q, self._body)
        velocity = jacobian(self._seen, q, self._body) @ v
        R_d, p_d, rate, acceleration = self._wanted(t)
        self._error = np.append(_rotation_vector(R_d @ R.T), p_d - p)
        a = acceleration + self.kd * (rate - velocity) + self.kp * self._error
        wanted = np.array([_force(force, t) for force in self.squeeze.values()])
        self._held = self._squeezed(q, v, measured)
        if self._asked is not None:  # the force that is held now was commanded at the last sample
            self._press = self._press + self.sample_time * self.ki * (self._asked - self._held)
        self._asked = wanted
        forces = dict(zip(self.squeeze, wanted + self._press))
        there, speeds = self._on_model(q, v)
        share = share_load(
            self._model, there, speeds, a, obj=self.obj, squeeze=forces, weights=self.weights
        )
        torques = share.tau
        if self.joint_damping:
            torques = torques + self.joint_damping * self._behind(there, speeds, rate)
        return self._on_joints(torques, self._model, self._system)

    def outputs(self) -> dict[str, Array]:
        """Return the pose error of the object and the squeeze forces."""
        return {"object error": self._error, "squeeze": self._held}

    def _behind(self, q: Array, v: Array, rate: Array) -> Array:
        """D (w - v) of the joints of the arms, zero for those of the object."""
        wanted = np.zeros_like(v)
        J = jacobian(self._model, q, self._body)[:, self._own]
        wanted[self._own] = np.linalg.lstsq(J, rate, rcond=None)[0]
        found = project(self._model, q, wanted, locked=[self._body])[1] - v
        found[self._of_object] = 0.0
        return np.diag(mass_matrix(self._model, q)) * found

    def _wanted(self, t: float) -> tuple[Array, Array, Array, Array]:
        """Desired orientation, position, velocity and acceleration of the object."""
        R, p = self._start
        rate, acceleration = np.zeros(6), np.zeros(6)
        if self.place is not None:
            p, rate[3:], acceleration[3:] = self.place(float(t))
        if self.turn is not None:
            angle, speed, second = (float(np.ravel(x)[0]) for x in self.turn(float(t)))
            R = _turned(self.axis, angle) @ R
            rate[:3], acceleration[:3] = speed * self.axis, second * self.axis
        return R, p, rate, acceleration

    @property
    def _seen(self) -> System:
        """The system whose state is known: the model where arms are measured."""
        return self._system if self._object is None else self._model

    def _known(self, t: float, measured: Measured) -> tuple[Array, Array]:
        """The state, exact or from measured joints."""
        since, self._last = t - self._last, t
        if self._object is None:
            return measured.q, measured.v
        return self._object.state(measured, since)

    def _squeezed(self, q: Array, v: Array, measured: Measured) -> Array:
        """The squeeze forces before the torques change, computed or measured."""
        if not self.squeeze:
            return np.zeros(0)
        grasp = grasp_map(self._seen, q, self.obj)
        # a delay or a guard may have put other torques into effect than those of the last command
        applied = np.zeros(self._system.nv) if measured.applied is None else measured.applied
        if self._grips is None:
            found = constraint_forces(self._system, q, v, applied)
            rows = grasp.multipliers({name: found[name] for name in grasp.columns})
        else:
            tau = self._on_joints(applied, self._system, self._model)
            vdot = forward_dynamics(self._model, q, v, tau)
            known = self._grips.rows(measured, q, v, vdot)
            rows = np.concatenate([known[self._model.closure_rows[name]] for name in grasp.columns])
        return np.array([grasp.pressing(*pair) @ rows for pair in self.squeeze])

    def _on_model(self, q: Array, v: Array) -> tuple[Array, Array]:
        """The state of the model nearest to that of the system."""
        if self._model is self._seen:
            return q, v
        there, speeds = self._model.neutral(), np.zeros(self._model.nv)
        for body, where in self._system.layout.items():
            place = self._model.layout[body]
            there[place.q_joint], speeds[place.v_joint] = q[where.q_joint], v[where.v_joint]
        found = project(self._model, there, speeds)
        return found[0], found[1]

    @staticmethod
    def _on_joints(torques: Array, of: System, on: System) -> Array:
        """Torques (nv,) of one of two systems with the same joints, converted to those of the other."""
        found = np.zeros(on.nv)
        for body, where in on.layout.items():
            found[where.v_joint] = torques[of.layout[body].v_joint]
        return found


def _rotation_vector(R: Array) -> Array:
    """The rotation vector of a rotation matrix."""
    x = quaternion_of(R)
    sine = math.sqrt(x[1:] @ x[1:])
    return 2.0 * x[1:] if sine < 1e-12 else 2.0 * math.atan2(sine, x[0]) / sine * x[1:]


def _turned(axis: Array, angle: float) -> Array:
    """The rotation about an axis (Rodrigues)."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(angle) * cross + (1.0 - math.cos(angle)) * cross @ cross


def _six(name: str, given: ArrayLike) -> Array:
    x = finite_numbers(name, given, "() or (6,)")
    if x.shape not in ((), (6,)) or (x < 0.0).any():
        raise ArgumentValueError(
            f"{name} must be one non-negative number or six: about the axes of the world, then along them; got "
            f"{shown(given)}."
        )
    return np.broadcast_to(x, (6,)).astype(float)


def _path(name: str, given: Any, size: int) -> Trajectory | None:
    if given is None:
        return None
    if not isinstance(given, Trajectory) or int(np.prod(given.shape, dtype=int)) != size:
        raise ArgumentTypeError(
            f"{name} must be a Trajectory of {size} component{'s' if size > 1 else ''}, got {shown(given)}."
        )
    return given


def _pairs(given: Any) -> dict[tuple[str, str], Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(
        isinstance(key, tuple) and len(key) == 2 for key in given
    ):
        raise ArgumentTypeError(
            f'squeeze must be {{("closure", "closure"): force}}, got {shown(given)}.'
        )
    return {
        key: _path(f"squeeze[{key!r}]", x, 1)
        if isinstance(x, Trajectory)
        else number(f"squeeze[{key!r}]", x)
        for key, x in given.items()
    }


def _force(given: Any, t: float) -> float:
    return float(np.ravel(given(float(t)).position)[0]) if isinstance(given, Trajectory) else given
