"""Messages about a simulation in progress: a progress bar, and the warning that it was interrupted."""

from __future__ import annotations

import sys
import time
from typing import Any

from limber.errors import warn

#: Seconds after which a bar appears by itself, in a terminal.
PATIENCE = 1.0


class Progress:
    """Shows how far a run has come; costs nothing until it appears."""

    def __init__(self, span: tuple[float, float], wanted: bool | None):
        self.span = span
        self.wanted = sys.stderr.isatty() if wanted is None else wanted
        self.patience = PATIENCE if wanted is None else 0.0
        self.began = time.perf_counter()
        self._bar: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, run: Any) -> None:
        """Show the time that a run has reached."""
        if not self.wanted or time.perf_counter() - self.began < self.patience:
            return
        if self._bar is None:
            self._bar = _bar("{task.completed:.3g} of {task.total:.3g} s")
            self._task = self._bar.add_task("", total=self.span[1] - self.span[0])
        self._bar.update(self._task, completed=run.t - self.span[0])


class CaseProgress:
    """Shows how many cases of a batch are done."""

    def __init__(self, cases: int, wanted: bool | None):
        self.cases = cases
        self.wanted = sys.stderr.isatty() if wanted is None else wanted
        self.patience = PATIENCE if wanted is None else 0.0
        self.began = time.perf_counter()
        self.done = 0
        self._bar: Any = None

    def __enter__(self) -> CaseProgress:
        return self

    def __exit__(self, *_) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, more: int) -> None:
        """Show that more cases are done."""
        self.done += more
        if not self.wanted or time.perf_counter() - self.began < self.patience:
            return
        if self._bar is None:
            self._bar = _bar("{task.completed} of {task.total} cases")
            self._task = self._bar.add_task("", total=self.cases)
        self._bar.update(self._task, completed=self.done)


def _bar(counted: str) -> Any:
    """A bar on the terminal, started."""
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn  # noqa: PLC0415
    from rich.progress import Progress as Bar  # noqa: PLC0415

    bar = Bar(
        TextColumn("simulating"),
        BarColumn(),
        TextColumn(counted),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    bar.start()
    return bar


def interrupted(t: float) -> str:
    """Warn the caller of `simulate` that the run was interrupted; returns the message for the result."""
    message = f"interrupted at t = {t:.6g} s"
    warn(f"the simulation was {message}. The result so far is returned.")
    return message
