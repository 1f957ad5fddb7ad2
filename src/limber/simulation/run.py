"""One simulation in the compiled engine: its arrays, and how Python makes it go on."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from limber import integrators, native
from limber.assembly.extent import extent
from limber.assembly.pack import Packed
from limber.assembly.system import System
from limber.checks import Array, listed
from limber.dynamics.closing import nearly_met, searched
from limber.dynamics.evaluate import evaluated
from limber.dynamics.following import driven_speeds
from limber.dynamics.rows import worst
from limber.dynamics.sweep import fastest_sweep
from limber.errors import SimulationError
from limber.integrators import context as R
from limber.integrators.method_record import Method
from limber.interrupts import keep_interrupts
from limber.kernels import layout as L
from limber.simulation.crossings import Crossings
from limber.simulation.events import Event
from limber.simulation.memory import closure_sizes, implicit_sizes, side_by_side
from limber.simulation.motions import DrivenJoint
from limber.simulation.samples import Samples
from limber.simulation.signals import SIGNATURE, Failures, Signal, callback
from limber.simulation.topology import TopologyChange

#: What an evaluation costs in an implicit method compared with an explicit one, by the engine of the latter (`make
#: bench`), and what a torque in Python costs, as the number of speeds whose dynamics take as long.
IMPLICIT_COST, PYTHON_COST = {"general": 1.3, "generated": 4.0}, 50
#: Steps end this far from a jump of a signal, as a part of the length of the run.
DISTANCE_FROM_JUMPS = 1e-10
#: Where a run with driven joints is stuck, the closures are looked at so far ahead, as parts of the time that is left.
AHEAD = (1e-6, 1e-4, 1e-2)

#: int project(const long long *context, const double *metric, double *y)
_PROJECTION = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 3)
#: void rates(const long long *context, double t, const double *y, double *dy)
_RATES = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p)


@dataclass
class Forces:
    """The torque and the wrenches of a run.

    keys, nodes : where each wrench acts, as (body, node) and as the kernels have it.
    failure : the first error of the functions behind them, or behind events.
    driven : the joints of prescribed motion, whose forces follow from it.
    """

    torque: Signal
    wrenches: list[Signal]
    keys: list[tuple]
    nodes: np.ndarray
    failure: Failures
    driven: list[DrivenJoint]

    @property
    def signals(self) -> list[Signal]:
        """The torque and the wrenches."""
        return [self.torque, *self.wrenches]

    @property
    def samples(self) -> dict[str, Samples]:
        """What a sampled controller measured and commanded so far."""
        session = self.torque.session
        return {} if session is None else dict(session.signals())

    @property
    def names(self) -> tuple[str, ...]:
        """The bodies whose joints are driven."""
        return tuple(joint.body for joint in self.driven)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the bodies whose joints are driven."""
        return tuple(joint.row for joint in self.driven)

    def packed(self, system: System) -> Packed:
        """The system with its driven joints, as the kernels have it."""
        return system.dynamics.with_driven(self.numbers)


@dataclass
class Outputs:
    """Where results are written, row by row: times from the start, [q; v; energy that came in], forces."""

    t: Array
    y: Array
    forces: Array


@dataclass
class Settings:
    """How a run integrates.

    methods : one method, or an explicit and an implicit one of which the run takes the cheaper (`stepping`).
    step, largest : the first step, or None, and the longest one.
    engine : which code evaluates the dynamics, "general" or "generated".
    """

    methods: tuple[Method, ...]
    rtol: float
    atol: float
    step: float | None
    largest: float
    engine: str


