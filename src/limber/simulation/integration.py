"""How a run proceeds from its start to its end, from event to event, and becomes a result."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from limber.errors import SimulationError
from limber.integrators import context as R
from limber.simulation.actions import act
from limber.simulation.endless import Repetitions, endless
from limber.simulation.events import Event, Happened
from limber.simulation.progress import Progress, interrupted
from limber.simulation.result import Result, Statistics, columns
from limber.simulation.run import Run
from limber.simulation.stepping import Show, advance_to
from limber.simulation.topology import called
from limber.simulation.validity import refuse_indefinite, warn_of_doubts


def integrated(
    run: Run, events: list[Event], progress: bool | None, store: Callable[[], None] = lambda: None
) -> Result:
    """The result of a run that ends at t_end, at an event or by an interruption; `store` writes new rows to a file."""
    happened: list[Happened] = []
    began = time.perf_counter()
    message = "reached t_end"
    with Progress((run.origin, run.end), progress) as bar:

        def show(run: Run) -> None:
            bar.show(run)
            store()

        try:
            run.start()
            stop = _through_events(run, events, happened, show)
            if stop is not None:
                message = f"stopped by {called(stop)} at t = {run.t:.6g} s"
                return _finished(run, happened, began, message, stopped=True)
        except KeyboardInterrupt:
            message = interrupted(run.t)
        except BaseException as error:
            result = result_so_far(run, happened, began, str(error))
            error.result = result  # type: ignore[attr-defined]
            if isinstance(error, SimulationError):
                refuse_indefinite(result, error)
            warn_of_doubts(result)
            raise
    return _finished(run, happened, began, message)


def result_so_far(
    run: Run, happened: list[Happened] | tuple = (), began: float = 0.0, message: str = ""
) -> Result:
    """The result of a run so far."""
    rows, out, forces, stages = run.rows, run.outputs, run.forces, run.stages
    t = run.origin + out.t[:rows]
    steps, rejected, evaluations = (int(run.clock[i]) for i in (R.STEPS, R.REJECTED, R.EVALUATIONS))
    return Result(
        stages.first, t,
        **columns(stages.first, out.y[:rows], out.forces[:rows], forces.keys),
        events=tuple(happened), message=message,
        statistics=Statistics(steps, rejected, evaluations, time.perf_counter() - began),
        driven=forces.names, signals=forces.samples, changes=tuple(stages.changes), stage=stages.of_rows(rows),
        masses=forces.masses(t),
    )  # fmt: skip


def _finished(run: Run, happened, began: float, message: str, stopped: bool = False) -> Result:
    """The result of a run that has ended; even an exception at this late point contains it."""
    try:
        if run.forces.torque.session is not None:
            run.forces.torque.session.finish()
        result = result_so_far(run, happened, began, message)
        if stopped:
            result = _with_last(result, run)
        refuse_indefinite(result)
        warn_of_doubts(result)
    except BaseException as error:
        error.result = result_so_far(run, happened, began, message)  # type: ignore[attr-defined]
        raise
    return result


def _with_last(result: Result, run: Run) -> Result:
    """The result with a last row for the event that stopped the run: the state after its action."""
    if len(result) and result.t[-1] >= run.t:
        result = result[:-1]
    run.rates(run.t, run.state)  # this evaluates the forces at the event
    y, forces = run.y.copy()[None], run.engine.force_row.copy()[None]
    last = replace(
        result,
        t=np.array([run.t]),
        **columns(result.system, y, forces, run.forces.keys),
        stage=np.array([len(result.changes)]),
        masses=run.forces.masses(np.array([run.t])),
    )
    return result.followed_by(last)


def _through_events(
    run: Run, events: list[Event], happened: list[Happened], show: Show
) -> str | None:
    """Integrate from event to event; return the name of the one that stops the run, or None.

    At an instant, the events due to the incoming motion occur first, in the order of the list; then those that
    their actions cause.
    """
    crossings = run.crossings
    places = [i for i, e in enumerate(events) if callable(e.function)]  # of events by their number
    timed = [(e.function, i) for i, e in enumerate(events) if not callable(e.function)]
    timed = sorted(x for x in timed if run.origin <= x[0] <= run.end)
    repetitions = Repetitions(len(places), run.end)
    spent: set[int] = set()  # the places of events that have happened
    numbers = crossings.start(run.t, run.state)
    while True:
        reached = run.t
        if not numbers and not (timed and timed[0][0] <= reached):
            until = timed[0][0] if timed else run.end
            status = advance_to(run, until, show)
            found = int(run.clock[R.EVENT_NUMBER]) if status == R.EVENT else None
            if found is None and not timed:
                return None
            reached = run.t if found is not None else max(until, run.t)
            error = run.time_error(found is not None)
            numbers = crossings.arrive(found, run.t, run.state, error)
        due: dict[int, int | None] = {places[i]: i for i in numbers}
        while timed and timed[0][0] <= reached:
            due[timed.pop(0)[1]] = None
        stop = None
        for place, which in sorted(due.items()):
            event = events[place]
            if event.once and place in spent:
                continue
            spent.add(place)
            happened.append(Happened(run.t, event.name))
            again = which is not None and repetitions.endless(which, run.t, crossings.pace)
            if again or (which is not None and crossings.too_soon(which)):
                raise endless(happened)
            closed = run.system
            asked = act(run, event)
            crossings.acted(which, run.t, run.state, run.system is not closed)
            if stop is None and (asked or event.terminal):
                stop = event.name
        if stop is not None:
            return stop
        run.restart()
        numbers = crossings.settle()
