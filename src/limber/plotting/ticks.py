"""Figures with plain-text tick labels."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import ScalarFormatter

_HEAD, _TAIL = r"$\mathdefault{", "}$"


class PlainNumbers(ScalarFormatter):
    """Tick labels as plain text, which look the same as mathematics and are laid out ten times as fast.

    A power of ten common to all numbers of an axis stays mathematics.
    """

    def __call__(self, x: float, pos: int | None = None) -> str:
        """The number `x` at the tick `pos`."""
        return super().__call__(x, pos).removeprefix(_HEAD).removesuffix(_TAIL)


class PlainFigure(Figure):
    """A figure whose linear axes have `PlainNumbers`."""

    def add_subplot(self, *args: Any, **options: Any) -> Any:
        """As Matplotlib's."""
        axes = super().add_subplot(*args, **options)
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() == "linear":
                axis.set_major_formatter(PlainNumbers())
        return axes
