"""The numbers at the axes of figures."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.ticker import ScalarFormatter

_HEAD, _TAIL = r"$\mathdefault{", "}$"


class Plain(ScalarFormatter):
    """Matplotlib's numbers as plain text, which looks the same and is laid out ten times as fast as mathematics.

    What all numbers of an axis have in common, as a power of ten, stays mathematics.
    """

    def __call__(self, x: float, pos: int | None = None) -> str:
        """The number `x` at the tick `pos`."""
        return super().__call__(x, pos).removeprefix(_HEAD).removesuffix(_TAIL)


def plain_ticks(axes: Axes) -> None:
    """Write the numbers at both axes, which must be linear, as plain text."""
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(Plain())
