r"""The state of a carried object and its grip forces, from measurements on the arms.

State     The joints of the arms are measured. The object is placed where its closures are violated least, by Newton
          steps in its coordinates from the last sample; the remainder is distributed over all joints (`lb.project`).
Forces    A force-torque sensor inboard of a hand reads the wrench W. With A_c, the closure rows of that hand referred
          to the location of the sensor, and the wrench that the motion of the hand itself requires,

              A_c^T lambda = wrench of the motion - W
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from limber.assembly.system import System
from limber.checks import Array, numbers, shown
from limber.constraints.projection import project
from limber.constraints.residual import constraint_residual
from limber.control.controller import Measured
from limber.control.sensors import ForceTorque
from limber.dynamics.kinematics import integrate
from limber.dynamics.rows import closure_jacobian
from limber.errors import ArgumentValueError
from limber.simulation.opened_joint import OpenedJoint

#: Newton steps for the place of the object.
STEPS = 2


class MeasuredObject:
    """Estimates the state of a rigid model of arms and object from the joints of the arms.

    system, model : the system of the loop and its rigid model, which may be the same.
    of_object : the places in v of the model that belong to the object.
    start : (nq,) a configuration of `system` near the initial one, for the object.
    """

    def __init__(self, loop: Any, model: System, of_object: np.ndarray, start: Any):
        s: System = loop.system
        if start is None:
            raise ArgumentValueError(
                "CarriedObject: in a loop with sensors, the initial position of the object must be given: pass q=, the "
                "initial configuration."
            )
        given = numbers("q", start, f"({s.nq},)")
        if given.shape != (s.nq,):
            raise ArgumentValueError(f"q must have shape ({s.nq},), got {given.shape}.")
        self._model, self._of_object = model, of_object
        self._arms = [
            (s.layout[body], model.layout[body])
            for body, joint in model.joints.items()
            if joint.dofs and model.layout[body].v_joint.start not in of_object
        ]
        self._begin = model.neutral()
        for body, where in s.layout.items():
            self._begin[model.layout[body].q_joint] = given[where.q_joint]
        self._refuse_unmeasured(loop, s)
        self.reset()

    def _refuse_unmeasured(self, loop: Any, s: System) -> None:
        for what, kind, known, wanted in (
            ("position", "Encoder", [x.q for x in loop.readers], [here.q_joint for here, _ in self._arms]),
            ("speed", "Tachometer", [x.v for x in loop.readers], [here.v_joint for here, _ in self._arms]),
        ):  # fmt: skip
            read = {int(i) for places in known if places is not None for i in places}
            for place in wanted:
                if not set(range(place.start, place.stop)) <= read:
                    body = next(b for b, x in s.layout.items() if place in (x.q_joint, x.v_joint))
                    raise ArgumentValueError(
                        f"CarriedObject: no sensor reads the {what} of the joint of {body!r}. In a loop with sensors, all "
                        f"joints of the arms must be measured: add the {kind}, or use a loop without sensors, where the "
                        "state is known exactly."
                    )

    def reset(self) -> None:
        """Reset, with the object at its initial pose."""
        self._q, self._v = self._begin, np.zeros(self._model.nv)

    def state(self, measured: Measured, ahead: float) -> tuple[Array, Array]:
        """Return q and v of the model; `ahead` is the time since the last sample, s."""
        model, own = self._model, self._of_object
        moved = np.zeros(model.nv)
        moved[own] = self._v[own]
        q, v = integrate(model, self._q, moved, ahead), np.zeros(model.nv)
        for here, there in self._arms:
            q[there.q_joint], v[there.v_joint] = measured.q[here.q_joint], measured.v[here.v_joint]
        for _ in range(STEPS):
            A = closure_jacobian(model, q)
            step = np.zeros(model.nv)
            off = constraint_residual(model, q)
            step[own] = np.linalg.lstsq(A[:, own], -np.asarray(off), rcond=None)[0]
            q = integrate(model, q, step, 1.0)
        A = closure_jacobian(model, q)
        v[own] = np.linalg.lstsq(A[:, own], -A @ v, rcond=None)[0]
        self._q, self._v = project(model, q, v)
        return self._q, self._v


class GripForces:
    """Computes the forces of closures from force-torque sensors.

    forces : {closure: sensor}, where the sensor is inboard of the hand whose closure holds the object.
    """

    def __init__(self, loop: Any, model: System, forces: Mapping[str, str]):
        sensors = {sensor.name: sensor for sensor in loop.sensors}
        self._model = model
        self._grips: dict[str, tuple[str, OpenedJoint, slice]] = {}
        at = model.neutral()
        for closure, name in forces.items():
            if closure not in model.closures:
                raise ArgumentValueError(
                    f"forces: {shown(closure)} is not a closure of {model.name!r}; it has {', '.join(map(repr, model.closures))}."
                )
            if not isinstance(sensors.get(name), ForceTorque):
                raise ArgumentValueError(
                    f"forces[{closure!r}]: the loop has no ForceTorque sensor {shown(name)}; its sensors are "
                    f"{', '.join(map(repr, sensors))}."
                )
            joint, rows = OpenedJoint(model, sensors[name].body), model.closure_rows[closure]
            felt = joint.rows(at)
            others = np.delete(felt, np.arange(model.rows)[rows], axis=0)
            if (
                not np.abs(felt[rows]).max(initial=0.0) > 1e-9
                or np.abs(others).max(initial=0.0) > 1e-9
            ):
                raise ArgumentValueError(
                    f"forces[{closure!r}]: sensor {name!r} must be inboard of the hand of this closure and of no other; "
                    f"it measures at the joint of {sensors[name].body!r}."
                )
            self._grips[closure] = name, joint, rows

    def __contains__(self, closure: object) -> bool:
        return closure in self._grips

    def rows(self, measured: Measured, q: Array, v: Array, vdot: Array) -> Array:
        """The rows (rows,) of all closures of the model; zero for those without a sensor."""
        found = np.zeros(self._model.rows)
        for name, joint, rows in self._grips.values():
            off = joint.of_motion(q, v, vdot) - measured[name]
            found[rows] = np.linalg.lstsq(joint.rows(q)[rows].T, off, rcond=None)[0]
        return found
