"""The least-squares problem of an identification: residuals and their exact slopes by the scaled unknowns.

The unknowns z are, one after the other: the sought numbers of the model, the unknown entries of each start, and the unknown biases.
Residuals are (model - reading) / standard deviation of every reading that is there; then those of priors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.control.sensors.base import Sensor
from limber.dynamics import integrate
from limber.errors import LimberError
from limber.identification.experiment import Plan, still
from limber.identification.readings import reading
from limber.identification.sensitivity import Run, moving
from limber.identification.unknowns import Sought, with_numbers


@dataclass(frozen=True, eq=False)
class Bias:
    """An unknown constant error of one number of a sensor, in all experiments."""

    sensor: str
    column: int
    name: str
    deviation: float


@dataclass(frozen=True, eq=False)
class Channel:
    """The readings of one number of a sensor in one experiment, of which `there` are not nan."""

    plan: int
    sensor: Sensor
    column: int
    label: str
    there: np.ndarray
    y: Array


class Problem:
    """Residuals and slopes.  `noise` has the standard deviation of each number of each sensor."""

    def __init__(
        self,
        system: System,
        plans: Sequence[Plan],
        sensors: Sequence[Sensor],
        unknowns: Sequence[Sought],
        biases: Sequence[Bias],
        noise: dict[str, Array],
    ):
        self.system, self.plans, self.sensors = system, plans, sensors
        self.unknowns, self.biases, self.noise = unknowns, biases, noise
        self.channels = list(self._channels())
        self.readings = sum(len(c.y) for c in self.channels)
        starts = [len(plan.start_names) for plan in plans]
        first = len(unknowns)
        self._starts = [range(first + sum(starts[:i]), first + sum(starts[: i + 1])) for i in range(len(plans))]  # fmt: skip
        self._bias_at = first + sum(starts)
        self.size = self._bias_at + len(biases)
        self.names = [
            *(one.name for one in unknowns),
            *(f"{name} at the start of {plan.name}" for plan in plans for name in plan.start_names),
            *(f"bias of {one.name}" for one in biases),
        ]

    def until(self, part: float) -> Problem:
        """The problem with a part of each experiment, from its start on; noise is shared."""
        if part == 1.0:
            return self
        plans = []
        for plan in self.plans:
            run = plan.run
            there = run.t <= run.t0 + part * (run.t[-1] - run.t0)
            there[:2] = True
            kept = {name: y[there] for name, y in plan.readings.items()}
            plans.append(replace(plan, run=replace(run, t=run.t[there]), readings=kept))
        return Problem(self.system, plans, self.sensors, self.unknowns, self.biases, self.noise)

    def _channels(self) -> Iterator[Channel]:
        for p, plan in enumerate(self.plans):
            for sensor in self.sensors:
                y = plan.readings.get(sensor.name)
                if y is None:
                    continue
                labels = sensor.reader(plan.system).labels
                for column, label in enumerate(labels):
                    there = np.flatnonzero(np.isfinite(y[:, column]))
                    text = sensor.name if len(labels) == 1 else f"{sensor.name} {label}"
                    yield Channel(p, sensor, column, text, there, y[there, column])

    @property
    def bounds(self) -> tuple[Array, Array]:
        """The bounds of z."""
        low, high = np.full((2, self.size), np.inf)
        low = -low
        for i, one in enumerate(self.unknowns):
            low[i], high[i] = one.range
        return low, high

    def values(self, z: Array) -> list[float]:
        """The sought numbers of the model."""
        return [one.value(float(x)) for one, x in zip(self.unknowns, z)]

    def by_z(self, z: Array) -> Array:
        """The slope of each unknown by its z."""
        found = np.ones(self.size)
        found[: len(self.unknowns)] = [one.slope(float(x)) for one, x in zip(self.unknowns, z)]
        return found

    def _run(self, p: int, system: System, z: Array) -> Run:
        """The run of an experiment with its unknown start."""
        run, nv = self.plans[p].run, system.nv
        if not len(self._starts[p]):
            return run
        moved = run.starts @ z[list(self._starts[p])]
        q0 = integrate(system, run.q0, moved[:nv], 1.0)
        return replace(run, q0=q0, v0=run.v0 + moved[nv:])

    def modelled(self, z: Array) -> list[Array]:
        """What the model gives for the readings of each channel."""
        found = []
        for p, plan in enumerate(self.plans):
            system = with_numbers(plan.system, self.unknowns, self.values(z))
            motion = still(system, self._run(p, system, z))
            clean = {
                one.name: reading(one, motion)[0] for one in self.sensors if one.name in plan.readings
            }  # fmt: skip
            for c in self._of(p):
                found.append(clean[c.sensor.name][c.there, c.column] + self._bias(c, z))
        return found

    def slopes(self, z: Array) -> tuple[list[Array], list[Array]]:
        """What the model gives for the readings of each channel, and its slopes by z."""
        values, slopes = [], []
        for p, plan in enumerate(self.plans):
            system = with_numbers(plan.system, self.unknowns, self.values(z))
            numbers = [one.number for one in self.unknowns]
            motion = moving(system, self._run(p, system, z), numbers)
            clean = {
                one.name: reading(one, motion) for one in self.sensors if one.name in plan.readings
            }  # fmt: skip
            columns = [*range(len(numbers)), *self._starts[p]]
            for c in self._of(p):
                value, slope = clean[c.sensor.name]
                by = np.zeros((len(c.y), self.size))
                by[:, columns] = slope[c.there, c.column]
                for i, one in enumerate(self.biases):
                    if (one.sensor, one.column) == (c.sensor.name, c.column):
                        by[:, self._bias_at + i] = 1.0
                values.append(value[c.there, c.column] + self._bias(c, z))
                slopes.append(by * self.by_z(z))
        return values, slopes

    def _of(self, p: int) -> list[Channel]:
        return [c for c in self.channels if c.plan == p]

    def _bias(self, c: Channel, z: Array) -> float:
        return sum(
            float(z[self._bias_at + i])
            for i, one in enumerate(self.biases)
            if (one.sensor, one.column) == (c.sensor.name, c.column)
        )

    def sigma(self, c: Channel) -> float:
        """The standard deviation of the readings of a channel."""
        return float(self.noise[c.sensor.name][c.column])

    # --- the problem of scipy.optimize.least_squares ----------------------------------------------

    def residuals(self, z: Array) -> Array:
        """All residuals; nan where the model cannot move with such numbers."""
        try:
            values = self.modelled(z)
        except (LimberError, OverflowError):
            return np.full(self.readings + len(self._priors(z)[0]), np.nan)
        parts = [(value - c.y) / self.sigma(c) for value, c in zip(values, self.channels)]
        return np.concatenate([*parts, self._priors(z)[0]])

    def jacobian(self, z: Array) -> Array:
        """The slopes of all residuals by z."""
        return np.vstack([self.data_jacobian(z), self._priors(z)[1]])

    def data_jacobian(self, z: Array) -> Array:
        """The slopes of the residuals of readings by z."""
        _, slopes = self.slopes(z)
        parts = [slope / self.sigma(c) for slope, c in zip(slopes, self.channels)]
        return np.vstack([np.zeros((0, self.size)), *parts])

    def _priors(self, z: Array) -> tuple[Array, Array]:
        """The residuals of priors and their slopes."""
        found: list[float] = []
        rows: list[Array] = []

        def add(i: int, residual: float, slope: float) -> None:
            found.append(residual)
            rows.append(slope * np.eye(self.size)[i])

        for i, one in enumerate(self.unknowns):
            if one.prior is not None:
                mean, deviation = one.prior
                x = float(z[i])
                add(i, (one.value(x) - mean) / deviation, one.slope(x) / deviation)
        deviations = np.concatenate(
            [np.zeros(0), *(plan.start_deviations for plan in self.plans), [b.deviation for b in self.biases]]
        )  # fmt: skip
        for i, deviation in enumerate(deviations, len(self.unknowns)):
            if np.isfinite(deviation):
                add(i, float(z[i]) / deviation, 1.0 / deviation)
        return np.array(found), np.array(rows).reshape(len(rows), self.size)

    def prior_jacobian(self, z: Array) -> Array:
        """The slopes of the residuals of priors by z."""
        return self._priors(z)[1]
