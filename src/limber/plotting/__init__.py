"""Matplotlib figures: `plot`, `mode_shapes`, `plot_body`, `picture`, `animate`. Matplotlib is imported on first use.

Figures are made without pyplot: no window opens, and they work in scripts, servers and notebooks.
"""

from limber.plotting.animate import animate
from limber.plotting.body import plot_body
from limber.plotting.mode_shapes import mode_shapes
from limber.plotting.picture import picture
from limber.plotting.plot import plot
from limber.plotting.style import style

__all__ = ["animate", "mode_shapes", "picture", "plot", "plot_body", "style"]
