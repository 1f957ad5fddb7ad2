r"""The desired motion of a flexible arm: hinges, deformations and the corresponding forces, step by step.

A path of the hinges alone leaves a flexible arm vibrating at its end. `rest_to_rest` finds the forces that move the arm
from rest at the beginning of the path to rest at its end, with its tip near the path that the rigid arm would take:

    minimize    sum |tip - tip of the rigid arm|^2 / tracking^2 + |change of the forces|^2 / change^2
    subject to  x[k + 1] = step(x[k], forces[k]),    x[n] at rest

by Gauss-Newton steps, each of which is a linear-quadratic problem solved by a Riccati recursion; the end has its own
weight. The first motion that ends at rest is accepted. It satisfies the equations of the arm to working accuracy, and
is near the optimum. At rest, forces hold the hinges, and the arm is bent by its weight; without gravity it is
undeformed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, array, number
from limber.control.joints import JointPlaces, deformed, joint_places, not_plain
from limber.control.reference import reference_of
from limber.dynamics import derivatives, forward_dynamics, inverse_dynamics, jacobian, pose
from limber.errors import ArgumentValueError, SimulationError

#: The longest step of the Runge-Kutta method, s.
LONGEST = 0.0025
#: Gauss-Newton steps at most, and the largest distance from rest at the end (in rad, m, rad/s, m/s) that counts as rest.
ITERATIONS, AT_REST = 20, 1e-5


@dataclass(frozen=True, eq=False)
class DesiredMotion:
    """Hinges and deformations at times `sample_time` apart; before and after them the arm is at rest.

    t : (n,)
    q, v, vdot : (n, nv)
    force : (n, joints), the forces of the hinges, held from each time to the next.
    """

    sample_time: float
    t: Array
    q: Array
    v: Array
    vdot: Array
    force: Array

    def index(self, t: float) -> int:
        """The row of a time."""
        i = round((t - self.t.item(0)) / self.sample_time)
        return min(max(i, 0), len(self.t) - 1)


def plain_speeds(system: System) -> JointPlaces:
    """The hinges of an arm whose speeds are all rates of coordinates; other systems are rejected."""
    if not_plain(system) or system.closures:
        raise ArgumentValueError(
            f"{system.name!r} has {not_plain(system) or 'closures'}, but the loop of the patent is for arms with revolute "
            "and prismatic hinges only."
        )
    return joint_places(system, None, "the flexible-arm loop")


def advanced(system: System, q: Array, v: Array, tau: Array, time: float) -> tuple[Array, Array]:
    """The state after a time under constant forces, by Runge-Kutta steps."""
    steps = math.ceil(time / LONGEST - 1e-9)
    h = time / steps
    for _ in range(steps):
        a1 = forward_dynamics(system, q, v, tau)
        v2 = v + h / 2 * a1
        a2 = forward_dynamics(system, q + h / 2 * v, v2, tau)
        v3 = v + h / 2 * a2
        a3 = forward_dynamics(system, q + h / 2 * v2, v3, tau)
        v4 = v + h * a3
        a4 = forward_dynamics(system, q + h * v3, v4, tau)
        q = q + h / 6 * (v + 2 * v2 + 2 * v3 + v4)
        v = v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    return q, v


def slopes(system: System, places: JointPlaces, q: Array, v: Array, tau: Array) -> tuple:
    """A (n, 2 nv, 2 nv) and B (n, 2 nv, joints) of xdot at states (n, nv)."""
    nv, n = system.nv, len(q)
    found = derivatives(system, q, v, tau, of="forward_dynamics")
    A, B = np.zeros((n, 2 * nv, 2 * nv)), np.zeros((n, 2 * nv, len(places)))
    A[:, :nv, nv:] = np.eye(nv)
    A[:, nv:, :nv], A[:, nv:, nv:] = found.q, found.v
    B[:, nv:] = found.tau[:, :, places.v]
    return A, B


def runge_kutta_steps(A: Array, B: Array, time: float) -> tuple[Array, Array]:
    """The effect of `advanced` on small deviations of systems (n, ...): its steps for a linear system with held
    inputs."""
    n, states, inputs = B.shape
    halvings = max(0, math.ceil(math.log2(time / LONGEST) - 1e-9))
    Z = np.zeros((n, states + inputs, states + inputs))
    Z[:, :states, :states], Z[:, :states, states:] = A, B
    Z *= time / 2**halvings
    one = np.eye(states + inputs)
    found = one + Z @ (one + Z @ (one + Z @ (one + Z / 4) / 3) / 2)
    for _ in range(halvings):
        found = found @ found
    return found[:, :states, :states], found[:, :states, states:]


def rest_to_rest(
    system: System,
    path: Any,
    duration: float,
    *,
    tip: tuple[str, Any],
    sample_time: float = 0.002,
    hold: float = 0.01,
    tracking: float = 0.05,
    change: float = 10.0,
    start: float = 0.0,
    q0: ArrayLike | None = None,
) -> DesiredMotion:
    """Plan a motion of the flexible arm from rest to rest, in static equilibrium at both ends.

    The head of this file describes the method.

    Parameters
    ----------
    path : the path of the hinges, like `reference` of `PID`: a `Trajectory`, a function, or {body: either}.
    duration : s; the arm is at rest afterwards, from the next multiple of `hold` on.
    tip : (body, node) that should stay near the path that it would take on the rigid arm.
    sample_time : s, of the returned motion, and so of the controller.
    hold : s, the time for which forces are held; a multiple of sample_time.
    tracking : m, a deviation of the tip from its path that costs as much as `change`.
    change : N m, a change of the forces from one hold to the next that costs as much as `tracking`.
    start : the time at which the path begins, s.
    q0 : (nq,) the configuration in which hinges stay that the path does not name; neutral by default.
    """
    places = plain_speeds(system)
    first = system.neutral() if q0 is None else array("q0", q0, (system.nq,))
    duration = number("duration", duration, above=0.0)
    sample_time = number("sample_time", sample_time, above=0.0)
    each = round(number("hold", hold, above=0.0) / sample_time)
    if each < 1 or abs(each * sample_time - hold) > 1e-9:
        raise ArgumentValueError(
            f"hold must be a multiple of sample_time = {sample_time:g} s, got {hold:g} s."
        )
    steps = math.ceil(duration / hold - 1e-9)
    reference = reference_of(path, places)
    if reference is None:
        raise ArgumentValueError("path must be a motion of the hinges, got None.")
    body, node = tip
    nv = system.nv
    t = np.array(start + hold * np.arange(steps + 1), dtype=np.float64)
    rigid = np.tile(system.neutral(), (steps + 1, 1))
    moves = [reference(x, first[places.q]) for x in t]
    rigid[:, places.q] = [position for position, _, _ in moves]
    ends = [_still(system, places, x) for x in (rigid[0], rigid[-1])]
    goal = np.concatenate([ends[1][0], np.zeros(nv)])
    wanted = _position(system, rigid, body, node)
    aim = np.concatenate([goal, ends[1][1]])
    q, v, force = _rigid_guess(system, places, rigid, moves, hold, ends)
    scale = 1.0 / tracking**2, 1.0 / change**2
    for _ in range(ITERATIONS):
        tau = np.zeros((steps + 1, nv))
        tau[:, places.v] = force
        A, B = slopes(system, places, q, v, tau)
        steps_A, steps_B = runge_kutta_steps(A[:-1], B[:-1], hold)
        J = jacobian(system, q, body, node)[:, 3:, :]
        off = _position(system, q, body, node) - wanted
        gains = _riccati(steps_A, steps_B, J, off, np.hstack([q, v, force]), aim, scale)
        q, v, force = _followed(system, places, q, v, force, gains, hold)
        if np.abs(np.hstack([q, v])[-1] - goal).max() < AT_REST:
            break
    else:
        raise SimulationError(
            f"no motion from rest to rest was found in {ITERATIONS} iterations for {system.name!r} and {duration:g} s: give it more "
            "time, or a larger `tracking`."
        )
    force[-1] = ends[1][1]
    return _sampled(system, places, q[0], force, t[0], sample_time, each)


def _still(system: System, places: JointPlaces, q: Array) -> tuple[Array, Array]:
    """The equilibrium with the hinges of q, and the forces that hold them there."""
    q, rest = deformed(system, q), np.zeros(system.nv)
    return q, inverse_dynamics(system, q, rest, rest)[places.v]


def _sampled(
    system: System, places: JointPlaces, q0: Array, force: Array, t0: float, time: float, each: int
) -> DesiredMotion:
    """The motion under forces held for `each` samples, at all samples; the last force is that of the last sample
    alone."""
    rows = np.append(np.repeat(force[:-1], each, axis=0), force[-1:], axis=0)
    tau = np.zeros((len(rows), system.nv))
    tau[:, places.v] = rows
    q, v = np.tile(q0, (len(rows), 1)), np.zeros((len(rows), system.nv))
    for i in range(len(rows) - 1):
        q[i + 1], v[i + 1] = advanced(system, q[i], v[i], tau[i], time)
    v[-1] = 0.0
    t = np.array(t0 + time * np.arange(len(rows)), dtype=np.float64)
    return DesiredMotion(time, t, q, v, forward_dynamics(system, q, v, tau), rows)


def _rigid_guess(
    system: System, places: JointPlaces, rigid: Array, moves: list, time: float, ends: list
) -> tuple[Array, Array, Array]:
    """The motion of the flexible arm under the forces that move the rigid one along its path.

    moves : position, velocity and acceleration of the hinges at instants this `time` apart.
    ends : the equilibria of the flexible arm at both ends, with their forces. What these differ from those of the rigid
        arm is added in proportion to the time.
    """
    n, nv = rigid.shape
    rates = np.zeros((2, n, nv))
    rates[0, :, places.v] = np.transpose([velocity for _, velocity, _ in moves])
    rates[1, :, places.v] = np.transpose([acceleration for _, _, acceleration in moves])
    force = inverse_dynamics(system, rigid, *rates)[:, places.v]
    rest, part = np.zeros((2, nv)), np.linspace(0.0, 1.0, n)[:, None]
    weight = inverse_dynamics(system, rigid[[0, -1]], rest, rest)[:, places.v]
    force += (1.0 - part) * (ends[0][1] - weight[0]) + part * (ends[1][1] - weight[1])
    tau = np.zeros(nv)
    q, v = rigid.copy(), np.zeros((n, nv))
    q[0] = ends[0][0]
    for i in range(n - 1):
        tau[places.v] = force[i]
        q[i + 1], v[i + 1] = advanced(system, q[i], v[i], tau, time)
    return q, v, force


def _position(system: System, q: Array, body: str, node: Any) -> Array:
    return pose(system, q, body, node)[1]


def _riccati(A: Array, B: Array, J: Array, off: Array, z: Array, aim: Array, scale: tuple) -> list:
    """Gains and changes (K, k) of the rates of force, from the last step to the first.

    z = [q, v, force], force[k + 1] = force[k] + rate[k]; the unknowns are deviations from z and from the rates that led
    to it.
    """
    n, states, m = B.shape
    nv = states // 2
    size = states + m
    end = 1e10
    S = end * np.eye(size)
    S[states:, states:] *= 1e-8
    s = S @ (z[-1] - aim)
    R = scale[1] * np.eye(m)
    rates = np.diff(z[:, states:], axis=0)
    step, push = np.zeros((size, size)), np.zeros((size, m))
    step[states:, states:] = push[states:] = np.eye(m)
    gains = []
    for i in reversed(range(n)):
        step[:states, :states], step[:states, states:] = A[i], B[i]
        heavy = R + push.T @ S @ push
        K = np.linalg.solve(heavy, push.T @ S @ step)
        k = np.linalg.solve(heavy, push.T @ s + R @ rates[i])
        gains.append((K, k))
        closed = step - push @ K
        s = closed.T @ (s - S @ push @ k) - K.T @ (R @ (rates[i] - k))
        S = closed.T @ S @ closed + K.T @ R @ K
        S[:nv, :nv] += scale[0] * J[i].T @ J[i]
        s[:nv] += scale[0] * J[i].T @ off[i]
        S = 0.5 * (S + S.T)
    return gains[::-1]


def _followed(
    system: System, places: JointPlaces, q: Array, v: Array, force: Array, gains: list, time: float
) -> tuple[Array, Array, Array]:
    """The motion under changed forces."""
    rates = np.diff(force, axis=0)
    q_new, v_new, force_new = q.copy(), v.copy(), force.copy()
    tau = np.zeros(system.nv)
    for i, (K, k) in enumerate(gains):
        away = np.concatenate([q_new[i] - q[i], v_new[i] - v[i], force_new[i] - force[i]])
        tau[places.v] = force_new[i]
        q_new[i + 1], v_new[i + 1] = advanced(system, q_new[i], v_new[i], tau, time)
        force_new[i + 1] = force_new[i] + rates[i] - k - K @ away
    return q_new, v_new, force_new
