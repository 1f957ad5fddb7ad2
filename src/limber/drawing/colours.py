"""The colours of pictures, on white and on black."""

from __future__ import annotations

#: Okabe and Ito's colours, the ones that show on white and on black, and five more that are as far from them and
#: from each other: the colour-blind can tell these twelve apart.  The others are for more bodies; each is as far as
#: possible from all before it, and far from the one next to it.
COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C8C8C",
    "#7B3FE4", "#8A5A2B", "#6B8E00", "#F5A98A", "#C2185B",
    "#3CE169", "#D22DB4", "#B4C387", "#7887FF", "#FF3C4B", "#783C96", "#C3C300", "#F096FF", "#4B692D",
    "#C3B4F0", "#009600", "#694B69", "#5AD2D2", "#A52D1E", "#006969", "#FF7887", "#96D269", "#FF4BA5",
)  # fmt: skip


def colour(i: int) -> str:
    """The colour of line or body i; colours repeat beyond the number of `COLOURS`."""
    return COLOURS[i % len(COLOURS)]


def rgb(name: str) -> tuple[float, float, float]:
    """A colour "#rrggbb" as numbers from 0 to 1."""
    red, green, blue = (int(name[i : i + 2], 16) / 255.0 for i in (1, 3, 5))
    return red, green, blue
