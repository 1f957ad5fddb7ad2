"""How the cases of a campaign run: what its variables change, and what is kept.

A `Runs` has everything that a process needs to run any case. It has the values of all cases, and a case depends only on
its own values and its seed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from limber.assembly import System
from limber.assembly import parameters as named_parameters
from limber.campaigns.entries import replaced
from limber.campaigns.quantities import Quantity
from limber.campaigns.rows import Row, failed, measured
from limber.campaigns.variables import scaled
from limber.checks import shown
from limber.control import Loop
from limber.errors import ArgumentTypeError, ArgumentValueError, SimulationError
from limber.io.document import Key, Where
from limber.io.section import validated
from limber.scenarios.scenario import BuiltModel, Scenario, ScenarioSection
from limber.simulation import Result, simulate
from limber.simulation import Table as SampledTable
from limber.simulation.output_times import output_times
from limber.simulation.peers import PEERS

#: Entries of a scenario that leave its model as it is: cases that differ in them run as one batch.
OF_THE_START = ("initial", "torque")


#: Entries of a file, by their paths, and their values.
Changes = Sequence[tuple[tuple[Key, ...], Any]]


@dataclass(frozen=True, eq=False)
class Target:
    """What a variable changes. keys: the path of an entry of the file, None for a parameter of the model.

    nominal : the value that a factor scales; None if the variable sets the value itself.
    """

    variable: str
    name: str
    keys: tuple[Key, ...] | None
    nominal: Any = None

    def value(self, drawn: Any) -> Any:
        """The value for a sampled number."""
        return drawn if self.nominal is None else scaled(self.name, self.nominal, drawn)


@dataclass(frozen=True, eq=False)
class Base:
    """The simulation that all cases vary: a system, its duration, and the other arguments of `simulate`.

    where, data, model : the scenario file, its content and its model, if there is one.
    """

    system: System
    duration: float
    settings: Mapping[str, Any]
    where: Where | None = None
    data: Any = None
    model: BuiltModel | None = None

    def section(self, changes: Changes) -> ScenarioSection:
        """The content of the file with changed entries, checked."""
        assert self.where is not None
        data = self.data
        for keys, value in changes:
            data = replaced(data, keys, value)
        return validated(ScenarioSection, data, self.where)

    def varied(self, changes: Changes) -> Scenario:
        """The scenario with changed entries; its model is built again if they affect it."""
        assert self.where is not None
        section = self.section(changes)
        same = all(keys[0] in OF_THE_START for keys, _ in changes)
        return section.build(self.where, self.where.document.path, self.model if same else None)


@dataclass(frozen=True, eq=False)
class SimulationRuns:
    """The cases of a simulation.

    values, seeds : of all cases.
    engine : of `simulate`.
    histories : whether t, q and v are kept.
    """

    base: Base
    targets: tuple[Target, ...]
    values: Mapping[str, Sequence[Any]]
    seeds: Sequence[int]
    keep: tuple[Quantity, ...]
    engine: str = "general"
    histories: bool = False

    @property
    def batched(self) -> bool:
        """Whether cases run in batches: all have one model, and torques that need no Python."""
        torque = self.base.settings.get("torque")
        external = self.base.settings.get("external") or {}
        entries = [t.keys[0] for t in self.targets if t.keys is not None]
        return (
            (self._in_lanes(torque) or not _python(torque))
            and not any(_python(x) for x in external.values())
            and self.base.settings.get("method") not in PEERS
            and all(entry in OF_THE_START for entry in entries)
            and not (entries and "motion" in self.base.settings)  # paths begin where joints start
        )

    def _in_lanes(self, torque: Any) -> bool:
        """Whether generated code has the law of a control loop."""
        return (
            isinstance(torque, Loop)
            and self.engine in ("generated", "cuda")
            and self.base.settings.get("method") == "rk4"
            and not isinstance(torque.sampled_law(self.base.system), str)
        )

    def rows(self, cases: Sequence[int]) -> list[Row]:
        """Run cases; an error in one of them becomes its outcome."""
        return self._batch(cases) if self.batched else [self._alone(case) for case in cases]

    def result(self, case: int) -> Result:
        """The motion of one case, identical to that of the campaign to the bit; errors are raised."""
        if not self.batched:
            return self._simulated(case)
        results, rows = self._simulated_batch([case])
        if case in results:
            return results[case]
        raise SimulationError(f"case {case} failed: {rows[0].message}")

    def _parameters(self, case: int, system: System) -> dict[str, Any]:
        """The parameters of a case; factors scale the values of its system, which entries may have changed."""
        known = system.parameters
        found = {}
        for t in self.targets:
            if t.keys is None:
                here = t.nominal is not None and t.name in known
                own = replace(t, nominal=known[t.name].value) if here else t
                found[t.name] = own.value(self.values[t.variable][case])
        return found

    def entries(self, case: int) -> Changes:
        """The entries of the file that differ in a case."""
        return [
            (t.keys, t.value(self.values[t.variable][case]))
            for t in self.targets
            if t.keys is not None
        ]

    def _simulated(self, case: int) -> Result:
        """Run one case alone."""
        system, duration, settings = self.base.system, self.base.duration, self.base.settings
        entries = self.entries(case)
        if entries:
            scenario = self.base.varied(entries)
            system, duration, settings = scenario.system, scenario.duration, scenario.settings
        settings = dict(settings)
        if isinstance(settings.get("torque"), Loop):
            settings["torque"] = settings["torque"].with_seed(self.seeds[case])
        parameters = self._parameters(case, system)
        if parameters:
            settings["parameters"] = parameters
        result = simulate(system, duration, engine=self.engine, progress=False, **settings)
        if result.message.startswith("interrupted"):
            raise KeyboardInterrupt
        return result

    def _alone(self, case: int) -> Row:
        try:
            return self._row(case, self._simulated(case))
        except (Exception, SystemExit) as error:
            return failed(case, error)

    def _row(self, case: int, result: Result) -> Row:
        """The kept quantities of a result."""
        try:
            values = measured({q.name: q.measure(result) for q in self.keep})
        except (Exception, SystemExit) as error:
            return failed(case, error)
        status = "stopped" if result.message.startswith("stopped") else "finished"
        history = self._history(result) if self.histories else None
        return Row(case, status, result.message, values, history)

    def _history(self, result: Result) -> dict[str, np.ndarray]:
        """The rows of a case; nan for those after an event stopped it."""
        found = {"t": result.t, "q": result.q, "v": result.v}
        settings = self.base.settings
        start, end = settings.get("t0", 0.0), self.base.duration
        times = output_times(start, end, settings.get("t_eval"), settings.get("every"))
        short = len(times) - len(result)
        if not result.message.startswith("stopped") or short <= 0:
            return found
        return {
            name: np.pad(x, [(0, short)] + [(0, 0)] * (x.ndim - 1), constant_values=np.nan)
            for name, x in found.items()
        }

    def _batch(self, cases: Sequence[int]) -> list[Row]:
        results, rows = self._simulated_batch(cases)
        done = {row.case: row for row in rows}
        return [done[case] if case in done else self._row(case, results[case]) for case in cases]

    def _simulated_batch(self, cases: Sequence[int]) -> tuple[dict[int, Result], list[Row]]:
        """The results of cases by their numbers, and the rows of those that failed."""
        base, rows, starts = self.base, [], {}
        for case in cases:
            try:
                starts[case] = self._start(case)
            except Exception as error:
                rows.append(failed(case, error))
        if not starts:
            return {}, rows
        settings = {k: x for k, x in base.settings.items() if k not in ("q0", "v0", "torque")}
        q0, v0, torques = zip(*starts.values())
        shared = all(x is torques[0] for x in torques)
        given = [self._parameters(case, base.system) for case in starts]
        parameters = {name: np.array([x[name] for x in given], dtype=float) for name in given[0]}
        try:
            batch: Any = simulate(
                base.system, base.duration, q0=np.array(q0), v0=np.array(v0),
                torque=torques[0] if shared else list(torques),
                parameters=parameters or None, engine=self.engine, progress=False, **settings,
            )  # fmt: skip
        except Exception as error:  # all of them ended in the same way
            return {}, [*rows, *(failed(case, error) for case in starts)]
        results = {}
        for i, case in enumerate(starts):
            if batch.status[i] == "not run":
                raise KeyboardInterrupt
            if batch.status[i] == "failed":
                rows.append(Row(case, "failed", batch.messages[i]))
            else:
                results[case] = batch[i]
        return results, rows

    def _start(self, case: int) -> tuple[Any, Any, Any]:
        """The initial state of a case, and its torque."""
        settings, s = self.base.settings, self.base.system
        entries = self.entries(case)
        if entries:
            settings = self.base.varied(entries).settings
        q0, v0 = settings.get("q0"), settings.get("v0")
        start = s.neutral() if q0 is None else q0, np.zeros(s.nv) if v0 is None else v0
        return *start, settings.get("torque")


def _python(function: Any) -> bool:
    """Whether a torque or a force needs Python while a case runs."""
    if isinstance(function, SampledTable) or hasattr(function, "address"):
        return False
    return callable(function) or hasattr(function, "command") or isinstance(function, Loop)


def check_parameter(system: System, name: str, values: Sequence[Any]) -> None:
    """Reject values whose shape does not suit a parameter."""
    named_parameters.find(system, name)
    try:
        np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"vary[{name!r}] must give numbers for a parameter of the model, got {shown(values[0])}."
        ) from None


@dataclass(frozen=True, eq=False)
class FunctionRuns:
    """The cases of a function of the variables; it returns quantities by name, one number, or a Result."""

    function: Callable[..., Any]
    values: Mapping[str, Sequence[Any]]
    seeds: Sequence[int]
    keep: tuple[Quantity, ...]

    batched = False

    def arguments(self, case: int) -> dict[str, Any]:
        """The arguments of the function for one case."""
        own = {name: x[case] for name, x in self.values.items()}
        return {**own, **({"seed": self.seeds[case]} if wants_seed(self.function) else {})}

    def rows(self, cases: Sequence[int]) -> list[Row]:
        """Run cases; an error in one of them becomes its outcome."""
        return [self._row(case) for case in cases]

    def result(self, case: int) -> Any:
        """The return value of the function for one case."""
        return self.function(**self.arguments(case))

    def _row(self, case: int) -> Row:
        try:
            found = self.result(case)
            if isinstance(found, Result):
                if not self.keep:
                    raise ArgumentValueError(
                        "the function returned a Result, but keep does not say what to keep of it, as in "
                        'keep={"end": {"final": {"joint": "link1"}}}.'
                    )
                values = {q.name: q.measure(found) for q in self.keep}
            elif self.keep:
                raise ArgumentTypeError(
                    f"the function returned {shown(found)}, but keep needs a Result: return the result of lb.simulate, or "
                    "leave keep out if the function returns its numbers itself."
                )
            else:
                values = dict(found) if isinstance(found, Mapping) else {"value": found}
            return Row(case, "finished", "finished", measured(values))
        except (Exception, SystemExit) as error:
            return failed(case, error)


def wants_seed(function: Callable[..., Any]) -> bool:
    """Whether a function accepts a seed."""
    try:
        return "seed" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


Runs = SimulationRuns | FunctionRuns
