"""`simulate`: a system in time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, array, number, shown, unit_quaternion
from limber.constraints.topology import Change
from limber.dynamics.evaluate import check_system, node_pairs, quaternions
from limber.dynamics.limits import warn_outside_limits
from limber.errors import ArgumentTypeError, ArgumentValueError, SimulationError
from limber.integrators import context as R
from limber.integrators.method_record import Method
from limber.integrators.methods import method_named, method_names
from limber.orbit.environment import Environment
from limber.simulation.batch import cases_of, simulate_cases
from limber.simulation.closed_states import closed_state, warn_of_redundancy
from limber.simulation.endless import Repetitions, endless
from limber.simulation.events import Event, Happened
from limber.simulation.motions import AGREES, driven_joints, refuse_unsteady, start_on
from limber.simulation.peers import PEERS, by_peer
from limber.simulation.progress import Progress, interrupted
from limber.simulation.result import Result, Statistics, drained
from limber.simulation.run import Forces, Outputs, Run, Settings
from limber.simulation.signals import Failures, torque_signal, wrench_signal
from limber.simulation.stepping import advance_to
from limber.simulation.topology import (
    carried_out,
    changes_of,
    energy_of,
    refuse_changes,
    refuse_impossible,
)
from limber.simulation.validity import refuse_indefinite, warn_outside_theory

#: Output rows unless the caller says otherwise.
ROWS = 501
#: The methods behind "auto", explicit and implicit.
AUTOMATIC = ("dop853", "sdirk4")
#: A run takes no more samples of a controller or a sensor than this.
MOST_SAMPLES = 1e9


def simulate(
    system: System,
    t_end: float,
    *,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    torque: Any = None,
    external: Mapping[tuple[str, str | int | None], Any] | None = None,
    motion: Mapping[str, Any] | None = None,
    environment: Environment | None = None,
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
    parameters: Mapping[str, ArrayLike] | None = None,
) -> Result:
    """Integrate the motion of a system from t0 to t_end, in compiled code.

    Parameters
    ----------
    q0, v0 : the initial state; by default the neutral configuration at rest.  A ModelWarning tells of joints that start
        far outside of their limits, where stops throw them back.  Closures must be met (`assemble`, `project`).
    torque : None; a constant (nv,), or (r,) of the joints alone; a `Table`; a function (t, q, v) -> tau; a
        compiled function with an `address`, void f(double t, const double *q, const double *v, double *tau),
        such as `numba.cfunc` makes; a callable object with a `sample_time`, called at its times and held between; or a
        controller, alone or in a `lb.control.Loop` with sensors and actuators.  A function may have `breaks`, an array of the times at which it jumps or bends: steps end there.
    external : {("body", node): wrench}, forces on nodes from outside: [moment, force] in world axes, constant (6,),
        a `Table` of 6 columns, a function (t, q, v) -> (6,), or a compiled one, as for torque.
    motion : {"body": trajectory}, the joints of these bodies move as prescribed, whatever acts on them; all others as their
        forces make them.  A `Trajectory`, at the times of the simulation, or a function t -> (position, velocity,
        acceleration): the coordinates of the joint in q, its speeds in v, and the rates of these; a function may have
        `breaks`, as for torque.  A compiled function writes these numbers one after the other to `out`.  The initial state
        of these joints is that of the motion; a q0 or v0 that differs from it is refused.  `Result.tau` has the whole
        torque that the motion takes, whatever `torque` gives for these joints.  In a closed system all other joints follow,
        and without v0 they do so from the start; a motion that closures cannot follow is an error.
    environment : what acts on a free-flyer in orbit, `lb.orbit.Environment(...)`: the gravity of a planet and its gradient, drag
        and burns.  The world is then a frame that falls around the planet (`limber.orbit`).  `Result.environment` has its generalized forces,
        and the power audit counts their work with that of the wrenches.
    t_eval, every : the output times, or the interval between them (the last output is at t_end in any case); by default
        501 times.
    rtol, atol : tolerances of the adaptive methods on every element of q and v, per step.
    method : "rk4" (fixed `step`), "rk45", "tsit5", "dop853" (orders 5, 5 and 8, adaptive), "sdirk4" (implicit, for
        stiff modes and stiff torque laws; `integrators.implicit`), or "auto": dop853 or sdirk4, whichever turns out
        cheaper as the run goes on.  For comparison there are "RK23", "RK45", "DOP853", "Radau", "BDF" and "LSODA" of
        SciPy, and "cvode" and "ida" of SUNDIALS, which call Python at every evaluation; "ida" uses inverse dynamics
        alone, all others forward dynamics.
    step, max_step : the first step (of rk4, every step), and the longest one.
    events : see `Event`.  Those at the same time happen in the order of the list.  Their actions may change the topology:
        `Result.topology` and `Result.changes` tell what was active when.
    engine : "general", or "generated": C code of this system (`compile`), several times as fast.  Batches with
        method="rk4" and constant torques, or one PD controller whose samples all output times are, then run in SIMD lanes,
        with steps that end at the output times (`simulation.lanes`); on a GPU with "cuda".
    progress : whether to show a progress bar; by default in a terminal, for runs of more than a second.
    save : an HDF5 file for the result.  Rows are written as the run goes on, to a file of that name with ".part"
        behind it; a run that is killed leaves them there (`Result.load` finds them).  An older file stays until
        the run has ended.

    parameters : {name: number}, other numbers of the system for this run (`System.with_parameters`).

    A batch of cases runs on all cores and gives a `BatchResult` (`simulation.batch`).  What differs from case to case has
    one more dimension in front: q0 (cases, nq), v0 (cases, nv), torque (cases, nv) or a list with one for each case,
    parameters (cases,), or (cases, ...) of those that are arrays.  A case that fails is a row that says why, and all
    others go on.

    Quaternions keep unit length, and closures stay met: every step, output row and event is projected onto them, in
    position and velocity.  A run that an event stops has the state there as its last row.  A run that is
    interrupted (Ctrl-C) returns the result so far; one that gets stuck raises SimulationError.  That error holds the
    result so far in `error.result`, and so does an error of a torque function or of a file that cannot be written, and
    an exception that the handler of a signal raises.
    """
    check_system(system)
    start = number("t0", t0)
    end = number("t_end", t_end)
    if not end > start:
        raise ArgumentValueError(f"t_end must be later than t0={start:g}, got {end:g}.")
    length = end - start
    if not np.isfinite(length):
        raise ArgumentValueError(
            f"t_end={end:g} is so far from t0={start:g} that the length of the run overflows: bring them closer together."
        )
    cases = cases_of(system, q0, v0, torque, parameters)
    if cases is not None:
        if save is not None:
            raise ArgumentValueError(
                "save= is for a single run: save the results of a batch by themselves."
            )
        options = {
            "t_end": t_end, "q0": q0, "v0": v0, "torque": torque, "external": external, "motion": motion,
            "environment": environment, "t_eval": t_eval, "every": every, "t0": t0, "rtol": rtol, "atol": atol, "method": method, "step": step,
            "max_step": max_step, "events": events, "engine": engine, "progress": False,
        }  # fmt: skip
        times = start + output_times(start, end, t_eval, every)
        return simulate_cases(simulate, _start, system, cases, times, progress, options)  # type: ignore[return-value]
    if parameters is not None:
        system = system.with_parameters(parameters)
    q, v = _start(system, q0, v0)
    times = output_times(start, end, t_eval, every)
    rtol, atol = number("rtol", rtol, minimum=0.0), number("atol", atol, minimum=0.0)
    peer = isinstance(method, str) and method in PEERS
    methods = () if peer else _methods(method)
    if rtol == 0.0 and atol == 0.0 and (peer or any(m.adaptive for m in methods)):
        raise ArgumentValueError("rtol and atol are both zero: give one of them.")
    if step is not None:
        step = number("step", step, above=0.0)
    largest = np.inf if max_step is None else number("max_step", max_step, above=0.0)
    for name, given in (("step", step), ("max_step", max_step)):
        if given is not None and given < R.RESOLUTION * length:
            raise ArgumentValueError(
                f"{name}={given:g} asks for {length / given:.1e} steps: take a larger one."
            )
    if progress is not None and not isinstance(progress, bool):
        raise ArgumentTypeError(f"progress must be True, False or None, got {shown(progress)}.")
    listed = _events(events)
    forces = _forces(system, torque, external, motion, start)
    if environment is not None:
        if not isinstance(environment, Environment):
            raise ArgumentTypeError(
                f"environment must be a lb.orbit.Environment, got {shown(environment)}."
            )
        forces.field = environment.bind(system, start, end)
        if engine != "general" and forces.masses(times):
            raise ArgumentValueError(
                f'environment: burns change the mass of a tank, which generated code has as a number: take engine="general", not {shown(engine)}.'
            )
    _refuse_endless_sampling(forces, length)
    start_on(forces.driven, system, start, q, v, (q0 is not None, v0 is not None))
    refuse_unsteady(forces.driven, system, start, end, q)
    warn_outside_limits(
        system,
        q,
        f"the configuration that {system.name!r} starts from, {'the neutral one' if q0 is None else 'q0'},",
        "stops push back from the start. Give q0 within the limits.",
    )
    start_name = "the neutral configuration" if q0 is None else "q0"
    following = v0 is None and len(forces.driven) > 0
    q, v = closed_state(system, q, v, start_name, "v0", "q0, v0", forces.names, following)
    warn_of_redundancy(system, q, forces.numbers)
    if peer:
        if environment is not None:
            raise ArgumentValueError(
                f"method={method!r} of another library takes no environment; take a method of limber, such as dop853."
            )
        if listed or save is not None:
            raise ArgumentValueError(
                f"method={method!r} of another library takes no events and no save= here; Result.save writes a file."
            )
        return by_peer(
            system, method, start, length, np.concatenate([q, v]), forces, times,
            rtol, atol, step, largest, progress,
        )  # fmt: skip
    if not any(m.adaptive for m in methods):
        if step is None:
            raise ArgumentValueError(
                f'method="{method}" has fixed steps: give step=..., in seconds.'
            )
        step = largest = min(step, largest)
        if length / step > 1e10:
            raise ArgumentValueError(
                f"step={step:g} asks for {length / step:.1e} steps: take a larger one."
            )
    if not isinstance(engine, str) or engine not in ("general", "generated"):
        raise ArgumentValueError(
            f'engine={shown(engine)} must be "general" or "generated"; "cuda" is for batches with fixed steps.'
        )
    actions = [e.action for e in listed]
    refuse_impossible(system, actions)
    asked = [change for action in actions for change in changes_of(action) or ()]
    refuse_changes(asked, engine, forces.names)
    n, width = system.nq + system.nv + R.FLOWS, forces.width(system.nv)
    outputs = Outputs(times, np.empty((len(times), n)), np.empty((len(times), width)))
    run = Run(
        system, forces, [e for e in listed if callable(e.function)], outputs, np.concatenate([q, v]),
        start, length, Settings(methods, rtol, atol, step, largest, engine),
    )  # fmt: skip
    if save is None:
        return _integrated(run, listed, (start, end), progress)
    from limber.simulation.recording import Recording  # noqa: PLC0415

    with Recording(save, lambda: _result(run, (), 0.0, "")) as file:
        result = _integrated(run, listed, (start, end), progress, lambda run: file.keep())
        file.finish(result)
    return result


def _methods(method: Any) -> tuple[Method, ...]:
    """The methods of Limber that a run by `method` uses."""
    names = AUTOMATIC if isinstance(method, str) and method == "auto" else (method,)
    if not isinstance(method, str) or not set(names) <= set(method_names()):
        known = ", ".join(["auto", *method_names()])
        raise ArgumentValueError(
            f"method={shown(method)} is unknown; choose one of {known}, or {', '.join(PEERS)}."
        )
    return tuple(method_named(name) for name in names)


def _forces(
    system: System, torque: Any, external: Any, motion: Any = None, t0: float = 0.0
) -> Forces:
    """The torque, the wrenches and the motions in the form that `Run` takes."""
    failure = Failures()
    made = torque_signal(system, torque, failure, t0)
    nodes = node_pairs(system, system.dynamics, external)
    keys = list(external or ())
    wrenches = [wrench_signal(system, key, external[key], failure) for key in keys]
    driven = driven_joints(system, motion, failure)
    return Forces(made, wrenches, keys, nodes, failure, driven)


def _refuse_endless_sampling(forces: Forces, length: float) -> None:
    """Refuse a sampled torque whose run would not end."""
    session = forces.torque.session
    if session is not None and length > MOST_SAMPLES * session.period:
        raise ArgumentValueError(
            f"torque: a sample every {session.period:g} s makes {length / session.period:.1e} samples in a run of {length:g} s, and "
            f"{MOST_SAMPLES:g} are the most: take a longer sample time of the controller, or a lower rate of the sensors."
        )


def _integrated(run: Run, listed, span, progress, store=lambda run: None) -> Result:
    """The result of a run, which ends at t_end, at an event or by an interruption; `store` writes new rows to a file."""
    happened: list[Happened] = []
    began = time.perf_counter()
    message = "reached t_end"
    with Progress(span, progress) as bar:

        def show(run: Run) -> None:
            bar.show(run)
            store(run)

        try:
            run.start()
            stop = _integrate_through_events(run, listed, span, happened, show)
            if stop is not None:
                message = f"stopped by event {stop!r} at t = {run.t:.6g} s"
                return _finished(run, happened, began, message, stopped=True)
        except KeyboardInterrupt:
            message = interrupted(run.t)
        except BaseException as error:
            error.result = _result(run, happened, began, str(error))  # type: ignore[attr-defined]
            if isinstance(error, SimulationError):
                refuse_indefinite(error.result, error)  # type: ignore[arg-type]
            warn_outside_theory(error.result)  # type: ignore[attr-defined]
            raise
    return _finished(run, happened, began, message)


def _finished(run: Run, happened, began: float, message: str, stopped: bool = False) -> Result:
    """The result of a run that has ended; even an exception that comes this late holds it."""
    try:
        result = _result(run, happened, began, message)
        if stopped:
            result = _with_last(result, run)
        refuse_indefinite(result)
        warn_outside_theory(result)
    except BaseException as error:
        error.result = _result(run, happened, began, message)  # type: ignore[attr-defined]
        raise
    return result


def _integrate_through_events(
    run: Run, listed: list[Event], span, happened: list[Happened], show
) -> str | None:
    """Integrate from event to event; returns the name of the one that stops the run, or None.

    At an instant, the events that the motion as it came leads to happen first, in the order of the list; then those that
    the actions of these lead to.
    """
    crossings = run.crossings
    places = [i for i, e in enumerate(listed) if callable(e.function)]  # of events by their number
    timed = [(e.function, i) for i, e in enumerate(listed) if not callable(e.function)]
    timed = sorted(x for x in timed if span[0] <= x[0] <= span[1])
    repetitions = Repetitions(len(places), span[1])
    spent: set[int] = set()  # the places of events that have happened
    numbers = crossings.start(run.t, run.state)
    while True:
        reached = run.t
        if not numbers and not (timed and timed[0][0] <= reached):
            until = timed[0][0] if timed else span[1]
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
            event = listed[place]
            if event.once and place in spent:
                continue
            spent.add(place)
            happened.append(Happened(run.t, event.name))
            again = which is not None and repetitions.endless(which, run.t, crossings.pace)
            if again or (which is not None and crossings.too_soon(which)):
                raise endless(happened)
            closed = run.system
            asked = _acted(run, event)
            crossings.acted(which, run.t, run.state, run.system is not closed)
            if stop is None and (asked or event.terminal):
                stop = event.name
        if stop is not None:
            return stop
        run.restart()
        numbers = crossings.settle()


def _with_last(result: Result, run: Run) -> Result:
    """The result with a last row for the event that stopped the run: the state as its action left it."""
    if len(result) and result.t[-1] >= run.t:
        result = result[:-1]
    s = result.system
    run.rates(run.t, run.state)  # this evaluates the forces at the event
    y, forces = run.y.copy()[None], run.force_row.copy()[None]
    last = Result.of_rows(
        s,
        np.array([run.t]),
        y,
        forces,
        run.forces.keys,
        result.events,
        result.statistics,
        result.message,
        run.forces.names,
        result.signals,
        result.changes,
        np.array([len(result.changes)]),
        run.forces.masses(np.array([run.t])),
    )
    return result.followed_by(last)


def _result(run: Run, happened, began: float, message: str) -> Result:
    rows, out = int(run.clock[R.OUTPUT]), run.outputs
    steps, rejected, evaluations = (int(run.clock[i]) for i in (R.STEPS, R.REJECTED, R.EVALUATIONS))
    statistics = Statistics(steps, rejected, evaluations, time.perf_counter() - began)
    stage = np.searchsorted(run.change_rows, np.arange(rows), side="right")
    t = run.origin + out.t[:rows]
    return Result.of_rows(
        run.first_system, t, out.y[:rows], out.forces[:rows], run.forces.keys,
        tuple(happened), statistics, message, run.forces.names, run.forces.samples, tuple(run.changes), stage,
        run.forces.masses(t),
    )  # fmt: skip


def _acted(run: Run, event: Event) -> bool:
    """Carry out the action of an event; returns whether it asks to stop the run."""
    s, y = run.system, run.state
    if event.action is None:
        return False
    what = f"the action of event {event.name!r}"
    if (changes := changes_of(event.action)) is not None:
        return _changed(run, changes, event)
    q, v = y[: s.nq].copy(), y[s.nq :].copy()
    q.flags.writeable = v.flags.writeable = False
    try:
        answer = event.action(run.t, q, v)  # type: ignore[operator, arg-type]
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        raise ArgumentValueError(
            f"{what} writes into q or v, which does not change the state: copy them (v = v.copy()), and return (q, v)."
        ) from error
    if answer is None:
        return False
    if isinstance(answer, str) and answer == "stop":
        return True
    if (changes := changes_of(answer)) is not None:
        return _changed(run, changes, event)
    if not isinstance(answer, (tuple, list)) or len(answer) != 2:
        raise ArgumentTypeError(
            f'{what} must return None, "stop" or (q, v), or a change of topology such as lb.attach(...), got {shown(answer)}.'
        )
    q, v = answer
    now = drained(s, {body: float(x) for body, x in run.forces.masses(np.array(run.t)).items()})
    before = energy_of(now, y[: s.nq], y[s.nq :])
    q, v = _coordinates(s, f"q of {what}", q), _speeds(s, f"v of {what}", v)
    for joint in run.forces.driven:
        for new, old, part in ((q, y[: s.nq], joint.q), (v, y[s.nq :], joint.v)):
            if not np.allclose(new[part], old[part], rtol=AGREES, atol=AGREES):
                raise ArgumentValueError(
                    f"{what} changes the joint of body {joint.body!r}, whose motion is prescribed: leave its part of q and "
                    "v as it is."
                )
            new[part] = old[part]
    returned = f"the state that {what} returns"
    on = closed_state(s, q, v, returned, f"v of {returned}", "q, v", run.forces.names)
    y[:] = np.concatenate(on)
    run.y[len(y) + R.ACTION_WORK] += energy_of(now, y[: s.nq], y[s.nq :]) - before
    return False


def _changed(run: Run, changes: Sequence[Change], event: Event) -> bool:
    """Carry out changes of topology, one after the other; they never ask to stop the run."""
    refuse_changes(changes, run.settings.engine, run.forces.names)
    if run.forces.masses(np.array(run.t)):
        raise ArgumentValueError(
            f"event {event.name!r} changes the topology, and burns change the mass of a tank: a run does one or the other. End the run at "
            "the event, and go on with a system of the masses that are left."
        )
    for change in changes:
        s, y = run.system, run.state
        done = carried_out(change, s, y[: s.nq], y[s.nq :], run.known, run.t, event.name)
        y[: s.nq], y[s.nq :] = done.q_after, done.v_after
        if done.system is not s:
            run.reclose(done.system)
            if done.wrenches:
                warn_of_redundancy(
                    done.system,
                    done.q_after,
                    run.forces.numbers,
                    f"after {done.kind} {done.name!r}",
                )
        run.changes.append(done)
        run.change_rows.append(int(run.clock[R.OUTPUT]))
    return False


def _start(system: System, q0: ArrayLike | None, v0: ArrayLike | None) -> tuple[Array, Array]:
    """The initial state: q0, v0, or the neutral configuration at rest."""
    q = system.neutral() if q0 is None else _coordinates(system, "q0", q0)
    return q, np.zeros(system.nv) if v0 is None else _speeds(system, "v0", v0)


def _coordinates(system: System, name: str, given) -> Array:
    """q as the user gives it, with its quaternions scaled to unit length."""
    q = np.array(array(name, given, (system.nq,)))
    for body, at in quaternions(system):
        unit_quaternion(f"{name}[{at.start}:{at.stop}], the quaternion of body {body!r},", q[at])
        q[at] /= np.linalg.norm(q[at])
    return q


def _speeds(system: System, name: str, given) -> Array:
    """v as the user gives it."""
    return np.array(array(name, given, (system.nv,)))


def output_times(start: float, end: float, t_eval, every) -> Array:
    """The output times, from the start on."""
    if t_eval is not None and every is not None:
        raise ArgumentValueError("give t_eval or every, not both.")
    if every is not None:
        every = number("every", every, above=0.0)
        length = end - start
        count = length / every
        if count > 100_000_000:
            raise ArgumentValueError(
                f"every={every:g} asks for {count:,.0f} rows: take a larger one."
            )
        ticks = every * np.arange(int(count) + 1, dtype=float)
        return np.append(ticks[ticks <= length * (1.0 - 1e-12)], length)
    if t_eval is None:
        return np.linspace(0.0, end - start, ROWS)
    times = np.array(array("t_eval", t_eval, ("n",)))
    if (times[1:] < times[:-1]).any() or (times.size and (times[0] < start or times[-1] > end)):
        raise ArgumentValueError(
            f"t_eval must increase from t0={start:g} to t_end={end:g} at most."
        )
    return times - start


def _events(events) -> list[Event]:
    try:
        listed = [events] if isinstance(events, Event) else list(events or ())
    except TypeError:
        raise ArgumentTypeError(f"events must be lb.Event objects, got {shown(events)}.") from None
    for event in listed:
        if not isinstance(event, Event):
            raise ArgumentTypeError(f"events must be lb.Event objects, got {shown(event)}.")
    return listed
