"""Experiments: the loads on a system, and the readings of its sensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, array, listed, number, numbers, shown, suggestion
from limber.constraints import assemble
from limber.control.channels import speed_names
from limber.control.closed_motions import refuse_broken
from limber.control.sensors.base import Sensor, checked_seed
from limber.errors import ArgumentTypeError, ArgumentValueError, DynamicsError
from limber.identification.closed_starts import completed, given_places, refuse_ruthless
from limber.identification.readings import checked, reading
from limber.identification.sensitivity import Motion, Run, balanced, modes_of, simulated
from limber.simulation import Table
from limber.trajectories import Trajectory

#: Speeds below this, in rad/s or m/s, are rounding errors of a motion that starts at rest.
AT_REST = 1e-9


@dataclass(frozen=True, eq=False)
class Experiment:
    """One run of a real system, or of a simulated substitute.

    Parameters
    ----------
    t : (n,) the times at which the readings were taken, increasing, s.
    readings : {name of a sensor: (n, width)}, or (n,) for a sensor with one number; nan where there was none.
    torque : the torques that acted: None, a constant (nv,) or, for the joints alone, (r,), or a `Table`.
    external : {("body", node): wrench}, measured external forces, constant (6,) or a `Table`.
    motion : {"body": trajectory}, joints with a known prescribed motion, as for `lb.simulate`; functions of time with
        `breaks` are accepted too.
    q0, v0 : the initial state; by default neutral and at rest. In a closed system it must satisfy the closures; the default
        is what `lb.assemble` finds. It gives the coordinates of driven joints, of `unknown_start`, of modes, and of as many joints as
        have to be known; the others follow from the closures, with any values of the parameters.
    t0 : the initial time; t[0] by default.
    settled : whether the modes were in static equilibrium at the start, with the joints at q0 and at rest. The
        equilibrium follows the unknown parameters. Not for closed systems with modes.
    unknown_start : entries of the initial state to identify too, by name: "link.joint0", "link.mode1", and "link.joint0
        rate" for speeds. {name: standard deviation} says how well q0 and v0 are known there.
    parameters : {name: value}, known parameters of the model that differ in this experiment, such as a payload.
    name : for tables and pictures.
    """

    t: ArrayLike
    readings: Mapping[str, ArrayLike]
    torque: Any = None
    external: Mapping[tuple, Any] | None = None
    motion: Mapping[str, Any] | None = None
    q0: ArrayLike | None = None
    v0: ArrayLike | None = None
    t0: float | None = None
    settled: bool = False
    unknown_start: Sequence[str] | Mapping[str, float] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""

    def __repr__(self) -> str:
        return f"Experiment({self.name!r}, {len(np.atleast_1d(self.t))} times, readings of {listed(self.readings)})"  # fmt: skip


def simulated_experiment(
    system: System,
    sensors: Any,
    t: ArrayLike,
    *,
    seed: int | None = None,
    rtol: float = 1e-8,
    atol: float = 1e-10,
    **options: Any,
) -> Experiment:
    """Simulate an experiment with a known system: its sensors read the motion, each with its noise.

    Parameters
    ----------
    t : (n,) times of the readings.
    seed : of the noise; None for readings without noise.
    rtol, atol : of the simulation.
    options : torque, external, motion, q0, v0, t0, settled and name, as for `Experiment`.
    """
    listed_sensors = checked(system, sensors)
    plan = prepared(system, listed_sensors, Experiment(t, {}, **options), 0, rtol, atol)
    motion = still(plan.system, plan.run)
    rng = None if seed is None else np.random.default_rng(checked_seed("seed", seed))
    found = {one.name: _disturbed(one, reading(one, motion)[0], plan.run.t, rng) for one in listed_sensors}  # fmt: skip
    return replace(plan.experiment, t=plan.run.t, readings=found)


def _disturbed(sensor: Sensor, clean: Array, t: Array, rng: np.random.Generator | None) -> Array:
    """Readings with the errors of a sensor: noise, random walk of the bias, range and quantization."""
    if rng is None:
        return clean
    sigma = np.sqrt(sensor.noise_density**2 * sensor.rate + sensor.noise**2)
    y = clean + sigma * rng.standard_normal(clean.shape)
    if sensor.bias_walk.any():
        gaps = np.diff(t, prepend=t[0])[:, None]
        steps = sensor.bias_walk * np.sqrt(gaps) * rng.standard_normal(clean.shape)
        y = y + np.cumsum(steps, axis=0)
    y = np.clip(y, -sensor.range, sensor.range)
    step = np.where(sensor.quantization > 0.0, sensor.quantization, 1.0)
    return np.where(sensor.quantization > 0.0, step * np.rint(y / step), y)


# --- experiments on a system ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Plan:
    """An experiment on a system, checked.

    system : with the known parameters of this experiment.
    readings : {name of a sensor: (n, width)}.
    start_names, start_deviations : of the unknowns of the initial state; infinite where nothing is known.
    """

    experiment: Experiment
    name: str
    system: System
    run: Run
    readings: dict[str, Array]
    start_names: tuple[str, ...]
    start_deviations: Array


def prepared(
    system: System,
    sensors: Sequence[Sensor],
    experiment: Any,
    place: int,
    rtol: float,
    atol: float,
) -> Plan:
    """Check an experiment on a system."""
    if not isinstance(experiment, Experiment):
        raise ArgumentTypeError(
            f"experiments must be one or several lb.identification.Experiment(t, readings, ...), got {shown(experiment)}."
        )
    name = experiment.name or f"experiment {place + 1}"
    refuse_ruthless(system)
    if experiment.parameters:
        system = system.with_parameters(experiment.parameters)
    t = array(f"t of {name}", experiment.t, ("n",))
    if len(t) < 2 or not (np.diff(t) > 0.0).all():
        raise ArgumentValueError(
            f"t of {name} must contain at least two increasing times, got {shown(experiment.t)}."
        )
    t0 = float(t[0]) if experiment.t0 is None else number(f"t0 of {name}", experiment.t0)
    if t0 > t[0]:
        raise ArgumentValueError(f"t0 of {name}, {t0:g} s, is later than its first reading, {t[0]:g} s.")  # fmt: skip
    _refuse_feedback(experiment, name)
    q0, v0 = _start_of(system, experiment, name, t0)
    if experiment.settled and np.abs(v0).max(initial=0.0) > AT_REST:
        raise ArgumentValueError(
            f"{name} is settled, so it starts at rest: leave out v0 or settled."
        )
    names, deviations, starts = _unknown_start(system, experiment, name)
    given = None
    if system.closures:
        given = _given(system, experiment, q0, starts, name)
        try:
            q0, v0 = completed(system, q0, v0, given)
        except DynamicsError as error:
            raise DynamicsError(
                f"the start of {name}, with the joints of `motion` at their first positions: {error}"
            ) from None
    run = Run(
        t, t0, q0, v0, experiment.settled, starts, experiment.torque, experiment.external, experiment.motion, rtol, atol, given
    )  # fmt: skip
    return Plan(experiment, name, system, run, _readings(system, sensors, experiment, name, len(t)), names, deviations)  # fmt: skip


def still(system: System, run: Run) -> Motion:
    """The motion of a run without derivatives."""
    run = balanced(system, run)
    times = run.t if run.t0 == run.t[0] else np.concatenate([[run.t0], run.t])
    result = simulated(system, run, times)
    rows = result.rows(np.searchsorted(times, run.t))
    none = np.zeros((len(run.t), system.nv, 0))
    return Motion(system, run.t, rows.q, rows.v, rows.vdot, rows.external, (), none, none, none)


def _start_of(system: System, experiment: Experiment, name: str, t0: float) -> tuple[Array, Array]:
    """q0 and v0; joints with prescribed motion start on it."""
    q0 = system.neutral() if experiment.q0 is None else array(f"q0 of {name}", experiment.q0, (system.nq,))  # fmt: skip
    if system.closures and experiment.q0 is None:
        q0 = assemble(system)
    v0 = np.zeros(system.nv) if experiment.v0 is None else array(f"v0 of {name}", experiment.v0, (system.nv,))  # fmt: skip
    q0, v0 = np.array(q0), np.array(v0)
    if system.closures:
        refuse_broken(system, q0[None], v0[None])
    for joint, path in (experiment.motion or {}).items():
        body = system.body_of(joint, f"motion of {name}")
        where = system.layout[body]
        position, velocity, _ = path(t0)
        q0[where.q_joint], v0[where.v_joint] = position, velocity
    return q0, v0


def _given(
    system: System, experiment: Experiment, q0: Array, starts: Array, name: str
) -> np.ndarray:
    """The places in v of the coordinates of a closed system that determine the others."""
    if experiment.settled and len(modes_of(system)):
        raise ArgumentValueError(
            f"{name} is settled, which is not supported for closed systems with modes: {system.name!r} has the closures "
            f"{listed(system.closures)}. Give q0 = lb.equilibrium(system, q, locked=[...]), and unknown_start for modes that are not "
            "known."
        )
    driven = [i for body in (experiment.motion or {}) for i in _joint(system, body)]
    unknown = np.flatnonzero(starts.any(axis=1)) % system.nv
    return given_places(system, q0, np.array(driven, dtype=int), np.unique(unknown), name)


def _refuse_feedback(experiment: Experiment, name: str) -> None:
    """Reject forces that are functions of the state: the forces of an experiment are fixed."""
    external = experiment.external or {}
    acting = {"torque": experiment.torque, **{f"external[{key!r}]": x for key, x in external.items()}}  # fmt: skip
    for what, given in acting.items():
        if given is None or isinstance(given, Table):
            continue
        if callable(given) or hasattr(given, "address"):
            raise ArgumentTypeError(
                f"{what} of {name} must be what acted in the experiment, as an array or an lb.Table over time, not a "
                f"function or a controller, got {shown(given)}."
            )
    for joint, path in (experiment.motion or {}).items():
        if not isinstance(path, Trajectory) and not callable(path):
            raise ArgumentTypeError(
                f"motion[{joint!r}] of {name} must be a trajectory, or a function t -> (position, velocity, acceleration), got "
                f"{shown(path)}."
            )


def _unknown_start(
    system: System, experiment: Experiment, name: str
) -> tuple[tuple[str, ...], Array, Array]:
    """Names, standard deviations and directions (2 nv, k) of the unknowns of the initial state."""
    given = experiment.unknown_start
    names = (given,) if isinstance(given, str) else tuple(given)
    speeds = speed_names(system)
    known = [*speeds, *(f"{one} rate" for one in speeds)]
    places = []
    for one in names:
        if one not in known:
            raise ArgumentValueError(
                f"unknown_start of {name}: {shown(one)} is not one of {', '.join(known)}.{suggestion(str(one), known)}"
            )
        i = known.index(one)
        moved = {i % system.nv for body in (experiment.motion or {}) for i in _joint(system, body)}
        if i % system.nv in moved:
            raise ArgumentValueError(
                f"unknown_start of {name}: {one!r} belongs to a joint whose motion is prescribed."
            )
        if experiment.settled and (i >= system.nv or ".mode" in one):
            raise ArgumentValueError(
                f"unknown_start of {name}: {one!r} is known, because the experiment starts at rest with its modes in balance "
                "(settled)."
            )
        places.append(i)
    deviations = np.full(len(names), np.inf)
    if isinstance(given, Mapping):
        for i, (one, x) in enumerate(given.items()):
            deviations[i] = number(f"standard deviation of {one!r} at the start of {name}", x, above=0.0)  # fmt: skip
    return names, deviations, np.eye(2 * system.nv)[:, places]


def _joint(system: System, body: str) -> range:
    where = system.layout[system.body_of(body, "motion")].v_joint
    return range(where.start, where.stop)


def _readings(
    system: System, sensors: Sequence[Sensor], experiment: Experiment, name: str, n: int
) -> dict[str, Array]:
    """The readings as arrays (n, width), by sensor."""
    known = {one.name: len(one.reader(system).labels) for one in sensors}
    found = {}
    for key, given in experiment.readings.items():
        if key not in known:
            raise ArgumentValueError(
                f"readings of {name}: {shown(key)} is not a sensor; the sensors are: "
                f"{listed(known)}.{suggestion(str(key), known)}"
            )
        y = numbers(f"readings[{key!r}] of {name}", given, f"({n}, {known[key]})")
        if known[key] == 1 and y.ndim == 1:
            y = y[:, None]
        if y.shape != (n, known[key]):
            raise ArgumentValueError(
                f"readings[{key!r}] of {name} must have shape ({n}, {known[key]}), one row for each time, got {y.shape}."
            )
        infinite = np.argwhere(np.isinf(y))
        if infinite.size:
            raise ArgumentValueError(
                f"readings[{key!r}] of {name} is infinite in row {infinite[0, 0]}: readings must be finite, or nan where "
                "there is no reading."
            )
        found[key] = y
    return found
