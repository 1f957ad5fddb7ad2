"""Torques as a table over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array, array, number, numbers, shown
from limber.errors import ArgumentTypeError, ArgumentValueError

if TYPE_CHECKING:
    from limber.assembly.system import System


#: The fraction of the time between two rows that a jump of a table of held commands takes.
EDGE = 1e-6


@dataclass(frozen=True, eq=False)
class Table:
    """Torques over time, constant before the first time and after the last one.

    Parameters
    ----------
    t : (n,) times, strictly increasing, s.  Represent a jump by two times next to each other; `Table.held` does so at
        every time.
    tau : (n, nv) torques, in the layout of v; or (n, r) for the joint speeds alone, with modal forces of zero.
    smooth : True for a cubic spline through the rows instead of straight lines between them.
    error : the largest interpolation error as a fraction of the largest torque, for a table that was
        sampled from a function.
    """

    t: Array
    tau: Array
    smooth: bool = False
    error: float = 0.0

    def __post_init__(self):
        t = array("t", self.t, ("n",), "The times of the table.")
        if not t.size:
            raise ArgumentValueError("t is empty: a table needs at least one time.")
        if not (np.diff(t) > 0.0).all():
            i = int(np.argmin(np.diff(t) > 0.0))
            raise ArgumentValueError(
                f"t must be strictly increasing, but t[{i + 1}] = {t[i + 1]:g} does not follow t[{i}] = {t[i]:g}. For "
                "a jump, put a second time just after the first."
            )
        tau = array("tau", self.tau, (t.size, "nv"), f"One row for each of the {t.size} times.")
        if not isinstance(self.smooth, (bool, np.bool_)):
            raise ArgumentTypeError(f"smooth must be True or False, got {shown(self.smooth)}.")
        object.__setattr__(self, "t", t)
        object.__setattr__(self, "tau", tau)
        object.__setattr__(self, "error", number("error", self.error, minimum=0.0))

    @classmethod
    def held(cls, t: ArrayLike, tau: ArrayLike) -> Table:
        """Make a table of commands that are held from one time to the next, as a sampled controller gives them.

        t, tau : as for `Table`; each row acts from its time until the next one, and the last row from then on.  A jump
            takes a millionth of the time between two rows.
        """
        steps = cls(array("t", t, ("n",)), array("tau", tau, ("n", "nv")))
        late = steps.t[1:] - EDGE * np.diff(steps.t)
        changes = (np.diff(steps.tau, axis=0) != 0.0).any(axis=1)
        place = 1 + np.flatnonzero(changes)
        times = np.insert(steps.t, place, late[changes])
        return cls(times, np.insert(steps.tau, place, steps.tau[:-1][changes], axis=0))

    def __call__(self, t: ArrayLike) -> Array:
        """Return the torques at one time or many; the shape is that of t followed by the number of columns."""
        times = numbers("t", t, "(...)")
        return interpolated(self.rows(), times)

    def rows(self) -> Array:
        """Return the table as `integrators.rates` reads it: time, values, slopes after and slopes before each row."""
        return _with_slopes(self.t, self.tau, self.smooth)

    def corners(self) -> Array:
        """Return the times at which the torques jump or bend by more than sampling explains."""
        return kinks(self.rows())


def joint_speeds(system: System) -> list[int]:
    """The indices in v of the joint speeds, in order."""
    return [i for x in system.layout.values() for i in range(x.v_joint.start, x.v_joint.stop)]


def _with_slopes(t: Array, tau: Array, smooth: bool) -> Array:
    if smooth and len(t) > 2:
        from scipy.interpolate import CubicSpline  # noqa: PLC0415

        after = before = CubicSpline(t, tau)(t, 1)
    else:
        chords = np.diff(tau, axis=0) / np.diff(t)[:, None]
        end = np.zeros((1, tau.shape[1]))
        after, before = np.vstack([chords, end]), np.vstack([end, chords])
    return np.hstack([t[:, None], tau, after, before])


def kinks(rows: Array) -> Array:
    """The times at which a table (rows with slopes) jumps or bends by more than sampling explains."""
    nv = (rows.shape[1] - 1) // 3
    if len(rows) < 2:
        return rows[:, 0]
    t, tau = rows[:, 0], rows[:, 1 : nv + 1]
    bend = np.abs(rows[:, nv + 1 : 2 * nv + 1] - rows[:, 2 * nv + 1 :])
    spacing = np.diff(t)
    near = np.minimum(np.append(spacing, np.inf), np.insert(spacing, 0, np.inf))
    size = np.abs(tau).max(initial=0.0)
    return t[(bend * near[:, None]).max(axis=1) > 1e-3 * size]


def interpolated(rows: Array, t: ArrayLike) -> Array:
    """The values at times t from rows with slopes, as `integrators.rates.interpolated` computes them."""
    nv = (rows.shape[1] - 1) // 3
    times = np.asarray(t, dtype=float)
    last = max(len(rows) - 1, 1)
    high = np.clip(np.searchsorted(rows[:, 0], times, "right"), 1, last)
    a, b = rows[high - 1], rows[np.minimum(high, len(rows) - 1)]
    h = b[..., 0] - a[..., 0]
    x = np.where(h > 0.0, np.clip((times - a[..., 0]) / np.where(h > 0.0, h, 1.0), 0.0, 1.0), 0.0)
    x, h = x[..., None], h[..., None]
    z = 1.0 - x
    values = (
        z * z * (1.0 + 2.0 * x) * a[..., 1 : nv + 1] + x * x * (1.0 + 2.0 * z) * b[..., 1 : nv + 1]
    )
    return values + h * x * z * (z * a[..., nv + 1 : 2 * nv + 1] - x * b[..., 2 * nv + 1 :])
