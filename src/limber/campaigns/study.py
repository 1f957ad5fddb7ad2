"""Studies: a simulation or a function, what varies in it, how cases are sampled and what is kept of them."""

from __future__ import annotations

import inspect
import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from limber.assembly import System
from limber.campaigns import records
from limber.campaigns.correlation import correlation_of
from limber.campaigns.entries import parsed, value_at
from limber.campaigns.names import refuse_taken
from limber.campaigns.quantities import Quantity, quantity
from limber.campaigns.rows import UnitRows
from limber.campaigns.runs import (
    Base,
    FunctionRuns,
    Runs,
    SimulationRuns,
    Target,
    check_parameter,
    wants_seed,
)
from limber.campaigns.sampling import Sample, case_seed, drawn, sample_of
from limber.campaigns.variables import Variable, column, variables_of
from limber.checks import did_you_mean, integer, number, shown, whole
from limber.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    FileError,
    collected_warnings,
)
from limber.io.document import Document, Key, Where, dotted
from limber.io.files import file_path
from limber.io.files_read import files_read
from limber.io.section import validated
from limber.scenarios.scenario import Scenario, ScenarioSection, scenario_document
from limber.simulation import simulate

#: By default a campaign has about this many work units, of no more than MOST cases.
UNITS, MOST = 200, 1000
ENGINES = ("general", "generated", "cuda")


