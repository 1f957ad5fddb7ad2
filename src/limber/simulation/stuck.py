"""Why a run got stuck, in words, and the remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from limber.checks import listed
from limber.dynamics.closing import nearly_met, searched
from limber.dynamics.evaluate import evaluated
from limber.dynamics.following import driven_speeds
from limber.dynamics.refusals import HUGE, why_singular
from limber.dynamics.rows import worst
from limber.integrators import context as R
from limber.integrators.method_record import Method

if TYPE_CHECKING:
    from limber.simulation.run import Run

#: Where a run with driven joints is stuck, the closures are looked at so far ahead, as fractions of the time that is left.
AHEAD = (1e-6, 1e-4, 1e-2)


def why_stuck(run: Run, method: Method) -> str:
    """Why a run got stuck with a method."""
    s = run.system
    if s.closures and run.forces.driven and (behind := _left_behind(run)):
        return behind
    gap, row = run.engine.shared[[R.GAP, R.GAP_ROW]]
    if gap > 0.0:
        return _open(run, method, float(gap), int(row))
    q = run.state[: s.nq]
    # fixed steps that are too long also lead there
    settled = method.adaptive and np.all(np.abs(q) < HUGE)
    if settled and (singular := why_singular(s, q, run.forces.numbers)):
        return (
            f"the simulation of {s.name!r} got stuck at t = {run.t:.6g} s: {singular} The result so far is in "
            f"error.result.{_of_sampled_controllers(run)}"
        )
    return _no_longer_moving(run, method)


def _left_behind(run: Run) -> str:
    """Why a run is stuck if the closures cannot follow the motions of driven joints; empty if they can."""
    s, y = run.system, run.state
    moving = ~driven_speeds(s, run.forces.numbers)
    for part in AHEAD:
        t = run.t + part * (run.end - run.t)
        q, v = y[: s.nq].copy(), y[s.nq :].copy()
        for joint in run.forces.driven:
            joint.put(t, q, v)
        q = searched(s, q, moving)
        off = evaluated(s, "violations", (q,))
        if not nearly_met(s, y[: s.nq], off):
            return (
                f"the closures of {s.name!r} cannot follow the motion of {listed(run.forces.names)} after t = {run.t:.6g} "
                f"s: at t = {t:.6g} s, {worst(s, off)} even in the closest configuration. Change the motion, or drive "
                "fewer joints; the result so far is in error.result."
            )
    return ""


def _open(run: Run, method: Method, gap: float, row: int) -> str:
    """Why a run is stuck whose closures are violated by a gap."""
    s = run.system
    name = next(n for n, rows in s.closure_rows.items() if rows.start <= row < rows.stop)
    if method.adaptive:
        what = "where the motion continues, however short the step"
        advice = "The mechanism is locked there, or its lengths are inconsistent. Look at the result so far (error.result)."
    else:
        what = f"after the next fixed step of {run.clock[R.STEP]:.2g} s"
        advice = 'Use a smaller step, or an adaptive method such as method="dop853".'
    return (
        f"the closures of {s.name!r} can no longer be satisfied after t = {run.t:.6g} s: {name!r} is off by "
        f"{gap:.3g} (rad or m) {what}. {advice}"
    )


def _no_longer_moving(run: Run, method: Method) -> str:
    """Why a run is stuck whose steps became too short, or whose state is no longer finite."""
    s, y = run.system, run.state
    step = run.clock[R.STEP]
    bad = np.flatnonzero(~np.isfinite(run.engine.rate))
    size = np.abs(np.where(np.isfinite(y), y, np.inf))
    i = int(bad[0]) if bad.size else int(np.argmax(size))
    part = f"q[{i}], {s.describe_q(i)}" if i < s.nq else f"v[{i - s.nq}], {s.describe_v(i - s.nq)}"
    if method.adaptive:
        what = f"the step fell to {step:.2g} s"
        advice = (
            "The motion diverges, or the torque keeps jumping: look at the result so far (error.result), at the torques, "
            "and for deformations that are not small; loosen rtol if the model is correct."
        )
        advice += _of_sampled_controllers(run)
        if method.implicit and _next_to_singular(run):
            advice = (
                "The closures are close to a singular position, where rounding errors grow: implicit methods cannot pass it "
                'at this tolerance. Use method="dop853" or a larger rtol; the result so far is in error.result.'
            )
    else:
        what = f"the state is no longer finite with the fixed step of {step:.2g} s"
        advice = 'Use a smaller step, or an adaptive method such as method="dop853".'
    return (
        f"the simulation of {s.name!r} got stuck at t = {run.t:.6g} s: {what}; the largest entry of the state is {part}, "
        f"which is {y[i]:.3g}. {advice}"
    )


def _of_sampled_controllers(run: Run) -> str:
    """What to try if a sampled torque acts on a system whose motion diverges; empty if none does."""
    if run.forces.torque.session is None:
        return ""
    s, torque = run.system, run.engine.forces[0]
    advice = (
        " The torque is sampled, and a sampled loop whose gains are too high is unstable: lower the gains or the sample "
        "time"
    )
    modal = any(body.modes for body in s.bodies.values())
    driven = {b: np.any(torque[s.layout[b].v_joint]) for b in s.joints}
    light = [b for b, j in s.joints.items() if driven[b] and not np.all(j.physics.armature)]
    if modal and light:
        return (
            f"{advice}, or give the joints the armature of their motors. The joints of {listed(light)} have none, so "
            "little torque is enough to move the light roots of the flexible bodies."
        )
    return f"{advice}."


def _next_to_singular(run: Run) -> bool:
    """Whether the closure rows are nearly dependent at the present state, and were not before."""
    from limber.integrators.projection import NEAR  # noqa: PLC0415 (Numba)

    return bool(run.clock[R.CONDITION] > NEAR * run.clock[R.BEST_CONDITION] > 0.0)
