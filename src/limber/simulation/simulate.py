"""`simulate`: integrate the motion of a system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import number, shown
from limber.dynamics.charts import sought
from limber.dynamics.evaluate import check_system
from limber.errors import ArgumentTypeError, ArgumentValueError, ModelWarning, warn
from limber.integrators import context as R
from limber.integrators.method_record import Method
from limber.integrators.methods import method_named, method_names
from limber.simulation.batch import simulate_cases
from limber.simulation.cases import cases_of
from limber.simulation.closed_states import closed_state, warn_of_redundancy
from limber.simulation.engine import Outputs, Settings
from limber.simulation.events import Event
from limber.simulation.forces import forces_of
from limber.simulation.integration import integrated, result_so_far
from limber.simulation.motions import refuse_unsteady, start_on
from limber.simulation.output_times import output_times
from limber.simulation.peers import PEERS, by_peer
from limber.simulation.result import Result
from limber.simulation.run import Run
from limber.simulation.signals import prepared_for
from limber.simulation.states import initial_state, warn_of_start
from limber.simulation.topology import changes_of, refuse_changes, refuse_impossible

if TYPE_CHECKING:
    from limber.orbit.environment import Environment

#: The methods behind "auto", explicit and implicit.
AUTOMATIC = ("dop853", "sdirk4")


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
    q0, v0 : the initial state; by default the neutral configuration at rest.  A ModelWarning reports joints that start
        far outside their limits, where stops push them back.  Closures must be satisfied (`assemble`, `project`).
    torque : None; a constant (nv,), or (r,) for the joints alone; a `Table`; a function (t, q, v) -> tau; a
        compiled function with an `address`, void f(double t, const double *q, const double *v, double *tau),
        such as `numba.cfunc` makes; a callable object with a `sample_time`, called at its times and held between; or a
        controller, alone or in an `lb.control.Loop` with sensors and actuators.  A function may have `breaks`, an array
        of the times at which it jumps or has a kink: steps end there.
    external : {("body", node): wrench}, forces on nodes from outside: [moment, force] in world axes, constant (6,),
        a `Table` of 6 columns, a function (t, q, v) -> (6,), or a compiled one, as for torque.
    motion : {"body": trajectory}, the joints of these bodies move as prescribed, whatever acts on them; all others follow their
        forces.  A `Trajectory`, at the times of the simulation, or a function t -> (position, velocity,
        acceleration): the coordinates of the joint in q, its speeds in v, and the rates of these; a function may have
        `breaks`, as for torque.  A compiled function writes these numbers one after the other to `out`.  The initial state
        of these joints is that of the motion; a q0 or v0 that differs from it is rejected.  `Result.tau` has the total
        torque that the motion requires, whatever `torque` gives for these joints.  In a closed system all other joints follow,
        and without v0 they do so from the start, with modes at rest if the joints alone can follow; a motion that closures cannot
        follow is an error.
    environment : what acts on a free-flyer in orbit, `lb.orbit.Environment(...)`: the gravity of a planet and its gradient, drag
        and burns.  The world is then a frame that falls around the planet (`limber.orbit`).  `Result.environment` has its
        generalized forces, and the power audit counts their work with that of the wrenches.
    t_eval, every : the output times, or the interval between them (the last output is at t_end in any case); by default
        501 times.
    rtol, atol : tolerances of the adaptive methods on every element of q and v, per step.
    method : "rk4" (fixed `step`), "rk45", "tsit5", "dop853" (orders 5, 5 and 8, adaptive), "sdirk4" (implicit, for
        stiff modes and stiff torque laws; `integrators.implicit`), or "auto": dop853 or sdirk4, whichever proves
        cheaper during the run.  For comparison there are "RK23", "RK45", "DOP853", "Radau", "BDF" and "LSODA" of SciPy,
        and "cvode" and "ida" of SUNDIALS, which call Python at every evaluation; "ida" uses only inverse dynamics, all
        others forward dynamics.
    step, max_step : the first step (for rk4, every step), and the longest one.
    events : see `Event`.  Simultaneous events occur in the order of the list.  Their actions may change the topology:
        `Result.topology` and `Result.changes` say what was active when.
    engine : "general", or "generated": C code for this system (`compile`), several times as fast.  Batches with
        method="rk4" and constant torques, or with one PD, PID, LQR or ComputedTorque that is sampled at every output time,
        then run in SIMD lanes, with steps that end at the output times (`simulation.lanes`); on a GPU with "cuda".
    progress : whether to show a progress bar; by default it is shown in a terminal, for runs of more than a second.
    save : an HDF5 file for the result.  Rows are written during the run to a file of that name with ".part" appended; a
        run that is killed leaves them there (`Result.load` finds them).  An older file stays until the run has ended.
    parameters : {name: number}, other numbers of the system for this run (`System.with_parameters`).  Controllers do not
        know them: they are designed for `system`.

    A batch of cases runs on all cores and gives a `BatchResult` (`simulation.batch`).  Whatever differs between cases
    has an additional first dimension: q0 (cases, nq), v0 (cases, nv), torque (cases, nv) or a list with one for each
    case, parameters (cases,), or (cases, ...) for array parameters.  A case that fails is a row with the reason, and
    all others continue.

    Quaternions keep unit length, and closures stay satisfied: every step, output row and event is projected onto them,
    in position and velocity.  If an event stops a run, the last row is the state at the event.  An interrupted run
    (Ctrl-C) returns the result so far.  A run that gets stuck raises SimulationError, which has the result so far in
    `error.result`.  So does an error in a torque function, an error in writing the file, and an exception raised by a
    signal handler.
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
                "save= is for a single run: save the results of a batch individually."
            )
        options = {
            "t_end": t_end, "q0": q0, "v0": v0, "torque": torque, "external": external, "motion": motion,
            "environment": environment, "t_eval": t_eval, "every": every, "t0": t0, "rtol": rtol, "atol": atol,
            "method": method, "step": step, "max_step": max_step, "events": events, "engine": engine, "progress": False,
        }  # fmt: skip
        times = start + output_times(start, end, t_eval, every)
        return simulate_cases(simulate, system, cases, times, progress, options)  # type: ignore[return-value]
    if parameters is not None:
        torque = prepared_for(system, torque)  # controllers do not know what is different
        system = system.with_parameters(parameters)
    q, v = initial_state(system, q0, v0)
    times = output_times(start, end, t_eval, every)
    rtol, atol = number("rtol", rtol, minimum=0.0), number("atol", atol, minimum=0.0)
    peer = isinstance(method, str) and method in PEERS
    methods = () if peer else _methods(method)
    if rtol == 0.0 and atol == 0.0 and (peer or any(m.adaptive for m in methods)):
        raise ArgumentValueError(
            "rtol and atol are both zero: at least one of them must be positive."
        )
    if step is not None:
        step = number("step", step, above=0.0)
    largest = np.inf if max_step is None else number("max_step", max_step, above=0.0)
    for name, given in (("step", step), ("max_step", max_step)):
        if given is not None and given < R.RESOLUTION * length:
            raise ArgumentValueError(
                f"{name}={given:g} requires {length / given:.1e} steps: use a larger one."
            )
    if progress is not None and not isinstance(progress, bool):
        raise ArgumentTypeError(f"progress must be True, False or None, got {shown(progress)}.")
    listed = _listed(events)
    forces = forces_of(system, torque, external, motion, start)
    if environment is not None:
        from limber.orbit.environment import Environment  # noqa: PLC0415 (few programs need it)

        if not isinstance(environment, Environment):
            raise ArgumentTypeError(
                f"environment must be an lb.orbit.Environment, got {shown(environment)}."
            )
        forces.field = environment.bind(system, start, end)
        if engine != "general" and forces.masses(times):
            raise ArgumentValueError(
                "environment: burns change the mass of a tank, which is a fixed number in generated code: use "
                f'engine="general" instead of {shown(engine)}.'
            )
    forces.refuse_endless_sampling(length)
    start_on(forces.driven, system, start, q, v, (q0 is not None, v0 is not None))
    refuse_unsteady(forces.driven, system, start, end, q)
    warn_of_start(system, q, q0)
    start_name = "the neutral configuration" if q0 is None else "q0"
    following = v0 is None and len(forces.driven) > 0
    q, v = closed_state(system, q, v, start_name, "v0", "q0, v0", forces.names, following)
    warn_of_redundancy(system, q, forces.numbers)
    if peer:
        if environment is not None:
            raise ArgumentValueError(
                f"method={method!r} is a method of another library, which does not support an environment; use a method "
                "of Limber, such as dop853."
            )
        if listed or save is not None:
            raise ArgumentValueError(
                f"method={method!r} is a method of another library, which does not support events or save=; Result.save "
                "writes a file."
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
                f"step={step:g} requires {length / step:.1e} steps: use a larger one."
            )
    if not isinstance(engine, str) or engine not in ("general", "generated"):
        raise ArgumentValueError(
            f'engine={shown(engine)} must be "general" or "generated"; "cuda" is for batches with fixed steps.'
        )
    if engine == "generated" and system.closures and sought(system):
        warn(
            f"the closure {sought(system)[0].name!r} has coordinates of its own, which generated code would always search from the same position: "
            'the run uses engine="general", which follows them.',
            ModelWarning,
        )
        engine = "general"
    actions = [e.action for e in listed]
    refuse_impossible(system, actions)
    asked = [change for action in actions for change in changes_of(action) or ()]
    refuse_changes(asked, engine, forces.names)
    n, width = system.nq + system.nv + R.FLOWS, forces.width(system.nv)
    outputs = Outputs(times, np.empty((len(times), n)), np.empty((len(times), width)))
    run = Run(
        system, forces, [e for e in listed if callable(e.function)], outputs, np.concatenate([q, v]),
        start, end, Settings(methods, rtol, atol, step, largest, engine),
    )  # fmt: skip
    if save is None:
        return integrated(run, listed, progress)
    from limber.simulation.recording import Recording  # noqa: PLC0415

    with Recording(save, lambda: result_so_far(run)) as file:
        result = integrated(run, listed, progress, file.keep)
        file.finish(result)
    return result


def _methods(method: Any) -> tuple[Method, ...]:
    """The methods of Limber that a run with `method` uses."""
    names = AUTOMATIC if isinstance(method, str) and method == "auto" else (method,)
    if not isinstance(method, str) or not set(names) <= set(method_names()):
        known = ", ".join(["auto", *method_names()])
        raise ArgumentValueError(
            f"method={shown(method)} is unknown; choose one of {known}, or {', '.join(PEERS)}."
        )
    return tuple(method_named(name) for name in names)


def _listed(events: Any) -> list[Event]:
    """The events as a list."""
    try:
        listed = [events] if isinstance(events, Event) else list(events or ())
    except TypeError:
        raise ArgumentTypeError(f"events must be lb.Event objects, got {shown(events)}.") from None
    for event in listed:
        if not isinstance(event, Event):
            raise ArgumentTypeError(f"events must be lb.Event objects, got {shown(event)}.")
    return listed
