"""Momentum management: thrusters unload wheels that have stored too much momentum."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array, array, number
from limber.errors import ArgumentValueError


@dataclass(frozen=True)
class Unloading:
    """When and how fast thrusters take momentum out of wheels or moment gyros.

    above, below : N m s; unloading begins when the stored momentum exceeds `above`, and ends when it falls below
        `below`.
    time : the time constant of the decay during unloading, s; the decay is slower where the wheels would need more than
        half of their torque for it.
    target : (3,) the momentum in body axes that the wheels should keep, N m s.
    """

    above: float
    below: float
    time: float
    target: ArrayLike = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        number("time", self.time, above=0.0)
        number("below", self.below, minimum=0.0)
        number("above", self.above, above=0.0)
        object.__setattr__(self, "target", array("target", self.target, (3,)))
        if self.below >= self.above:
            raise ArgumentValueError(
                f"below={self.below:g} must be less than above={self.above:g}, or unloading would begin and end at the "
                "same time."
            )


class MomentumManager:
    """`Unloading` during one run."""

    def __init__(self, rules: Unloading):
        self._rules = rules
        self.active = False

    def reset(self) -> None:
        """Reset the state."""
        self.active = False

    def torque(self, momentum: Array) -> Array:
        """(3,) the external torque that takes momentum out, N m."""
        excess = momentum - np.asarray(self._rules.target)
        size = math.sqrt(excess @ excess)
        if size > self._rules.above:
            self.active = True
        elif size < self._rules.below:
            self.active = False
        return -excess / self._rules.time if self.active else np.zeros(3)
