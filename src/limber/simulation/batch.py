"""Batches: many simulations of one system at once, from other states, with other torques and parameters.

Cases run in threads, one for each core: compiled integrators hold no lock of Python.  Torques, wrenches, motions and
events in Python do, so that cases with such functions share one core; compiled functions and tables do not.  Fixed steps
of generated code take all cases at once (`lanes`).
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly import parameters as named
from limber.assembly.system import System
from limber.checks import Array, numbers, shown
from limber.dynamics.evaluate import cores, quaternions
from limber.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    LimberError,
    collected_warnings,
    warn,
)
from limber.simulation.batch_result import BatchResult
from limber.simulation.lanes import (
    constant_torques,
    fixed_step,
    numbers_of_code,
    result_of,
    rows_in_lanes,
    rows_on_gpu,
    steps_taken,
    uses_lanes,
    wanted_of,
)
from limber.simulation.progress import CaseProgress
from limber.simulation.result import Result
from limber.simulation.table import Table
from limber.simulation.validity import cases_in_doubt


@dataclass(frozen=True, eq=False)
class Cases:
    """What differs from case to case.

    q0, v0 : (cases, nq), (cases, nv), or None for what all cases share.
    torques : one for each case, or None.
    parameters : values by name, each with one entry for every case, and those that all cases share.
    """

    count: int
    q0: Array | None
    v0: Array | None
    torques: Sequence[Any] | Array | None
    parameters: Mapping[str, Array]
    shared: Mapping[str, Any]

    def arguments(self, case: int, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of `simulate` for one case."""
        own = dict(given)
        for name, values in (("q0", self.q0), ("v0", self.v0), ("torque", self.torques)):
            if values is not None:
                own[name] = values[case]
        if _remembers(own["torque"]) and not self._alone(own["torque"]):
            own["torque"] = _copied(own["torque"])
        return own

    def _alone(self, torque: Any) -> bool:
        """Whether one case alone has a torque."""
        return self.torques is not None and sum(x is torque for x in self.torques) == 1

    def every(self) -> dict[str, Array]:
        """The parameters of all cases, (cases, ...)."""
        shared = {
            name: np.broadcast_to(x, (self.count, *np.shape(x))) for name, x in self.shared.items()
        }
        return {name: np.array(x) for name, x in {**shared, **self.parameters}.items()}

    def numbers(self, case: int) -> dict[str, Any]:
        """The parameters of one case."""
        return {**self.shared, **{name: x[case] for name, x in self.parameters.items()}}


def cases_of(
    system: System, q0: ArrayLike | None, v0: ArrayLike | None, torque: Any, parameters: Any
) -> Cases | None:
    """The cases that these arguments of `simulate` stand for; None for a single run."""
    sizes: dict[str, int] = {}

    def states(name: str, value: ArrayLike | None, width: int) -> Array | None:
        if value is None or np.ndim(value) < 2:
            return None
        x = numbers(name, value, f"({width},) or (cases, {width})")
        if x.ndim != 2 or x.shape[1] != width:
            raise ArgumentValueError(
                f"{name} must have shape ({width},), or (cases, {width}) for a batch, got {x.shape}."
            )
        sizes[name] = len(x)
        return x

    starts = states("q0", q0, system.nq), states("v0", v0, system.nv)
    torques = _torques(system, torque)
    if torques is not None:
        sizes["torque"] = len(torques)
    varied, shared = _parameters(system, parameters)
    sizes |= {f"parameters[{name!r}]": len(x) for name, x in varied.items()}
    if not sizes:
        return None
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name} {n}" for name, n in sizes.items())
        raise ArgumentValueError(
            f"the numbers of cases do not fit together: {listed}. What differs from case to case has one entry for each."
        )
    return Cases(next(iter(sizes.values())), *starts, torques, varied, shared)


