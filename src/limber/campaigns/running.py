"""`campaign`: many cases of one simulation or function, sampled from distributions."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import Any

from limber.campaigns import store as storage
from limber.campaigns import workers
from limber.campaigns.memory import Table
from limber.campaigns.names import refuse_shared, refuse_taken
from limber.campaigns.result import Campaign
from limber.campaigns.rows import UnitRows
from limber.campaigns.study import Study, study_of
from limber.campaigns.study_file import is_study, load_study
from limber.checks import did_you_mean, flag, shown, whole
from limber.dynamics.cores import cores
from limber.errors import ArgumentTypeError, ArgumentValueError, warn
from limber.integrators.methods import method_names
from limber.interrupts import interrupts_wait
from limber.io.document import Document
from limber.io.files import file_path
from limber.simulation.peers import PEERS
from limber.simulation.progress import CaseProgress


def campaign(
    subject: Any,
    t_end: float | None = None,
    *,
    vary: Mapping[str, Any] | None = None,
    correlate: Sequence[tuple[str, str, float]] | None = None,
    samples: int | None = None,
    method: str = "monte_carlo",
    seed: int = 0,
    keep: Mapping[str, Any] | None = None,
    histories: bool = False,
    engine: str | None = None,
    integrator: str | None = None,
    unit: int | None = None,
    name: str | None = None,
    store: str | PathLike | None = None,
    restart: bool = False,
    processes: int | None = None,
    scheduler: Any = None,
    progress: bool | None = None,
    **options: Any,
) -> Campaign:
    """Run many cases, sampled from distributions, on all cores or on a Dask cluster.

    Parameters
    ----------
    subject : a study file, which replaces all of the following arguments down to `unit`; a scenario file or a
        `Scenario`; a `System`, with t_end and other arguments of `simulate`; or a function of the variables. A function
        is called with their values by name, and with `seed=` if it accepts that, and returns {name: number}, a number,
        or a `Result`.
    vary : {name: distribution}. The name is that of a parameter of the model (`System.parameters`), an entry of the
        scenario file ("controller.delay", "initial.q.link1"), an argument of the function, or any other name with
        "sets" or "scales": a list of those. A distribution is {"uniform": [low, high]}, {"normal": [mean, deviation]},
        or one of loguniform, lognormal, triangular, beta, exponential, choice, steps; a list of values; or a frozen
        distribution of `scipy.stats`.
    correlate : [(name, name, coefficient), ...], correlations between variables with continuous distributions: those of
        their normal scores (a Gaussian copula), which for normal variables are those of their values. Other pairs are
        independent. A "latin_hypercube" remains one. Not for "saltelli", "grid" and "listed".
    samples, method : "monte_carlo", "latin_hypercube", "sobol" or "halton" with this number of cases; "saltelli" with
        this number of base points (for Sobol indices); "grid", all combinations of listed values; or "listed", the
        first of each, then the second of each, and so on.
    seed : of the sample. Every case has its own seed, derived from this one and the number of the case; the noise of
        sensors comes from it.
    keep : {name: quantity}, where a quantity is a function of the `Result` of a case, or a mapping such as {"peak":
        {"deflection": ["link3", "tip"]}, "after": 8}.  With "below" or "above" it is also a requirement, and the results
        say how many cases meet it.
    histories : whether t, q and v of every case are kept.
    engine : as in `simulate`; "general" by default.
    integrator : the `method` of `simulate`, such as "rk4"; `method` is that of the sample.
    unit : the number of cases in a work unit, which one process runs and whose results are stored together.
    name : of the study, for tables and pages.
    store : a folder, .zarr, for the results. Work units are stored as they finish. A campaign that was killed continues
        where it stopped when it is run again with the same store; it is rejected if the study has changed.
    restart : remove the stored results and start again.
    processes : how many run at once; by default as many as there are cores. With 1, all cases run in this process.
    scheduler : the address of a Dask scheduler ("tcp://..."), a Dask client, or True for a cluster on this machine,
        whose workers run the work units instead of processes.
    progress : whether to show a progress bar; by default only in a terminal.
    options : further arguments of `simulate`, the same for all cases.

    A case that fails becomes a row that says why, and the others continue. The numbers are the same to the bit wherever
    they are computed, and whether or not the campaign was killed in between.
    """
    study = make_study(
        subject, t_end, vary=vary, correlate=correlate, samples=samples, method=method, seed=seed, keep=keep,
        histories=histories, engine=engine, integrator=integrator, unit=unit, name=name, **options,
    )  # fmt: skip
    return run(study, store, restart, processes, scheduler, progress)


def make_study(
    subject: Any, t_end: float | None = None, *, vary: Any = None, correlate: Any = None, samples: Any = None,
    method: str = "monte_carlo", seed: Any = 0, keep: Any = None, histories: bool = False, engine: str | None = None,
    integrator: str | None = None, unit: Any = None, name: str | None = None, **options: Any,
) -> Study:  # fmt: skip
    """Make the study for these arguments of `campaign`, without running it."""
    if isinstance(subject, Study):
        return subject
    if isinstance(subject, str | PathLike) and is_study(Document(file_path(subject))):
        given = {
            "t_end": t_end, "vary": vary, "correlate": correlate, "unit": unit, "name": name,
            **({"histories": True} if histories else {}), **({"seed": seed} if seed else {}),
            **({"method": method} if method != "monte_carlo" else {}), **options, "integrator": integrator,
        }  # fmt: skip
        for key, value in given.items():
            if value is not None:
                raise ArgumentTypeError(
                    f"{key}= cannot be used with a study file, which defines it; keep=, samples= and engine= can."
                )
        return load_study(subject, keep=keep, samples=samples, engine=engine)
    if integrator is not None:
        known = ("auto", *method_names(), *PEERS)
        if integrator not in known:
            raise ArgumentValueError(
                f"integrator={shown(integrator)} is unknown. {did_you_mean(str(integrator), known)}"
            )
        options["method"] = integrator
    for key in ("progress", "save", "parameters"):
        if key in options:
            raise ArgumentTypeError(
                f"{key}= of simulate cannot be used in campaigns: see vary= and store=."
            )
    return study_of(
        subject, t_end, vary={} if vary is None else vary, correlate=correlate, samples=samples, method=method, seed=seed, keep=keep,
        histories=flag("histories", histories), engine=engine or "general", unit=unit, name=name, options=options,
    )  # fmt: skip


def run(
    study: Study,
    store: str | PathLike | None = None,
    restart: bool = False,
    processes: int | None = None,
    scheduler: Any = None,
    progress: bool | None = None,
) -> Campaign:
    """Run a study; the arguments are those of `campaign`."""
    count = cores() if processes is None else whole("processes", processes, 1)
    if store is not None and not isinstance(store, str | PathLike):
        raise ArgumentTypeError(f"store must be a folder, got {shown(store)}.")
    began = time.perf_counter()
    table = Table(len(study), histories=store is None)
    told: list[Warning] = []
    interrupted = False
    with ExitStack() as stack:
        kept = None
        done: list[int] = []
        if store is not None:
            refuse_shared(study.values, (q.name for q in study.quantities))
            kept = stack.enter_context(storage.opened(Path(store), study, restart))
            done = kept.load(table)
        bar = stack.enter_context(CaseProgress(len(study), progress))
        bar.show(sum(len(study.cases(n)) for n in done))
        left = sorted(set(range(study.units)) - set(done))
        client = _client(stack, scheduler) if left and scheduler is not None else None
        try:
            for came in _rows(study, left, table, count, client):
                with interrupts_wait():  # rows are counted and stored, or neither
                    rows = table.put(came)
                    refuse_taken("quantity", table.values, study.record["histories"])
                    if kept is not None:
                        refuse_shared(study.values, table.values)
                        kept.write(rows, table)
                told += rows.warnings
                bar.show(len(rows.rows))
        except KeyboardInterrupt:
            interrupted = True
    _tell(study, table, told, interrupted, store)
    return Campaign(
        study, table, time.perf_counter() - began, None if store is None else Path(store)
    )


def _client(stack: ExitStack, scheduler: Any) -> Any:
    client, own = workers.dask_client(scheduler)
    if own:
        for name in (
            "distributed",
            "distributed.client",
        ):  # which log tracebacks when a cluster goes away
            logger = logging.getLogger(name)
            stack.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.CRITICAL)
        stack.callback(client.close)
    return client


def _rows(
    study: Study, left: list[int], table: Table, processes: int, client: Any
) -> Iterator[UnitRows]:
    """The rows of units, as they finish.

    The first ones run in sequence until a case has given the shapes of the quantities, so that these do not depend on
    which process is faster; code is compiled then, and the other processes find it.
    """
    waiting = [(n, list(study.cases(n))) for n in left]
    while waiting and table.shapes is None:
        yield from _run_units(study, [waiting.pop(0)], processes, client)
    if waiting:
        yield from _run_units(study, waiting, processes, client)


def _run_units(
    study: Study, units: Sequence[workers.Unit], processes: int, client: Any
) -> Iterator[UnitRows]:
    """The rows of units, from wherever they run; with several processes none runs here, where a crash would end
    everything.
    """
    if client is not None:
        return workers.on_dask(study.runs, units, client)
    if processes == 1:
        return workers.here(study.runs, units)
    return workers.in_processes(study.runs, units, processes)


def _tell(study: Study, table: Table, told: list[Warning], interrupted: bool, store: Any) -> None:
    """Issue a warning once."""
    if interrupted:
        left = int((table.status == 0).sum())
        again = "" if store is None else " Run it again with the same store to continue with these."
        warn(f"the campaign was interrupted: {left} of its {len(study)} cases did not run.{again}")
    if told:
        worst = max(told, key=lambda warning: getattr(warning, "degree", 0.0))
        warn(
            f"{len(told)} work units of {study.name!r} gave warnings, for instance: {worst}",
            type(worst),
        )
