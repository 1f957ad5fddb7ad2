"""Torques for the engine: constants, tables, Python callables, compiled ones, sampled controllers."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from limber.assembly.system import System
from limber.checks import Array, array, number, shown, takes
from limber.dynamics.evaluate import quaternions
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.kernels.records import CALLED, CONSTANT, SAMPLED, TABLE
from limber.simulation.table import Table, interpolated, joint_speeds, kinks

#: void f(double t, const double *q, const double *v, double *tau)
SIGNATURE = ctypes.CFUNCTYPE(
    None, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)

#: Speeds beyond this are those of a motion that diverges, and excuse the torque.
RUNAWAY = 1e30
#: Steps end this far from a corner of the torque, as a part of the time of the last one.
NEAR = 1e-10
#: What ctypes functions are.
_POINTER: Any = SIGNATURE.__mro__[1]


@dataclass
class Drive:
    """A torque as `kernels.drive` takes it."""

    kind: int
    address: int
    table: Array
    tau: Array
    sample: float = 0.0
    stops: Array = field(default_factory=lambda: np.empty(0))  # times at which it jumps or bends
    python: bool = False  # Python is called at every evaluation
    keep: Any = None  # what must live as long as the address
    spoilt: list[tuple[float, int]] = field(
        default_factory=list
    )  # when it was not finite, and where
    failure: list[BaseException] = field(default_factory=list)

    def at(self, system: System, t: float, q: Array, v: Array) -> Array:
        """tau at one time and state."""
        tau = np.array(self.tau)
        if self.kind == TABLE:
            return interpolated(self.table.reshape(-1, 3 * system.nv + 1), t)
        if self.address:
            function = SIGNATURE(self.address)
            q, v = np.ascontiguousarray(q), np.ascontiguousarray(v)
            function(t, q.ctypes.data, v.ctypes.data, tau.ctypes.data)
        return tau


def drive(system: System, torque: Any) -> Drive:
    """The drive of a `torque` argument of `simulate`."""
    nv = system.nv
    table, tau = np.zeros(3 * nv + 1), np.zeros(nv)
    breaks = getattr(torque, "breaks", None)
    if breaks is not None:
        breaks = np.unique(array("torque.breaks", breaks, ("k",)))
    stops = _around(breaks)
    if torque is None:
        return Drive(CONSTANT, 0, table, tau)
    if isinstance(torque, Table):
        rows = np.ascontiguousarray(torque.rows(system))
        corners = kinks(rows) if breaks is None else breaks
        return Drive(TABLE, 0, rows.reshape(-1), tau, stops=_around(corners))
    if isinstance(torque, _POINTER):
        address = ctypes.cast(torque, ctypes.c_void_p).value or 0
        return Drive(CALLED, address, table, tau, stops=stops, keep=torque)
    if type(torque).__module__.startswith("numba.") and hasattr(torque, "address"):  # a numba.cfunc
        return Drive(CALLED, torque.address, table, tau, stops=stops, keep=torque)
    if callable(torque):
        takes("torque", torque, "t", "q", "v")
        made = Drive(CALLED, 0, table, tau, stops=stops, python=True)
        sample = getattr(torque, "sample_time", None)
        if sample is not None:
            made.kind, made.python = SAMPLED, False
            made.sample = number("torque.sample_time", sample, above=0.0)
        checked = _checked(system, torque, made.spoilt)
        function = SIGNATURE(callback(system, checked, made.failure))
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


def _around(corners: Array | None) -> Array:
    """Where steps end for corners of a torque: at each, just before and just after it, so that all but the
    shortest steps are on one side, whichever the torque at the corner itself belongs to."""
    if corners is None or not corners.size:
        return np.empty(0)
    aside = NEAR * np.abs(corners).max()
    return np.unique([corners - aside, corners, corners + aside])


def _checked(system: System, function: Any, spoilt: list[tuple[float, int]]) -> Any:
    """A torque function whose results are looked at: their size, and where they are not finite."""
    nv, joints = system.nv, joint_speeds(system)

    def torque(t, q, v):
        value = np.asarray(function(t, q, v))
        if value.dtype.kind not in "iuf" or value.shape not in ((nv,), (len(joints),)):
            raise ArgumentValueError(
                f"torque(t, q, v) must return {nv} numbers, or {len(joints)} of the joints alone; at t = {t:.6g} s it "
                f"returned {shown(value)}."
            )
        if value.shape != (nv,):
            full = np.zeros(nv)
            full[joints] = value
            value = full
        if not spoilt and not np.isfinite(value.sum()) and np.abs(v).max(initial=0.0) < RUNAWAY:
            bad = np.flatnonzero(~np.isfinite(value))
            spoilt.extend((t, int(i)) for i in bad[:1])
        return value

    return torque


def callback(system: System, function: Any, failure: list[BaseException], size: int | None = None):
    """A Python function of (t, q, v) behind the C signature; its first error is kept, and gives NaN.

    Within a step quaternions leave unit length; the function sees them at it, as functions of limber want them.
    """
    nq, nv = system.nq, system.nv
    turns = [at for _, at in quaternions(system)]
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
            for at in turns:
                length = math.hypot(*q[at])
                if 0.0 < length < math.inf:
                    q[at] /= length
            try:
                out[:] = function(t, q.copy(), v.copy())
            except BaseException as error:
                failure.append(error)
                out[:] = np.nan
        move(to, out_at, 8 * size)

    return called
