"""The costs and node bounds of `OptimalControl` and `NMPC`.

Integrals are over time, and every square has the factor 1/2. Errors of q are in the tangent space: N(q_ref)^+ (q -
q_ref), which for a quaternion is the vector part of twice the rotation between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, number, numbers, shown
from limber.dynamics import integrate, inverse_dynamics, mass_matrix
from limber.dynamics.kinematics import qdot
from limber.errors import ArgumentTypeError, ArgumentValueError

#: t -> q, or (q, v)
Motion = Callable[[float], Any]


@dataclass(frozen=True, eq=False)
class Effort:
    """The cost of forces: weight u^2 / 2, integrated, plus change (u[k+1] - u[k])^2 / 2, summed.

    weight : one number or one for each driven joint speed, 1/((N m)^2 s).
    change : weight of the jumps between intervals, 1/(N m)^2; for `OptimalControl` only.
    """

    weight: ArrayLike = 1.0
    change: ArrayLike = 0.0


@dataclass(frozen=True, eq=False)
class Tracking:
    """The cost of errors of the state, weighted and integrated, and again at the end.

    reference : q (nq,) at rest, or a function t -> q or (q, v).
    q, v : weights of the errors of coordinates and of speeds, integrated: one number, (nv,), or {body: weight of its
        joint}.
    final_q, final_v : the same at the end, not integrated.
    """

    reference: Any
    q: Any = 0.0
    v: Any = 0.0
    final_q: Any = 0.0
    final_v: Any = 0.0


@dataclass(frozen=True, eq=False)
class Vibration:
    """The cost of the energy, J, of the modes about their static deflection in the final configuration.

    weight : of the integral, 1/(J s).
    final : at the end, 1/J: the vibration that remains when the motion is over.
    """

    weight: float = 0.0
    final: float = 0.0


@dataclass(frozen=True, eq=False)
class NodeTracking:
    """The cost of the squared distance of a node from its target.

    body, node : the node; None is the body frame.
    target : (3,) in world axes, m, or a function of time.
    weight, final : of the integral, and at the end, 1/m^2.
    """

    body: str
    node: str | int | None
    target: Any
    weight: float = 0.0
    final: float = 0.0


@dataclass(frozen=True, eq=False)
class NodeBounds:
    """A box in world axes that a node must stay in, from the end of the first interval.

    lower, upper : (3,), m; -inf and inf where it is open.
    """

    body: str
    node: str | int | None
    lower: ArrayLike = -np.inf
    upper: ArrayLike = np.inf


@dataclass(frozen=True, eq=False)
class MinimumTime:
    """The cost of the duration, times a weight; for a free duration."""

    weight: float = 1.0


COSTS = (Effort, Tracking, Vibration, NodeTracking, MinimumTime)


def checked_terms(costs: Any, nodes: Any) -> tuple[tuple[Any, ...], tuple[NodeBounds, ...]]:
    """Check lists of costs and of bounds."""
    found = []
    for name, given, kinds in (("costs", costs, COSTS), ("nodes", nodes, (NodeBounds,))):
        items = tuple(given) if isinstance(given, (list, tuple)) else (given,)
        for item in items:
            if not isinstance(item, kinds):
                known = ", ".join(f"lb.control.{kind.__name__}" for kind in kinds)
                raise ArgumentTypeError(f"{name} must be a list of {known}, got {shown(item)}.")
        found.append(items)
    return found[0], found[1]


def weights_of_speeds(name: str, given: Any, system: System) -> Array:
    """Weights (nv,)."""
    if isinstance(given, Mapping):
        weights = np.zeros(system.nv)
        for body, weight in given.items():
            system.number(body, f"{name}: body")
            weights[system.layout[body].v_joint] = number(f"{name}[{body!r}]", weight, minimum=0.0)
        return weights
    weights = numbers(name, given, f"() or ({system.nv},)")
    if weights.shape not in ((), (system.nv,)) or (weights < 0.0).any():
        raise ArgumentValueError(
            f"{name} must be one number, {system.nv} of them or {{body: weight}}, none of them negative; got "
            f"{shown(given)}."
        )
    return np.broadcast_to(weights, (system.nv,)).astype(float)


def reference_states(given: Any, times: Array, system: System) -> Array:
    """The states (times, nx) of a reference."""
    rows = np.zeros((len(times), system.nq + system.nv))
    if not callable(given):
        q = numbers("reference", given, f"({system.nq},)")
        if q.shape != (system.nq,):
            raise ArgumentValueError(
                f"reference must be a configuration ({system.nq},) or a function of time, got shape {q.shape}."
            )
        rows[:, : system.nq] = q
        return rows
    for row, t in zip(rows, times):
        value = given(float(t))
        q, v = value if isinstance(value, tuple) else (value, np.zeros(system.nv))
        try:
            row[: system.nq], row[system.nq :] = q, v
        except (TypeError, ValueError):
            raise ArgumentTypeError(
                f"reference(t) must return q ({system.nq},) or (q, v); at t = {t:.6g} s it returned {shown(value)}."
            ) from None
    return rows


def target_points(given: Any, times: Array) -> Array:
    """The points (times, 3) of a target."""
    if callable(given):
        points = np.array([np.asarray(given(float(t)), dtype=float) for t in times])
    else:
        points = np.broadcast_to(numbers("target", given, "(3,)"), (len(times), 3))
    if points.shape != (len(times), 3) or not np.isfinite(points).all():
        raise ArgumentValueError(
            f"target must be a point (3,), or a function of time that returns one; got {shown(given)}."
        )
    return np.array(points)


def error_map(system: System, q: Array) -> Array:
    """E with errors E (x - x_ref) in the tangent space: N(q)^+ and the unit matrix, (2 nv, nx)."""
    E = np.zeros((2 * system.nv, system.nq + system.nv))
    if system.nq == system.nv:
        E[: system.nv, : system.nq] = np.eye(system.nv)
    else:  # quaternions
        N = np.array([qdot(system, q, unit) for unit in np.eye(system.nv)]).T
        E[: system.nv, : system.nq] = np.linalg.pinv(N)
    E[system.nv :, system.nq :] = np.eye(system.nv)
    return E


def stiffness(system: System, q: Array) -> Array:
    """The derivatives (nv, nv) of the modal forces with respect to the modes, at rest; zero elsewhere. By
    differences."""
    K = np.zeros((system.nv, system.nv))
    modes = modal_places(system)
    rest = np.zeros((len(modes), system.nv))
    units = np.eye(system.nv)[modes]
    q = np.tile(q, (len(modes), 1))
    ahead, back = (
        inverse_dynamics(system, integrate(system, q, units, h), rest, rest) for h in (1e-4, -1e-4)
    )
    slopes = ((ahead - back) / 2e-4)[:, modes]
    K[np.ix_(modes, modes)] = 0.5 * (slopes + slopes.T)
    return K


def modal_places(system: System) -> np.ndarray:
    """The places in v of all modes."""
    parts = [np.arange(w.v_modes.start, w.v_modes.stop) for w in system.layout.values()]
    return np.concatenate([np.zeros(0, dtype=int), *parts])


def modal_energy(system: System, q: Array) -> Array:
    """W such that the energy of the modes is 1/2 e^T W e for errors e = (dq, dv), with the joints held at q."""
    modes = modal_places(system)
    if not len(modes):
        raise ArgumentValueError(
            f"costs: Vibration is for flexible bodies, but {system.name!r} has no modes."
        )
    W = np.zeros((2 * system.nv,) * 2)
    here = np.ix_(modes, modes)
    W[: system.nv, : system.nv] = stiffness(system, q)
    W[system.nv :, system.nv :][here] = mass_matrix(system, q)[here]
    return W
