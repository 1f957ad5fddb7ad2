"""Torques and wrenches for the engine: constants, tables, Python callables, compiled functions, sampled controllers."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from limber.assembly.system import System
from limber.checks import Array, array, is_masked_array, number, numbers, shown, takes
from limber.dynamics.refusals import quaternions
from limber.errors import ArgumentTypeError, ArgumentValueError, SimulationError
from limber.integrators.context import CALLED, CONSTANT, RUNAWAY, SAMPLED, TABLE
from limber.registry import registered
from limber.simulation.sampled import Called, Session
from limber.simulation.table import Table, interpolated, joint_speeds

#: void f(double t, const double *q, const double *v, double *out)
SIGNATURE = ctypes.CFUNCTYPE(
    None, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)
IN_C = "void f(double t, const double *q, const double *v, double *out)"

#: Two rows of a table stand for a jump if they are closer together than this fraction of its length.
NEXT = 1e-9
#: The class of all ctypes functions, and the types by which a pointer to numbers may be declared.
_FUNCTION: Any = SIGNATURE.__mro__[1]
_NUMBERS = (ctypes.c_void_p, ctypes.POINTER(ctypes.c_double))


class Failures(list):
    """The errors of functions in a run; the first one makes the engine stop, through `flag`."""

    flag: Array | None = None

    def append(self, error: BaseException) -> None:
        """Keep an error."""
        super().append(error)
        if self.flag is not None and not self.flag[0]:
            self.flag[0] = 1.0


@dataclass
class Signal:
    """A torque or a wrench over time and state, in the form of `integrators.rates`."""

    name: str
    value: Array  # (width,), the last value
    describe: Callable[[int], str]  # the meaning of an element of the value
    kind: int = CONSTANT
    address: int = 0
    table: Array = field(default_factory=lambda: np.zeros((0, 0)))  # rows with slopes
    session: Session | None = None  # of a sampled signal
    corners: Array = field(default_factory=lambda: np.empty(0))  # times at which it jumps or bends
    jumps: Array = field(default_factory=lambda: np.empty(0))  # the corners at which it may jump
    python: bool = False  # Python is called at every evaluation
    keep: Any = None  # what must live as long as the address

    def at(self, t: float, q: Array, v: Array) -> Array:
        """The value at one time and state; a sampled signal is sampled now."""
        if self.kind == TABLE:
            return interpolated(self.table, t)
        value = np.array(self.value)
        if self.address:
            q, v = np.ascontiguousarray(q), np.ascontiguousarray(v)
            SIGNATURE(self.address)(t, q.ctypes.data, v.ctypes.data, value.ctypes.data)
        return value

    def not_finite(self, system: System, t: float, element: int) -> SimulationError:
        """The error of a value that was not finite."""
        return SimulationError(
            f"the simulation of {system.name!r} got stuck: {self.name} was not finite at t = {t:.6g} s, first for "
            f"{self.describe(element)}. Look at the function that makes it; the result so far is in error.result."
        )

    def refuse_not_finite(self, system: System, t: float, value: Array) -> None:
        """Reject a value that is not finite."""
        if not math.isfinite(value.sum()) and not np.isfinite(value).all():
            raise self.not_finite(system, t, int(np.flatnonzero(~np.isfinite(value))[0]))


def torque_signal(
    system: System, torque: Any, failure: list[BaseException], t0: float = 0.0
) -> Signal:
    """The signal of the `torque` argument of `simulate`; `failure` receives the first error of its function."""
    nv = system.nv
    made = Signal("torque", np.zeros(nv), lambda i: f"v[{i}], {system.describe_v(i)}")
    if torque is None:
        return made
    joints = joint_speeds(system)

    def spread(value: Array) -> Array:
        """Torques of all speeds, given those for the joints alone."""
        if value.shape[-1] == nv:
            return value
        full = np.zeros((*value.shape[:-1], nv))
        full[..., joints] = value
        return full

    sizes = (nv, len(joints))
    expected = f"{nv} numbers, or {len(joints)} for the joints alone"
    if isinstance(torque, str) or torque is True:
        raise ArgumentTypeError(
            f"torque must be an array (nv,), a Table, or a function (t, q, v) -> tau; got {shown(torque)}."
        )
    if isinstance(torque, Table):
        columns = torque.tau.shape[1]
        if columns not in sizes:
            raise ArgumentValueError(
                f"torque: the table has {columns} columns; {system.name!r} has {nv} speeds, {len(joints)} of which belong "
                "to joints."
            )
        return _tabled(made, torque, spread)
    torque = prepared_for(system, torque)
    if hasattr(torque, "session"):
        made.session = torque.session(system, t0)
        made.kind = SAMPLED
        _callable(system, made, made.session.sample, failure)
        return made
    if _compiled(made, torque):
        return made
    if callable(torque):
        sample = getattr(torque, "sample_time", None)
        called = _checked(system, made, torque, spread, sizes, expected)
        if sample is not None:
            made.kind = SAMPLED
            made.session = Called(called, number("torque.sample_time", sample, above=0.0))
            called = made.session.sample
        _callable(system, made, called, failure)
        return made
    given = np.asarray(torque, dtype=object)
    size = len(joints) if given.shape == (len(joints),) else nv
    made.value = np.array(spread(array("torque", torque, (size,), f"Give {expected}.")))
    return made


def prepared_for(system: System, torque: Any) -> Any:
    """A controller in a loop with the system for which it is designed; other torques as they are."""
    if hasattr(torque, "command") and not hasattr(torque, "session"):
        return registered("simulate.controller")(system, torque)
    return torque


def wrench_signal(system: System, key: Any, wrench: Any, failure: list[BaseException]) -> Signal:
    """The signal of one entry of the `external` argument of `simulate`."""
    parts = ("moment x", "moment y", "moment z", "force x", "force y", "force z")
    made = Signal(f"external[{key!r}]", np.zeros(6), lambda i: f"its {parts[i]}, world axes")
    expected = "6 numbers [moment, force] in world axes"
    if isinstance(wrench, Table):
        if wrench.tau.shape[1] != 6:
            raise ArgumentValueError(
                f"{made.name}: the table must have 6 columns, [moment, force] in world axes; it has "
                f"{wrench.tau.shape[1]}."
            )
        return _tabled(made, wrench, lambda value: value)
    if _compiled(made, wrench):
        return made
    if callable(wrench):
        if getattr(wrench, "sample_time", None) is not None:
            raise ArgumentTypeError(
                f"{made.name}: a wrench cannot have a sample_time; give a function (t, q, v) or a Table."
            )
        called = _checked(system, made, wrench, lambda value: value, (6,), expected)
        _callable(system, made, called, failure)
        return made
    made.value = np.array(array(made.name, wrench, (6,), "A wrench is [moment, force]."))
    return made


def _tabled(made: Signal, table: Table, spread: Callable[[Array], Array]) -> Signal:
    rows = table.rows()
    blocks = [spread(block) for block in np.split(rows[:, 1:], 3, axis=1)]
    made.kind = TABLE
    made.table = np.ascontiguousarray(np.hstack([rows[:, :1], *blocks]))
    made.corners = table.corners()
    # A jump is given as two rows next to each other.
    t = table.t
    close = np.diff(t) <= NEXT * (t[-1] - t[0])
    made.jumps = np.intersect1d(made.corners, np.union1d(t[:-1][close], t[1:][close]))
    return made


def _broken(made: Signal, function: Any) -> None:
    """Use the times at which a function says that it jumps or has a kink."""
    breaks = getattr(function, "breaks", None)
    if breaks is not None:
        made.corners = made.jumps = np.unique(array(f"{made.name}.breaks", breaks, ("k",)))


def _checked(
    system: System, made: Signal, function: Any, spread, sizes, expected: str
) -> Callable[[float, Array, Array], Array]:
    """A Python function for a signal, whose results are checked: their size, and that they are finite."""
    name = made.name
    takes(name, function, "t", "q", "v")

    def checked(t, q, v):
        value = function(t, q, v)
        if is_masked_array(value):
            value = numbers(f"{name} at t = {t:.6g} s", value, f"({sizes[0]},)")
        value = np.asarray(value)
        if value.dtype.kind not in "iuf" or value.ndim != 1 or value.size not in sizes:
            raise ArgumentValueError(
                f"{name}(t, q, v) must return {expected}; at t = {t:.6g} s it returned {shown(value)}."
            )
        value = spread(value)
        made.refuse_not_finite(system, t, value)
        return value

    _broken(made, function)
    made.kind, made.python = CALLED, True
    return checked


def _callable(system: System, made: Signal, function: Any, failure: list) -> None:
    """Let the engine call the Python function of a signal."""
    made.python = made.kind == CALLED
    made.keep = SIGNATURE(callback(system, function, failure, made.value.size))
    made.address = ctypes.cast(made.keep, ctypes.c_void_p).value or 0


def _compiled(made: Signal, function: Any) -> bool:
    """Make a signal from a compiled function; return whether it is one."""
    address = compiled_function(made.name, function)
    if not address:
        return False
    _broken(made, function)
    made.kind, made.address, made.keep = CALLED, address, function
    return True


def compiled_function(name: str, function: Any) -> int:
    """The address of a compiled function made by `numba.cfunc` or ctypes; 0 if it is not one."""
    if isinstance(function, _FUNCTION):
        arguments: tuple = tuple(function.argtypes or ())
        result = function.restype
        fits = (
            result is None
            and len(arguments) == 4
            and arguments[0] is ctypes.c_double
            and all(a in _NUMBERS for a in arguments[1:])
        )
        has = f"argtypes {shown(function.argtypes)} and restype {shown(result)}"
        address = ctypes.cast(function, ctypes.c_void_p).value
    elif type(function).__module__.startswith("numba.") and hasattr(function, "address"):
        from numba import types  # noqa: PLC0415

        pointer = types.CPointer(types.float64)
        signature = function._sig
        fits = signature == types.void(types.float64, pointer, pointer, pointer)
        has, address = f"the signature {signature}", function.address
    else:
        return 0
    if not address:
        raise ArgumentValueError(f"{name} is a NULL pointer; give a compiled function, {IN_C}.")
    if not fits:
        raise ArgumentTypeError(
            f"{name} is a compiled function with {has}; it must be {IN_C}, which writes its result to `out`: "
            "numba.cfunc(types.void(types.float64, *[types.CPointer(types.float64)] * 3)), or a ctypes function with "
            "argtypes [c_double, c_void_p, c_void_p, c_void_p] and restype None."
        )
    return address


def callback(system: System, function: Any, failure: list[BaseException], size: int):
    """A Python function of (t, q, v) with the C signature; its first error is kept, and its result is then NaN.

    Within a step quaternions leave unit length.  The function receives them scaled to it, because functions of Limber
    expect that.  It is not called for states of a step that diverges.
    """
    nq, nv = system.nq, system.nv
    turns = [at for _, at in quaternions(system)]
    state, out = np.empty(nq + nv), np.empty(size)
    q, v = state[:nq], state[nq:]
    q_at, v_at, out_at = q.ctypes.data, v.ctypes.data, out.ctypes.data
    move = ctypes.memmove

    def called(t, q_from, v_from, to):
        move(q_at, q_from, 8 * nq)
        move(v_at, v_from, 8 * nv)
        if failure or not state.dot(state) < RUNAWAY**2:
            out[:] = math.nan
        else:
            for at in turns:
                length = math.hypot(*q[at])
                if length > 0.0:
                    q[at] /= length
            try:
                out[:] = function(t, q.copy(), v.copy())
            except BaseException as error:
                failure.append(error)
                out[:] = math.nan
        move(to, out_at, 8 * size)

    return called
