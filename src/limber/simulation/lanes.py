"""Batches in SIMD lanes: fixed steps of the classical Runge-Kutta method for many cases at once, in generated code.

Each case runs from its start to its end in one call (`codegen.rollout`), and several cases share each instruction.  Steps
end at the output times: each interval between two of them is divided into equal steps, none longer than the requested
one.  With a control law, each sample time is divided in the same way.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from limber.assembly.parameters import find
from limber.assembly.system import System
from limber.checks import Array, number, shown
from limber.errors import ArgumentValueError, SimulationError
from limber.simulation.laws import LANES, LawTable, SampledLaw, law_of
from limber.simulation.result import Result, Statistics
from limber.simulation.table import joint_speeds
from limber.simulation.validity import refuse_indefinite, warn_of_doubts


def numbers_of_code(system: System, parameters: Mapping[str, Array]) -> list[Array]:
    """Parameters (cases, ...) in the shapes that generated code takes."""
    found = []
    for name, x in parameters.items():
        shape = find(system, name).value.shape
        if x.shape[1:] != shape and x.ndim > 1:
            raise ArgumentValueError(
                f"parameters[{name!r}] must have shape {('cases', *shape)} for generated code, got {x.shape}: the "
                "parameter is one number in the system. Give its parts by their own names, such as EIy and EIz."
            )
        if x.shape[1:] != shape:
            found.append(np.repeat(x[:, None], shape[0], axis=1))
        else:
            found.append(np.ascontiguousarray(x))
    return found


def rows_in_lanes(
    system: System, q: Array, v: Array, tau: Array, parameters: Mapping[str, Array], times: Array, step: float,
    law: LawTable | None = None,
) -> tuple[Array, Array, Array, int]:  # fmt: skip
    """q (cases, n, nq), v and tau (cases, n, nv) at times from the start on, and the number of steps.

    tau : (cases, nv), constant throughout.
    law : a control law instead; a row has the torques up to then.
    """
    from limber.codegen.compiler import rollout_in_lanes  # noqa: PLC0415

    reached, spans, counts = 0.0, [], []
    for t in times.tolist():
        span = 1
        if law is not None:
            span = round(t / law.law.sample_time) - round(reached / law.law.sample_time)
        spans.append(span)
        counts.append(_steps((t - reached) / max(span, 1), step))
        reached = t
    steps = np.array(spans) * counts
    lengths = np.diff(times, prepend=0.0) / np.maximum(steps, 1)
    places, model, arrays = None, None, None
    if law is not None:
        places, arrays = law.law.places(), {**law.arrays(), "start": law.start}
        model = None if law.law.model is None else law.law.model.system
    lanes = LANES if len(q) >= LANES else 1
    run = rollout_in_lanes(system, list(parameters), lanes, places, model)
    given = (q, v, tau, *numbers_of_code(system, parameters))
    Q, V, forces = run(given, np.array(spans), np.array(counts), lengths, arrays)
    return Q, V, forces, int(steps.sum())


def _steps(length: float, step: float) -> int:
    """How many equal steps an interval is divided into."""
    return int(np.ceil(length / step * (1.0 - 1e-9))) if length > 0.0 else 0


def rows_on_gpu(
    system: System, q: Array, v: Array, tau: Array, parameters: Mapping[str, Array], times: Array, step: float,
    law: LawTable | None = None,
) -> tuple[Array, Array, Array, int]:  # fmt: skip
    """`rows_in_lanes` on the GPU, one case per thread; output times must be equally spaced."""
    from limber.codegen import compiler  # noqa: PLC0415

    if law is None:
        rollout = compiler.compile(system, "rollout", target="cuda", parameters=list(parameters))
    else:
        model = None if law.law.model is None else law.law.model.system
        rollout = compiler.controlled_rollout(system, list(parameters), law.law.places(), model)
    from limber.codegen.cuda import needed_cupy  # noqa: PLC0415

    cupy = needed_cupy()
    later = times[1:] if times[0] == 0.0 else times
    lengths = np.diff(np.concatenate([[0.0], later]))
    if not later.size or np.ptp(lengths) > 1e-9 * lengths.max():
        raise ArgumentValueError(
            'engine="cuda" needs equally spaced output times that begin at the start of the run: give every=..., of which the '
            "duration is a multiple."
        )
    record, controlled = _steps(lengths[0], step), {}
    if law is not None:
        spans = round(lengths[0] / law.law.sample_time)
        sample = _steps(lengths[0] / spans, step)
        record = sample * spans
        arrays_of_law = {name: cupy.asarray(x) for name, x in law.arrays().items()}
        controlled = {"sample": sample, "law": arrays_of_law}
    numbers = [np.moveaxis(x, 0, -1) for x in numbers_of_code(system, parameters)]
    arrays = [cupy.asarray(np.ascontiguousarray(x)) for x in (q.T, v.T, tau.T, *numbers)]
    steps = record * len(later)
    found = rollout(
        *arrays[:3], lengths[0] / record, steps, *arrays[3:], record=record, **controlled
    )
    rows = [
        np.moveaxis(cupy.asnumpy(x).reshape(len(later), width, len(q)), 2, 0)
        for x, width in zip(found, (system.nq, system.nv, system.nv))
    ]
    if law is None:
        rows.append(np.broadcast_to(tau[:, None], rows[1].shape))
    else:
        tau = law.first_torques(q, v)
    if len(later) < len(times):
        rows = [np.concatenate([x[:, None], y], axis=1) for x, y in zip((q, v, tau), rows)]
    return rows[0], rows[1], rows[2], steps


def steps_taken(steps: int, began: float) -> Statistics:
    """The cost of a case."""
    return Statistics(steps, 0, 4 * steps, time.perf_counter() - began)


def result_of(
    system: System, t: Array, q: Array, v: Array, tau: Array, steps: int, began: float
) -> Result:
    """The result of one case, checked as that of a single run; rows that are not finite are an error.

    tau : (n, nv).
    """
    finite = np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1)
    rows = len(t) if finite.all() else int(finite.argmin())
    statistics = steps_taken(steps, began)
    result = Result(
        system, t[:rows], q[:rows], v[:rows], tau[:rows], (), statistics, "reached t_end"
    )
    stuck = None
    if rows < len(t):
        stuck = SimulationError(
            f"the simulation of {system.name!r} got stuck before t = {t[rows]:.6g} s: the state is no longer finite with fixed "
            'steps. Use a smaller step, or an adaptive method such as method="dop853".'
        )
        stuck.result = replace(result, message=str(stuck))
    refuse_indefinite(result, stuck)
    warn_of_doubts(result)
    if stuck is not None:
        raise stuck
    return result


def law_table(system: System, given: Mapping[str, Any], times: Array, q0: Array) -> LawTable | None:
    """The control law of a batch at all its samples; None for constant torques.

    times : from the start on.
    q0 : (cases, nq).
    """
    law = law_of(system, given["torque"])
    if not isinstance(law, SampledLaw):
        return None
    samples = law.samples(times)
    last = 0 if samples is None else int(samples[-1])
    return law.tabulated(float(given["t0"]), last + 1, q0)


def constant_torques(system: System, shared: Any, own: Any, cases: int) -> Array:
    """(cases, nv): constant torques, of all cases or one for each, of all speeds or for the joints alone."""
    if shared is None or hasattr(shared, "sampled_law"):
        return np.zeros((cases, system.nv))
    joints = joint_speeds(system)
    given = own if own is not None else np.broadcast_to(shared, (cases, np.size(shared)))
    if given.shape[1] not in (system.nv, len(joints)):
        raise ArgumentValueError(
            f"torque must have {system.nv} numbers, or {len(joints)} for the joints alone, got {given.shape[1]}."
        )
    tau = np.zeros((cases, system.nv))
    tau[:, slice(None) if given.shape[1] == system.nv else joints] = given
    return tau


def fixed_step(given: Mapping[str, Any], times: Array) -> float:
    """The longest step, checked."""
    if given["step"] is None:
        raise ArgumentValueError('method="rk4" has fixed steps: give step=..., in seconds.')
    step = number("step", given["step"], above=0.0)
    if given["max_step"] is not None:
        step = min(step, number("max_step", given["max_step"], above=0.0))
    length = float(times[-1] - given["t0"]) if times.size else 0.0
    if length / step > 1e10:
        raise ArgumentValueError(
            f"step={step:g} requires {length / step:.1e} steps: use a larger one."
        )
    return step


def uses_lanes(given: Mapping[str, Any], system: System, torques: Any, times: Array) -> bool:
    """Whether a batch runs in lanes or on the GPU; if the GPU was requested, a batch that cannot use it is rejected.

    times : the output times, from the start on.
    """
    engine = given["engine"]
    if not isinstance(engine, str) or engine not in ("generated", "cuda"):
        return False
    why = _not_in_lanes(given, system, torques, times)
    if why and engine == "cuda":
        raise ArgumentValueError(
            f'engine="cuda" supports batches with method="rk4" and constant torques or a PD, PID, LQR or rigid ComputedTorque, but this one has {why}. '
            'Use engine="generated".'
        )
    return not why


def _not_in_lanes(given: Mapping[str, Any], system: System, torques: Any, times: Array) -> str:
    """Why a batch cannot run in lanes, in words; empty if it can."""
    if given["method"] != "rk4":
        return f"method={shown(given['method'])}"
    for name in ("external", "motion", "environment", "events"):
        if given[name]:
            return f"{name}=..."
    if system.closures:
        return "closures"
    law = None if torques is not None else law_of(system, given["torque"])
    if isinstance(law, str):
        return law
    if law is not None:
        return "" if law.samples(times) is not None else "output times between samples"
    constant = torques if torques is not None else given["torque"]
    plain = constant is None or isinstance(constant, np.ndarray | list | tuple)
    if not plain or (constant is not None and not _real(constant)):
        return "torques that are not constant"
    return ""


def _real(values: Any) -> bool:
    """Whether values are an array of real numbers."""
    try:
        np.array(values, dtype=float)
    except (TypeError, ValueError):
        return False
    return True