def _torques(system: System, torque: Any) -> Sequence[Any] | Array | None:
    """The torques of the cases; None if all have the same."""
    if torque is None or callable(torque) or isinstance(torque, Table | str):
        return None
    if isinstance(torque, list | tuple) and any(
        x is None or callable(x) or _remembers(x) or isinstance(x, Table) or np.ndim(x) > 0
        for x in torque
    ):
        return torque
    if np.ndim(torque) < 2:
        return None
    x = numbers("torque", torque, f"(cases, {system.nv})")
    if x.ndim != 2:
        raise ArgumentValueError(
            f"torque must have shape ({system.nv},), or (cases, {system.nv}) for a batch, got {x.shape}."
        )
    return x


def _remembers(torque: Any) -> bool:
    """Whether a torque may remember what it measured, as controllers do."""
    return any(hasattr(torque, name) for name in ("sample_time", "command", "session"))


def _copied(torque: Any) -> Any:
    """A controller for one case, as it is now; it shares the system that it was made for."""
    owned = getattr(torque, "system", None)
    try:
        return copy.deepcopy(torque, {} if owned is None else {id(owned): owned})
    except Exception as error:
        raise ArgumentTypeError(
            f"torque: cases that run at once cannot share {shown(torque)}, which may remember what it measured, and it cannot "
            f"be copied ({error}). Give a list with one for each case."
        ) from error


def _parameters(system: System, given: Any) -> tuple[dict[str, Array], dict[str, Any]]:
    """The parameters with one entry for each case, and those that all cases share."""
    if given is None:
        return {}, {}
    if not isinstance(given, Mapping):
        raise ArgumentTypeError(
            f'parameters must map names to numbers, as in {{"link1.mass": 3.0}}, got {shown(given)}.'
        )
    varied: dict[str, Array] = {}
    shared: dict[str, Any] = {}
    for name, value in given.items():
        parameter = named.find(system, name)
        whole = () if named.one_for_all(parameter) else parameter.whole
        x = numbers(f"parameters[{name!r}]", value, f"{whole} or (cases, ...)")
        if x.shape == whole:
            shared[name] = x
        elif x.shape[1:] in (whole, parameter.whole):
            varied[name] = x
        else:
            raise ArgumentValueError(
                f"parameters[{name!r}] must have shape {whole}, or that behind the number of cases, got {x.shape}. It is "
                f"the {parameter.meaning}."
            )
    return varied, shared


class _Running:
    """A batch that is running: its results so far, its errors, and the first warning of each case."""

    def __init__(self, system: System, cases: Cases, times: Array):
        self.system, self.cases = system, cases
        self.made = BatchResult.empty(system, times, cases.count, cases.every())
        self.told: dict[int, Warning] = {}
        self.errors: list[Exception] = []

    def own_system(self, case: int) -> System:
        """The system with the numbers of a case."""
        given = self.cases.numbers(case)
        return self.system.with_parameters(given) if given else self.system

    def attempt(self, case: int, run: Callable[[int], Result | None]) -> None:
        """Do something for a case: its result, if there is one, or its error becomes what the case came to."""
        with collected_warnings() as found:
            try:
                result = run(case)
                if result is not None:
                    cut = result.message.startswith(("stopped", "interrupted"))
                    self.made.put(case, result, "stopped" if cut else "finished")
                    if result.message.startswith("interrupted"):  # Ctrl-C is for the batch
                        found.clear()
                        raise KeyboardInterrupt
            except Exception as error:
                self.errors.append(error)
                kind = "" if isinstance(error, LimberError) else f"{type(error).__name__}: "
                self.made.put(case, getattr(error, "result", None), "failed", f"{kind}{error}")
        if found and case not in self.told:
            self.told[case] = max(found, key=lambda warning: getattr(warning, "degree", np.inf))

    def finished(self) -> BatchResult:
        """The result of the batch, once no case runs any more; an error that is not about a case is raised."""
        made, told, count = self.made, self.told, self.cases.count
        none = all(x is None for x in made.results)
        if len(self.errors) == count > 0 and none and len(set(made.messages)) == 1:
            raise self.errors[0]
        made.finish()
        if told:
            gravest = max(told, key=lambda case: (getattr(told[case], "degree", np.inf), -case))
            warn(
                f"{len(told)} of {count} cases of the batch gave a warning, that of case {gravest} is the gravest: "
                f"{told[gravest]}",
                type(told[gravest]),
            )
        return made


