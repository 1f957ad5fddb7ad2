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

from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.refusals import quaternions
from limber.errors import warn
from limber.simulation.batch_result import BatchResult
from limber.simulation.case_threads import calls_python, run_cases
from limber.simulation.cases import Cases
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
from limber.simulation.states import initial_state
from limber.simulation.validity import cases_in_doubt


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
    states: dict[int, tuple[Array, Array]] = {}

    def prepare(case: int) -> None:
        systems[case] = running.own_system(case)
        states[case] = initial_state(system, **cases.start(case, given))

    plain = _plain_states(running, given)
    if plain is not None:
        chosen, (q, v) = np.arange(cases.count), plain
        systems = dict.fromkeys(range(cases.count), system)
    else:
        for case in range(cases.count):
            running.attempt(case, prepare)
        chosen = np.array(list(states), dtype=int)
        q, v = (np.array([state[part] for state in states.values()]) for part in (0, 1))
    if not chosen.size:
        return
    tau = constant_torques(system, given["torque"], cases.torques, cases.count)[chosen]
    parameters = {name: x[chosen] for name, x in cases.every().items()}
    began = time.perf_counter()
    rows = rows_on_gpu if given["engine"] == "cuda" else rows_in_lanes
    since = times - given["t0"]
    law = law_table(system, given, since, q) if cases.torques is None else None
    Q, V, held, steps = rows(system, q, v, tau, parameters, since, step, law)

    def result(case: int) -> Result:
        i = int(np.searchsorted(chosen, case))
        return result_of(systems[case], times, Q[i], V[i], held[i], steps, began)

    clear = np.zeros(len(chosen), dtype=bool)
    if (
        not parameters and law is None
    ):  # all cases have the same system, and most of them cause no warning
        clear[:] = np.isfinite(Q).all(axis=(1, 2)) & np.isfinite(V).all(axis=(1, 2))
        clear[clear] = ~cases_in_doubt(system, Q[clear], V[clear], tau[clear])
        running.put_many(chosen[clear], Q[clear], V[clear], tau[clear], steps_taken(steps, began))
    for case in chosen[~clear].tolist():
        running.attempt(case, result)
    bar.show(cases.count)


def _plain_states(running: RunningBatch, given: Mapping[str, Any]) -> tuple[Array, Array] | None:
    """The initial states of the cases, checked at once; None if they must be checked one by one."""
    system, cases = running.system, running.cases
    if cases.parameters or cases.shared or quaternions(system):
        return None
    found = []
    for own, shared, rest in (
        (cases.q0, given["q0"], system.neutral()),
        (cases.v0, given["v0"], np.zeros(system.nv)),
    ):
        x = own
        if x is None:
            if shared is not None:
                return None
            x = np.broadcast_to(rest, (cases.count, len(rest)))
        if not np.isfinite(x).all():
            return None
        found.append(np.array(x, dtype=float))
    return found[0], found[1]
