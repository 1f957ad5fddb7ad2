"""Load sharing: torques of all arms that give an object a prescribed motion and squeeze forces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, array, listed, number, repeated, shown
from limber.constraints.forces import closure_wrenches
from limber.constraints.grasps import GraspCheck, GraspMap, check_grasps, grasp_map, object_bodies
from limber.dynamics.evaluate import External
from limber.dynamics.forward import forward_dynamics
from limber.dynamics.freedoms import locked_speeds
from limber.dynamics.inverse import inverse_dynamics
from limber.dynamics.kinematics import acceleration as node_acceleration
from limber.dynamics.rows import row_space
from limber.errors import ArgumentTypeError, ArgumentValueError, DynamicsError

#: The error allowed in the prescribed accelerations and squeeze forces, relative to the terms that add up to them.
LEFT = 1e-8


@dataclass(frozen=True, eq=False)
class LoadShare:
    """Torques that give an object a prescribed motion; `share_load` makes it.

    tau : (nv,), zero where there is no motor.
    vdot : (nv,), the resulting accelerations.
    forces : the closure forces by name, as given by `constraint_forces`.
    grasps : whether the grasps hold.
    """

    tau: Array
    vdot: Array
    forces: dict[str, Array]
    grasps: GraspCheck


def share_load(
    system: System,
    q: ArrayLike,
    v: ArrayLike,
    acceleration: ArrayLike,
    *,
    obj: str = "object",
    squeeze: Mapping | None = None,
    actuated: Iterable[str] | None = None,
    weights: ArrayLike | Mapping[str, float] | None = None,
    external: External | None = None,
) -> LoadShare:
    """Find the torques of least weighted norm that give an object an acceleration and hold its squeeze forces.

    The torques are exact: with them, `forward_dynamics` gives this acceleration and `constraint_forces` these forces.
    Modes and joints whose motion is not prescribed move as the torques let them.  One state; O(N) for each motor, and
    O(N^3) once.

    Parameters
    ----------
    q, v : (nq,), (nv,), a state that satisfies the closures.
    acceleration : (6,), [angular, linear] of the body frame of the first body of the object, world axes.
    obj : the name of the object, as in `grasp_map`.
    squeeze : squeeze forces to hold.  {("left", "right"): 20.0} makes these two closures press the object with 20 N
        along the line between them, as the mean of their two forces; squeeze forces in other directions follow from the
        least torques.  {"left": wrench, "right": wrench}, each [moment, force] (6,) at end b in world axes, holds all
        squeeze forces; these wrenches must cancel on the object.  By default all squeeze forces follow from the least
        torques.
    actuated : bodies whose joints have motors; by default all that do not belong to the object.
    weights : weights in the sum of weights * tau^2 that is minimized: a positive number for each speed or for all of
        them, or a dict by names of arms or bodies, 1 for those left out.
    external : external forces, as in `forward_dynamics`.
    """
    grasp = grasp_map(system, q, obj)
    body = object_bodies(system, obj)[0]
    wanted = array("acceleration", acceleration, (6,), "[angular, linear], world axes.")
    motors = np.flatnonzero(_motors(system, obj, actuated))
    root = np.sqrt(_weights(system, weights))[motors]
    held, values = _held(grasp, squeeze)
    q, v = np.asarray(q, dtype=float), array("v", v, (system.nv,))
    space = row_space(system, q)
    rows = _rows(system, grasp)

    def motion(tau: Array) -> tuple[Array, Array, Array]:
        vdot = forward_dynamics(system, q, v, tau, external=external)
        force = inverse_dynamics(system, q, v, vdot, external=external) - tau
        lam = np.array([space.multipliers(f) for f in np.atleast_2d(force)])[:, rows]
        a = np.atleast_2d(node_acceleration(system, q, v, vdot, body))
        return np.hstack([a, lam @ held.T]), vdot, force

    unit = np.zeros((len(motors) + 1, system.nv))
    unit[np.arange(1, len(motors) + 1), motors] = 1.0
    found = motion(unit)[0]
    slopes = (found[1:] - found[0]).T / root
    size = np.linalg.norm(slopes, axis=1)
    size = np.where(size > 0.0, size, 1.0)
    inverse = np.linalg.pinv(slopes / size[:, None], rcond=1e-10)
    target = np.concatenate([wanted, values])
    tau = np.zeros(system.nv)
    for _ in range(3):  # the second and the third time only rounding is left
        off = (target - motion(tau)[0][0]) / size
        tau[motors] += (inverse @ off) / root
    reached, vdot, force = motion(tau)
    # the terms that add up to the target, which determine the rounding errors
    parts = np.abs(target) + np.abs(found[0]) + np.abs(slopes) @ np.abs(tau[motors] * root)
    _refuse_unreached(np.abs(target - reached[0]), parts, obj)
    forces = closure_wrenches(system, q, force)
    return LoadShare(tau, vdot, forces, check_grasps(system, q, forces))


def _rows(system: System, grasp: GraspMap) -> np.ndarray:
    """The rows of the system that are the columns of the grasp matrix."""
    return np.concatenate([np.arange(system.rows)[system.closure_rows[n]] for n in grasp.columns])


def _motors(system: System, obj: str, actuated: Iterable[str] | None) -> np.ndarray:
    own = object_bodies(system, obj)
    if actuated is None:
        actuated = [body for body in system.bodies if body not in own]
    motors = locked_speeds(system, actuated, "actuated")
    if not motors.any():
        raise ArgumentValueError(
            "actuated names no joint with a speed: name the bodies whose joints have motors."
        )
    return motors


def _weights(system: System, given: ArrayLike | Mapping[str, float] | None) -> Array:
    w = np.ones(system.nv)
    if isinstance(given, Mapping):
        for name, value in given.items():
            weight = number(f"weights[{name!r}]", value, above=0.0)
            for body in object_bodies(system, name):
                w[system.layout[body].v_joint] = weight
    elif given is not None:
        w = repeated("weights", given, system.nv)
    if not (w > 0.0).all():
        raise ArgumentValueError(f"weights must be positive, got {w.min():.6g}.")
    return w


def _held(grasp: GraspMap, squeeze: Mapping | None) -> tuple[Array, Array]:
    """Combinations (n, rows) of the closure rows, and the values (n,) at which they are held."""
    none = np.zeros((0, grasp.matrix.shape[1]))
    if squeeze is None or (isinstance(squeeze, Mapping) and not squeeze):
        return none, np.zeros(0)
    if not isinstance(squeeze, Mapping):
        raise ArgumentTypeError(
            'squeeze must be {("closure", "closure"): force} or {"closure": wrench, ...}, got '
            + shown(squeeze)
            + "."
        )
    pairs = [isinstance(key, tuple) and len(key) == 2 for key in squeeze]
    if not all(pairs):
        if any(pairs):
            raise ArgumentTypeError(
                "squeeze contains both pairs of closures and single closures: give either forces along lines between two "
                "closures, or the wrenches of all."
            )
        return _held_wrenches(grasp, squeeze)
    rows, values = [], []
    for pair, force in squeeze.items():
        rows.append(grasp.pressing(*pair))
        values.append(number(f"squeeze[{pair!r}]", force))
    return np.array(rows), np.array(values)


def _held_wrenches(grasp: GraspMap, squeeze: Mapping) -> tuple[Array, Array]:
    lam = grasp.multipliers(squeeze)
    net = grasp.matrix @ lam
    if np.abs(net).max() > 1e-6 * max(np.abs(grasp.matrix * lam).max(), 1e-300):
        raise ArgumentValueError(
            f"squeeze: the wrenches do not cancel on the object, where {np.array2string(net, precision=3)} remains at "
            f"{grasp.point.tolist()}: squeeze forces must not move it. Give forces of {listed(grasp.columns)} that "
            "cancel, or a line between two of them."
        )
    C = grasp._at_contacts
    return grasp.squeeze.T @ C.T @ C, grasp.squeezes(lam)


def _refuse_unreached(left: Array, parts: Array, obj: str) -> None:
    """Reject motions and squeeze forces that no torques produce: the error exceeds the rounding of `parts`."""
    for part, what in ((slice(0, 6), "the acceleration"), (slice(6, None), "the squeeze forces")):
        if left[part].max(initial=0.0) > LEFT * parts[part].max(initial=0.0):
            raise DynamicsError(
                f"share_load: no torques of the actuated joints give {obj!r} {what} requested: {left[part].max():.3g} "
                "remains. Actuate more joints, hold the object by more closures, or request less."
            )
