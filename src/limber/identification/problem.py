"""The least-squares problem of readings over time.

The unknowns other than numbers of the model are the unknown entries of each initial state, and the unknown biases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.control.sensors.base import Sensor
from limber.dynamics import integrate
from limber.identification.closed_starts import completed
from limber.identification.experiment import Plan, still
from limber.identification.least_squares import Channel, Other, Problem
from limber.identification.readings import reading
from limber.identification.sensitivity import Run, moving, refuse_too_fast
from limber.identification.unknowns import Sought, with_numbers


@dataclass(frozen=True, eq=False)
class Bias:
    """An unknown constant error of one number of a sensor, in all experiments; `deviation` and `unit` are as in
    `Other`.
    """

    sensor: str
    column: int
    name: str
    deviation: float
    unit: float = 1.0


class TimeProblem(Problem):
    """Residuals of sensor readings in experiments, with sensitivities along the motion."""

    def __init__(
        self,
        system: System,
        plans: Sequence[Plan],
        sensors: Sequence[Sensor],
        unknowns: Sequence[Sought],
        biases: Sequence[Bias],
        noise: dict[str, Array],
    ):
        self.plans, self.sensors, self.biases = plans, sensors, biases
        first = len(unknowns)
        self._starts = []
        for plan in plans:
            self._starts.append(range(first, first + len(plan.start_names)))
            first += len(plan.start_names)
        self._bias_at = first
        others = [
            Other(f"{name} at the start of {plan.name}", float(deviation))
            for plan in plans
            for name, deviation in zip(plan.start_names, plan.start_deviations)
        ]
        others += [Other(f"bias of {one.name}", one.deviation, one.unit) for one in biases]
        super().__init__(system, unknowns, list(_channels(plans, sensors)), noise, others)

    def until(self, part: float) -> TimeProblem:
        """The problem with only the first part of each experiment; noise is shared."""
        if part == 1.0:
            return self
        plans = []
        for plan in self.plans:
            run = plan.run
            there = run.t <= run.t0 + part * (run.t[-1] - run.t0)
            there[:2] = True
            kept = {name: y[there] for name, y in plan.readings.items()}
            plans.append(replace(plan, run=replace(run, t=run.t[there]), readings=kept))
        return TimeProblem(self.system, plans, self.sensors, self.unknowns, self.biases, self.noise)

    def _modelled(self, z: Array) -> list[Array]:
        found = []
        for p, plan in enumerate(self.plans):
            system = with_numbers(plan.system, self.unknowns, self.values(z))
            run = self._run(p, system, z)
            refuse_too_fast(system, run)
            motion = still(system, run)
            clean = {one.name: reading(one, motion)[0] for one in self._read(plan)}
            for c in self._of(p):
                found.append(clean[c.noise][c.there, c.column] + self._bias(c, z))
        return found

    def _with_slopes(self, z: Array) -> tuple[list[Array], list[Array]]:
        values, slopes = [], []
        numbers = [one.number for one in self.unknowns]
        for p, plan in enumerate(self.plans):
            system = with_numbers(plan.system, self.unknowns, self.values(z))
            motion = moving(system, self._run(p, system, z), numbers)
            clean = {one.name: reading(one, motion) for one in self._read(plan)}
            columns = [*range(len(numbers)), *self._starts[p]]
            for c in self._of(p):
                value, slope = clean[c.noise]
                by = np.zeros((len(c.y), self.size))
                by[:, columns] = slope[c.there, c.column]
                by[:, self._biases_of(c)] = 1.0
                values.append(value[c.there, c.column] + self._bias(c, z))
                slopes.append(by * self.by_z(z))
        return values, slopes

    def _run(self, p: int, system: System, z: Array) -> Run:
        """The run of an experiment with its unknown initial state."""
        run, nv = self.plans[p].run, system.nv
        q0, v0 = run.q0, run.v0
        if len(self._starts[p]):
            moved = run.starts @ z[list(self._starts[p])]
            q0, v0 = integrate(system, q0, moved[:nv], 1.0), v0 + moved[nv:]
        if run.given is not None:
            q0, v0 = completed(system, q0, v0, run.given)
        return replace(run, q0=q0, v0=v0)

    def _read(self, plan: Plan) -> list[Sensor]:
        return [one for one in self.sensors if one.name in plan.readings]

    def _of(self, p: int) -> list[Channel]:
        return [c for c in self.channels if c.plan == p]

    def _biases_of(self, c: Channel) -> list[int]:
        """The places in z of the unknown bias of a channel."""
        return [
            self._bias_at + i
            for i, one in enumerate(self.biases)
            if (one.sensor, one.column) == (c.noise, c.column)
        ]

    def _bias(self, c: Channel, z: Array) -> float:
        return float((self.by_z(z) * z)[self._biases_of(c)].sum())


def _channels(plans: Sequence[Plan], sensors: Sequence[Sensor]) -> Iterator[Channel]:
    for p, plan in enumerate(plans):
        for sensor in sensors:
            y = plan.readings.get(sensor.name)
            if y is None:
                continue
            reader = sensor.reader(plan.system)
            for column, label in enumerate(reader.labels):
                there = np.flatnonzero(np.isfinite(y[:, column]))
                if not len(there):
                    continue
                text = sensor.name if len(reader.labels) == 1 else f"{sensor.name} {label}"
                yield Channel(
                    plan.name, text, reader.unit, "time (s)", sensor.name, column, p, there, plan.run.t[there],
                    y[there, column],
                )  # fmt: skip