class Run:
    """The state of a simulation in progress, of a system as it is closed now.

    Times inside count from its start, `origin`; arguments and results of its functions are times of the simulation.
    """

    def __init__(
        self, system: System, forces: Forces, events: Sequence[Event], outputs: Outputs, y: Array,
        origin: float, length: float, settings: Settings,
    ):  # fmt: skip
        self.system, self.settings = system, settings
        #: the system at the start, the changes of topology since, and how many rows were written before each
        self.first_system = system
        self.changes: list[TopologyChange] = []
        self.change_rows: list[int] = []
        #: closures that may be attached by name
        self.known = dict(system.closures)
        self.outputs = outputs
        self.forces = forces
        self.failure = forces.failure
        self.origin, self._end = origin, origin + length
        self._prepare_memory(y, len(events))
        self._prepare_clock(length)
        self._prepare_context(len(events))
        self._engine = integrators.load("simulate")
        self.crossings = Crossings(system, events, self._sides, self.rates, self._first_step)
        self._prepare_model()
        if events:
            values = callback(system, self.crossings.function, self.failure, len(events))
            self._event = SIGNATURE(values)
            pointer = ctypes.cast(self._event, ctypes.c_void_p)
            self._context[R.EVENT_FUNCTION] = pointer.value or 0
        if forces.torque.session is not None:
            forces.torque.session.bind(self)

    def _prepare_memory(self, y: Array, events: int) -> None:
        """Make the arrays that the compiled code works on, but for those of the model."""
        methods, forces = self.settings.methods, self.forces
        n, nv = len(y) + R.FLOWS, self.system.nv
        rates = max(m.rates for m in methods)
        session = forces.torque.session
        self._stateful = any(s.kind == R.CALLED for s in forces.signals)
        self._stateful |= session is not None and session.stateful
        moving = len(forces.driven) > 0
        values = [joint.coordinates + 2 * joint.speeds for joint in forces.driven]
        arrays, addresses = side_by_side(
            n, R.CLOCK, R.SHARED_SIZE, rates * n, 2 * n + rates + R.STEP_SIZE + 5 * events,
            nv + 6 * len(forces.wrenches), nv, 3 * events, nv * moving, n * moving, sum(values),
        )  # fmt: skip
        (
            self.y, self.clock, self._shared, self._k, self._scratch, self._forces, _applied, self._sides, _parts,
            _spare, _motions
        ) = arrays  # fmt: skip
        (
            _, _, self._shared_at, _, _, self._forces_at, self._applied_at, _, self._parts_at, self._spare_at,
            self._motions_at
        ) = addresses.tolist()  # fmt: skip
        self.y[: len(y)] = y
        self._shared[R.ORIGIN_TIME] = self.origin
        self.failure.flag = self._shared[R.FAULT : R.FAULT + 1]

    def _prepare_model(self) -> None:
        """Give the compiled code the system as it is now closed, and the memory whose size depends on the closures."""
        system, context = self.system, self._context
        self._packed = packed = self.forces.packed(system)
        implicit = any(m.implicit for m in self.settings.methods)
        numbers = _arguments(system) if self.settings.engine == "generated" else []
        arrays, addresses = side_by_side(
            len(packed.const) + len(numbers), int(packed.topo[L.WORK_SIZE]), *closure_sizes(system),
            *(implicit_sizes(system, self._stateful) if implicit else ()),
        )  # fmt: skip
        self._const, self._work, _closures, _geometry, *memory = arrays
        self._const[:] = np.concatenate([packed.const, numbers])
        self._memory = addresses[len(arrays) - len(memory) :]
        if memory:
            memory[R.SLOPES_STATE][R.AGE] = np.inf  # slopes were never taken
        const_at, work_at, closures_at, geometry_at = addresses[:4].tolist()
        rates, sweep = _rates(system, self.settings.engine, self.forces.names)
        found = {
            R.TOPO: packed.topo.ctypes.data, R.CONST: const_at, R.CONST_SIZE: len(packed.const), R.WORK: work_at,
            R.RATES: rates, R.SWEEP: sweep, R.MEMORY: self._memory.ctypes.data,
            R.IMPLICIT: 0, R.IMPLICIT_SWEEP: 0,  # `_prepare` finds them
            R.CLOSURE_ROWS: system.rows,
        }  # fmt: skip
        if system.closures:  # see `integrators.projection`
            geometry = system.geometry
            found |= {
                R.CLOSURE_SCRATCH: closures_at, R.GEOMETRY_TOPO: geometry.topo.ctypes.data,
                R.GEOMETRY_CONST: geometry.const.ctypes.data, R.GEOMETRY_WORK: geometry_at,
                R.VIOLATIONS: native.address("violations"), R.ROW_RATES: native.address("row_rates"),
                R.CORRECTION_SWEEP: native.address("correction"),
                R.PROJECTION: integrators.address("engine_projection"),
            }  # fmt: skip
            if self._shared[R.EXTENT] == 0.0:  # the same for all closures of these bodies
                self._shared[R.EXTENT] = extent(system)
        for place, value in found.items():
            context[place] = value
        self.crossings.projection = self.projected if system.closures else None

    def reclose(self, system: System) -> None:
        """Go on with another system of the same tree, from the state reached; everything but the model stays."""
        self.system = system
        self._prepare_model()
        self.clock[R.PROJECTED_STEPS : R.BEST_CONDITION + 1] = 0.0

    def _prepare_clock(self, length: float) -> None:
        """Set the clock to the start of the run, and find the times at which steps must end."""
        settings, clock = self.settings, self.clock
        first = settings.step
        if first is None:
            first = max(1e-3 * min(1.0, length), 1e-9 * length)
        clock[R.END_TIME], clock[R.STEP], clock[R.LARGEST] = length, first, settings.largest
        clock[R.RTOL], clock[R.ATOL] = settings.rtol, settings.atol
        clock[R.NEEDS_RATE] = 1.0
        self._first_step = first
        self._stops = np.array([*_stops(self.forces, self.origin, length), np.inf])

    def _prepare_context(self, events: int) -> None:
        """Collect the addresses that the compiled code starts from, but for those of the model."""
        system, wrenches = self.system, len(self.forces.wrenches)
        tau = self._forces_at
        self._signals = self._signal_records()
        self._motions = self._motion_records()
        apart = wrenches or self.forces.driven
        context = {
            R.SIGNALS: self._signals.ctypes.data, R.WRENCHES: wrenches,
            R.TAU: tau, R.APPLIED: self._applied_at if apart else tau,
            R.NODES: self.forces.nodes.ctypes.data if wrenches else 0, R.WRENCH_DATA: tau + self._values[0].nbytes,
            R.FORCES: integrators.address("engine_forces"), R.EVENTS: events, R.SHARED: self._shared_at,
            R.DAMPING_BAND: _damping_band(system), R.STATEFUL: int(self._stateful),
            R.WRENCH_FORCES: native.address("wrench_sweep") if wrenches else 0,
            R.MOTIONS: len(self.forces.driven), R.MOTION_RECORDS: self._motions.ctypes.data,
            R.WRENCH_PARTS: self._parts_at, R.SPARE_RATES: self._spare_at,
        }  # fmt: skip
        self._context = np.array([context.get(i, 0) for i in range(R.CONTEXT)], dtype=np.int64)

    def _signal_records(self) -> np.ndarray:
        """The signals as `integrators.rates` reads them; their values lie behind each other."""
        nv, records = self.system.nv, []
        self._values = [self._forces[:nv], *self._forces[nv:].reshape(-1, 6)]
        self._tables = []
        value_at = self._forces_at
        for number, (signal, value) in enumerate(zip(self.forces.signals, self._values), 1):
            value[:] = signal.value
            table_at = 0
            if signal.kind == R.TABLE:
                table = np.array(signal.table)
                table[:, 0] -= self.origin
                self._tables.append(table)
                table_at = table.ctypes.data
            record = {
                R.KIND: signal.kind, R.FUNCTION: signal.address, R.NUMBER: number,
                R.VALUE: value_at, R.WIDTH: value.size, R.TABLE_DATA: table_at, R.ROWS: len(signal.table),
                R.PLAN: 0 if signal.session is None else signal.session.plan.ctypes.data,
            }  # fmt: skip
            records.append([record[place] for place in range(R.SIGNAL)])
            value_at += value.nbytes
        return np.array(records, dtype=np.int64)

    def _motion_records(self) -> np.ndarray:
        """The driven joints as `integrators.motions` reads them; their values lie behind each other."""
        records, value_at = [], self._motions_at
        first = len(self.forces.signals) + 2  # after the signals and the events
        for number, joint in enumerate(self.forces.driven, first):
            path, size = joint.path, joint.coordinates + 2 * joint.speeds
            record = {
                R.M_FUNCTION: joint.address, R.M_VALUE: value_at, R.M_NUMBER: number,
                R.M_BODY: joint.row * L.COLUMNS, R.M_Q: joint.q.start, R.M_COORDINATES: joint.coordinates,
                R.M_V: joint.v.start, R.M_SPEEDS: joint.speeds,
            }  # fmt: skip
            if path is not None:
                record[R.M_KNOTS], record[R.M_KNOTS_COUNT] = path.knots.ctypes.data, len(path.knots)
                record[R.M_PIECES] = path.pieces.ctypes.data
            records.append([record.get(place, 0) for place in range(R.MOTION)])
            value_at += size * self._values[0].itemsize
        return np.array(records, dtype=np.int64)

    @property
    def force_row(self) -> Array:
        """The torque and the wrenches last evaluated."""
        return self._forces

    @property
    def t(self) -> float:
        """The time reached."""
        return float(self.origin + self.clock[R.TIME])

    def time_error(self, found: bool) -> float:
        """The error of the time of an event that was found within a step, or of one at a given time, s."""
        clock = self.clock
        length = clock[R.EVENT_STEP] if found else clock[R.TIME]
        return 4.0 * float(R.RESOLUTION * length + np.spacing(clock[R.TIME]))

    @property
    def state(self) -> Array:
        """The state reached, [q; v]."""
        return self.y[: -R.FLOWS]

    def rates(self, t: float, y: Array) -> Array:
        """dy/dt of [q; v] at a time."""
        y = np.ascontiguousarray(y[: len(self.state)])
        rate = np.empty_like(y)
        _RATES(int(self._context[R.RATES]))(
            self._context.ctypes.data, t - self.origin, y.ctypes.data, rate.ctypes.data
        )
        self._raise_failure()
        return rate

    def projected(self, y: Array) -> Array:
        """The state on the closures that is next to the state y = [q; v]; y itself if there is none."""
        moved = np.ascontiguousarray(y[: len(self.state)]).copy()
        at = self._context.ctypes.data, self._const.ctypes.data, moved.ctypes.data
        found = _PROJECTION(int(self._context[R.PROJECTION]))(*at)
        self._shared[R.GAP] = 0.0
        return y if found < 0 else moved

    def torque(self) -> Array:
        """The generalized forces of torques that were last evaluated, those of driven joints too."""
        return self._values[0]

    def wrenches(self) -> dict[tuple, Array]:
        """The external wrenches that were last evaluated."""
        return dict(zip(self.forces.keys, self._values[1:]))

    def cost_of(self, method: Method) -> float:
        """What an evaluation costs in a method; the unit is the dynamics of one speed in an explicit method."""
        dynamics = IMPLICIT_COST[self.settings.engine] if method.implicit else 1.0
        called = any(s.python for s in self.forces.signals)
        called = called or any(joint.python for joint in self.forces.driven)
        return dynamics * self.system.nv + PYTHON_COST * called

    def _prepare(self, method: Method) -> None:
        """Load the code that a method needs; it is compiled if this machine has not done so yet."""
        if method.implicit and not self._context[R.IMPLICIT]:
            sweep = "closed" if self.system.closures else "articulated"
            self._context[R.IMPLICIT_SWEEP] = native.address(f"{sweep}_sweep")
            self._context[R.IMPLICIT] = integrators.address("engine_implicit")

    def advance(self, method: Method, until: float, steps: int) -> int:
        """Integrate for at most `steps` steps, or until a time; returns why it stopped, see `integrators.context`."""
        self._prepare(method)
        self.clock[R.END_TIME] = until - self.origin
        with keep_interrupts(self.failure):
            status = self._engine(
                self._context, method.record, self.y, self._k, self._scratch, self.clock, self._sides,
                self._stops, self.outputs.t, self.outputs.y.reshape(-1),
                self.outputs.forces.reshape(-1), steps,
            )  # fmt: skip
        self._raise_failure()
        if status == R.STUCK:
            raise SimulationError(self._why_stuck(method))
        return int(status)

    def _raise_failure(self) -> None:
        """Raise the error of a torque or event function, or an error if its value was not finite."""
        if self.failure:
            raise self.failure[0]
        number = int(self._shared[R.FAULT])
        if number:  # it is a compiled function; those in Python raise errors of their own
            t, element = self._shared[[R.FAULT_TIME, R.FAULT_PART]]
            named = [*self.forces.signals, None, *self.forces.driven]  # the events are the None
            source = named[number - 1]
            assert source is not None
            raise source.not_finite(self.system, float(self.origin + t), int(element))

    def start(self) -> None:
        """Evaluate the forces at the start and, if an output is due there, write its row."""
        s, y = self.system, self.state
        for signal, value in zip(self.forces.signals, self._values):
            if signal.kind != R.CONSTANT:
                with keep_interrupts(self.failure):
                    value[:] = signal.at(self.origin, y[: s.nq], y[s.nq :])
                self._raise_failure()
                signal.refuse_not_finite(s, self.origin, value)
        session = self.forces.torque.session
        if session is not None:  # the call above was its first sample
            self.clock[R.NEXT_SAMPLE] = session.plan[R.P_NEXT]
        if self.forces.driven:
            self.rates(self.origin, y)  # this finds the forces of the driven joints
        if self.outputs.t.size and self.outputs.t[0] == 0.0:
            self.outputs.y[0] = self.y
            self.outputs.forces[0] = self._forces
            self.clock[R.OUTPUT] = 1

    def restart(self) -> None:
        """Begin anew after an event: the rate, the step and the step control forget the motion before it."""
        self.clock[R.NEEDS_RATE], self.clock[R.LAST_ERROR] = 1.0, 0.0
        self.clock[R.STEP] = min(self.clock[R.STEP], self._first_step)

    def _why_stuck(self, method: Method) -> str:
        s, y = self.system, self.state
        gap, row = self._shared[[R.GAP, R.GAP_ROW]]
        if s.closures and self.forces.driven:
            behind = self._why_left_behind()
            if behind:
                return behind
        if gap > 0.0:
            return self._why_open(method, float(gap), int(row))
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
            if method.implicit and self._next_to_singular():
                advice = (
                    "The closures are next to a singular position, where rounding errors grow: implicit methods do not pass it "
                    'at this tolerance. Take method="dop853", or a larger rtol; the result so far is in error.result.'
                )
        else:
            what = f"the state is no longer finite with the fixed step of {step:.2g} s"
            advice = 'Take a smaller step, or an adaptive method such as method="dop853".'
        return (
            f"the simulation of {s.name!r} got stuck at t = {self.t:.6g} s: {what}; the largest part of the state is "
            f"{part}, which is {y[i]:.3g}. {advice}"
        )

    def _next_to_singular(self) -> bool:
        """Whether the rows of closures are nearly dependent where the run is, and were not before."""
        from limber.integrators.projection import NEAR  # noqa: PLC0415 (Numba)

        return bool(self.clock[R.CONDITION] > NEAR * self.clock[R.BEST_CONDITION] > 0.0)

    def _why_left_behind(self) -> str:
        """Why the run is stuck if the closures cannot follow the motions of driven joints; empty if they can."""
        s, y = self.system, self.state
        moving = ~driven_speeds(s, self.forces.numbers)
        for part in AHEAD:
            t = self.t + part * (self._end - self.t)
            q, v = y[: s.nq].copy(), y[s.nq :].copy()
            for joint in self.forces.driven:
                joint.put(t, q, v)
            q = searched(s, q, moving)
            off = evaluated(s, "violations", (q,))
            if not nearly_met(s, y[: s.nq], off):
                return (
                    f"the closures of {s.name!r} cannot follow the motion of {listed(self.forces.names)} after t = {self.t:.6g} s: at "
                    f"t = {t:.6g} s {worst(s, off)} at least. Change the motion, or drive fewer "
                    "joints; the result so far is in error.result."
                )
        return ""

    def _why_open(self, method: Method, gap: float, row: int) -> str:
        s = self.system
        name = next(n for n, rows in s.closure_rows.items() if rows.start <= row < rows.stop)
        if method.adaptive:
            what = "where the motion goes on, however short the step"
            advice = (
                "The mechanism is locked there, or its lengths do not fit together; look at the result so far "
                "(error.result)."
            )
        else:
            what = f"after the next fixed step of {self.clock[R.STEP]:.2g} s"
            advice = 'Take a smaller step, or an adaptive method such as method="dop853".'
        return (
            f"the closures of {s.name!r} cannot be met any more after t = {self.t:.6g} s: {name!r} is off by {gap:.3g} (rad or m) "
            f"{what}. {advice}"
        )


