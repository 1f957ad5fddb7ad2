"""Batches: many simulations of one system at once, with different states, torques and parameters.

Cases run in threads (`case_threads`), because compiled integrators do not hold Python's lock.  Torques, wrenches, motions
and events in Python do, so cases with such functions gain little from more cores; compiled functions and tables do not.
With fixed steps and generated code all cases are stepped at once (`lanes`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from limber.assembly.family import parts
from limber.assembly.system import System
from limber.checks import UNIT_TOLERANCE, Array
from limber.dynamics.refusals import quaternions
from limber.errors import LimberError, warn
from limber.simulation.batch_result import BatchResult
from limber.simulation.case_threads import calls_python, run_cases
from limber.simulation.cases import Cases
from limber.simulation.doubts import cases_in_doubt, starts_in_doubt
from limber.simulation.lanes import (
    constant_torques,
    fixed_step,
    law_table,
    numbers_of_code,
    result_of,
    rows_in_lanes,
    rows_on_gpu,
    steps_taken,
    uses_lanes,
)
from limber.simulation.progress import CaseProgress
from limber.simulation.result import Result
from limber.simulation.running_batch import RunningBatch
from limber.simulation.signals import prepared_for
from limber.simulation.states import initial_state, warn_of_start

#: Cases whose rows are copied at a time.
BLOCK = 64


def simulate_cases(
    simulate: Callable[..., Result],
    system: System,
    cases: Cases,
    times: Array,
    progress: bool | None,
    given: Mapping[str, Any],
) -> BatchResult:
    """The results of all cases.

    simulate : runs one of them.
    times : the output times, which all cases share.
    given : the other arguments of `simulate`.
    """
    running = RunningBatch(system, cases, times)

    def run(case: int) -> Result:
        own = cases.arguments(case, given)
        own["torque"] = prepared_for(system, own["torque"])  # not for what is different in the case
        return simulate(running.own_system(case), **own)

    with CaseProgress(cases.count, progress) as bar:
        try:
            if given["engine"] == "generated":
                numbers_of_code(system, cases.every())  # code for each case would take minutes
            if uses_lanes(given, system, cases.torques, times - given["t0"]):
                _in_lanes(running, times, given, bar)
            elif cases.count:
                running.attempt(0, run)  # alone, so that code is compiled and loaded once
                bar.show(1)
                torques = [given["torque"]] if cases.torques is None else cases.torques
                run_cases(
                    lambda case: running.attempt(case, run), range(1, cases.count), bar, calls_python(given, torques)
                )  # fmt: skip
        except KeyboardInterrupt:
            warn(
                f"the batch was interrupted: {running.left} of its {cases.count} cases did not run."
            )
    return running.finished()


def _in_lanes(
    running: RunningBatch, times: Array, given: Mapping[str, Any], bar: CaseProgress
) -> None:
    """Run all cases at once in generated code; see `lanes`."""
    system, cases = running.system, running.cases
    step = fixed_step(given, times)
    systems: dict[int, System] = {}
    (q, v), certain = _certain_states(running, given)
    ready = certain.copy()

    def prepare(case: int) -> None:
        systems[case] = running.own_system(case)
        start = cases.start(case, given)
        q[case], v[case] = initial_state(system, **start)
        warn_of_start(systems[case], q[case], start["q0"])
        ready[case] = True

    for case in np.flatnonzero(~certain).tolist():
        running.attempt(case, prepare)
    chosen = np.flatnonzero(ready)
    if not chosen.size:
        return
    q, v, certain = q[chosen], v[chosen], certain[chosen]
    tau = constant_torques(system, given["torque"], cases.torques, cases.count)[chosen]
    parameters = {name: x[chosen] for name, x in cases.every().items()}
    began = time.perf_counter()
    rows = rows_on_gpu if given["engine"] == "cuda" else rows_in_lanes
    since = times - given["t0"]
    law = law_table(system, given, since, q) if cases.torques is None else None
    Q, V, held, steps = rows(system, q, v, tau, parameters, since, step, law)

    def result(case: int) -> Result:
        i = int(np.searchsorted(chosen, case))
        own = systems[case] if case in systems else running.own_system(case)
        return result_of(own, times, Q[i], V[i], held[i], steps, began)

    # most cases cause neither an error nor a warning, and need no closer look
    clear = certain & np.isfinite(Q).all(axis=(1, 2)) & np.isfinite(V).all(axis=(1, 2))
    doubtful = cases_in_doubt(running.family.some(chosen), np.flatnonzero(clear), Q, V, held)
    clear[doubtful] = False
    statistics = steps_taken(steps, began)
    # a few at a time, because cases are next to each other in the rows of a GPU
    for part in parts(np.flatnonzero(clear), BLOCK):
        running.put_later(chosen[part], Q[part], V[part], held[part], statistics)
    for case in chosen[~clear].tolist():
        running.attempt(case, result)
    bar.show(cases.count)


def _certain_states(
    running: RunningBatch, given: Mapping[str, Any]
) -> tuple[tuple[Array, Array], np.ndarray]:
    """The initial states of all cases, and for which of them they and the system of the case are certainly valid,
    without a warning.

    The others must be checked one by one.
    """
    system, cases = running.system, running.cases
    certain = running.family.certain.copy()
    common = (
        given[name] if own is None else None for name, own in (("q0", cases.q0), ("v0", cases.v0))
    )
    try:
        start = initial_state(system, *common)
    except LimberError:
        start, certain[:] = initial_state(system, None, None), False
    found = []
    for own, shared in zip((cases.q0, cases.v0), start):
        x = np.tile(shared, (cases.count, 1))
        if own is not None:
            x[:] = own
            certain &= np.isfinite(x).all(axis=1)
        found.append(x)
    q, v = found
    for _, at in quaternions(system) if cases.q0 is not None else ():
        certain &= np.abs(np.linalg.norm(q[:, at], axis=1) - 1.0) < 0.5 * UNIT_TOLERANCE
        for case in np.flatnonzero(certain):
            q[case, at] /= np.linalg.norm(q[case, at])  # the same rounding as `initial_state`
    chosen = np.flatnonzero(certain)
    certain[chosen] = ~starts_in_doubt(running.family.some(chosen), q[chosen])
    return (q, v), certain