def simulate_cases(
    simulate: Callable[..., Result],
    start: Callable[[System, Any, Any], tuple[Array, Array]],
    system: System,
    cases: Cases,
    times: Array,
    progress: bool | None,
    given: Mapping[str, Any],
) -> BatchResult:
    """The results of all cases.

    simulate, start : run one of them, and check the state that one starts from.
    times : the output times, which all cases share.
    given : the other arguments of `simulate`.
    """
    running = _Running(system, cases, times)

    def run(case: int) -> Result:
        return simulate(running.own_system(case), **cases.arguments(case, given))

    with CaseProgress(cases.count, progress) as bar:
        try:
            if given["engine"] == "generated":
                numbers_of_code(system, cases.every())  # code for each case would take minutes
            if uses_lanes(given, system, cases.torques, times - given["t0"]):
                _in_lanes(running, start, times, given, bar)
            elif cases.count:
                running.attempt(0, run)  # alone, so that code is compiled and loaded once
                bar.show(1)
                _in_threads(lambda case: running.attempt(case, run), range(1, cases.count), bar)
        except KeyboardInterrupt:
            left = int((running.made.status == "not run").sum())
            warn(f"the batch was interrupted: {left} of its {cases.count} cases did not run.")
    return running.finished()


def _in_lanes(
    running: _Running,
    start: Callable[[System, Any, Any], tuple[Array, Array]],
    times: Array,
    given: Mapping[str, Any],
    bar: CaseProgress,
) -> None:
    """Run all cases at once in generated code; see `lanes`."""
    system, cases = running.system, running.cases
    step = fixed_step(given, times)
    systems: dict[int, System] = {}
    states: dict[int, tuple[Array, Array]] = {}

    def prepare(case: int) -> None:
        own = cases.arguments(case, given)
        systems[case] = running.own_system(case)
        states[case] = start(system, own["q0"], own["v0"])

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
    wanted = wanted_of(system, given, since, q) if cases.torques is None else None
    Q, V, held, steps = rows(system, q, v, tau, parameters, since, step, wanted)

    def result(case: int) -> Result:
        i = int(np.searchsorted(chosen, case))
        return result_of(systems[case], times, Q[i], V[i], held[i], steps, began)

    clear = np.zeros(len(chosen), dtype=bool)
    if (
        not parameters and wanted is None
    ):  # all cases have the same system, and most have nothing to tell
        clear[:] = np.isfinite(Q).all(axis=(1, 2)) & np.isfinite(V).all(axis=(1, 2))
        clear[clear] = ~cases_in_doubt(system, Q[clear], V[clear], tau[clear])
        running.made.put_many(
            chosen[clear], Q[clear], V[clear], tau[clear], steps_taken(steps, began)
        )
    for case in chosen[~clear].tolist():
        running.attempt(case, result)
    bar.show(cases.count)


def _plain_states(running: _Running, given: Mapping[str, Any]) -> tuple[Array, Array] | None:
    """The states that cases start from, checked at once; None if they must be checked one by one."""
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


def _in_threads(run: Callable[[int], None], cases: Sequence[int], bar: CaseProgress) -> None:
    """Run cases on all cores; after an error or an interruption no further ones are begun."""
    waiting = iter(cases)
    with ThreadPoolExecutor(cores()) as pool:
        pending: set[Future] = set()
        try:
            while True:
                while len(pending) < 2 * cores():
                    case = next(waiting, None)
                    if case is None:
                        break
                    pending.add(pool.submit(run, case))
                if not pending:
                    return
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                bar.show(len(done))
        finally:
            for future in pending:
                future.cancel()
