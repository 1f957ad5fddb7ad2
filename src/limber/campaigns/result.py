"""The result of a campaign."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from limber.campaigns.memory import Table
from limber.campaigns.names import refuse_shared
from limber.campaigns.requirements import NO_PROBABILITY, Requirement, requirement
from limber.campaigns.rows import STATUS
from limber.campaigns.sensitivity import Sensitivity, rank_correlations, sobol_indices
from limber.campaigns.study import Study
from limber.checks import Array, did_you_mean, whole
from limber.errors import ArgumentValueError, MissingExtraError
from limber.notebook import as_text

#: Statistics of the numbers of a quantity.
STATISTICS = ("cases", "min", "p05", "median", "mean", "p95", "p99", "max", "deviation")
#: The table that is printed has these.
SHOWN = ("min", "median", "mean", "p95", "p99", "max")


class Campaign:
    """The cases of a study: the sampled values, how each case ended, and the quantities. It prints as a table.

    study : the study that was run.
    status : (cases,): "finished", "stopped" by an event, "failed", or "not run" after an interruption.
    messages : (cases,), how each case ended, in words.
    values : {variable: (cases, ...)}, the sampled values.
    quantities : {name: (cases, ...)}, the kept quantities; nan in cases that failed.
    histories : {"t", "q", "v": (cases, times, ...)}, if they are kept in memory; those of a store are in `dataset()`.
    seconds : the time that this run took.
    store : the folder with the results, or None.
    """

    def __init__(self, study: Study, table: Table, seconds: float, store: Path | None):
        self.study, self.seconds, self.store = study, seconds, store
        self.values: Mapping[str, np.ndarray] = study.columns
        self.status = np.array(STATUS)[table.status]
        self.messages = table.messages
        self.quantities: Mapping[str, Array] = table.values
        self.histories: Mapping[str, Array] = {} if store is not None else table.history
        for x in (self.status, self.messages, *self.quantities.values(), *self.histories.values()):
            x.setflags(write=False)

    def __len__(self) -> int:
        return len(self.status)

    @property
    def seeds(self) -> np.ndarray:
        """The seeds, one for each case."""
        return np.array(self.study.seeds, dtype=np.int64)

    @property
    def finished(self) -> np.ndarray:
        """(cases,): whether each case reached its end."""
        return self.status == "finished"

    @property
    def failures(self) -> dict[int, str]:
        """The cases that failed, by number, with the reason."""
        return {int(i): str(self.messages[i]) for i in np.flatnonzero(self.status == "failed")}

    @property
    def numbers(self) -> dict[str, Array]:
        """The scalar quantities."""
        return {name: x for name, x in self.quantities.items() if x.ndim == 1}

    @property
    def statistics(self) -> dict[str, dict[str, float]]:
        """Statistics of every scalar quantity: the number of cases that have it, and their extremes, percentiles and
        mean.
        """
        return {name: _statistics(x) for name, x in self.numbers.items()}

    @property
    def remarks(self) -> list[str]:
        """What the statistics do not show, in words: cases in which a quantity is nan, and quantities with several
        numbers.
        """
        ran = np.isin(self.status, ("finished", "stopped"))
        found = []
        for name, x in self.numbers.items():
            unknown = np.flatnonzero(ran & np.isnan(x))
            if unknown.size:
                found.append(
                    f"{name} is nan in {unknown.size} of {int(ran.sum())} cases that ran, for instance in case "
                    f"{unknown[0]}: statistics, worst cases and sensitivities leave these cases out."
                )
            infinite = np.flatnonzero(np.isinf(x))
            if infinite.size and self.study.sample.method == "saltelli":
                found.append(
                    f"{name} is infinite in {infinite.size} cases, for instance in case {infinite[0]}: Sobol indices "
                    "leave out the base points of these cases."
                )
        for name, x in self.quantities.items():
            if x.ndim > 1:
                numbers = " x ".join(map(str, x.shape[1:]))
                found.append(
                    f"{name} has {numbers} numbers in each case. They are in `quantities` and in the store, but there are "
                    f"no statistics for them{self._left_out(name)}."
                )
        return found

    def worst(self, quantity: str, count: int = 5) -> list[int]:
        """The cases in which a quantity is largest, or smallest if smallest is declared worst; the worst one first."""
        x = self._number(quantity)
        smallest = {q.name: q.smallest_is_worst for q in self.study.quantities}.get(quantity, False)
        order = np.argsort(x if smallest else -x, kind="stable")
        return order[: min(whole("count", count, 1), int((~np.isnan(x)).sum()))].tolist()

    @property
    def requirements(self) -> dict[str, Requirement]:
        """The requirements of the study (`below` and `above` of its quantities), by the names of the quantities."""
        return {
            q.name: self.requirement(q.name, below=q.below, above=q.above)
            for q in self.study.quantities
            if (q.below is not None or q.above is not None) and q.name in self.numbers
        }

    def requirement(
        self, quantity: str, *, below: float | None = None, above: float | None = None
    ) -> Requirement:
        """In how many cases a quantity is below, or above, a limit, with the 95 % interval of the probability.

        Cases that failed, and those in which the quantity is nan, do not meet the requirement.
        """
        random = self.study.sample.method not in NO_PROBABILITY
        ran = self.status != "not run"
        return requirement(quantity, self._number(quantity), ran, below, above, random)

    def _left_out(self, name: str) -> str:
        """What a remark adds on a quantity of several numbers, if there is a requirement on it."""
        required = any(
            q.name == name and (q.below is not None or q.above is not None)
            for q in self.study.quantities
        )
        if not required:
            return ""
        return ", and its requirement is not evaluated: select one number with component, or use norm or peak"

    def _number(self, quantity: str) -> Array:
        known = self.numbers
        if quantity not in known:
            raise ArgumentValueError(
                f"quantity={quantity!r} is not a quantity with one number for each case. "
                f"{did_you_mean(str(quantity), known)}"
            )
        return known[quantity]

    def result(self, case: int) -> Any:
        """Run one case alone and return its `Result`, identical to that of the campaign to the bit."""
        return self.study.result(case)

    def command(self, case: int) -> str:
        """The command, or the line of Python, that runs one case alone."""
        return self.study.command(case)

    def sensitivity(self, quantity: str) -> Sensitivity:
        """The sensitivity of a quantity to each variable.

        For a `saltelli` sample, these are Sobol indices: the fraction of the variance due to a variable alone (first),
        and due to it and all of its interactions (total). For other samples, they are rank correlations. Both have 95 %
        intervals.
        """
        y = self._number(quantity)
        names = self.study.single_variables
        x = {name: self.values[name] for name in names}
        if self.study.sample.method == "saltelli":
            return sobol_indices(quantity, list(self.values), y, self.study.seed)
        return rank_correlations(quantity, x, y)

    def dataset(self) -> Any:
        """An xarray Dataset over the cases: quantities as data; variables, seed, status and message as coordinates.

        Histories are data over (case, time, coordinate); those of a store are read on use.
        """
        try:
            import xarray as xr  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtraError(
                'dataset needs xarray: pip install "limber-dynamics[data]".'
            ) from error
        refuse_shared(self.values, self.quantities)
        coords: dict[str, Any] = {
            "case": np.arange(len(self)),
            "seed": ("case", self.seeds),
            "status": ("case", self.status),
            "message": ("case", self.messages),
        }
        coords |= {name: (_axes(name, x), x) for name, x in self.values.items()}
        data = {name: (_axes(name, x), x) for name, x in self.quantities.items()}
        found = xr.Dataset(
            data, coords=coords, attrs={"study": self.study.name, "seed": self.study.seed}
        )
        if not self.study.record["histories"]:
            return found
        if self.store is not None:
            stored = xr.open_zarr(str(self.store), chunks=None, consolidated=False)
            parts = {n: stored[f"history_{n}"].variable for n in "tqv" if f"history_{n}" in stored}
        else:
            axes = {"t": ("time",), "q": ("time", "coordinate"), "v": ("time", "speed")}
            parts = {n: (("case", *axes[n]), x) for n, x in self.histories.items()}
        return found.assign(parts)

    def report(self, path: Any, *, title: str = "") -> Path:
        """Write one HTML file: statistics, distributions, scatter matrix, worst cases, sensitivity."""
        from limber.campaigns.report import report  # noqa: PLC0415 (draws)

        return report(self, path, title=title)

    _repr_html_ = as_text

    def __repr__(self) -> str:
        return self.table()

    def table(self) -> str:
        """The statistics as text."""
        counts = {s: int((self.status == s).sum()) for s in STATUS if (self.status == s).any()}
        ended = ", ".join(f"{n} {name}" for name, n in counts.items())
        lines = [f"{len(self)} cases of {self.study.name!r}: {ended}; {self.seconds:.3g} s"]
        width = max((len(name) for name in self.numbers), default=0)
        lines.append(f"{'':{width}}" + "".join(f"{head:>12}" for head in (*SHOWN, "worst case")))
        for name, row in self.statistics.items():
            numbers = "".join(f"{row[key]:12.4g}" for key in SHOWN)
            worst = str(next(iter(self.worst(name, 1)), ""))
            lines.append(f"{name:{width}}{numbers}{worst:>12}")
        lines += [str(x) for x in self.requirements.values()]
        lines += self.remarks
        for case in list(self.failures)[:3]:
            lines.append(f"case {case} failed: {self.messages[case]}"[:160])
        return "\n".join(lines)


def _statistics(x: Array) -> dict[str, float]:
    there = x[~np.isnan(x)]
    if not there.size:
        return {"cases": 0, **dict.fromkeys(STATISTICS[1:], np.nan)}
    # nothing can be interpolated between a number and an infinite one
    finite = bool(np.isfinite(there).all())
    between: Literal["linear", "inverted_cdf"] = "linear" if finite else "inverted_cdf"
    with np.errstate(invalid="ignore"):  # the mean may be infinite, and then there is no deviation
        p05, median, p95, p99 = np.percentile(there, [5.0, 50.0, 95.0, 99.0], method=between)
        found = (
            there.size, there.min(), p05, median, there.mean(), p95, p99, there.max(),
            there.std(ddof=1) if there.size > 1 else 0.0,
        )  # fmt: skip
    return dict(zip(STATISTICS, map(float, found)))


def _axes(name: str, x: np.ndarray) -> tuple[str, ...]:
    return ("case", *(f"{name}_{i}" for i in range(x.ndim - 1)))
