"""`picture`: a system in one configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import number
from limber.drawing.geometry import geometry
from limber.dynamics.evaluate import check_system, vectors
from limber.errors import ArgumentValueError
from limber.plotting.moving import Moving
from limber.plotting.style import COLUMN, plain, save, style, target

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def picture(
    system: System,
    q: ArrayLike | None = None,
    *,
    scale: float = 1.0,
    view: str = "auto",
    title: str = "",
    width: float = COLUMN,
    path: Any = None,
) -> Figure:
    """Draw a system in one configuration, with the shapes of its bodies, as a Matplotlib figure.

    Parameters
    ----------
    system : a System.
    q : the configuration (nq,); neutral by default.
    scale : of the deformation; 1 is true.
    view : "auto" (the world plane in which it lies, or space), "xy", "xz", "yz" or "3d".
    title : above the picture.
    width : inches.
    path : also write the figure to this file, .png, .svg or .pdf.
    """
    check_system(system)
    file = None if path is None else target(path)
    batch, (states,) = vectors(
        system, q=(system.neutral() if q is None else np.asarray(q), system.nq)
    )
    if batch:
        raise ArgumentValueError(
            f"q must be one configuration ({system.nq},), got a batch of shape {batch}."
        )
    drawn = geometry(system, states, number("scale", scale))
    with style():
        made = Moving(system, drawn, view, number("width", width, above=0.0))
        made.axes.set_title(plain(title), loc="left")
    if file is not None:
        save(made.figure, file)
    return made.figure
