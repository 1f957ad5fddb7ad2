"""Torques for the engine: constants, tables, Python callables, compiled ones, sampled controllers."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from limber.assembly.system import System
from limber.checks import Array, array, number, shown
from limber.errors import ArgumentTypeError
from limber.simulation.table import Table, interpolated, joint_speeds

CONSTANT, TABLE, CALLED, SAMPLED = 0, 1, 2, 3

#: void f(double t, const double *q, const double *v, double *tau)
SIGNATURE = ctypes.CFUNCTYPE(
    None, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)


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
