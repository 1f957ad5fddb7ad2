"""A result at other times, by splines that end at changes of topology."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from limber import dynamics
from limber.checks import Array, array
from limber.dynamics.refusals import quaternions
from limber.errors import ArgumentValueError

if TYPE_CHECKING:
    from limber.simulation.result import Result


def resampled(result: Result, times: ArrayLike) -> Result:
    """The result at other times between its first and last; see `Result.resample`."""
    from scipy.interpolate import PchipInterpolator  # noqa: PLC0415

    t = array("times", times, ("n",))
    few = len(result) < 2
    if few or (np.diff(result.t) <= 0.0).any():
        raise ArgumentValueError(
            f"resample needs at least 2 rows with increasing times; this result has {len(result)}"
            + ("." if few else ", whose times do not increase.")
        )
    if t.size and (t.min() < result.t[0] or t.max() > result.t[-1]):
        raise ArgumentValueError(
            f"times must lie within the result, {result.t[0]:g} to {result.t[-1]:g} s, got {t.min():g} to {t.max():g}."
        )
    q, v, stage = _splines(result, t)
    for _, at in quaternions(result.system):
        q[:, at] /= np.linalg.norm(q[:, at], axis=1, keepdims=True)

    def linear(x: Array) -> Array:
        return np.array([np.interp(t, result.t, c) for c in x.T]).reshape(x.shape[1], len(t)).T

    supplied = result.supplied
    return replace(
        result, t=t, q=q, v=v, tau=linear(result.tau), stage=stage,
        external={key: linear(x) for key, x in result.external.items()},
        environment=None if result.environment is None else linear(result.environment),
        masses={body: np.interp(t, result.t, x) for body, x in result.masses.items()},
        supplied=None if supplied is None else PchipInterpolator(result.t, supplied)(t),
    )  # fmt: skip


def _splines(result: Result, t: Array) -> tuple[Array, Array, Array]:
    """q (m, nq) and v (m, nv) of a result at the times t (m,), and the stage to which each of them belongs."""
    from scipy.interpolate import CubicHermiteSpline  # noqa: PLC0415

    q, v = np.empty((len(t), result.system.nq)), np.empty((len(t), result.system.nv))
    stages = _stages(result, t)
    for stage in np.unique(stages):
        at = stages == stage
        times, *knots = _knots(result, int(stage))
        if len(times) == 1:
            q[at], v[at] = knots[0], knots[1]
            continue
        q[at] = CubicHermiteSpline(times, knots[0], knots[2])(t[at])
        v[at] = CubicHermiteSpline(times, knots[1], knots[3])(t[at])
    return q, v, stages


def _stages(result: Result, t: Array) -> Array:
    """The stages to which times belong: those of rows at these times, otherwise those between the changes."""
    stages = np.searchsorted([change.t for change in result.changes], t, side="left")
    row = np.searchsorted(result.t, t, side="right") - 1
    return np.where(result.t[row] == t, result.stage[row], stages)


def _knots(result: Result, stage: int) -> tuple[Array, Array, Array, Array, Array]:
    """t, q, v and the rates of q and v at the rows of a stage, and at its start and end if these are not rows."""
    system, rows = result.systems[stage], result.stage == stage
    t, q, v, rates = result.t[rows], result.q[rows], result.v[rows], result.vdot[rows]
    if stage > 0:
        first = result.changes[stage - 1]
        if not t.size or first.t < t[0]:
            rate = _rate(result, rows, stage, first.t, first.q_after, first.v_after)
            t, q, v = (
                np.append(first.t, t),
                np.vstack([first.q_after, q]),
                np.vstack([first.v_after, v]),
            )
            rates = np.vstack([rate, rates])
    if stage < len(result.changes):
        last = result.changes[stage]
        if not t.size or last.t > t[-1]:
            rate = _rate(result, rows, stage, last.t, last.q, last.v)
            t, q, v = np.append(t, last.t), np.vstack([q, last.q]), np.vstack([v, last.v])
            rates = np.vstack([rates, rate])
    return t, q, v, dynamics.qdot(system, q, v), rates


def _rate(result: Result, rows: np.ndarray, stage: int, t: float, q: Array, v: Array) -> Array:
    """The rates of v at a time, with the forces of the nearest rows of its stage, or of all rows if it has none."""
    near = result.rows(np.flatnonzero(rows)) if rows.any() else result

    def force(x: Array) -> Array:
        return np.array([np.interp(t, near.t, column) for column in x.T])

    external: Any = {key: force(x) for key, x in near.external.items()} or None
    return dynamics.forward_dynamics(
        result.systems[stage], q, v, force(near.forces), external=external
    )
