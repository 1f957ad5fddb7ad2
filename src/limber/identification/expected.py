"""Prediction of what experiments determine about parameters, before anything is measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.control.sensors.base import Sensor
from limber.dynamics.evaluate import check_system
from limber.errors import ArgumentValueError
from limber.identification.experiment import Experiment, prepared
from limber.identification.fit import noise_levels
from limber.identification.information import (
    Combination,
    combinations,
    covariance,
    without,
)
from limber.identification.problem import TimeProblem
from limber.identification.readings import checked
from limber.identification.unknowns import Sought, sought


@dataclass(frozen=True, eq=False, repr=False)
class Expected:
    """What experiments would determine about parameters, at the values from which a search would start. It prints as a
    table.

    names, values : of the unknown numbers of the model.
    standard_errors : {name: ...}, the standard errors with these readings and the priors.
    information : (n, n), the Fisher information of the readings alone, in the order of `names`.
    combinations : the combinations of the numbers that the readings would determine, the best known first.
    """

    names: tuple[str, ...]
    values: Mapping[str, float]
    standard_errors: Mapping[str, float]
    information: Array
    combinations: tuple[Combination, ...]

    def __repr__(self) -> str:
        errors = ", ".join(f"{name} {x:.3g}" for name, x in self.standard_errors.items())
        return f"Expected(standard errors: {errors}; print it for the table)"

    def __str__(self) -> str:
        width = max(map(len, ("parameter", *self.names)))
        lines = [f"{'parameter':{width}}{'value':>13}{'std. error':>13}{'in %':>13}"]
        for name in self.names:
            value, error = self.values[name], self.standard_errors[name]
            part = 100.0 * error / abs(value) if value else np.inf
            lines.append(f"{name:{width}}{value:13.6g}{error:13.3g}{part:13.2g}")
        lines.append("what the readings would determine, in relative changes:")
        return "\n".join([*lines, *(f"  {one}" for one in self.combinations)])


def expected(
    system: System,
    parameters: Any,
    experiments: Experiment | Sequence[Experiment],
    sensors: Sensor | Sequence[Sensor],
    *,
    noise: Mapping[str, Any] | None = None,
    rtol: float = 1e-8,
    atol: float = 1e-10,
) -> Expected:
    """Predict how well experiments would determine parameters, without any data: Fisher information and standard
    errors.

    Parameters
    ----------
    parameters, sensors, noise, rtol, atol : as for `lb.identify`. The noise of every sensor must be known. A number that
        is zero has no relative error, and its error counts in its SI unit unless a start, bounds or a prior tell its size.
    experiments : one or several, as for `lb.identify`; their readings are not used and may be {}. All sensors are read
        at all of their times.
    """
    unknowns, J, priors = slopes_of_readings(system, parameters, experiments, sensors, noise, rtol, atol)  # fmt: skip
    n = len(unknowns)
    data = np.vstack([rows for _, rows in J])
    return described(unknowns, without(data[:, :n], data[:, n:]), np.vstack([data, priors]))


def slopes_of_readings(
    system: System,
    parameters: Any,
    experiments: Any,
    sensors: Any,
    noise: Any,
    rtol: float = 1e-8,
    atol: float = 1e-10,
) -> tuple[list[Sought], list[tuple[str, Array]], Array]:
    """The unknowns, the derivatives of the weighted readings of each sensor with respect to z, by name, and those of
    the priors.
    """
    check_system(system)
    read = checked(system, sensors)
    unknowns = sought(system, parameters)
    levels, unknown = noise_levels(system, read, noise)
    if unknown:
        raise ArgumentValueError(
            f"the noise of {', '.join(map(repr, unknown))} must be known: make the sensor with noise=..., or give "
            f"noise={{{unknown[0]!r}: ...}}."
        )
    given = [experiments] if isinstance(experiments, Experiment) else list(experiments)
    plans = []
    for i, one in enumerate(given):
        plan = prepared(system, read, one, i, rtol, atol)
        for sensor in read:
            width = len(sensor.reader(system).labels)
            plan.readings[sensor.name] = np.zeros((len(plan.run.t), width))
        plans.append(plan)
    problem = TimeProblem(system, plans, read, unknowns, (), levels)
    z = np.zeros(problem.size)
    _, slopes = problem.slopes(z)
    rows = [(c.noise, slope / problem.sigma(c)) for c, slope in zip(problem.channels, slopes)]
    return unknowns, rows, problem.prior_jacobian(z)


def described(unknowns: Sequence[Sought], alone: Array, whole: Array) -> Expected:
    """What the derivatives with respect to z determine: `alone` for the readings without the other unknowns, `whole`
    for all unknowns and priors.
    """
    n, names = len(unknowns), tuple(one.name for one in unknowns)
    unit = np.array([one.unit for one in unknowns])
    errors = unit * np.sqrt(np.diag(covariance(whole))[:n])
    scaled = alone / unit
    return Expected(
        names,
        {one.name: one.start for one in unknowns},
        dict(zip(names, errors.tolist())),
        scaled.T @ scaled,
        combinations(alone, names),
    )