@dataclass(frozen=True, eq=False)
class Study:
    """The definition of a campaign; nothing has run yet.

    name : text.
    variables, sample, seed : what is sampled, and how.
    values : {variable: one value for each case}.
    quantities : what is kept; empty for a function that returns numbers by name.
    unit : the number of cases in a work unit, which one process runs and whose results are stored together.
    record : everything that determines the numbers, as JSON.
    file, flags : the study file, if there is one, and the additional arguments of the command line.
    """

    name: str
    description: str
    variables: Mapping[str, Variable]
    sample: Sample
    seed: int
    values: Mapping[str, Sequence[Any]]
    quantities: tuple[Quantity, ...]
    runs: Runs
    unit: int
    record: Mapping[str, Any]
    file: Path | None = None
    flags: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.seeds)

    def __repr__(self) -> str:
        names = ", ".join(self.variables)
        return f"Study({self.name!r}, {len(self)} cases by {self.sample.method} over {names})"

    @property
    def seeds(self) -> Sequence[int]:
        """The seeds, one for each case."""
        return self.runs.seeds

    @cached_property
    def columns(self) -> dict[str, np.ndarray]:
        """The values of the variables as arrays, {name: (cases, ...)}."""
        return {name: column(list(x)) for name, x in self.values.items()}

    @property
    def units(self) -> int:
        """The number of work units."""
        return -(-len(self) // self.unit)

    def cases(self, unit: int) -> range:
        """The cases of a work unit."""
        return range(unit * self.unit, min((unit + 1) * self.unit, len(self)))

    def number(self, case: Any) -> int:
        """Check the number of a case."""
        n = integer(case)
        if n is None or not 0 <= n < len(self):
            raise ArgumentValueError(
                f"case must be a number from 0 to {len(self) - 1}, got {shown(case)}."
            )
        return n

    def case(self, case: int) -> dict[str, Any]:
        """The values of the variables in one case."""
        n = self.number(case)
        return {name: x[n] for name, x in self.values.items()}

    def result(self, case: int) -> Any:
        """Run one case alone and return its `Result`, identical to that of the campaign to the bit."""
        return self.runs.result(self.number(case))

    def command(self, case: int) -> str:
        """The command, or the line of Python, that runs one case alone."""
        n = self.number(case)
        if self.file is not None:
            return shlex.join(["limber", "campaign", str(self.file), *self.flags, "--case", str(n)])
        if isinstance(self.runs, FunctionRuns):
            given = self.runs.arguments(n)
            if all(name.isidentifier() for name in given):
                text = ", ".join(f"{name}={x!r}" for name, x in given.items())
            else:
                text = f"**{given!r}"
            return f"{getattr(self.runs.function, '__name__', 'function')}({text})"
        return f"study.result({n})"

    @property
    def single_variables(self) -> list[str]:
        """The scalar variables."""
        return [n for n, x in self.columns.items() if x.dtype != object and x.ndim == 1]


def unit_rows(runs: Runs, unit: int, cases: Sequence[int]) -> UnitRows:
    """Run a work unit."""
    with collected_warnings() as found:
        rows = runs.rows(cases)
    return UnitRows(unit, rows, tuple(found))


def study_of(
    subject: Any,
    t_end: float | None,
    *,
    vary: Any,
    samples: Any,
    method: str,
    seed: Any,
    keep: Any,
    histories: bool,
    engine: str,
    unit: Any,
    name: str | None,
    options: Mapping[str, Any],
    correlate: Any = None,
    description: str = "",
    file: Path | None = None,
    inputs: Sequence[Path] = (),
    flags: tuple[str, ...] = (),
) -> Study:
    """Make the study for these arguments; see `campaign`."""
    if engine not in ENGINES:
        raise ArgumentValueError(
            f"engine={shown(engine)} is unknown. {did_you_mean(str(engine), ENGINES)}"
        )
    _refuse_unknown(options)
    variables = variables_of(vary)
    sample = sample_of(method, samples)
    start = whole("seed", seed, 0)
    distributions = {n: v.distribution for n, v in variables.items()}
    correlation = correlation_of(correlate, distributions)
    values = drawn(sample, distributions, start, correlation)
    count = len(next(iter(values.values()))) if values else (sample.count or 0)
    if not count:
        raise ArgumentValueError(
            "vary is empty: a campaign needs something that differs from case to case."
        )
    seeds = tuple(case_seed(start, case) for case in range(count))
    kept = {} if keep is None else keep
    if not isinstance(kept, Mapping):
        raise ArgumentTypeError(f"keep must map names to quantities, got {shown(keep)}.")
    refuse_taken("variable", values, histories)
    refuse_taken("quantity", kept, histories)
    runs: Runs
    if callable(subject) and not isinstance(subject, System):
        runs, of_subject = _of_function(subject, t_end, values, seeds, kept, options, histories)
        title = getattr(subject, "__name__", "function")
    else:
        if not kept:
            raise ArgumentValueError(
                'keep is empty: say what to keep of every case, as in keep={"end": {"final": {"joint": "link1"}}} or a '
                "function of its Result."
            )
        base, of_subject, inputs, title = _base(subject, t_end, options, inputs)
        targets = targets_of(base, variables, values)
        if any(t.keys is not None and t.keys[0] == "model" for t in targets):
            base = _with_inline_model(base)
        quantities = tuple(quantity(n, x, base.system) for n, x in kept.items())
        runs = SimulationRuns(base, targets, values, seeds, quantities, engine, histories)
        _refuse_engine(runs)
        _refuse_entries(runs)
    size = _unit(unit, count, runs)
    record = {
        "name": name or title,
        "scenario": of_subject,
        "vary": {n: v.record for n, v in variables.items()},
        **({} if correlation is None else {"correlate": correlation.record}),
        "sample": sample.record,
        "seed": start,
        "keep": {q.name: q.record for q in runs.keep},
        "histories": histories,
        "engine": engine,
        "unit": size,
        "files": records.files(inputs, file),
        "versions": records.versions(),
    }
    return Study(
        name or title, description, variables, sample, start, values, runs.keep, runs, size,
        json.loads(json.dumps(record, default=str)), file, flags,
    )  # fmt: skip


def _refuse_unknown(options: Mapping[str, Any]) -> None:
    """Reject arguments that neither `campaign` nor `simulate` has."""
    known = list(inspect.signature(simulate).parameters)
    for option in options:
        if option not in known:
            own = [
                "vary",
                "correlate",
                "samples",
                "keep",
                "seed",
                "unit",
                "store",
                "processes",
                "scheduler",
            ]
            raise ArgumentTypeError(
                f"{option} is not an argument of campaign or simulate. {did_you_mean(option, own + known)}"
            )


def _unit(unit: Any, count: int, runs: Runs) -> int:
    if unit is not None:
        return min(whole("unit", unit, 1), count)
    if isinstance(runs, SimulationRuns) and runs.engine == "cuda":
        return min(count, 16384)
    return int(np.clip(-(-count // UNITS), 1, MOST))


def _of_function(
    function: Callable[..., Any],
    t_end: Any,
    values: Mapping[str, Sequence[Any]],
    seeds: tuple[int, ...],
    kept: Mapping[str, Any],
    options: Mapping[str, Any],
    histories: bool,
) -> tuple[FunctionRuns, Any]:
    if t_end is not None or options or histories:
        given = {"t_end": t_end is not None, "histories": histories, **dict.fromkeys(options, True)}
        named = ", ".join(name for name, there in given.items() if there)
        raise ArgumentTypeError(
            f"a function runs its own simulations, but got {named}: t_end, histories and the arguments of simulate are "
            "for systems."
        )
    names = list(values) + (["seed"] if wants_seed(function) else [])
    try:
        inspect.signature(function).bind(**dict.fromkeys(names))
    except TypeError as error:
        raise ArgumentTypeError(
            f"the function is called with the variables as keyword arguments, ({', '.join(names)}), but does not accept "
            f"them: {error}."
        ) from None
    except ValueError:  # some functions written in C do not say what they take
        pass
    keep = tuple(quantity(n, x, None) for n, x in kept.items())
    return FunctionRuns(function, values, seeds, keep), records.described(function)


def _base(
    subject: Any, t_end: Any, options: Mapping[str, Any], inputs: Sequence[Path]
) -> tuple[Base, Any, Sequence[Path], str]:
    """The simulation that is varied, its record, the files that were read, and its name."""
    if isinstance(subject, Base):  # of a study file, which was read already
        return subject, subject.data, inputs, subject.system.name
    if isinstance(subject, System):
        if t_end is None:
            raise ArgumentTypeError("a campaign of a system needs t_end, in seconds.")
        base = Base(subject, number("t_end", t_end), dict(options))
        record = records.described({"system": subject, "t_end": base.duration, **options})
        return base, record, (), subject.name
    if t_end is not None:
        raise ArgumentTypeError("t_end is for systems: a scenario has its own duration.")
    if isinstance(subject, Scenario):
        base = Base(subject.system, subject.duration, {**subject.settings, **options})
        record = records.described({"system": base.system, "t_end": base.duration, **base.settings})
        return base, record, (), subject.name
    if not isinstance(subject, str | PathLike):
        raise ArgumentTypeError(
            "campaign takes a study or scenario file, a Scenario, a System or a function of the variables; got "
            f"{shown(subject)}."
        )
    with files_read() as read:
        document = scenario_document(subject)
        base = scenario_base(document.root, document.data, options)
    record = {**document.data, "options": records.described(options)}
    return base, record, _beside(document.path, read), document.path.stem


def _beside(file: Path, read: Sequence[Path]) -> list[Path]:
    """The files that were read in addition to one whose content is recorded itself."""
    return [path for path in read if path.resolve() != file.resolve()]


def scenario_base(where: Where, data: Any, options: Mapping[str, Any]) -> Base:
    """The simulation of a scenario, from its data and the file that they come from."""
    file = where.document.path
    section = validated(ScenarioSection, data, where)
    model = section.built_model(where, file)
    scenario = section.build(where, file, model)
    return Base(
        scenario.system, scenario.duration, {**scenario.settings, **options}, where, data, model
    )


def targets_of(
    base: Base, variables: Mapping[str, Variable], values: Mapping[str, Sequence[Any]]
) -> tuple[Target, ...]:
    """What the variables change, checked."""
    found: list[Target] = []
    for name, variable in variables.items():
        for what in variable.sets:
            found.append(_target(base, name, what, False, values[name]))
        for what in variable.scales:
            found.append(_target(base, name, what, True, values[name]))
    names = [t.name for t in found]
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise ArgumentValueError(f"vary: {twice!r} is changed by more than one variable.")
    for inner in found:
        for outer in found:
            if _lies_within(inner.keys, outer.keys):
                raise ArgumentValueError(
                    f"vary: {inner.name!r} is part of {outer.name!r}, which is changed as a whole: leave one of them out."
                )
    return tuple(found)


def _lies_within(inner: tuple[Key, ...] | None, outer: tuple[Key, ...] | None) -> bool:
    """Whether an entry of the file is a part of another one."""
    if inner is None or outer is None or len(inner) <= len(outer):
        return False
    return inner[: len(outer)] == outer


def _target(base: Base, variable: str, what: str, scales: bool, values: Sequence[Any]) -> Target:
    known = base.system.parameters
    entry = what.partition(".")[0].partition("[")[0] in ScenarioSection.key_names()
    if what in known:
        check_parameter(base.system, what, values)
        return Target(variable, what, None, known[what].value if scales else None)
    if not entry:
        raise ArgumentValueError(
            f"vary[{variable!r}]: {what!r} is neither a parameter of the model nor an entry of the scenario file. "
            f"{did_you_mean(what, [*known, *ScenarioSection.key_names()])}"
        )
    if base.where is None:
        raise ArgumentValueError(
            f"vary[{variable!r}]: {what!r} is an entry of a scenario file, but this campaign does not use a file. Give "
            "the path of the file instead."
        )
    keys = parsed(what)
    data = _with_inline_model(base).data if keys[0] == "model" else base.data
    try:
        nominal = value_at(data, keys)
    except ArgumentValueError as error:
        raise ArgumentValueError(f"vary[{variable!r}]: {error}") from None
    if scales and nominal is None:
        raise ArgumentValueError(
            f"vary[{variable!r}] scales {what!r}, which the file does not contain: write it there."
        )
    return Target(variable, what, keys, nominal if scales else None)


def _with_inline_model(base: Base) -> Base:
    """The base with its model file, if it names one, written into its data, so that entries of it can change."""
    given = base.data.get("model") if isinstance(base.data, dict) else None
    name = given.get("file") if isinstance(given, dict) else given
    if not isinstance(name, str):
        return base
    assert base.where is not None
    file = file_path(base.where.folder / name)
    if file.parent != base.where.folder or file.suffix.lower() not in (".yaml", ".yml"):
        raise ArgumentValueError(
            "vary: entries of the model can change only if the model is written in the scenario or in a separate YAML "
            f"file; this model is {name!r}."
        )
    return Base(
        base.system, base.duration, base.settings, base.where,
        {**base.data, "model": Document(file).data}, base.model,
    )  # fmt: skip


def _refuse_entries(runs: SimulationRuns) -> None:
    """Reject entries that no scenario file has, before every case fails because of them."""
    entries = runs.entries(0)
    if not entries:
        return
    try:
        runs.base.section(entries)
    except FileError as error:
        names = ", ".join(dotted(keys) for keys, _ in entries)
        raise ArgumentValueError(
            f"vary: with {names} of case 0, the scenario is invalid: {error}"
        ) from None


def _refuse_engine(runs: SimulationRuns) -> None:
    if runs.engine == "cuda" and not runs.batched:
        raise ArgumentValueError(
            'engine="cuda" supports only campaigns whose cases differ in parameters, initial states and torques.'
        )
