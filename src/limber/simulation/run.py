"""One simulation in the compiled engine: its arrays, and how it is driven on."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from limber import integrators, native
from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.sweep import fastest_sweep
from limber.errors import SimulationError
from limber.integrators import context as R
from limber.interrupts import keeping_interrupts
from limber.kernels import layout as L
from limber.simulation.crossings import Crossings
from limber.simulation.events import Event
from limber.simulation.methods import Method, methods
from limber.simulation.signals import SIGNATURE, Failures, Signal, callback

#: Steps of the first stretch of an adaptive run; later ones take about STRETCH seconds.
FIRST, STRETCH = 200, 0.1
#: Steps of a trial of the other method, the most steps of a stretch, and the work through which a run stays
#: explicit, in evaluations times speeds (some tenths of a second).
TRIAL, MOST, PATIENCE = 50, 1_000_000, 3_000_000
#: What an evaluation of the implicit method costs over one of the others, by the engine of those (`make bench`),
#: and what a torque in Python costs, as so many more speeds.
IMPLICIT_COST, PYTHON_COST = {"general": 1.3, "generated": 4.0}, 50


#: Steps end this far from a jump of a signal, as a part of the run.
ASIDE = 1e-10
#: Numbers in a cache line.
LINE = 8

#: void rates(const long long *context, double t, const double *y, double *dy)
_RATES = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p)


@dataclass
class Forces:
    """What drives a run: the torque, and wrenches at nodes: (body, node) keys, and as the kernels have them."""

    torque: Signal
    wrenches: list[Signal]
    keys: list[tuple]
    nodes: np.ndarray
    failure: Failures  # the first error of their functions, or of those of events

    @property
    def signals(self) -> list[Signal]:
        """The torque and the wrenches."""
        return [self.torque, *self.wrenches]


@dataclass
class Outputs:
    """Where results are written, row by row: times from the start, [q; v; energy that came in], forces."""

    t: Array
    y: Array
    forces: Array


class Run:
    """The state of a simulation in progress.  Times count from its start, `origin`, but for those it is asked for."""

    def __init__(
        self, system: System, forces: Forces, events: Sequence[Event], outputs: Outputs, y: Array,
        origin: float, length: float, rtol: float, atol: float, step: float | None, largest: float,
        engine: str,
    ):  # fmt: skip
        self.system = system
        self.outputs = outputs
        self.forces = forces
        self.failure = forces.failure
        self.origin = origin
        self._implicit_cost = IMPLICIT_COST[engine]
        signals = forces.signals
        stateful = any(s.kind == R.CALLED for s in signals)
        n, nv = len(y) + R.FLOWS, system.nv
        packed = system.dynamics
        most = max(m.stages for m in methods().values())
        (
            self.y, self.clock, self._shared, self._const, self._work, self._k, self._scratch, self._forces,
            applied, self._sides, *memory
        ) = _together(
            n, R.CLOCK, R.SHARED_SIZE, len(packed.const), int(packed.topo[L.WORK_SIZE]), (most + 4) * n,
            2 * n + most + 9 + 5 * len(events), nv + 6 * len(forces.wrenches), nv, 3 * len(events),
            *_implicit_sizes(system, stateful),
        )  # fmt: skip
        self.y[: len(y)], self._const[:] = y, packed.const
        self._shared[R.ORIGIN_TIME] = origin
        self.failure.flag = self._shared[R.FAULT : R.FAULT + 1]
        memory[R.STATE][R.AGE] = np.inf  # slopes were never taken
        self._memory = np.array([a.ctypes.data for a in memory], dtype=np.int64)
        clock = self.clock
        first = max(1e-3 * min(1.0, length), 1e-9 * length) if step is None else step
        clock[[R.END_TIME, R.STEP, R.LARGEST, R.RTOL, R.ATOL]] = length, first, largest, rtol, atol
        clock[R.SAMPLE] = forces.torque.sample
        clock[R.FRESH] = 1.0
        self._first = first
        self._stops = np.append(_stops(signals, origin, length), np.inf)
        rates, sweep = _rates(system, engine)
        self._call_rates = _RATES(rates)
        tau, wrenches = self._forces[:nv], self._forces[nv:]
        self._signals = self._records(signals)
        context = {
            R.TOPO: packed.topo.ctypes.data, R.CONST: self._const.ctypes.data, R.CONST_SIZE: len(packed.const),
            R.WORK: self._work.ctypes.data, R.SIGNALS: self._signals.ctypes.data, R.WRENCHES: len(forces.wrenches),
            R.TAU: tau.ctypes.data, R.APPLIED: (applied if forces.wrenches else tau).ctypes.data,
            R.NODES: forces.nodes.ctypes.data, R.WRENCH_DATA: wrenches.ctypes.data,
            R.RATES: rates, R.FORCES: integrators.address("engine_forces"), R.SWEEP: sweep,
            R.MEMORY: self._memory.ctypes.data, R.EVENTS: len(events), R.SHARED: self._shared.ctypes.data,
            R.DAMPED: _damped(system), R.STATEFUL: stateful,
        }  # fmt: skip
        if forces.wrenches:
            context[R.WRENCH_FORCES] = native.address("wrench_sweep")
        self._context = np.zeros(R.CONTEXT, dtype=np.int64)
        self._context[list(context)] = list(context.values())
        self._engine = integrators.load("simulate")
        self.crossings = Crossings(system, events, self._sides, self.rates, first)
        if events:
            values = callback(system, self.crossings.function, self.failure, len(events))
            self._event = SIGNATURE(values)
            pointer = ctypes.cast(self._event, ctypes.c_void_p)
            self._context[R.EVENT_FUNCTION] = pointer.value or 0

    def _records(self, signals: list[Signal]) -> np.ndarray:
        """The signals as `integrators.rates` reads them; their values lie behind each other."""
        records = np.zeros((len(signals), R.SIGNAL), dtype=np.int64)
        nv, wrenches = self.system.nv, self._forces[self.system.nv :].reshape(-1, 6)
        self._values = [self._forces[:nv], *wrenches]
        self._tables = [np.array(s.table) for s in signals]
        for i, (signal, value, table) in enumerate(zip(signals, self._values, self._tables)):
            value[:] = signal.value
            table[:, :1] -= self.origin
            records[i, [R.KIND, R.FUNCTION, R.NUMBER]] = signal.kind, signal.address, i + 1
            records[i, [R.VALUE, R.WIDTH]] = value.ctypes.data, value.size
            records[i, [R.TABLE_DATA, R.ROWS]] = table.ctypes.data, len(table)
        return records

    @property
    def force_row(self) -> Array:
        """The torque and the wrenches last evaluated."""
        return self._forces

    @property
    def t(self) -> float:
        """The time reached."""
        return float(self.origin + self.clock[R.TIME])

    @property
    def state(self) -> Array:
        """The state reached, [q; v]."""
        return self.y[: -R.FLOWS]

    def rates(self, t: float, y: Array) -> Array:
        """dy/dt of [q; v] at a time."""
        y = np.ascontiguousarray(y[: len(self.state)])
        rate = np.empty_like(y)
        self._call_rates(
            self._context.ctypes.data, t - self.origin, y.ctypes.data, rate.ctypes.data
        )
        self._raise_failure()
        return rate

    def cost_of(self, method: Method) -> float:
        """What an evaluation of a method costs."""
        dynamics = self._implicit_cost if method.name == "sdirk4" else 1.0
        return dynamics * self.system.nv + PYTHON_COST * any(s.python for s in self.forces.signals)

    def prepare(self, method: Method) -> None:
        """Compile what a method needs, if this machine has not yet."""
        if method.name == "sdirk4" and not self._context[R.IMPLICIT]:
            self._context[R.IMPLICIT_SWEEP] = native.address("articulated_sweep")
            self._context[R.IMPLICIT] = integrators.address("engine_implicit")

    def go(self, method: Method, until: float, steps: int) -> int:
        """Go on for at most `steps` steps or until a time; returns why it stopped."""
        self.prepare(method)
        self.clock[R.END_TIME] = until - self.origin
        with keeping_interrupts(self.failure):
            status = self._engine(
                self._context, method.number, self.y, self._k, self._scratch, self.clock, method.tableau,
                self._sides, self._stops, self.outputs.t, self.outputs.y.reshape(-1),
                self.outputs.forces.reshape(-1), steps,
            )  # fmt: skip
        self._raise_failure()
        if status == R.STUCK:
            raise SimulationError(self._why_stuck(method))
        return int(status)

    def _raise_failure(self) -> None:
        """Raise what a function raised, or that it was not finite."""
        if self.failure:
            raise self.failure[0]
        number = int(self._shared[R.FAULT])
        if number:  # of a compiled function: others raise
            t, element = self._shared[[R.FAULT_TIME, R.FAULT_PART]]
            signal = self.forces.signals[number - 1]
            raise signal.spoilt(self.system, float(self.origin + t), int(element))

    def first_row(self) -> None:
        """The forces at the start; and if it is asked for, the row of the output there."""
        s, y = self.system, self.state
        for signal, value in zip(self.forces.signals, self._values):
            with keeping_interrupts(self.failure):
                value[:] = signal.at(self.origin, y[: s.nq], y[s.nq :])
            self._raise_failure()
            signal.refuse_spoilt(s, self.origin, value)
        if self.forces.torque.kind == R.SAMPLED:  # it was called: its torque holds from here
            self.clock[R.SAMPLES] = 1.0
            self.clock[R.NEXT_SAMPLE] = self.clock[R.SAMPLE]
        if self.outputs.t.size and self.outputs.t[0] == 0.0:
            self.outputs.y[0] = self.y
            self.outputs.forces[0] = self._forces
            self.clock[R.OUTPUT] = 1

    def restart(self) -> None:
        """Go on after an event: with a rate, a step and a step control that know nothing of the motion before."""
        self.clock[[R.FRESH, R.LAST_ERROR]] = 1.0, 0.0
        self.clock[R.STEP] = min(self.clock[R.STEP], self._first)

    def _why_stuck(self, method: Method) -> str:
        s, y = self.system, self.state
        step = self.clock[R.STEP]
        rates = self._k[: len(y)]
        bad = np.flatnonzero(~np.isfinite(rates))
        size = np.abs(np.where(np.isfinite(y), y, np.inf))
        i = int(bad[0]) if bad.size else int(np.argmax(size))
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
            f"the simulation of {s.name!r} got stuck at t = {self.t:.6g} s: {what}; the largest part of the state is "
            f"{part}, which is {y[i]:.3g}. {advice}"
        )


def _stops(signals: list[Signal], origin: float, length: float) -> Array:
    """Where steps end: at corners of signals, and just before and after jumps.

    All but the shortest steps are then on one side of a jump, whichever the value at the jump itself belongs to.
    """
    if not any(s.corners.size for s in signals):
        return np.empty(0)
    corners = np.concatenate([s.corners - origin for s in signals])
    jumps = np.concatenate([s.jumps - origin for s in signals])
    stops = np.unique([*corners, *(jumps - ASIDE * length), *(jumps + ASIDE * length)])
    return stops[(stops > 0.0) & (stops < length)]


_with_dampers: WeakKeyDictionary[System, bool] = WeakKeyDictionary()


def _damped(system: System) -> bool:
    """Whether a body has modal dampers, or a joint physics."""
    found = _with_dampers.get(system)
    if found is None:
        found = any(np.any(getattr(body, "damping", 0.0)) for body in system.bodies.values())
        found = found or any(joint.physics.acts for joint in system.joints.values())
        _with_dampers[system] = found
    return found


def _rates(system: System, engine: str) -> tuple[int, int]:
    """The addresses of the rates of the state, and of the forward dynamics that they call."""
    if engine == "generated":
        from limber.codegen.rates import address  # noqa: PLC0415

        return address(system), 0
    return integrators.address("engine_rates"), native.address(f"{fastest_sweep(system)}_sweep")


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


def _implicit_sizes(system: System, stateful: bool) -> list[int]:
    """The sizes of the memory of `integrators.implicit`; matrices of slopes only for forces that may have any."""
    n, nv = system.nq + system.nv + R.FLOWS, system.nv
    sizes = dict.fromkeys(range(R.MEMORY_SIZE), nv) | {R.STATE: 2}
    sizes |= dict.fromkeys((R.HAT, R.FREE), len(system.dynamics.const))
    sizes |= dict.fromkeys((R.BASE, R.POINT, R.RATE), n)
    sizes |= dict.fromkeys((R.BY_Q, R.BY_V, R.Z, R.T, R.S), nv * nv if stateful else 0)
    return [sizes[place] for place in range(R.MEMORY_SIZE)]


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
