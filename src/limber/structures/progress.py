"""The progress of a reduction, in a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from limber.checks import shown
from limber.errors import ArgumentTypeError

#: Seconds after which a bar appears by itself, in a terminal.
PATIENCE = 1.0


class Progress:
    """A bar with the name of the work at hand; costs nothing until it appears."""

    def __init__(self, wanted: bool | None):
        if wanted is not None and not isinstance(wanted, bool):
            raise ArgumentTypeError(f"progress must be True, False or None, got {shown(wanted)}.")
        self.wanted = sys.stderr.isatty() if wanted is None else wanted
        self.patience = PATIENCE if wanted is None else 0.0
        self.began = time.perf_counter()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_) -> None:
        if self._bar is not None:
            self._bar.stop()

    def of(self, work: str) -> Callable[[float], None]:
        """A function that shows which part, from 0 to 1, of some work is done."""
        return lambda part: self._show(work, part)

    def _show(self, work: str, part: float) -> None:
        if not self.wanted or time.perf_counter() - self.began < self.patience:
            return
        if self._bar is None:
            from rich.console import Console  # noqa: PLC0415
            from rich.progress import BarColumn, TextColumn  # noqa: PLC0415
            from rich.progress import Progress as Bar  # noqa: PLC0415

            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task(work, total=1.0)
        self._bar.update(self._task, description=work, completed=part)
