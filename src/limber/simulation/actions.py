"""The actions of events in a run: they change its state or its topology, or stop it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from limber.checks import shown
from limber.constraints.topology import Change
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.integrators import context as R
from limber.simulation.closed_states import closed_state, warn_of_redundancy
from limber.simulation.events import Event
from limber.simulation.motions import AGREES
from limber.simulation.run import Run
from limber.simulation.states import coordinates, speeds
from limber.simulation.tanks import drained
from limber.simulation.topology import called, carried_out, changes_of, energy_of, refuse_changes


def act(run: Run, event: Event) -> bool:
    """Carry out the action of an event; return whether it requests the end of the run."""
    if event.action is None:
        return False
    what = f"the action of {called(event.name)}"
    answer: Any = event.action
    if changes_of(answer) is None:
        answer = _answer(run, event, what)
    if isinstance(answer, str) and answer == "stop":
        return True
    if (changes := changes_of(answer)) is not None:
        _change_topology(run, changes, event)
    elif answer is not None:
        _change_state(run, answer, what)
    return False


def _answer(run: Run, event: Event, what: str) -> Any:
    """The return value of the function of an action."""
    s, y = run.system, run.state
    q, v = y[: s.nq].copy(), y[s.nq :].copy()
    q.flags.writeable = v.flags.writeable = False
    try:
        return event.action(run.t, q, v)  # type: ignore[operator, misc, arg-type]
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        raise ArgumentValueError(
            f"{what} writes into q or v, which does not change the state: copy them (v = v.copy()), and return (q, v)."
        ) from error


def _change_state(run: Run, answer: Any, what: str) -> None:
    """Continue from the state (q, v) that an action returns."""
    s, y = run.system, run.state
    if not isinstance(answer, (tuple, list)) or len(answer) != 2:
        raise ArgumentTypeError(
            f'{what} must return None, "stop" or (q, v), or a change of topology such as lb.attach(...), got {shown(answer)}.'
        )
    now = drained(s, {body: float(x) for body, x in run.forces.masses(np.array(run.t)).items()})
    before = energy_of(now, y[: s.nq], y[s.nq :])
    q, v = coordinates(s, f"q of {what}", answer[0]), speeds(s, f"v of {what}", answer[1])
    for joint in run.forces.driven:
        for new, old, part in ((q, y[: s.nq], joint.q), (v, y[s.nq :], joint.v)):
            if not np.allclose(new[part], old[part], rtol=AGREES, atol=AGREES):
                raise ArgumentValueError(
                    f"{what} changes the joint of body {joint.body!r}, whose motion is prescribed: do not change its "
                    "entries of q and v."
                )
            new[part] = old[part]
    returned = f"the state that {what} returns"
    on = closed_state(s, q, v, returned, f"v of {returned}", "q, v", run.forces.names)
    y[:] = np.concatenate(on)
    run.engine.seek_cut_joints(s)
    run.y[len(y) + R.ACTION_WORK] += energy_of(now, y[: s.nq], y[s.nq :]) - before


def _change_topology(run: Run, changes: Sequence[Change], event: Event) -> None:
    """Carry out changes of topology, one after the other."""
    refuse_changes(changes, run.settings.engine, run.forces.names)
    if run.forces.masses(np.array(run.t)):
        raise ArgumentValueError(
            f"{called(event.name)} changes the topology, but burns change the mass of a tank: one run cannot do both. "
            "Stop the run at the event, and continue with a system that has the remaining masses."
        )
    for change in changes:
        s, y = run.system, run.state
        done = carried_out(change, s, y[: s.nq], y[s.nq :], run.stages.known, run.t, event.name)
        if run.forces.field is not None:
            run.forces.field.refuse_held(done.system, f"{called(event.name)} at t = {run.t:.6g} s")
        y[: s.nq], y[s.nq :] = done.q_after, done.v_after
        if done.system is not s:
            run.reclose(done.system)
            if done.wrenches:
                after = f"after {done.kind} {done.name!r}"
                warn_of_redundancy(done.system, done.q_after, run.forces.numbers, after)
        run.stages.add(done, run.rows)
