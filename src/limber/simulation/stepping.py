"""How a run proceeds to a time: with one method, or with the cheaper of an explicit and an implicit one.

A run advances by calls of some number of steps each, between which progress is shown and results are stored.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from limber.errors import SimulationError
from limber.integrators import context as R
from limber.integrators.method_record import Method
from limber.simulation.run import Run

#: The steps of the first call; later calls take about CALL_SECONDS each and at least LEAST_STEPS steps.
FIRST_STEPS, CALL_SECONDS, LEAST_STEPS, MOST_STEPS = 200, 0.1, 20, 1_000_000
#: The steps for which the other method is tried, and the work (evaluations times their cost, see `Run.cost_of`) before
#: the first trial: some tenths of a second.  So many explicit steps that stability limits lead to a trial at once.
TRIAL_STEPS, WORK_BEFORE_TRIALS, STIFF_STEPS = 50, 3_000_000, 50

Show = Callable[[Run], None]


def advance_to(run: Run, until: float, show: Show) -> int:
    """Integrate to a time or to an event; return why it stopped, see `integrators.context`."""
    if len(run.settings.methods) > 1:
        return _with_the_cheaper(run, until, show)
    (method,) = run.settings.methods
    steps = FIRST_STEPS
    while True:
        status, seconds = _timed_call(run, method, until, steps, show)
        if status != R.PAUSED:
            return status
        steps = int(np.clip(steps * CALL_SECONDS / max(seconds, 1e-6), LEAST_STEPS, 10_000_000))


def _with_the_cheaper(run: Run, until: float, show: Show) -> int:
    """Take explicit steps, and implicit ones where those are cheaper: both are tried in turn during the run.

    Explicit steps limited by stability, not accuracy, lead to a trial of implicit ones at once.  The steps of a trial
    are part of the result, so a trial costs no more than the difference of the methods.  The choice counts
    evaluations, not seconds: a repeated run takes the same steps.
    """
    method, other = run.settings.methods
    kept, steps, alarm = 0, FIRST_STEPS, STIFF_STEPS
    while True:
        run.clock[R.STIFF_STEPS], run.clock[R.MOST_STIFF_STEPS] = 0.0, alarm
        status, cost = _measured(run, method, until, steps, show)
        run.clock[R.MOST_STIFF_STEPS] = 0.0
        stiff = status == R.STIFF
        if stiff:  # the work of the steps before these says nothing about those to come
            status, cost = _measured(run, method, until, TRIAL_STEPS, show)
        if status != R.PAUSED:
            return status
        work = run.clock[R.EVALUATIONS] * run.cost_of(method)
        if not stiff and not method.implicit and work < WORK_BEFORE_TRIALS:
            steps = min(2 * steps, MOST_STEPS)
            continue
        step = run.clock[R.STEP]
        try:
            status, other_cost = _measured(run, other, until, TRIAL_STEPS, show)
        except SimulationError:  # the other method got stuck where this one did not
            run.clock[R.STEP], run.clock[R.NEEDS_RATE] = step, 1.0
            status, other_cost = R.PAUSED, np.inf
        if status != R.PAUSED:
            return status
        if other_cost < cost:
            method, other, kept, steps, alarm = other, method, 0, FIRST_STEPS, STIFF_STEPS
        else:
            # The better method continues; the other one is tried again less and less often.
            kept += 1
            steps = min(FIRST_STEPS * 2**kept, MOST_STEPS)
            alarm *= 2 if stiff else 1


def _measured(run: Run, method: Method, until: float, steps: int, show: Show) -> tuple[int, float]:
    """Advance by some steps: why it stopped, and the work per simulated second."""
    t, evaluations, left = run.t, run.clock[R.EVALUATIONS], steps
    call_steps = min(steps, TRIAL_STEPS)
    while True:
        status, seconds = _timed_call(run, method, until, min(call_steps, left), show)
        left -= call_steps
        if status != R.PAUSED or left <= 0:
            work = run.cost_of(method) * (run.clock[R.EVALUATIONS] - evaluations)
            return status, work / max(run.t - t, 1e-300)
        faster = call_steps * CALL_SECONDS / max(seconds, 1e-6)
        call_steps = int(np.clip(faster, LEAST_STEPS, MOST_STEPS))


def _timed_call(
    run: Run, method: Method, until: float, steps: int, show: Show
) -> tuple[int, float]:
    """Advance by at most some steps and show progress: why it stopped, and the seconds that the steps took."""
    start = time.perf_counter()
    status = run.advance(method, until, steps)
    seconds = time.perf_counter() - start
    show(run)
    return status, seconds
