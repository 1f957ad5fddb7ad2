"""The report on a finished real-time run: its logs, how well deadlines were met, and figures."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from limber.checks import Array
from limber.control.guard import STATES
from limber.control.realtime.log import RunLog
from limber.notebook import as_text
from limber.short_repr import short_repr
from limber.simulation import Result

#: The percentiles that are reported.
PERCENTILES = (50.0, 90.0, 99.0, 99.9, 100.0)


@dataclass(frozen=True, eq=False)
class Spread:
    """The distribution of a time: seconds at `PERCENTILES`, and the number of values."""

    count: int
    percentiles: Array

    @property
    def median(self) -> float:
        """The median, s."""
        return float(self.percentiles[0])

    @property
    def largest(self) -> float:
        """The largest value, s."""
        return float(self.percentiles[-1])


def spread(values: Array) -> Spread:
    """The distribution of values; nan values are ignored."""
    known = values[np.isfinite(values)]
    if not len(known):
        return Spread(0, np.full(len(PERCENTILES), np.nan))
    return Spread(len(known), np.percentile(known, PERCENTILES))


@dataclass(frozen=True, eq=False)
class RealTimeRun:
    """The result of a real-time run.

    plant, controller : the logs of both sides; None for a side that left none.
    result : of the simulated plant, as far as it got. If the plant was killed, it is simulated again with the commands
        of its log; None if there is no such log, or if the plant is another program.
    message : what went wrong: why the run ended early, and safe stops; empty if nothing did.
    notes : settings that could not be applied as requested.
    sample_time : s.
    lost, skipped, damaged : samples that the controller missed or got too late, samples skipped in favour of newer
        ones, and packets with a wrong checksum.
    load, stolen : the load of the machine before and after, and the time that a hypervisor took from its cores, s.
    """

    __repr__ = short_repr

    plant: RunLog | None
    controller: RunLog | None
    result: Result | None
    message: str
    notes: tuple[str, ...]
    sample_time: float
    lost: int = 0
    skipped: int = 0
    damaged: int = 0
    load: tuple[float, float] = (np.nan, np.nan)
    stolen: float = np.nan

    @property
    def samples(self) -> int:
        """The number of samples of the plant."""
        return 0 if self.plant is None else len(self.plant)

    @property
    def overruns(self) -> int:
        """The number of samples at which a deadline was missed: the plant was not ready, or the command had not
        arrived.
        """
        return int(self._missed.sum())

    @property
    def overrun_ratio(self) -> float:
        """The fraction of samples at which a deadline was missed."""
        return self.overruns / max(self.samples - 1, 1)

    @property
    def late_plant(self) -> int:
        """The number of samples for which the plant was not ready at its deadline."""
        return 0 if self.plant is None else int((self.plant["ready"] < 0.0).sum())

    @property
    def late_commands(self) -> int:
        """The number of samples at which the answer to the previous sample had not arrived."""
        return 0 if self.plant is None else int(np.isnan(self.plant["response"][1:]).sum())

    @property
    def _missed(self) -> np.ndarray:
        if self.plant is None:
            return np.zeros(0, dtype=bool)
        return (self.plant["ready"] < 0.0)[1:] | np.isnan(self.plant["response"][1:])

    @property
    def states(self) -> dict[str, dict[str, int]]:
        """The number of samples that each side spent in each state of its guard; states that did not occur are left
        out.
        """
        logs = {"plant": self.plant, "controller": self.controller}
        return {side: _states(log) for side, log in logs.items() if log is not None}

    @property
    def not_followed(self) -> dict[str, int]:
        """By channel, the number of samples at which an actuator was not at its last command."""
        if self.plant is None or len(self.plant) < 3:
            return {}
        names = self.plant.signals["command"].labels
        asked = self.plant["command"].reshape(self.samples, -1)
        followed = self.plant["sample"][:, -len(names) :]
        # the command of a sample takes effect at once, or later where the loop has a longer delay
        behind = min(
            range(1, 1 + min(8, self.samples - 2)),
            key=lambda n: np.nansum(np.abs(followed[n:] - asked[:-n]) > 0.0),
        )
        wrong = np.abs(followed[behind:] - asked[:-behind]) > 1e-9 * (1.0 + np.abs(asked[:-behind]))
        return {name: int(n) for name, n in zip(names, wrong.sum(axis=0))}

    @property
    def times(self) -> dict[str, Spread]:
        """The distributions of the measured times, s, by name."""
        found: dict[str, Spread] = {}
        if self.plant is not None and len(self.plant) > 1:
            found["jitter of the plant"] = spread(self.plant["jitter"][1:])
            found["work of the plant"] = spread(self._plant_work)
            found["response of the controller"] = spread(self.plant["response"])
        if self.controller is not None and len(self.controller) > 1:
            found["jitter of the samples"] = spread(
                np.abs(self.controller["interval"] - self.sample_time)
            )
            found["work of the controller"] = spread(self.controller["work"])
        return found

    @property
    def _plant_work(self) -> Array:
        """The time from the actual start of a sample until the plant is ready for the next one, s."""
        assert self.plant is not None
        ready, jitter = self.plant["ready"], self.plant["jitter"]
        begun = jitter + np.maximum(0.0, -ready)
        return self.sample_time - ready[1:] - begun[:-1]

    def summary(self) -> dict[str, Any]:
        """The figures, in a form suitable for JSON."""
        return {
            "sample_time": self.sample_time,
            "samples": self.samples,
            "overruns": self.overruns,
            "overrun_percent": 100.0 * self.overrun_ratio,
            "late_plant": self.late_plant,
            "late_commands": self.late_commands,
            "lost": self.lost,
            "skipped": self.skipped,
            "damaged": self.damaged,
            "states": self.states,
            "not_followed": self.not_followed,
            "microseconds": {
                name: dict(zip(map(str, PERCENTILES), (1e6 * x.percentiles).tolist()))
                for name, x in self.times.items()
            },
            "load": list(self.load),
            "stolen": self.stolen,
            "message": self.message,
            "notes": list(self.notes),
        }

    _repr_html_ = as_text

    def __str__(self) -> str:
        ms = f"{1e3 * self.sample_time:g} ms"
        lost = f"samples lost {self.lost}, skipped {self.skipped}, damaged {self.damaged}"
        late = f"  plant late {self.late_plant}, command late {self.late_commands}"
        if self.plant is None:
            known = 0 if self.controller is None else len(self.controller)
            lines = [f"{known} samples of {ms}; only the plant counts overruns", f"  {lost}"]
        else:
            head = f"{self.samples} samples of {ms}, {self.overruns} overruns ({100 * self.overrun_ratio:.3f} %)"
            lines = [head, late if self.controller is None else f"{late}; {lost}"]
        for side, states in self.states.items():
            lines.append(f"  {side}: {', '.join(f'{name} {n}' for name, n in states.items())}")
        stiff = {name: n for name, n in self.not_followed.items() if n}
        if stiff:
            told = ", ".join(f"{name} {n}" for name, n in stiff.items())
            lines.append(f"  samples at which an actuator did not follow its command: {told}")
        heads = "".join(f"{'max' if p == 100 else f'{p:g} %':>10}" for p in PERCENTILES)
        lines.append(f"  {'microseconds':28}{heads}")
        for name, x in self.times.items():
            cells = "".join(f"{1e6 * value:10.1f}" for value in x.percentiles)
            lines.append(f"  {name:28}{cells}")
        if not np.isnan(self.load[0]):
            lines.append(
                f"  load of the machine {self.load[0]:.2f} before, {self.load[1]:.2f} after; {self.stolen:.2f} s stolen by its hypervisor"
            )
        return "\n".join([*lines, *(f"  {x}" for x in (*self.notes, self.message) if x)])

    def plot(self, path: str | PathLike | None = None) -> Any:
        """Plot the distributions of the times and the times over the run; write the figure to a file if a path is
        given.
        """
        from limber.plotting.style import save, style  # noqa: PLC0415 (Matplotlib)

        with style():
            figure = _figure(self)
            if path is not None:
                save(figure, path)
        return figure


def _states(log: RunLog) -> dict[str, int]:
    found = np.bincount(log["state"].astype(int), minlength=len(STATES))
    return {name: int(n) for name, n in zip(STATES, found) if n}


def _figure(run: RealTimeRun) -> Any:
    from limber.plotting.style import new_figure  # noqa: PLC0415

    figure = new_figure(7.2, 3.2)
    left, right = figure.subplots(1, 2)
    values: dict[str, tuple[Array, Array]] = {}
    if run.plant is not None and len(run.plant) > 1:
        t = run.plant.t
        values["jitter of the plant"] = t[1:], run.plant["jitter"][1:]
        values["work of the plant"] = t[:-1], run._plant_work
        values["response of the controller"] = t, run.plant["response"]
    for name, (t, seconds) in values.items():
        known = np.isfinite(seconds)
        micro = np.maximum(1e6 * seconds[known], 0.1)
        bins = np.geomspace(
            0.1, max(10.0 * 1e6 * run.sample_time, 1.1 * micro.max(initial=1.0)), 80
        )
        left.hist(micro, bins=bins, histtype="step", label=name)
        right.plot(t[known], micro, ".", markersize=1.5)
    left.set_xscale("log")
    left.set_yscale("log")
    left.set_xlabel("µs")
    left.set_ylabel("samples")
    left.axvline(1e6 * run.sample_time, color="0.6", linewidth=0.8)
    right.set_yscale("log")
    right.set_xlabel("time, s")
    right.set_ylabel("µs")
    right.axhline(1e6 * run.sample_time, color="0.6", linewidth=0.8)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.suptitle(
        f"{run.samples} samples of {1e3 * run.sample_time:g} ms, {run.overruns} overruns; the grey line is the deadline"
    )
    return figure
