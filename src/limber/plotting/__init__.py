"""Pictures by Matplotlib, which is imported when a picture is made: `plot`, `mode_shapes`, `plot_body`, `picture`,
`animate`.

Figures are made without pyplot: nothing opens a window, and they work in scripts, servers and notebooks.
"""

from limber.plotting.animate import animate
from limber.plotting.body import plot_body
from limber.plotting.mode_shapes import mode_shapes
from limber.plotting.picture import picture
from limber.plotting.plot import plot
from limber.plotting.style import style

__all__ = ["animate", "mode_shapes", "picture", "plot", "plot_body", "style"]
