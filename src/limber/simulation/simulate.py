"""`simulate`: a system in time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, array, number, shown, unit_quaternion
from limber.dynamics.evaluate import check_system, quaternions
from limber.errors import ArgumentTypeError, ArgumentValueError, SimulationError
from limber.kernels.records import (
    DONE,
    EVALUATIONS,
    EVENT,
    EVENT_NUMBER,
    OUTPUT,
    REJECTED,
    SAMPLED,
    STEPS,
)
from limber.simulation.drive import Drive, drive
from limber.simulation.events import Event, Happened
from limber.simulation.methods import methods
from limber.simulation.peers import PEERS, by_peer
from limber.simulation.progress import Progress, interrupted
from limber.simulation.result import Result, Statistics
from limber.simulation.run import Outputs, Run, automatic, paced

#: Output rows when nothing is said of them.
ROWS = 501
#: So many events within this part of the run are a trap.
CROWD, CLOSE = 100, 1e-6


def simulate(
    system: System,
    t_end: float,
    *,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    torque: Any = None,
    t_eval: ArrayLike | None = None,
    every: float | None = None,
    t0: float = 0.0,
    rtol: float = 1e-6,
    atol: float = 1e-8,
    method: str = "auto",
    step: float | None = None,
    max_step: float | None = None,
    events: Event | Sequence[Event] = (),
    engine: str = "general",
    progress: bool | None = None,
    save: str | PathLike | None = None,
) -> Result:
    """Integrate the motion of a system from t0 to t_end, in compiled code.

    Parameters
    ----------
    q0, v0 : initial state; the neutral configuration at rest unless given.
    torque : None; a constant (nv,), or (r,) of the joints alone; a `Table`; a function (t, q, v) -> tau; a
        compiled function with an `address`, void f(double t, const double *q, const double *v, double *tau),
        such as `numba.cfunc` makes; or a callable object with a `sample_time`, called at its times and held
        between.
    t_eval, every : output times, or their distance; 501 times unless given.
    rtol, atol : tolerances of the adaptive methods on every element of q and v, per step.
    method : "rk4" (fixed `step`), "rk45", "dop853" (orders 5 and 8, adaptive), "sdirk4" (implicit, for stiff
        modes and stiff torque laws; `kernels.implicit`), or "auto": dop853 and sdirk4, whichever turns out
        cheaper as the run goes on.  For comparison, through Python at every evaluation: "RK23", "RK45",
        "DOP853", "Radau", "BDF", "LSODA" of SciPy; "cvode" and "ida" of SUNDIALS, the first by forward
        dynamics as all others, the second by inverse dynamics alone.
    step, max_step : the (first) step, and the largest of the adaptive methods.
    events : see `Event`.
    engine : "general", or "generated": C code of this system (`compile`), several times as fast.
    progress : show a progress bar; by itself only for runs of more than a second in a terminal.
    save : an HDF5 file for the result.  Rows are written as the run goes on, to a file of that name with ".part"
        behind it; a run that is killed leaves them there (`Result.load` finds them).  An older file stays until
        the run has ended.

    Quaternions stay unit.  A run that an event stops has the state there as its last row.  Interrupted
    (Ctrl-C), it returns the result so far; stuck, it raises SimulationError; that error, and one of a torque
    function or of a file that cannot be written, holds the result so far in `error.result`.
    """
    check_system(system)
    start = number("t0", t0)
    end = number("t_end", t_end)
    if not end > start:
        raise ArgumentValueError(f"t_end must be later than t0={start:g}, got {end:g}.")
    q, v = _initial(system, q0, v0)
    times = _times(start, end, t_eval, every)
    rtol, atol = number("rtol", rtol, minimum=0.0), number("atol", atol, minimum=0.0)
    if rtol == 0.0 and atol == 0.0 and method != "rk4":
        raise ArgumentValueError("rtol and atol are both zero: give one of them.")
    if step is not None:
        step = number("step", step, above=0.0)
    largest = np.inf if max_step is None else number("max_step", max_step, above=0.0)
    listed = _events(events)
    driven = drive(system, torque)
    if isinstance(method, str) and method in PEERS:
        if listed or save is not None:
            raise ArgumentValueError(
                f"method={method!r} of another library takes no events and no save= here; Result.save writes a file."
            )
        return by_peer(
            system, method, (start, end), np.concatenate([q, v]), driven, times,
            rtol, atol, step, largest, progress,
        )  # fmt: skip
    if not isinstance(method, str) or (method != "auto" and method not in methods()):
        known = ", ".join(["auto", *methods()])
        raise ArgumentValueError(
            f"method={shown(method)} is unknown; choose one of {known}, or {', '.join(PEERS)}."
        )
    if method == "rk4":
        if step is None:
            raise ArgumentValueError('method="rk4" has fixed steps: give step=..., in seconds.')
        largest = step
        if (end - start) / step > 1e10:
            raise ArgumentValueError(
                f"step={step:g} asks for {(end - start) / step:.1e} steps: take a larger one."
            )
    if engine not in ("general", "generated"):
        raise ArgumentValueError(f'engine={shown(engine)} must be "general" or "generated".')
    n = system.nq + system.nv
    outputs = Outputs(times, np.empty((len(times), n)), np.empty((len(times), system.nv)))
    run = Run(
        system, driven, [e for e in listed if callable(e.function)], outputs,
        np.concatenate([q, v]), (start, end), rtol, atol, step, largest, engine,
    )  # fmt: skip
    if save is None:
        return _driven(run, driven, method, listed, (start, end), progress)
    from limber.simulation.recording import Recording  # noqa: PLC0415

    with Recording(save, lambda: _result(run, (), 0.0, "")) as file:
        result = _driven(
            run, driven, method, listed, (start, end), progress, lambda run: file.keep()
        )
        file.finish(result)
    return result


def _driven(
    run: Run, driven: Drive, method: str, listed, span, progress, store=lambda run: None
) -> Result:
    """Drive a run to its end, events and interruptions included; `store` keeps what is new in a file."""
    crossings = [e for e in listed if callable(e.function)]
    timed = sorted((e for e in listed if not callable(e.function)), key=lambda e: e.function)
    timed = [e for e in timed if span[0] <= e.function <= span[1]]
    happened: list[Happened] = []
    began = time.perf_counter()
    message = "reached t_end"
    if run.outputs.t.size and run.outputs.t[0] == span[0]:
        _first_row(run, driven)
    with Progress(span, progress) as bar:

        def show(run: Run) -> None:
            bar.show(run)
            store(run)

        try:
            while True:
                until = timed[0].function if timed else span[1]
                if until > run.t:
                    if method == "auto":
                        status = automatic(run, until, show)
                    else:
                        status = paced(run, methods()[method], until, show)
                else:
                    status = DONE
                if status == EVENT:
                    event = crossings[int(run.clock[EVENT_NUMBER])]
                elif timed:
                    event = timed.pop(0)
                else:
                    break
                happened.append(Happened(run.t, event.name))
                if len(happened) >= CROWD and run.t - happened[-CROWD].t <= CLOSE * (
                    span[1] - span[0]
                ):
                    raise SimulationError(
                        f"{CROWD} events up to t = {run.t:.6g} s, the last {event.name!r}, follow each other at once: an action "
                        "leads back to its event. Give the event a direction, or let the action move the state away "
                        "from the zero of its function."
                    )
                if _acted(run, event) or event.terminal:
                    message = f"stopped by event {event.name!r} at t = {run.t:.6g} s"
                    return _with_last(_result(run, happened, began, message), run, driven)
        except KeyboardInterrupt:
            message = interrupted(run.t)
        except Exception as error:
            error.result = _result(run, happened, began, str(error))  # type: ignore[attr-defined]
            raise
    return _result(run, happened, began, message)


def _with_last(result: Result, run: Run, driven: Drive) -> Result:
    """A result with the state at which an event stopped it as its last row."""
    s = result.system
    if len(result) and result.t[-1] >= run.t:
        return result
    q, v = run.y[: s.nq], run.y[s.nq :]
    tau = run.tau if driven.kind == SAMPLED else driven.at(s, run.t, q, v)
    Q, V, T = (np.vstack(x) for x in ((result.q, q), (result.v, v), (result.tau, tau)))
    t = np.append(result.t, run.t)
    return Result(s, t, Q, V, T, result.events, result.statistics, result.message)


def _result(run: Run, happened, began: float, message: str) -> Result:
    s, rows = run.system, int(run.clock[OUTPUT])
    out = run.outputs
    statistics = Statistics(
        int(run.clock[STEPS]), int(run.clock[REJECTED]), int(run.clock[EVALUATIONS]),
        time.perf_counter() - began,
    )  # fmt: skip
    y = out.y[:rows]
    return Result(
        s,
        out.t[:rows],
        y[:, : s.nq],
        y[:, s.nq :],
        out.tau[:rows],
        tuple(happened),
        statistics,
        message,
    )


def _first_row(run: Run, driven: Drive) -> None:
    """The output at the start, before any step."""
    s, y = run.system, run.y
    tau = run.outputs.tau[0]
    tau[:] = driven.at(s, run.t, y[: s.nq], y[s.nq :])
    if run.failure:
        raise run.failure[0]
    if driven.kind == SAMPLED:
        run.sampled(tau)
    run.outputs.y[0] = y
    run.clock[OUTPUT] = 1


def _acted(run: Run, event: Event) -> bool:
    """Carry out the action of an event; whether it asks to stop."""
    s = run.system
    run.restart()
    if event.action is None:
        return False
    answer = event.action(run.t, run.y[: s.nq].copy(), run.y[s.nq :].copy())
    if answer is None:
        return False
    if isinstance(answer, str) and answer == "stop":
        return True
    try:
        q, v = answer
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f'the action of event {event.name!r} must return None, "stop" or (q, v), got {shown(answer)}.'
        ) from None
    run.y[:] = np.concatenate(_initial(s, q, v))
    run.restart(moved=True)
    return False


def _initial(system: System, q0, v0) -> tuple[Array, Array]:
    q = system.neutral() if q0 is None else np.array(array("q0", q0, (system.nq,)))
    v = np.zeros(system.nv) if v0 is None else np.array(array("v0", v0, (system.nv,)))
    for name, at in quaternions(system):
        where = f"q0[{at.start}:{at.stop}], the quaternion of body {name!r},"
        unit_quaternion(where, q[at])
        q[at] /= np.linalg.norm(q[at])
    return q, v


def _times(start: float, end: float, t_eval, every) -> Array:
    if t_eval is not None and every is not None:
        raise ArgumentValueError("give t_eval or every, not both.")
    if every is not None:
        every = number("every", every, above=0.0)
        count = int(np.floor((end - start) / every * (1.0 + 1e-12)))
        if count > 100_000_000:
            raise ArgumentValueError(f"every={every:g} asks for {count:,} rows: take a larger one.")
        return np.minimum(start + every * np.arange(count + 1), end)  # not a rounding beyond it
    if t_eval is None:
        return np.linspace(start, end, ROWS)
    times = np.array(array("t_eval", t_eval, ("n",)))
    if (np.diff(times) < 0.0).any() or (times.size and (times[0] < start or times[-1] > end)):
        raise ArgumentValueError(
            f"t_eval must increase from t0={start:g} to t_end={end:g} at most."
        )
    return times


def _events(events) -> list[Event]:
    try:
        listed = [events] if isinstance(events, Event) else list(events or ())
    except TypeError:
        raise ArgumentTypeError(f"events must be lb.Event objects, got {shown(events)}.") from None
    for event in listed:
        if not isinstance(event, Event):
            raise ArgumentTypeError(f"events must be lb.Event objects, got {shown(event)}.")
    return listed
