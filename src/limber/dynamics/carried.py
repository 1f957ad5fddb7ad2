"""The frames at which the kernels state the wrenches that joints carry."""

from __future__ import annotations

import numpy as np

from limber.assembly.system import System
from limber.bodies.integrals import tilde
from limber.checks import Array


def to_body_frame(system: System, body: str) -> Array:
    """The matrix (6, 6) that moves a wrench of `carried_wrenches` to the body frame, in body axes.

    The kernels describe a body that hangs by one of its nodes in the frame of that node if no mode moves it.
    """
    item, moved = system.attachments[body], np.eye(6)
    if item.inboard is not None and (system.fidelity == "ruthless" or item.body.modes == 0):
        moved[:3, 3:] = tilde(item.body.node_set.position[item.inboard])
    return moved
