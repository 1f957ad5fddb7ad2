"""Torques that move an arm without its modes along joint paths; they are the input of the Canadarm study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from limber.assembly import Assembly, System
from limber.checks import Array
from limber.dynamics import inverse_dynamics
from limber.dynamics.closed import refuse_closures
from limber.errors import ArgumentValueError
from limber.scenarios.floating import Floating
from limber.simulation.table import Table
from limber.trajectories import Trajectory

#: The largest number of rows of a table.
MAX_SAMPLES = 2**19
#: The least number of samples between two breaks.
FEWEST = 64
#: Samples at a break are taken this far from it, as a fraction of the interval between two breaks.
INSET = 1e-9


@dataclass(frozen=True, eq=False)
class PathTable(Table):
    """Torques along joint paths: a table with cubic splines between `breaks`.

    breaks : (k,) the times at which the accelerations of the paths, and therefore the torques, may jump or have a kink,
        including the first and the last time. A jump is two adjacent rows, the second at the break.
    """

    breaks: Array = field(default_factory=lambda: np.empty(0))

    def rows(self) -> Array:
        """The table in the form that `integrators.rates` reads: time, values, derivatives after and before each row."""
        t, tau = self.t, self.tau
        after, before = np.zeros((2, *tau.shape))
        first = np.searchsorted(t, self.breaks[:-1])
        last = np.searchsorted(t, self.breaks[1:])
        last -= t[last - 1] == np.nextafter(t[last], -np.inf)  # before a jump
        for a, b in zip(first, last):
            slopes = spline(t[a : b + 1], tau[a : b + 1])(t[a : b + 1], 1)
            after[a:b], before[a + 1 : b + 1] = slopes[:-1], slopes[1:]
        return np.hstack([t[:, None], tau, after, before])

    def corners(self) -> Array:
        """The breaks."""
        return self.breaks


def spline(t: Array, tau: Array) -> Any:
    """The cubic spline through rows."""
    from scipy.interpolate import CubicSpline  # noqa: PLC0415 (slow to import)

    return CubicSpline(t, tau)


def rigid_torques(
    assembly: Assembly,
    system: System,
    q0: Array,
    v0: Array,
    paths: Mapping[str, Trajectory],
    duration: float,
    tolerance: float = 1e-6,
) -> PathTable:
    """The torques that move the rigid arm along `paths`, as a table for the flexible `system`.

    Joints without a path stay at `q0`. Those with a quaternion, such as the free joint of a base, have no force: they
    start from `q0` and `v0` and move with the motion of the arm. The table is refined in each interval between breaks
    of the paths until the interpolation error, halfway between any two samples, is within `tolerance` of the largest
    torque of the joint; `Table.error` is the largest such error. Modal entries are zero.
    """
    refuse_closures(system, "`follow` of a scenario")
    arm = _Arm(assembly.rigid().build(), system, q0, paths)
    breaks = [path.breaks for path in paths.values()]
    edges = np.unique(np.clip(np.concatenate([[0.0, duration], *breaks]), 0.0, duration))
    edges = edges[np.append(True, np.diff(edges) > 1e-12 * duration)]
    edges[-1] = duration
    stretches = list(pairwise(edges))
    arm.refuse_jumps(edges[1:-1], INSET * duration)
    arm.float_from(v0, edges, tolerance)
    samples = [arm.torques(*_times(a, b, FEWEST)) for a, b in stretches]
    scale = _scale([tau for _, tau in samples])
    total = 0
    error = 0.0
    for i, (a, b) in enumerate(stretches):
        count = FEWEST
        while True:
            middles, exact = arm.torques(*_middles(a, b, count))
            gap = float((np.abs(exact - spline(*samples[i])(middles)) / scale).max())
            if gap <= tolerance:
                break
            count *= 2
            if total + count > MAX_SAMPLES:
                raise ArgumentValueError(
                    f"the torques between {a:g} and {b:g} s need more than {MAX_SAMPLES} samples to be represented within "
                    f"{tolerance:g}; raise the tolerance."
                )
            samples[i] = arm.torques(*_times(a, b, count))
        total += count
        error = max(error, gap)
    return PathTable(*_joined(samples, scale), error=error, breaks=edges)


class _Arm:
    """The rigid arm along its paths."""

    def __init__(self, rigid: System, system: System, q0: Array, paths: Mapping[str, Trajectory]):
        self.rigid, self.system, self.paths = rigid, system, paths
        self.q = rigid.neutral()
        for name, place in rigid.layout.items():
            self.q[place.q_joint] = q0[system.layout[name].q_joint]
        self.motion = Floating(rigid, self.along_paths)

    def along_paths(self, at: Array) -> tuple[Array, Array, Array]:
        """q, v, vdot at times (n,): joints with a path are on it, all others are at rest at their initial positions."""
        q = np.tile(self.q, (at.size, 1))
        v, vdot = np.zeros((2, at.size, self.rigid.nv))
        for name, path in self.paths.items():
            place = self.rigid.layout[name]
            q[:, place.q_joint], v[:, place.v_joint], vdot[:, place.v_joint] = path(at)
        return q, v, vdot

    def float_from(self, v0: Array, edges: Array, tolerance: float) -> None:
        """Find the motion of the floating base, given the initial speeds of the flexible system."""
        v = np.zeros(self.rigid.nv)
        for name, place in self.rigid.layout.items():
            v[place.v_joint] = v0[self.system.layout[name].v_joint]
        self.motion.integrate(self.q, v, edges, INSET, tolerance)

    def torques(self, t: Array, at: Array) -> tuple[Array, Array]:
        """(t, tau in the layout of the flexible system), evaluated at the times `at`."""
        rigid_tau = inverse_dynamics(self.rigid, *self.motion.states(at))
        rigid_tau[:, self.motion.v_columns] = 0.0  # except for rounding
        tau = np.zeros((at.size, self.system.nv))
        for name, place in self.system.layout.items():
            tau[:, place.v_joint] = rigid_tau[:, self.rigid.layout[name].v_joint]
        return t, tau

    def refuse_jumps(self, times: Array, inset: float) -> None:
        """Reject paths whose velocity jumps: no finite torque follows them."""
        for name, path in self.paths.items():
            before, after = path(times - inset), path(times + inset)
            size = 1e-6 * (np.abs(path(np.linspace(0.0, path.duration, 65)).velocity).max() + 1e-12)
            jump = np.abs(after.velocity - before.velocity) > size
            if jump.any():
                t = times[np.nonzero(jump)[0][0]]
                raise ArgumentValueError(
                    f"the path of {name!r} has a jump in its velocity at t = {t:g} s, which no finite torque can follow. "
                    "Let each part start with the velocity at which the previous one ends."
                )


def _times(a: float, b: float, count: int) -> tuple[Array, Array]:
    """The sample times of an interval, and the times at which they are evaluated, with the ends moved just inside."""
    t = np.linspace(a, b, count + 1)
    inset = INSET * (b - a)
    return t, np.clip(t, a + inset, b - inset)


def _middles(a: float, b: float, count: int) -> tuple[Array, Array]:
    t = a + (np.arange(count) + 0.5) * (b - a) / count
    return t, t


def _scale(torques: list[Array]) -> Array:
    """The largest torque of each joint; negligible ones are replaced by the largest torque of all joints."""
    largest = np.max([np.abs(tau).max(axis=0) for tau in torques], axis=0)
    floor = 1e-9 * largest.max(initial=0.0)
    return np.where(largest > floor, largest, largest.max(initial=0.0) or 1.0)


def _joined(samples: list[tuple[Array, Array]], scale: Array) -> tuple[Array, Array]:
    """Join the intervals into one table; where torques jump between two of them, it has two adjacent times."""
    times, torques = list(samples[0][0]), list(samples[0][1])
    for t, tau in samples[1:]:
        jump = (np.abs(tau[0] - torques[-1]) / scale).max() > 1e-7
        if jump:
            times[-1] = np.nextafter(t[0], -np.inf)
            times.append(t[0])
            torques.append(tau[0])
        times.extend(t[1:])
        torques.extend(tau[1:])
    return np.array(times), np.array(torques)
