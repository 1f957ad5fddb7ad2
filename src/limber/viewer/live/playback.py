"""Playback of results: a time slider, play and pause, and the speed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from limber.plotting.results import pictured
from limber.simulation.result import Result

if TYPE_CHECKING:
    from limber.viewer.live.view import View

SPEEDS = ("0.1 ×", "0.25 ×", "0.5 ×", "1 ×", "2 ×", "4 ×", "10 ×")
#: Rows are at most so far apart, s, and at most so many; those between are interpolated.
APART, MOST = 1.0 / 60.0, 20_000


class Playback:
    """A folder that plays a result."""

    def __init__(self, view: View, result: Result):
        self.view = view
        rows = pictured("view", result, 1, "there is nothing to show")
        self._t, self._q = _dense(rows)
        self._begin, self._end = float(self._t[0]), float(self._t[-1])
        self._now = self._begin
        gui = view.server.gui
        with gui.add_folder("Result"):
            step = max((self._end - self._begin) / 1000.0, 1e-9)
            end = max(self._end, self._begin + step)
            self._time = gui.add_slider("Time (s)", self._begin, end, step, self._begin)
            self._button = gui.add_button("Play")
            self._speed = gui.add_dropdown("Speed", SPEEDS, initial_value="1 ×")
        self._time.on_update(self._moved)
        self._button.on_click(lambda _: self.toggle())

    @property
    def playing(self) -> bool:
        """Whether it is playing."""
        return self.view._activity == self._step  # bound methods are equal, not the same

    def toggle(self) -> None:
        """Play, or pause."""
        if self.playing:
            self.view.stop()
            self.view.sync()
        else:
            self.view.run(self._step)

    def _moved(self, event: Any) -> None:
        if event.client is None:
            return
        self.view.stop()
        self.show(self._time.value)
        self.view.sync()

    def show(self, t: float) -> None:
        """Show the row nearest to a time."""
        self._now = t
        i = int(np.searchsorted(self._t, t))
        if i == len(self._t) or (i > 0 and t - self._t[i - 1] < self._t[i] - t):
            i -= 1
        self.view.put(self._q[i])

    def _step(self, seconds: float) -> bool:
        t = self._now + float(self._speed.value.split()[0]) * seconds
        if t > self._end:
            t = self._begin
        self.show(t)
        self._time.value = t
        return self._end > self._begin


def _dense(rows: Result) -> tuple[np.ndarray, np.ndarray]:
    """Times and configurations, dense enough for playback."""
    if len(rows) < 2:
        return rows.t, rows.q
    span = float(rows.t[-1] - rows.t[0])
    if np.diff(rows.t).max() <= 1.5 * APART or not np.all(np.diff(rows.t) > 0.0):
        return rows.t, rows.q
    count = min(int(np.ceil(span / APART)) + 1, MOST)
    times = np.linspace(rows.t[0], rows.t[-1], max(count, 2))
    return times, rows.resample(times).q