def _stops(forces: Forces, origin: float, length: float) -> Sequence[float]:
    """The times at which steps end: at corners of signals and of motions, and just before and after jumps.

    All but the shortest steps then lie on one side of a jump, no matter to which side the value at the jump belongs.
    """
    breaks = [joint.breaks for joint in forces.driven]
    corners = np.concatenate([*(s.corners for s in forces.signals), *breaks]) - origin
    if not corners.size:
        return []
    jumps = np.concatenate([*(s.jumps for s in forces.signals), *breaks]) - origin
    stops = np.unique(
        [*corners, *(jumps - DISTANCE_FROM_JUMPS * length), *(jumps + DISTANCE_FROM_JUMPS * length)]
    )
    return stops[(stops > 0.0) & (stops < length)].tolist()


_damping_bands: WeakKeyDictionary[System, int] = WeakKeyDictionary()


def _damping_band(system: System) -> int:
    """How far from the diagonal the modal damping matrices of a system reach; -1 if nothing is damped."""
    band = _damping_bands.get(system)
    if band is None:
        places = [np.argwhere(body.damping) for body in system.bodies.values()]
        joints = any(joint.physics.acts for joint in system.joints.values())
        band = max((int(abs(i - j)) for at in places for i, j in at), default=0 if joints else -1)
        _damping_bands[system] = band
    return band


def _arguments(system: System) -> list[float]:
    """The numbers that generated code takes as arguments; it finds them behind the constants."""
    from limber.codegen.rates import numbers  # noqa: PLC0415

    return numbers(system)


def _rates(system: System, engine: str, driven: tuple[str, ...]) -> tuple[int, int]:
    """The addresses of the rates of the state, and of the forward dynamics that they call."""
    if engine == "generated":
        from limber.codegen.rates import address  # noqa: PLC0415

        return address(system, driven), 0
    return integrators.address("engine_rates"), native.address(f"{fastest_sweep(system)}_sweep")
