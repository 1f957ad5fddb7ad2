"""Plain inputs of a simulation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array, array, number, numbers
from limber.errors import ArgumentValueError


@dataclass(frozen=True, eq=False)
class Table:
    """Torques over time: linear between the times, held before the first and after the last.

    t : (n,) times, strictly increasing, s.  A jump is two times next to each other.
    tau : (n, nv) torques, in the layout of v.
    error : where the table was sampled from a function, the largest error of the interpolation, as a
        share of the largest torque.
    """

    t: Array
    tau: Array
    error: float = 0.0

    def __post_init__(self):
        t = array("t", self.t, ("n",), "The times of the table.")
        if not t.size:
            raise ArgumentValueError("t is empty: a table needs at least one time.")
        if not (np.diff(t) > 0.0).all():
            i = int(np.argmin(np.diff(t) > 0.0))
            raise ArgumentValueError(
                f"t must increase strictly, but t[{i + 1}] = {t[i + 1]:g} does not follow t[{i}] = {t[i]:g}. For a jump, "
                "put a second time just after the first."
            )
        tau = array("tau", self.tau, (t.size, "nv"), f"One row for each of the {t.size} times.")
        object.__setattr__(self, "t", t)
        object.__setattr__(self, "tau", tau)
        object.__setattr__(self, "error", number("error", self.error, minimum=0.0))

    def __call__(self, t: ArrayLike) -> Array:
        """The torques at one time or many: shape of t, then (nv,)."""
        times = np.clip(numbers("t", t, "(...)"), self.t[0], self.t[-1])
        if self.t.size == 1:
            return np.broadcast_to(self.tau[0], (*times.shape, self.tau.shape[1])).copy()
        i = np.clip(np.searchsorted(self.t, times, "right") - 1, 0, self.t.size - 2)
        share = ((times - self.t[i]) / (self.t[i + 1] - self.t[i]))[..., None]
        return (1.0 - share) * self.tau[i] + share * self.tau[i + 1]
