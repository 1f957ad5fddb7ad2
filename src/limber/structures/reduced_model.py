"""The model from which a body was reduced, and the place of the body frame in it."""

from __future__ import annotations

from copy import copy
from typing import Self

import numpy as np

from limber.checks import Array
from limber.frozen import Frozen


class ReducedModel(Frozen):
    """A full model, specified by a subclass, with the shapes (N, m) of the body in its degrees of freedom.

    origin : origin of the body frame in the axes of the full model.
    axes : (3, 3), the axes of the full model as columns, in the body frame.
    """

    def __init__(self, shapes: Array, origin: Array):
        self.shapes = shapes
        self.origin = origin
        self.axes = np.eye(3)
        self._freeze()

    def placed(self, R: Array, shift: Array) -> Self:
        """The same for the body in another frame, in which its old origin is at `shift` and its old axes are in R."""
        axes = R @ self.axes
        made = copy(self)
        vars(made).update(axes=axes, origin=self.origin - axes.T @ shift)
        made._freeze()
        return made
