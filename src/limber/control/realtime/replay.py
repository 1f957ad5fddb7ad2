"""The motion of a plant whose process was killed, from the commands in its log."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from limber.checks import Array
from limber.control.controller import Measured
from limber.control.guard import WAIT, Guard
from limber.control.loop import Loop
from limber.control.realtime.log import RunLog
from limber.control.realtime.plant import PlantSide
from limber.errors import SimulationError
from limber.simulation import Result, simulate


class Replay(Guard):
    """A controller that returns the commands of a log, sample by sample; like the plant, it has no guard."""

    def __init__(self, log: RunLog, sample_time: float):
        self.sample_time, self.controller = sample_time, self
        self.state = WAIT
        self._commands = log["command"].reshape(len(log), -1)
        self._states = log["state"].astype(int).tolist()

    def prepare(self, loop: Loop) -> None:
        """Do nothing: the log has everything."""

    def start(self, t: float, measured: Measured) -> None:
        """Start at the first row."""
        self._row = 0

    def command(self, t: float, measured: Measured) -> Array | None:
        """The next command; None if there was none."""
        i = min(self._row, len(self._commands) - 1)
        self._row += 1
        self.state, command = self._states[i], self._commands[i]
        return None if math.isnan(command.sum()) else command.copy()

    def finish(self) -> None:
        """Do nothing: there is no other side."""

    def outputs(self) -> dict[str, Any]:
        """Return the state of the plant's supervision."""
        return {"guard": self.state}

    def __repr__(self) -> str:
        return f"Replay({self.sample_time:g} s)"


def replayed(side: PlantSide, log: RunLog | None, message: str) -> Result | None:
    """The motion of a plant up to the last row of its log, simulated again with the same commands; None with fewer than
    two rows.
    """
    if log is None or len(log) < 2:
        return None
    end = float(log.t[-1])
    loop = Loop(
        side.system, Replay(log, side.sample_time), sensors=side.sensors, actuators=side.actuators,
        delay=side.held_back, seed=side.seed, initial=side.initial,
    )  # fmt: skip
    settings: dict[str, Any] = dict(side.settings)
    if settings.get("t_eval") is not None:
        settings["t_eval"] = [t for t in settings["t_eval"] if t <= end]
    try:
        result = simulate(side.system, end, torque=loop, progress=False, **settings)
    except SimulationError as error:
        result = error.result  # type: ignore[assignment]
    return None if result is None else dataclasses.replace(result, message=message)
