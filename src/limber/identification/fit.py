"""`lb.identify`: parameters of a system from readings."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from limber.assembly import parameters as table
from limber.assembly.system import System
from limber.checks import Array, listed, number, numbers, shown, whole
from limber.control.sensors.base import Sensor
from limber.dynamics.evaluate import check_system
from limber.errors import (
    ArgumentTypeError,
    ArgumentValueError,
)
from limber.identification.experiment import Experiment, Plan, prepared
from limber.identification.identified import Identified
from limber.identification.problem import Bias, TimeProblem
from limber.identification.readings import checked, deviations
from limber.identification.solve import solved
from limber.identification.unknowns import Sought, sought


def identify(
    system: System,
    parameters: Any,
    experiments: Experiment | Sequence[Experiment],
    sensors: Sensor | Sequence[Sensor],
    *,
    noise: Mapping[str, Any] | None = None,
    bias: str | Iterable[str] | Mapping[str, float] = (),
    rtol: float = 1e-8,
    atol: float = 1e-10,
    windows: Sequence[float] | None = None,
    max_evaluations: int = 100,
) -> Identified:
    """Estimate parameters of a system from sensor readings: weighted least squares with exact sensitivities along the
    motion.

    The model is simulated with the forces that acted in each experiment. The differences between its readings and the
    measured ones, each divided by the standard deviation of its noise, are minimized (`scipy.optimize.least_squares`).
    With Gaussian noise this is the maximum-likelihood estimate. The sensitivities come from the variational equations
    along the motion.

    Parameters
    ----------
    parameters : names of parameters (`System.parameters`), or {name: Unknown(start=..., bounds=..., prior=...)}. The
        name of an array stands for all of its numbers, and "tool.com[0]" for one of them. The search starts from the
        values of the system.
    experiments : one or several, which are fitted together.
    sensors : those of `lb.control` that made the readings, in any of the experiments: Encoder, Tachometer, StrainGauge,
        Gyro, Accelerometer, and ForceTorque of open systems.
    noise : {name of a sensor: standard deviation} of one reading, which replaces that of the sensor itself. If it is
        zero or None, it is estimated from the residuals.
    bias : names of sensors with an unknown constant error, the same in all experiments, or {name: standard deviation}
        if something is known about it.
    rtol, atol : tolerances of the simulations.
    windows : the fractions of each experiment, counted from its start, that are fitted in sequence, such as
        (0.1, 0.3, 1.0); each search starts from the result of the previous one. None fits everything at once. If
        residuals are then far above the noise, because model and system soon run out of step, it tries again with a
        small part that grows as far as the fit stays good, and returns the better result.
    max_evaluations : of the model, in one search.

    A ModelWarning reports doubtful results: combinations of parameters that the readings do not determine, parameters
    at a bound, and residuals that are not white or do not match the noise level. `result.warnings` has the same texts.
    """
    started = time.perf_counter()
    check_system(system)
    read = checked(system, sensors)
    unknowns = sought(system, parameters)
    given = [experiments] if isinstance(experiments, Experiment) else experiments
    if not isinstance(given, Sequence) or not given:
        raise ArgumentTypeError(
            f"experiments must be one or several lb.identification.Experiment(t, readings, ...), got {shown(experiments)}."
        )
    rtol, atol = number("rtol", rtol, above=0.0), number("atol", atol, minimum=0.0)
    most = whole("max_evaluations", max_evaluations, 1)
    plans = [prepared(system, read, one, i, rtol, atol) for i, one in enumerate(given)]
    _refuse_known(system, unknowns, plans)
    parts = _parts(windows)
    levels, estimated = noise_levels(system, read, noise)
    problem = TimeProblem(
        system, plans, read, unknowns, _biases(system, read, bias, plans, levels), levels
    )
    return solved(problem, estimated, parts, most, started, "identify")


def _parts(windows: Any) -> list[float] | None:
    """The parts of experiments that are fitted in sequence; the last is the whole. None if the search finds them."""
    if windows is None:
        return None
    parts = numbers("windows", windows, "(n,)")
    if (
        parts.ndim != 1
        or not len(parts)
        or not (np.diff(parts, prepend=0.0) > 0.0).all()
        or parts[-1] != 1.0
    ):
        raise ArgumentValueError(
            f"windows must be fractions of the experiments that increase to 1, as in (0.1, 0.3, 1.0), got {shown(windows)}."
        )
    return parts.tolist()


def _refuse_known(system: System, unknowns: Sequence[Sought], plans: Sequence[Plan]) -> None:
    """Reject parameters that are both unknown and known, under one name or under two, such as EI and EIz."""
    names = dict.fromkeys(one.number[0] for one in unknowns)
    sought_values = {name: table.find(system, name).value for name in names}
    for plan in plans:
        known = plan.experiment.parameters
        for one in unknowns:
            if one.number[0] in known:
                raise ArgumentValueError(
                    f"parameter {one.name!r} is both unknown and given for {plan.name}: leave one of the two out."
                )
        try:
            system.with_parameters({**known, **sought_values})
        except ArgumentValueError as error:
            raise ArgumentValueError(
                f"the unknown parameters and those given for {plan.name} are inconsistent: {error}"
            ) from None


def noise_levels(
    system: System, sensors: Sequence[Sensor], noise: Any
) -> tuple[dict[str, Array], tuple[str, ...]]:
    """The standard deviations of the numbers of each sensor, and the sensors whose noise is unknown."""
    given = dict(noise or {})
    names = [one.name for one in sensors]
    for key in given:
        if key not in names:
            raise ArgumentValueError(
                f"noise has {shown(key)}, which is not a sensor; the sensors are: {listed(names)}."
            )
    levels, unknown = {}, []
    for one in sensors:
        width = len(one.reader(system).labels)
        level = deviations(one, width)
        if one.name in given:
            x = 0.0 if given[one.name] is None else given[one.name]
            x = numbers(f"noise[{one.name!r}]", x, f"() or ({width},)")
            if x.shape not in ((), (width,)) or not (x >= 0.0).all():
                raise ArgumentValueError(
                    f"noise[{one.name!r}] must be one standard deviation or {width}, got {shown(given[one.name])}."
                )
            level = np.broadcast_to(x, (width,)).astype(float)
        levels[one.name] = level
        if not (level > 0.0).all():
            unknown.append(one.name)
    return levels, tuple(unknown)


def _biases(
    system: System,
    sensors: Sequence[Sensor],
    given: Any,
    plans: Sequence[Plan],
    levels: Mapping[str, Array],
) -> list[Bias]:
    """The unknown biases, each in the unit of the noise, or of the readings if the noise is unknown."""
    names = [given] if isinstance(given, str) else list(given)
    by_name = {one.name: one for one in sensors}
    found = []
    for name in names:
        if name not in by_name:
            raise ArgumentValueError(
                f"bias names {shown(name)}, which is not a sensor; the sensors are: {listed(by_name)}."
            )
        deviation = np.inf
        if isinstance(given, Mapping):
            deviation = number(f"bias[{name!r}]", given[name], above=0.0)
        labels = by_name[name].reader(system).labels
        for i, label in enumerate(labels):
            sizes = [np.abs(p.readings[name][:, i]) for p in plans if name in p.readings]
            size = max((float(np.nanmax(x)) for x in sizes if np.isfinite(x).any()), default=0.0)
            unit = float(levels[name][i]) or size or 1.0
            found.append(Bias(name, i, f"{name} {label}", deviation, unit))
    return found
