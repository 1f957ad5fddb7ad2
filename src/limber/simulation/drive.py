"""Torques for the engine: constants, tables, Python callables, compiled ones, sampled controllers."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from limber.assembly.system import System
from limber.checks import Array, array, number, shown
from limber.errors import ArgumentTypeError, ArgumentValueError

CONSTANT, TABLE, CALLED, SAMPLED = 0, 1, 2, 3

#: void f(double t, const double *q, const double *v, double *tau)
SIGNATURE = ctypes.CFUNCTYPE(
    None, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)


@dataclass(frozen=True, eq=False)
class Table:
    """Torques at given times, held outside.

    Parameters
    ----------
    t : (n,), increasing.
    tau : (n, nv), or (n, r) of the joint speeds alone, modal forces being zero.
    smooth : a cubic spline through the rows instead of straight lines between them.
    """

    t: Array
    tau: Array
    smooth: bool = False

    def __post_init__(self):
        t = array("t", self.t, ("n",))
        tau = array("tau", self.tau, (len(t), "columns"))
        if len(t) == 0 or (np.diff(t) <= 0.0).any():
            raise ArgumentValueError(
                "t of a Table must increase from row to row, and have one at least."
            )
        object.__setattr__(self, "t", t)
        object.__setattr__(self, "tau", tau)

    def rows(self, system: System) -> Array:
        """The table as `kernels.drive` reads it: time, values, slopes after and before every row."""
        n, nv = len(self.t), system.nv
        tau = self.tau
        joints = joint_speeds(system)
        if tau.shape[1] == len(joints) != nv:
            tau = np.zeros((n, nv))
            tau[:, joints] = self.tau
        if tau.shape[1] != nv:
            raise ArgumentValueError(
                f"torque: the table has {tau.shape[1]} columns; {system.name!r} has {nv} speeds, {len(joints)} of them "
                "of joints."
            )
        if self.smooth and n > 2:
            from scipy.interpolate import CubicSpline  # noqa: PLC0415

            after = before = CubicSpline(self.t, tau)(self.t, 1)
        else:
            chords = np.diff(tau, axis=0) / np.diff(self.t)[:, None]
            end = np.zeros((1, nv))
            after, before = np.vstack([chords, end]), np.vstack([end, chords])
        return np.hstack([self.t[:, None], tau, after, before])


def joint_speeds(system: System) -> list[int]:
    """The indices in v of the joint speeds, in order."""
    return [i for x in system.layout.values() for i in range(x.v_joint.start, x.v_joint.stop)]


@dataclass
class Drive:
    """A torque as `kernels.drive` takes it."""

    kind: int
    address: int
    table: Array
    tau: Array
    sample: float = 0.0
    keep: Any = None  # what must live as long as the address
    failure: list[BaseException] = field(default_factory=list)

    def at(self, system: System, t: float, q: Array, v: Array) -> Array:
        """tau at one time and state."""
        tau = np.array(self.tau)
        if self.kind == TABLE:
            return _interpolated(self.table.reshape(-1, 3 * system.nv + 1), t)
        if self.address:
            function = SIGNATURE(self.address)
            q, v = np.ascontiguousarray(q), np.ascontiguousarray(v)
            function(t, q.ctypes.data, v.ctypes.data, tau.ctypes.data)
        return tau


def _interpolated(rows: Array, t: float) -> Array:
    """As `kernels.drive.interpolated`."""
    nv = (rows.shape[1] - 1) // 3
    high = int(np.clip(np.searchsorted(rows[:, 0], t, "right"), 1, max(len(rows) - 1, 1)))
    a, b = rows[high - 1], rows[min(high, len(rows) - 1)]
    h = b[0] - a[0]
    x = float(np.clip((t - a[0]) / h, 0.0, 1.0)) if h > 0.0 else 0.0
    z = 1.0 - x
    values = z * z * (1.0 + 2.0 * x) * a[1 : nv + 1] + x * x * (1.0 + 2.0 * z) * b[1 : nv + 1]
    return values + h * x * z * (z * a[nv + 1 : 2 * nv + 1] - x * b[2 * nv + 1 :])


def drive(system: System, torque: Any) -> Drive:
    """The drive of a `torque` argument of `simulate`."""
    nv = system.nv
    table, tau = np.zeros(3 * nv + 1), np.zeros(nv)
    if torque is None:
        return Drive(CONSTANT, 0, table, tau)
    if isinstance(torque, Table):
        return Drive(TABLE, 0, np.ascontiguousarray(torque.rows(system)).reshape(-1), tau)
    address = getattr(torque, "address", None)
    if isinstance(address, int):  # a compiled function, such as numba.cfunc makes
        return Drive(CALLED, address, table, tau, keep=torque)
    if callable(torque):
        made = Drive(CALLED, 0, table, tau)
        sample = getattr(torque, "sample_time", None)
        if sample is not None:
            made.kind = SAMPLED
            made.sample = number("torque.sample_time", sample, above=0.0)
        function = SIGNATURE(callback(system, torque, made.failure))
        made.keep = function
        made.address = ctypes.cast(function, ctypes.c_void_p).value or 0
        return made
    if isinstance(torque, str) or torque is True:
        raise ArgumentTypeError(
            f"torque must be an array (nv,), a Table, or a function (t, q, v) -> tau; got {shown(torque)}."
        )
    given = np.asarray(torque, dtype=object)
    joints = joint_speeds(system)
    if given.shape == (len(joints),) and len(joints) != nv:
        tau[joints] = array("torque", torque, (len(joints),))
        return Drive(CONSTANT, 0, table, tau)
    return Drive(CONSTANT, 0, table, np.array(array("torque", torque, (nv,))))


def callback(system: System, function: Any, failure: list[BaseException], size: int | None = None):
    """A Python function of (t, q, v) behind the C signature; its first error is kept, and gives NaN."""
    nq, nv = system.nq, system.nv
    size = nv if size is None else size
    q, v, out = np.empty(nq), np.empty(nv), np.empty(size)
    q_at, v_at, out_at = q.ctypes.data, v.ctypes.data, out.ctypes.data
    move = ctypes.memmove

    def called(t, q_from, v_from, to):
        if failure:
            out[:] = np.nan
        else:
            move(q_at, q_from, 8 * nq)
            move(v_at, v_from, 8 * nv)
            try:
                out[:] = function(t, q.copy(), v.copy())
            except BaseException as error:
                failure.append(error)
                out[:] = np.nan
        move(to, out_at, 8 * size)

    return called
