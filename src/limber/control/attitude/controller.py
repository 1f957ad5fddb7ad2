r"""Attitude control of a floating system by quaternion feedback.

Given the desired attitude, rate w_d and acceleration a_d, the rotation R_e of the body from the desired attitude, twice
its vector part e = 2 sign(scalar) vector in body axes, the rate w, and the momentum h of wheels or gyros, the
controller computes at every sample

    r = w - R_e^T w_d
    i <- i + T e / integral_time
    feedback = filters(-J (bandwidth^2 (e + i) + 2 damping bandwidth r))
    torque = feedback + J (R_e^T a_d - r x R_e^T w_d) + w x (J w + h)

where J is the inertia of the undeformed system about its centre of mass, with its joints in one configuration (Wie, Weiss & Arapostathis, Quaternion feedback
regulator for spacecraft eigenaxis rotations, 1989). Errors of a rigid body decay about the eigenaxis with the natural
frequency `bandwidth` and the damping ratio `damping`. Wheels, moment gyros or thrusters produce the torque
(`allocation`). While momentum is unloaded, thrusters add a torque, which the wheels counteract.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, array, finite_numbers, number, shown, unit_quaternion
from limber.control.actuators import MomentGyro, ReactionWheel, Thruster
from limber.control.attitude.allocation import (
    MomentGyros,
    Thrusters,
    TorqueOnHub,
    Wheels,
    allocation,
)
from limber.control.attitude.estimator import AttitudeEstimator
from limber.control.attitude.filters import FilterBank, SecondOrder
from limber.control.attitude.momentum import MomentumManager, Unloading
from limber.control.attitude.rigid import RigidCraft, free_hub, placed, rigid_craft, undeformed
from limber.control.attitude.slew import AttitudeMotion, EigenAxisSlew
from limber.control.controller import Controller, Measured, check_observer, observed_feedback
from limber.control.linear_model import LinearModel
from limber.control.rotations import conjugate, matrix_of, product
from limber.errors import ArgumentTypeError, ArgumentValueError, ModelWarning, warn

#: A slew is checked at this many points; wheels that lack no more than rounding are strong enough.
SLEW_POINTS, ROUNDING = 401, 1e-6
#: Another configuration at the start is told if the inertia, or the axis of a wheel, differs by this fraction.
ELSEWHERE = 0.1

AXES = ("x", "y", "z")


class AttitudeController(Controller):
    """Attitude control of the hub of a floating system; the head of this file has the equations.

    Parameters
    ----------
    hub : the rigid body with a Free joint whose attitude is controlled.
    bandwidth : rad/s, the natural frequency of the attitude error of a rigid body.
    damping : its damping ratio.
    integral_time : s, of the integral of the error; None for no integral.
    sample_time : s.
    reference : None to hold the initial attitude; a quaternion, scalar first, from hub axes to world axes; or a function
        of time that returns a quaternion or an `AttitudeMotion`, such as an `EigenAxisSlew`.
    filters : filters of the feedback on all three axes, such as `notch`, `low_pass`, or `notches` from the modes of a
        system.
    unloading : an `Unloading`, which says when thrusters take momentum out of wheels or gyros.
    observer : with sensors, the estimator of attitude and rate; by default an `AttitudeEstimator`.
    system : the model from which J is computed, if it is not the system of the loop.
    q : (nq,) the configuration of the joints in which the craft is controlled, for J and the axes of wheels and gyros;
        neutral by default. A ModelWarning says if the first state that is measured differs much from it.

    The torques are produced by the `ReactionWheel`s or `MomentGyro`s of the loop; if it has neither, by its
    `Thruster`s; without actuators they act on the hub. With sensors, unloading needs tachometers on the wheels, to know
    their momentum, and steering of moment gyros needs encoders on their gimbals.

    The loop records "attitude error" (rad, in body axes), "hub torque", "stored momentum" and "unloading" (0 or 1).
    """

    def __init__(
        self,
        hub: str,
        bandwidth: float,
        *,
        sample_time: float,
        damping: float = 0.7,
        integral_time: float | None = None,
        reference: Any = None,
        filters: Iterable[SecondOrder] = (),
        unloading: Unloading | None = None,
        observer: AttitudeEstimator | None = None,
        system: System | None = None,
        q: ArrayLike | None = None,
    ):
        self.hub = hub
        self.q = None if q is None else finite_numbers("q", q, "(nq,)")
        self.bandwidth = number("bandwidth", bandwidth, above=0.0)
        self.damping = number("damping", damping, minimum=0.0)
        self.integral_time = (
            math.inf if integral_time is None else number("integral_time", integral_time, above=0.0)
        )
        self.sample_time = number("sample_time", sample_time, above=0.0)
        self.reference = _checked_reference(reference)
        self.filters = tuple(filters) if isinstance(filters, Iterable) else (filters,)
        for each in self.filters:
            if not isinstance(each, SecondOrder):
                raise ArgumentTypeError(
                    f"filters must be filters such as lb.control.notch(omega), got {shown(each)}."
                )
        if unloading is not None and not isinstance(unloading, Unloading):
            raise ArgumentTypeError(f"unloading must be an Unloading, got {shown(unloading)}.")
        check_observer(observer)
        self.unloading, self.observer, self.system = unloading, observer, system
        self._bank = FilterBank(self.filters, self.sample_time)
        self._make: Any = None
        self._recorded: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"AttitudeController({self.hub!r}, {self.bandwidth:g} rad/s, {self.sample_time:g} s)"

    # --- the loop ------------------------------------------------------------------------------------

    def prepare(self, loop: Any) -> None:
        """Find the hub, its sensors and its actuators."""
        s: System = loop.system
        place = free_hub(s, self.hub, "AttitudeController")
        self._refuse_others(loop)
        if self.q is not None and self.q.shape != (s.nq,):
            raise ArgumentValueError(f"q must have shape ({s.nq},), got {self.q.shape}.")
        self._system, self._actuators = s, loop.actuators
        self._q = s.neutral() if self.q is None else self.q
        self._make, self.craft = self._craft_in(self._q)
        self._width = len(loop.channels) if loop.actuators else s.nv
        self._quaternion = slice(
            s.layout[self.hub].q_joint.start, s.layout[self.hub].q_joint.start + 4
        )
        self._placed = placed(s, self.hub)
        self._spin = slice(place.start, place.start + 3)
        self._out: Any = self._spin
        if self._make.labels:
            self._out = [loop.channels.index(label) for label in self._make.labels]
        thrusters = [x for x in loop.actuators if isinstance(x, Thruster)]
        self._thrusters = Thrusters(thrusters, self.craft.centre) if thrusters else None
        if self._thrusters is not None:
            self._fired = [loop.channels.index(label) for label in self._thrusters.labels]
        self._prepare_sensors(loop)
        self._manager = None
        if self.unloading is not None:
            if self._thrusters is None or not self._make.stores or not self._knows_momentum:
                raise ArgumentValueError(
                    "unloading needs wheels or moment gyros, thrusters that remove their momentum, and, in a loop with "
                    "sensors, a Tachometer on the wheels or an Encoder on the gimbals that measures it."
                )
            self._manager = MomentumManager(self.unloading)
        self._warn_of_weak_wheels()

    def _craft_in(self, q: Array) -> tuple[Any, RigidCraft]:
        """The source of torques, and the inertia, in a configuration."""
        s = self._system
        make = allocation(s, self.hub, self._actuators, undeformed(s, s, q))
        model, turning = (s, make.turning) if self.system is None else (self.system, ())
        return make, rigid_craft(model, self.hub, undeformed(model, s, q), turning)

    def _warn_of_configuration(self, q: Array) -> None:
        """Warn if the configuration at the start is not the one of the design; joints that are not measured are nan."""
        make, craft = self._craft_in(np.where(np.isfinite(q), q, self._q))
        J = np.linalg.solve(self.craft.inertia, craft.inertia)
        off = float(np.abs(np.linalg.eigvals(J) - 1.0).max())
        turned = float(np.abs(make.placement - self._make.placement).max(initial=0.0))
        if max(off, turned) > ELSEWHERE:
            what = f"the inertia of the craft differs by {100.0 * off:.2g} %"
            if turned > ELSEWHERE:
                what = "wheels or gyros have other axes"
            warn(
                f"{type(self).__name__}: {what} at the start of the run from the configuration for which the controller is made, "
                f"{'which is neutral' if self.q is None else 'its q'}: errors do not decay as they should. Give q=, the configuration of the "
                "joints in which the craft is controlled, to the controller, and to attitude_model and notches.",
                ModelWarning,
            )

    def _warn_of_weak_wheels(self) -> None:
        """Warn if the torque or the momentum of a slew of the rigid craft, from rest, exceeds the limits of the
        wheels."""
        slew, wheels = self.reference, self._make
        if (
            not isinstance(wheels, Wheels)
            or not isinstance(slew, EigenAxisSlew)
            or not slew.duration
        ):
            return
        times = slew.begin + np.linspace(0.0, slew.duration, SLEW_POINTS)
        motion = [slew(t) for t in times]
        J, turned = self.craft.inertia, self.craft.turned
        torque = [turned @ m.acceleration + np.cross(m.rate, J @ m.rate) for m in motion]
        for what, unit, needed, limits, growth in (
            ("torque", "N m", torque, wheels.limits, 0.5),
            ("momentum", "N m s", [turned @ m.rate for m in motion], wheels.capacity, 1.0),
        ):
            most = np.abs(np.array(needed) @ wheels.inverse.T)
            when, which = np.unravel_index(np.argmax(most / limits), most.shape)
            times_more = most[when, which] / limits[which]
            if times_more > 1.0 + ROUNDING:
                warn(
                    f"{type(self).__name__}: at t = {times[when]:.4g} s the slew requires a {what} of "
                    f"{most[when, which]:.3g} {unit} from the wheel {wheels.labels[which]!r}, which can provide "
                    f"{limits[which]:.3g}. The spacecraft will lag behind the slew, and a shaped slew will excite "
                    f"vibrations again. Make the slew {times_more**growth:.2g} times as long, or use stronger wheels.",
                    ModelWarning,
                )

    def _refuse_others(self, loop: Any) -> None:
        for actuator in loop.actuators:
            if not isinstance(actuator, (ReactionWheel, MomentGyro, Thruster)):
                raise ArgumentValueError(
                    f"AttitudeController commands only reaction wheels, moment gyros and thrusters, got {actuator!r}."
                )
            if isinstance(actuator, Thruster) and actuator.body != self.hub:
                raise ArgumentValueError(
                    f"AttitudeController: {actuator!r} is mounted on {actuator.body!r}, not on the hub {self.hub!r}."
                )

    def _prepare_sensors(self, loop: Any) -> None:
        """Attitude and rate come from the observer, momentum from sensors on wheels or gimbals."""
        self._observer = self.observer if loop.sensors else None
        self._knows_momentum = True
        self.uses: tuple[str, ...] = ()
        if not loop.sensors:
            return
        if self._observer is None:
            self._observer = AttitudeEstimator()
        self._observer.prepare(loop, self.hub)
        gimbals = isinstance(self._make, MomentGyros)
        wanted = {int(i) for i in self._make.reads}
        found: dict[int, str] = {}
        for sensor, reader in zip(loop.sensors, loop.readers):
            read = reader.q if gimbals else reader.v
            found |= {int(i): sensor.name for i in (() if read is None else read)}
        self._knows_momentum = wanted <= set(found)
        if gimbals and not self._knows_momentum:
            raise ArgumentValueError(
                "AttitudeController: no Encoder reads the gimbals of the moment gyros, which are needed to steer them."
            )
        names = dict.fromkeys(found[i] for i in sorted(wanted)) if self._knows_momentum else {}
        self.uses = (*self._observer.uses, *names)

    def start(self, t: float, measured: Measured) -> None:
        """Reset the controller, at the measured attitude."""
        self._bank.reset()
        self._integral = np.zeros(3)
        self._warn_of_configuration(measured.q)
        if self._manager is not None:
            self._manager.reset()
        if self._observer is not None:
            self._observer.start(t, measured)
            self._held = np.array(self._observer.quaternion)
        else:
            self._held = self._attitude(measured)

    def command(self, t: float, measured: Measured) -> Array:
        """Return wheel torques, gimbal rates and thruster forces, or the torque on the hub."""
        if self._observer is not None:
            attitude, w = self._observer.update(t, measured)
        else:
            attitude, w = self._attitude(measured), measured.v[self._spin]
        h = self._make.momentum(measured) if self._knows_momentum else np.zeros(3)
        error, rate, moving, gyroscopic = self._deviation(self._wanted(t), attitude, w, h)
        torque = self._feedback(error, rate, moving) + moving + gyroscopic
        command, part = self._allocated(t, torque, h, measured)
        if part == 1.0 and self.integral_time < math.inf:
            self._integral = self._integral + self.sample_time / self.integral_time * error
        self._recorded = {
            "attitude error": error, "hub torque": torque, "stored momentum": h,
            "unloading": float(self._manager is not None and self._manager.active),
        }  # fmt: skip
        return command

    def _attitude(self, measured: Measured) -> Array:
        """The attitude of the hub in the world, in a loop without sensors."""
        return product(self._placed, measured.q[self._quaternion])

    def _deviation(self, wanted: AttitudeMotion, attitude: Array, w: Array, h: Array) -> tuple:
        """The errors of attitude and rate, and the torques of the motion itself: acceleration and gyroscopic
        torques."""
        away = product(conjugate(wanted.quaternion), attitude)
        error = 2.0 * away[1:] * (1.0 if away[0] >= 0.0 else -1.0)
        back = matrix_of(away).T
        rate_wanted = back @ wanted.rate
        r = w - rate_wanted
        moving = self.craft.turned @ (back @ wanted.acceleration - np.cross(r, rate_wanted))
        return error, r, moving, np.cross(w, self.craft.inertia @ w + h)

    def _feedback(self, error: Array, rate: Array, moving: Array) -> Array:
        """The torque against errors of attitude and rate."""
        k, d = self.bandwidth**2, 2.0 * self.damping * self.bandwidth
        return self._bank.step(-self.craft.turned @ (k * (error + self._integral) + d * rate))

    def _allocated(self, t: float, torque: Array, h: Array, measured: Measured) -> tuple:
        """The command, and the part of the torque that it produces."""
        command, part = np.zeros(self._width), 1.0
        thrusters = self._thrusters
        if isinstance(self._make, TorqueOnHub):
            if thrusters is None:
                command[self._out] = torque
            else:
                command[self._fired], _ = thrusters.forces(torque)
            return command, part
        if self._manager is not None and thrusters is not None:
            unload = self._manager.torque(h)
            if self._manager.active:
                command[self._fired], made = thrusters.forces(self._make.bearable(unload))
                torque = torque - made
        command[self._out], part = self._make.commands(t, torque, measured)
        return command, part

    def _wanted(self, t: float) -> AttitudeMotion:
        if self.reference is None:
            return AttitudeMotion(self._held, np.zeros(3), np.zeros(3))
        return _motion(self.reference(t), t)

    def outputs(self) -> dict[str, Any]:
        """Return the signals to record at a sample."""
        return self._recorded

    # --- analysis ------------------------------------------------------------------------------------

    def linear(self) -> LinearModel:
        """Return the controller at rest as a discrete linear model, from small rotations and rates of the hub to its
        commands.

        The inputs are "rotation <hub> x" to "angular_velocity <hub> z", in hub axes as those of `attitude_model`. The
        outputs are the torques of the wheels, or of the hub. Thrusters and moment gyros have no linear model. With
        sensors in the loop, the observer is included.
        """
        law = self._law()
        if self._observer is None:
            return law
        return observed_feedback(self, self._observer, "AttitudeEstimator")(law)

    def _law(self) -> LinearModel:
        """The law from estimated small rotations and rates to commands."""
        spread, names = self._spread()
        k, d = self.bandwidth**2, 2.0 * self.damping * self.bandwidth
        J, T = self.craft.turned, self.sample_time
        A, B, C, D = self._bank.matrices()
        law = np.hstack([-k * J, -d * J])
        step = T / self.integral_time if self.integral_time < math.inf else 0.0
        n = len(A)
        states = tuple(f"filter {i}" for i in range(n))
        if step:
            A = np.block([[A, B @ (-k * J)], [np.zeros((3, n)), np.eye(3)]])
            integral = np.hstack([step * np.eye(3), np.zeros((3, 3))])
            C, B = np.hstack([C, D @ (-k * J)]), np.vstack([B @ law, integral])
            states += tuple(f"integral {axis}" for axis in AXES)
        else:
            B = B @ law
        return LinearModel(
            A, B, spread @ C, spread @ D @ law, states, self._inputs(), names, repr(self), T
        )  # fmt: skip

    def _spread(self) -> tuple[Array, tuple[str, ...]]:
        """From the torque on the hub to commands, and the names of these."""
        make = self._make
        if make is None:
            raise ArgumentTypeError(
                f"{type(self).__name__} is not in a loop yet: pass it to lb.control.Loop or lb.simulate."
            )
        if isinstance(make, MomentGyros) or (isinstance(make, TorqueOnHub) and self._thrusters):
            raise ArgumentTypeError(
                f"{type(self).__name__} has no linear model with moment gyros, whose torques depend on their angles, or "
                "with thrusters, which fire in pulses."
            )
        names = make.labels or tuple(f"{self.hub} {axis}" for axis in AXES)
        spread = -make.inverse if make.labels else np.eye(3)
        return spread, tuple(f"torque {name}" for name in names)

    def _inputs(self) -> tuple[str, ...]:
        kinds = ("rotation", "angular_velocity")
        return tuple(f"{kind} {self.hub} {axis}" for kind in kinds for axis in AXES)


def _checked_reference(given: Any) -> Any:
    """None, or a function of time."""
    if given is None or callable(given):
        return given
    fixed = unit_quaternion("reference", array("reference", given, (4,)))
    rest = AttitudeMotion(fixed, np.zeros(3), np.zeros(3))
    return lambda t: rest


def _motion(given: Any, t: float) -> AttitudeMotion:
    """Check the return value of a reference function."""
    if isinstance(given, AttitudeMotion):
        return given
    parts: tuple[ArrayLike, ...] = given if isinstance(given, tuple) else (given,)
    rows: list[Any] = [np.zeros(4), np.zeros(3), np.zeros(3)]
    try:
        for i, part in enumerate(parts):
            rows[i][:] = part
        fits = abs(rows[0] @ rows[0] - 1.0) < 1e-6
    except (TypeError, ValueError, IndexError):
        fits = False
    if not fits:
        raise ArgumentTypeError(
            f"reference(t) must return an AttitudeMotion, a unit quaternion or (quaternion, rate, acceleration); at t = {t:.6g} s it "
            f"returned {shown(given)}."
        )
    return AttitudeMotion(*rows)
