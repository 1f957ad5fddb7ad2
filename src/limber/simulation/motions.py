"""Prescribed motions of joints for the engine: trajectories, Python functions of time, and compiled functions."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from limber.assembly.system import System
from limber.checks import Array, array, shown, takes, unit_quaternion
from limber.dynamics import qdot
from limber.dynamics.hybrid import driven_bodies
from limber.dynamics.refusals import quaternions
from limber.errors import ArgumentTypeError, ArgumentValueError, SimulationError
from limber.simulation.signals import IN_C, SIGNATURE, callback, compiled_function
from limber.trajectories import Trajectory

#: A start differs from the motion if it is off by more than this, absolute and relative.
AGREES = 1e-6
#: A function is tried at these parts of the run; the slopes of what it returns must be what else it returns, to within
#: the part LOOSE of the largest value, for one of the STEPS at least, which are parts of the run too.
TRIED, STEPS, LOOSE = (0.0713, 0.2391, 0.4817, 0.7139, 0.9377), 10.0 ** -np.arange(3.0, 9.0), 1e-2
#: Velocities just before and after a break, this part of the run away from it, may differ by the part JUMP of the largest.
INSET, JUMP = 1e-9, 1e-6

EXPECTED = "(position, velocity, acceleration)"


@dataclass
class DrivenJoint:
    """A joint with prescribed motion, in the form of `integrators.motions`.

    q, v : the slices of its coordinates and speeds.
    at : the time of the simulation -> its coordinates, its speeds and their rates, one after the other.
    path : the trajectory, if it is one; otherwise there is an `address`.
    breaks : the times at which the rates may jump or have a kink.
    python : whether Python is called at every evaluation.
    """

    body: str
    row: int
    q: slice
    v: slice
    at: Callable[[float], Array]
    path: Trajectory | None = None
    address: int = 0
    breaks: Array = field(default_factory=lambda: np.empty(0))
    python: bool = False
    keep: Any = None

    @property
    def name(self) -> str:
        """Its name in messages."""
        return f"motion[{self.body!r}]"

    @property
    def coordinates(self) -> int:
        """The number of its coordinates."""
        return self.q.stop - self.q.start

    @property
    def speeds(self) -> int:
        """The number of its speeds."""
        return self.v.stop - self.v.start

    def parts(self, t: float) -> tuple[Array, Array, Array]:
        """Coordinates, speeds and rates of the speeds at a time."""
        nq, r = self.coordinates, self.speeds
        position, velocity, acceleration = np.split(self.at(t), [nq, nq + r])
        return position, velocity, acceleration

    def put(self, t: float, q: Array, v: Array) -> Array:
        """Set its coordinates in q and its speeds in v to those at a time; returns the rates of the speeds."""
        q[self.q], v[self.v], rate = self.parts(t)
        return rate

    def not_finite(self, system: System, t: float, element: int) -> SimulationError:
        """The error of a value that was not finite."""
        nq, r = self.coordinates, self.speeds
        what = ("position", "velocity", "acceleration")[(element >= nq) + (element >= nq + r)]
        return SimulationError(
            f"the simulation of {system.name!r} got stuck: the {what} of {self.name} was not finite at t = {t:.6g} s. "
            "Look at the function that makes it; the result so far is in error.result."
        )


def driven_joints(system: System, motion: Any, failure: list[BaseException]) -> list[DrivenJoint]:
    """The joints of the `motion` argument of `simulate`; `failure` receives the first error of their functions."""
    if motion is None:
        return []
    if not isinstance(motion, Mapping):
        raise ArgumentTypeError(
            f"motion must map names of bodies to trajectories, or functions t -> {EXPECTED}, got {shown(motion)}."
        )
    if not motion:  # a closed system may have none
        return []
    motion = system.by_body(motion, "motion")
    return [_driven(system, body, motion[body], failure) for body in driven_bodies(system, motion)]


def _driven(system: System, body: str, given: Any, failure: list[BaseException]) -> DrivenJoint:
    where = system.layout[body]
    row, name = system.number(body), f"motion[{body!r}]"
    if isinstance(given, Trajectory):
        _refuse_unfit(system, body, name, given)

        def along(t: float) -> Array:
            return np.concatenate([np.ravel(part) for part in given(float(t))])

        return DrivenJoint(
            body, row, where.q_joint, where.v_joint, along, given, breaks=given.breaks
        )
    breaks = getattr(given, "breaks", None)
    corners = np.empty(0) if breaks is None else array(f"{name}.breaks", breaks, ("k",))
    address = compiled_function(name, given)
    if address:
        size = where.q_joint.stop - where.q_joint.start + 2 * system.joints[body].dofs

        def evaluated(t: float) -> Array:
            value, state = np.full(size, np.nan), np.zeros(system.nq + system.nv)
            at = state.ctypes.data
            SIGNATURE(address)(t, at, at + 8 * system.nq, value.ctypes.data)
            return value

        return DrivenJoint(
            body, row, where.q_joint, where.v_joint, evaluated, None, address, corners, keep=given
        )
    if not callable(given):
        raise ArgumentTypeError(
            f"{name} must be a trajectory of lb.trajectories (Hold(...) for a joint that stays), a function t -> {EXPECTED}, "
            f"or a compiled one, {IN_C}; got {shown(given)}."
        )
    return _called(system, body, name, given, corners, failure)


def _called(
    system: System, body: str, name: str, function: Callable, breaks: Array, failure: list
) -> DrivenJoint:
    """A joint driven by a Python function, whose results are checked: their sizes, that they are finite, quaternions."""
    takes(name, function, "t")
    where, joint = system.layout[body], system.joints[body]
    sizes = (where.q_joint.stop - where.q_joint.start, joint.dofs, joint.dofs)
    turns = list(joint.quaternions())

    def checked(t: float) -> Array:
        found = function(t)
        parts = []
        if isinstance(found, (tuple, list)) and len(found) == 3:
            for size, part in zip(sizes, found):
                value = np.asarray(part)
                if value.dtype.kind in "iuf" and value.size == size and value.ndim <= 1:
                    parts.append(np.array(value, dtype=float).reshape(size))
        if len(parts) < 3:
            counts = "{} coordinates, {} speeds and {} rates of speeds".format(*sizes)
            raise ArgumentValueError(
                f"{name}(t) must return {EXPECTED}, for this joint {counts}; at t = {t:.6g} s it returned {shown(found)}."
            )
        for what, part in zip(("position", "velocity", "acceleration"), parts):
            if not np.isfinite(part).all():
                raise SimulationError(
                    f"{name}: the {what} was not finite at t = {t:.6g} s: {part.tolist()}."
                )
        for at in turns:
            unit_quaternion(f"{name}: the quaternion at t = {t:.6g} s,", parts[0][at])
            parts[0][at] /= np.linalg.norm(parts[0][at])
        return np.concatenate(parts)

    made = DrivenJoint(
        body, system.number(body), where.q_joint, where.v_joint, checked, breaks=breaks, python=True
    )
    made.keep = SIGNATURE(callback(system, lambda t, q, v: checked(t), failure, sum(sizes)))
    made.address = ctypes.cast(made.keep, ctypes.c_void_p).value or 0
    return made


def _refuse_unfit(system: System, body: str, name: str, path: Trajectory) -> None:
    """Reject a trajectory whose positions are not the coordinates of the joint, or whose rates are not its speeds."""
    joint = system.joints[body]
    if any(group.nq != 1 or group.dofs != 1 for group in joint.groups):
        what = (
            "coordinates with a quaternion"
            if any(joint.quaternions())
            else "speeds that are not the rates of its coordinates"
        )
        raise ArgumentValueError(
            f"{name}: the joint of body {body!r}, {joint!r}, has {what}, which trajectories do not describe. Give a "
            "function "
            f"t -> {EXPECTED}: the coordinates of the joint in q, its speeds in v, and the rates of these speeds."
        )
    if path.shape not in (((), (1,)) if joint.dofs == 1 else ((joint.dofs,),)):
        raise ArgumentValueError(
            f"{name}: the trajectory moves joints of shape {path.shape}; the joint of body {body!r} has {joint.dofs} "
            f"coordinate{'s' if joint.dofs > 1 else ''}."
        )


def start_on(
    joints: list[DrivenJoint], system: System, start: float, q: Array, v: Array, given: tuple[bool, bool]
) -> None:  # fmt: skip
    """Move driven joints to the start of their motion; reject a given q0 or v0 that does not agree with it."""
    turns = [at for _, at in quaternions(system)]
    for joint in joints:
        want_q, want_v, _ = joint.parts(start)
        have_q = q.copy()
        full = q.copy()
        full[joint.q] = want_q
        for at in turns:  # a quaternion and its negative are one orientation
            if full[at] @ have_q[at] < 0.0:
                have_q[at] *= -1.0
        for was_given, argument, have, want in (
            (given[0], "q0", have_q[joint.q], want_q),
            (given[1], "v0", v[joint.v], want_v),
        ):
            if was_given and not np.allclose(have, want, rtol=AGREES, atol=AGREES):
                raise ArgumentValueError(
                    f"{argument} has {shown(have.tolist())} for the joint of body {joint.body!r}, but its motion starts with "
                    f"{shown(want.tolist())} at t = {start:g} s. Give a {argument} that agrees with it, or leave {argument} out."
                )
        joint.put(start, q, v)


def refuse_unsteady(
    joints: list[DrivenJoint], system: System, start: float, end: float, q: Array
) -> None:
    """Reject motions whose velocity jumps at a break, and functions with inconsistent results."""
    for joint in joints:
        breaks = joint.breaks[(joint.breaks > start) & (joint.breaks < end)]
        if breaks.size:
            _refuse_jumps(joint, breaks, INSET * (end - start), start, end)
        if joint.path is None:
            for part in TRIED:
                _refuse_other_slopes(joint, system, start + part * (end - start), end - start, q)


def _refuse_jumps(
    joint: DrivenJoint, breaks: Array, inset: float, start: float, end: float
) -> None:
    fastest = max(np.abs(joint.parts(t)[1]).max() for t in np.linspace(start, end, 65))
    for t in breaks:
        (_, before, a), (_, after, b) = joint.parts(t - inset), joint.parts(t + inset)
        bent = 2.0 * inset * max(np.abs(a).max(), np.abs(b).max())
        if np.abs(after - before).max() > JUMP * fastest + 2.0 * bent:
            raise ArgumentValueError(
                f"{joint.name} has a jump in its velocity at t = {t:g} s, from {shown(before.tolist())} to "
                f"{shown(after.tolist())}, which no finite force can produce. Let each part start with the velocity at "
                "which the previous one ends."
            )


def _refuse_other_slopes(
    joint: DrivenJoint, system: System, t: float, length: float, q: Array
) -> None:
    """Reject a function whose velocity or acceleration is not the rate of its position or velocity."""
    q, v = q.copy(), np.zeros(system.nv)
    rate = joint.put(t, q, v)
    pairs = (
        ("velocity", "position", 0, qdot(system, q, v)[joint.q]),
        ("acceleration", "velocity", 1, rate),
    )
    for what, of, i, claimed in pairs:
        gaps = []
        for step in STEPS * length:
            before, after = joint.parts(t - step)[i], joint.parts(t + step)[i]
            slope = (after - before) / (2.0 * step)
            rounding = 4e-16 * np.abs(after).max() / step
            size = max(np.abs(slope).max(), np.abs(claimed).max())
            gaps.append(np.abs(slope - claimed).max() / (LOOSE * size + rounding + 1e-300))
        if min(gaps) > 1.0:
            raise ArgumentValueError(
                f"{joint.name}: at t = {t:.6g} s the {what} that the function returns is not the rate of its {of}. It must "
                f"return {EXPECTED}, the velocity being the speeds of the joint in v. If the motion has corners there, "
                "give the function an attribute `breaks` with their times."
            )
