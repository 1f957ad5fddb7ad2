"""The colours of pictures: the colour-blind can tell them apart, on white and on black."""

from __future__ import annotations

from typing import Any

#: Okabe and Ito's colours, the ones that show on white and on black, and five more that are as far from them and
#: from each other.
COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C8C8C",
    "#7B3FE4", "#8A5A2B", "#6B8E00", "#F5A98A", "#C2185B",
)  # fmt: skip


def colour(i: int, n: int) -> Any:
    """The colour of line i of n: one of `COLOURS`, or of a map from blue to yellow if there are many."""
    if n <= len(COLOURS):
        return COLOURS[i]
    import matplotlib  # noqa: PLC0415 (slow to import)

    return matplotlib.colormaps["viridis"](0.92 * i / (n - 1))
