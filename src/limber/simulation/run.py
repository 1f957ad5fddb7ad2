"""One simulation in the compiled engine: its arrays, and how it is driven on."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from limber.assembly.system import System
from limber.checks import Array, shown
from limber.dynamics.forward import sweep_of
from limber.errors import ArgumentValueError, SimulationError
from limber.interrupts import heard
from limber.kernels import compiled
from limber.kernels import layout as L
from limber.kernels import records as R
from limber.simulation.drive import SIGNATURE, Drive, callback
from limber.simulation.events import Event
from limber.simulation.methods import Method, methods

#: Steps of the first stretch of an adaptive run; later ones take about STRETCH seconds.
FIRST, STRETCH = 200, 0.1
#: An event function this near to zero after an action is at zero.
SURFACE = 1e-10
#: Steps of a trial of the other method, the most steps of a stretch, and the work through which a run stays
#: explicit, in evaluations times speeds (some tenths of a second).
TRIAL, MOST, PATIENCE = 50, 1_000_000, 3_000_000
#: What an evaluation of the implicit method costs over one of the others, by the engine of those (`make bench`),
#: and what a torque in Python costs, as so many more speeds.
IMPLICIT_COST, PYTHON_COST = {"general": 1.3, "generated": 4.0}, 50


#: Numbers in a cache line.
LINE = 8


@dataclass
class Outputs:
    """Where results are written: times, states [q; v] and forces, row by row."""

    t: Array
    y: Array
    tau: Array


class Run:
    """The state of a simulation in progress."""

    def __init__(
        self, system: System, drive: Drive, events: Sequence[Event], outputs: Outputs, y: Array,
        span: tuple[float, float], rtol: float, atol: float, step: float | None, largest: float,
        engine: str,
    ):  # fmt: skip
        self.system = system
        self.outputs = outputs
        self.drive = drive
        self._implicit_cost = IMPLICIT_COST[engine]
        n = len(y)
        packed = system.dynamics
        self.failure = drive.failure
        most = max(m.stages for m in methods().values())
        (
            self.y, self.clock, self._const, self._work, self._k, self._scratch, self._tau, self._side, *memory
        ) = _together(
            n, R.CLOCK, len(packed.const), int(packed.topo[L.WORK_SIZE]), (most + 4) * n,
            2 * n + most + 9 + 2 * len(events), system.nv, 2 * len(events),
            *_implicit_sizes(system, drive.kind == R.CALLED),
        )  # fmt: skip
        self.y[:], self._const[:], self._tau[:] = y, packed.const, drive.tau
        self._side[len(events) :] = [e.direction for e in events]
        memory[R.STATE][R.AGE] = np.inf  # slopes were never taken
        self._memory = np.array([a.ctypes.data for a in memory], dtype=np.int64)
        event = 0
        if events:

            def values(t, q, v):
                return [_value(e, t, q, v) for e in events]

            self._event = SIGNATURE(callback(system, values, self.failure, len(events)))
            event = ctypes.cast(self._event, ctypes.c_void_p).value or 0
            # on which side of zero every function starts
            self._values = values
            self._side[: len(events)] = np.sign(self._event_values(span[0]))
        clock = self.clock
        length = span[1] - span[0]
        clock[[R.TIME, R.END_TIME]] = span
        clock[R.STEP] = max(1e-3 * min(1.0, length), 1e-9 * length) if step is None else step
        clock[[R.RTOL, R.ATOL]] = rtol, atol
        clock[R.LARGEST] = largest
        clock[[R.NEXT_SAMPLE, R.START]], clock[R.SAMPLE] = span[0], drive.sample
        self._stops = np.append(drive.stops, np.inf)
        clock[R.FRESH] = 1.0
        rates, sweep = _rates(system, engine)
        context = {
            R.TOPO: packed.topo.ctypes.data, R.CONST: self._const.ctypes.data, R.CONST_SIZE: len(packed.const),
            R.WORK: self._work.ctypes.data, R.KIND: drive.kind, R.FUNCTION: drive.address,
            R.TABLE_DATA: drive.table.ctypes.data, R.ROWS: drive.table.size // (3 * system.nv + 1),
            R.TAU: self._tau.ctypes.data, R.RATES: rates, R.FORCES: compiled.address("engine_forces"),
            R.SWEEP: sweep, R.MEMORY: self._memory.ctypes.data, R.EVENT_FUNCTION: event, R.EVENTS: len(events),
        }  # fmt: skip
        self._context = np.zeros(R.CONTEXT, dtype=np.int64)
        self._context[list(context)] = list(context.values())
        self._engine = compiled.load("simulate")

    @property
    def tau(self) -> Array:
        """The forces last evaluated."""
        return self._tau

    @property
    def t(self) -> float:
        """The time reached."""
        return float(self.clock[R.TIME])

    def cost_of(self, method: Method) -> float:
        """What an evaluation of a method costs."""
        dynamics = self._implicit_cost if method.name == "sdirk4" else 1.0
        return dynamics * self.system.nv + PYTHON_COST * self.drive.python

    def prepare(self, method: Method) -> None:
        """Compile what a method needs, if this machine has not yet."""
        if method.name == "sdirk4" and not self._context[R.IMPLICIT]:
            self._context[R.IMPLICIT_SWEEP] = compiled.address("articulated_sweep")
            self._context[R.IMPLICIT] = compiled.address("engine_implicit")

    def go(self, method: Method, until: float, steps: int) -> int:
        """Go on for at most `steps` steps or until a time; returns why it stopped."""
        self.prepare(method)
        self.clock[R.END_TIME] = until
        with heard(self.failure):
            status = self._engine(
                self._context, method.number, self.y, self._k, self._scratch, self.clock, method.tableau,
                self._side, self._stops, self.outputs.t, self.outputs.y.reshape(-1), self.outputs.tau.reshape(-1), steps,
            )  # fmt: skip
        if self.failure:
            raise self.failure[0]
        if status == R.STUCK:
            raise SimulationError(self._why_stuck(method))
        return int(status)

    def sampled(self, tau: Array) -> None:
        """The controller was called at the start, outside: its torque holds from there."""
        self._tau[:] = tau
        self.clock[R.SAMPLES] = 1.0
        self.clock[R.NEXT_SAMPLE] = self.clock[R.START] + self.clock[R.SAMPLE]

    def restart(self, moved: bool = False) -> None:
        """Go on after an event; `moved`: from another state, on whose side of the events' zeros is looked anew."""
        self.clock[R.FRESH] = 1.0
        if moved and len(self._side):
            values = self._event_values(self.t)
            # on the surface, where it goes next decides
            self._side[: len(values)] = np.where(np.abs(values) > SURFACE, np.sign(values), 0.0)

    def _event_values(self, t: float) -> Array:
        nq = self.system.nq
        return np.array(self._values(t, self.y[:nq].copy(), self.y[nq:].copy()), dtype=float)

    def _why_stuck(self, method: Method) -> str:
        s, y = self.system, self.y
        t, step = self.clock[R.TIME], self.clock[R.STEP]
        rates = self._k[: len(y)]
        bad = np.flatnonzero(~np.isfinite(rates))
        size = np.abs(np.where(np.isfinite(y), y, np.inf))
        i = int(bad[0]) if bad.size else int(np.argmax(size))
        if self.drive.spoilt:
            at, j = self.drive.spoilt[0]
            return (
                f"the simulation of {s.name!r} got stuck at t = {t:.6g} s: torque was not finite at t = {at:.6g} s, first for "
                f"v[{j}], {s.describe_v(j)}. Look at the function that makes it; the result so far is in error.result."
            )
        part = (
            f"q[{i}], {s.describe_q(i)}" if i < s.nq else f"v[{i - s.nq}], {s.describe_v(i - s.nq)}"
        )
        if method.adaptive:
            what = f"the step fell to {step:.2g} s"
            advice = (
                "The motion diverges, or the torque jumps without end: look at the result so far "
                "(error.result), at torques and at deformations beyond small; loosen rtol if the model is right."
            )
        else:
            what = f"the state is no longer finite with the fixed step of {step:.2g} s"
            advice = 'Take a smaller step, or an adaptive method such as method="dop853".'
        return (
            f"the simulation of {s.name!r} got stuck at t = {t:.6g} s: {what}; the largest part of the state is "
            f"{part}, which is {y[i]:.3g}. {advice}"
        )


