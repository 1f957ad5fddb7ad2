"""The results of many cases of a control loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from limber.checks import Array, shown
from limber.errors import ArgumentTypeError, ArgumentValueError, MissingExtraError
from limber.notebook import as_text

if TYPE_CHECKING:
    from limber.control.loop import Loop
    from limber.simulation import Result

#: Statistics of the numbers of a measure.
STATISTICS = ("min", "median", "mean", "p95", "p99", "max")


@dataclass(frozen=True, eq=False, repr=False)
class MonteCarlo:
    """The cases of a loop: the parameters that were varied and the measures. It prints as a table of statistics.

    parameters : {name: (cases, ...)}, the given parameters of the plant.
    seeds : (cases,), of the noise.
    status : (cases,): "finished", "stopped" by an event, "failed", or "not run" after an interruption (Ctrl-C).
    messages : how each case ended, in words.
    measures : {name: (cases, ...)}; nan in cases that failed.
    seconds : the time that it took.
    """

    loop: Loop
    t_end: float
    parameters: Mapping[str, Array]
    seeds: np.ndarray
    status: np.ndarray
    messages: tuple[str, ...]
    measures: Mapping[str, Array]
    seconds: float
    run: Callable[[int], Result] = field(repr=False)
    arguments: Callable[[int], Mapping[str, Any]] = field(repr=False)

    def __len__(self) -> int:
        return len(self.status)

    @property
    def finished(self) -> np.ndarray:
        """(cases,): whether each case reached its end."""
        return self.status == "finished"

    @property
    def failures(self) -> dict[int, str]:
        """The cases that failed, by number, with the reason."""
        return {int(i): self.messages[i] for i in np.flatnonzero(self.status == "failed")}

    @property
    def statistics(self) -> dict[str, dict[str, float]]:
        """Statistics of every scalar measure: minimum, median, mean, 95 %, 99 % and maximum, over the cases that have a
        value.
        """
        return {name: _statistics(x) for name, x in self.measures.items() if x.ndim == 1}

    def worst(self, measure: str) -> int:
        """The case in which a measure is largest; a failed case counts as worse than any number."""
        values = self.measures.get(measure)
        if values is None or values.ndim != 1:
            known = ", ".join(repr(name) for name, x in self.measures.items() if x.ndim == 1)
            raise ArgumentValueError(
                f"measure={shown(measure)} must be a measure with one number for each case: {known or 'there is none'}."
            )
        if self.failures:
            return next(iter(self.failures))
        if np.isnan(values).all():
            raise ArgumentValueError(f"no case has a number for {measure!r}.")
        return int(np.nanargmax(values))

    def result(self, case: int) -> Result:
        """Run one case again alone and return its motion, identical to the bit."""
        return self.run(self._number(case))

    def line(self, case: int) -> str:
        """The line of Python that runs one case alone; `loop` is the loop that was given."""
        case = self._number(case)
        given = "".join(f", {name}={_text(value)}" for name, value in self.arguments(case).items())
        return f"lb.simulate(loop.system, {self.t_end!r}, torque=loop.with_seed({int(self.seeds[case])}){given})"

    def _number(self, case: int) -> int:
        if not isinstance(case, int | np.integer) or not -len(self) <= case < len(self):
            raise ArgumentTypeError(f"case must be a number below {len(self)}, got {shown(case)}.")
        return int(case) % len(self)

    def to_xarray(self) -> Any:
        """Convert to a Dataset with every measure over the cases.

        Parameters, seeds, status and message are coordinates of the cases. `statistics` over (measure, statistic) has
        the statistics of the scalar measures, and `worst` over (measure,) the cases in which they are largest.
        """
        try:
            import xarray as xr  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtraError(
                'to_xarray needs xarray: pip install "limber-dynamics[data]".'
            ) from error
        coords: dict[str, Any] = {
            "case": np.arange(len(self)),
            "seed": ("case", self.seeds),
            "status": ("case", self.status),
            "message": ("case", np.array(self.messages, dtype=object)),
            "statistic": list(STATISTICS),
        }
        coords |= {name: (_dimensions(name, x), x) for name, x in self.parameters.items()}
        found: dict[str, Any] = {
            name: (_dimensions(name, x), x) for name, x in self.measures.items()
        }
        table = {name: row for name, row in self.statistics.items() if not np.isnan(row["max"])}
        if table:
            coords["measure"] = list(table)
            rows = [[row[key] for key in STATISTICS] for row in table.values()]
            found["statistics"] = (("measure", "statistic"), np.array(rows))
            found["worst"] = ("measure", np.array([self.worst(name) for name in table]))
        attrs = {"system": self.loop.system.name, "t_end": self.t_end}
        return xr.Dataset(found, coords=coords, attrs=attrs)

    def __repr__(self) -> str:
        count, failed = len(self), len(self.failures)
        return f"MonteCarlo({self.loop.system.name!r}, {count} cases, {failed} failed, {self.seconds:.3g} s; print it for the table)"

    _repr_html_ = as_text

    def __str__(self) -> str:
        counts = {
            name: int((self.status == name).sum()) for name in dict.fromkeys(self.status.tolist())
        }
        ended = ", ".join(f"{n} {name}" for name, n in counts.items())
        lines = [f"{len(self)} cases of {self.loop.system.name!r}: {ended}; {self.seconds:.3g} s"]
        width = max((len(name) for name in self.statistics), default=0)
        heads = "".join(f"{head:>12}" for head in (*STATISTICS, "worst case"))
        lines.append(f"{'':{width}}{heads}")
        for name, row in self.statistics.items():
            numbers = "".join(f"{row[key]:12.4g}" for key in STATISTICS)
            worst = "" if np.isnan(row["max"]) else self.worst(name)
            lines.append(f"{name:{width}}{numbers}{worst:>12}")
        return "\n".join(lines)


def _statistics(values: Array) -> dict[str, float]:
    there = values[~np.isnan(values)]
    if not there.size:
        return dict.fromkeys(STATISTICS, np.nan)
    found = (
        there.min(), np.median(there), there.mean(), *np.percentile(there, [95.0, 99.0]), there.max(),
    )  # fmt: skip
    return dict(zip(STATISTICS, map(float, found)))


def _dimensions(name: str, values: Array) -> tuple[str, ...]:
    return ("case", *(f"{name}_{i}" for i in range(values.ndim - 1)))


def _text(value: Any) -> str:
    """A value as a Python expression."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {_text(x)}" for key, x in value.items()) + "}"
    if isinstance(value, np.ndarray | np.generic):
        return repr(value.tolist())
    return repr(value)