def _rates(system: System, engine: str) -> tuple[int, int]:
    """The addresses of the rates of the state, and of the forward dynamics that they call."""
    if engine == "generated":
        from limber.codegen.rates import address  # noqa: PLC0415

        return address(system), 0
    return compiled.address("engine_rates"), compiled.address(sweep_of(system, "articulated"))


def _together(*sizes: int) -> list[Array]:
    """Arrays of zeros side by side in one block of memory, each on a cache line of its own.

    Compiled loops choose their instructions, and so the order of sums, by how far their arrays lie apart: here
    always alike, so that a run repeated is the same to the bit.
    """
    ends = np.cumsum([-(-size // LINE) * LINE for size in sizes])
    block = np.zeros(int(ends[-1]) + LINE)
    first = (-block.ctypes.data // block.itemsize) % LINE
    starts = first + np.append(0, ends[:-1])
    return [block[start : start + size] for start, size in zip(starts, sizes)]


def _implicit_sizes(system: System, called: bool) -> list[int]:
    """The sizes of the memory of `kernels.implicit`; matrices of slopes only for torques that may have any."""
    n, nv = system.nq + system.nv, system.nv
    sizes = dict.fromkeys(range(R.MEMORY_SIZE), nv) | {R.STATE: 2}
    sizes |= dict.fromkeys((R.HAT, R.FREE), len(system.dynamics.const))
    sizes |= dict.fromkeys((R.BASE, R.POINT, R.RATE), n)
    sizes |= dict.fromkeys((R.BY_Q, R.BY_V, R.Z, R.T, R.S), nv * nv if called else 0)
    return [sizes[place] for place in range(R.MEMORY_SIZE)]


def _value(event: Event, t: float, q: Array, v: Array) -> float:
    """The value of an event function, which must be one finite number."""
    value = np.asarray(event.function(t, q, v))  # type: ignore[operator]
    if value.dtype.kind not in "iufb" or value.size != 1 or not np.isfinite(value).all():
        raise ArgumentValueError(
            f"the function of event {event.name!r} must return one finite number; at t = {t:.6g} s it returned "
            f"{shown(value)}."
        )
    return float(value.reshape(()))


def paced(run: Run, method: Method, until: float, show) -> int:
    """Go on to a time in stretches, showing progress between them."""
    steps = FIRST
    while True:
        start = time.perf_counter()
        status = run.go(method, until, steps)
        taken = time.perf_counter() - start
        show(run)
        if status != R.PAUSED:
            return status
        steps = int(np.clip(steps * STRETCH / max(taken, 1e-6), 20, 10_000_000))


def automatic(run: Run, until: float, show) -> int:
    """Explicit steps, and implicit ones wherever those turn out cheaper, tried in turn as the run goes on.

    Every stretch is part of the result, so trying costs nothing but the difference.  Evaluations are counted,
    not seconds: a run repeated takes the same steps.
    """
    method, other = methods()["dop853"], methods()["sdirk4"]
    kept, steps = 0, FIRST
    while True:
        status, cost = _stretch(run, method, until, steps, show)
        if status != R.PAUSED:
            return status
        if run.clock[R.EVALUATIONS] * run.cost_of(method) < PATIENCE:
            steps = min(2 * steps, MOST)
            continue
        step = run.clock[R.STEP]
        try:
            status, other_cost = _stretch(run, other, until, TRIAL, show)
        except SimulationError:  # it got stuck, which the better one did not
            run.clock[[R.STEP, R.FRESH]] = step, 1.0
            status, other_cost = R.PAUSED, np.inf
        if status != R.PAUSED:
            return status
        if other_cost < cost:
            method, other, kept, steps = other, method, 0, FIRST
        else:
            # the better one goes on, the other is tried again ever more rarely
            kept += 1
            steps = min(FIRST * 2**kept, MOST)


def _stretch(run: Run, method: Method, until: float, steps: int, show) -> tuple[int, float]:
    """Go on for some steps, showing progress between: why it stopped, and the work per simulated second."""
    t, evaluations, left, chunk = run.t, run.clock[R.EVALUATIONS], steps, min(steps, TRIAL)
    while True:
        start = time.perf_counter()
        status = run.go(method, until, min(chunk, left))
        taken = time.perf_counter() - start
        left -= chunk
        show(run)
        if status != R.PAUSED or left <= 0:
            work = run.cost_of(method) * (run.clock[R.EVALUATIONS] - evaluations)
            return status, work / max(run.t - t, 1e-300)
        chunk = int(np.clip(chunk * STRETCH / max(taken, 1e-6), 20, MOST))
