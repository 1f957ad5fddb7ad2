"""The compiled code of a run, and the memory that it works on; see `integrators.context`."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from limber import integrators, native
from limber.assembly.extent import extent
from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.charts import sought
from limber.dynamics.evaluate import constants_at
from limber.dynamics.rows import relation_units
from limber.dynamics.sweep import fastest_sweep
from limber.integrators import context as R
from limber.integrators.method_record import Method
from limber.kernels import layout as L
from limber.simulation.forces import Forces
from limber.simulation.memory import closure_sizes, implicit_sizes, side_by_side
from limber.simulation.records import motion_records, signal_records

#: int project(const long long *context, const double *metric, double *y)
_PROJECTION = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 3)
#: void rates(const long long *context, double t, const double *y, double *dy)
_RATES = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p)


@dataclass
class Settings:
    """The integration settings of a run.

    methods : one method, or an explicit and an implicit one, of which the run uses the cheaper (`stepping`).
    step, largest : the first step, or None, and the longest one.
    engine : which code evaluates the dynamics, "general" or "generated".
    """

    methods: tuple[Method, ...]
    rtol: float
    atol: float
    step: float | None
    largest: float
    engine: str


@dataclass
class Outputs:
    """Where results are written, row by row: times from the start, [q; v; energy supplied], forces."""

    t: Array
    y: Array
    forces: Array


class Engine:
    """The compiled code with its memory.  Its times count from the start of the run, `origin`.

    y : the state reached, [q; v], and the energy supplied.
    clock : the progress of the run; `integrators.context` has the entries.
    shared : data that the parts of the compiled code exchange.
    rate : the rate of y that was last evaluated, at the start of the current step.
    force_row : the torque, the wrenches and the forces of the environment that were last evaluated, in one array.
    forces : the torque and the wrenches, one by one.
    sides : the sides of event functions; see `Crossings`.
    first_step : the length of the first step, s.
    """

    def __init__(
        self, system: System, forces: Forces, settings: Settings, y: Array, origin: float, length: float, events: int
    ):  # fmt: skip
        self._settings, self._applied = settings, forces
        session = forces.torque.session
        self._stateful = any(s.kind == R.CALLED for s in forces.signals)
        self._stateful |= session is not None and session.stateful
        default = max(1e-3 * min(1.0, length), 1e-9 * length)
        self.first_step = default if settings.step is None else settings.step
        self._make_memory(system, y, events)
        self._make_records(system, origin, events)
        self._set_clock(origin, length)
        self.set_model(system)
        self._advance = integrators.load("simulate")

    def _make_memory(self, system: System, y: Array, events: int) -> None:
        """Make the arrays of the compiled code, except those of the model."""
        forces = self._applied
        n, nv = len(y) + R.FLOWS, system.nv
        rates = max(m.rates for m in self._settings.methods)
        moving = len(forces.driven) > 0
        motions = sum(joint.coordinates + 2 * joint.speeds for joint in forces.driven)
        arrays, addresses = side_by_side(
            n, R.CLOCK, R.SHARED_SIZE, rates * n, 2 * n + rates + R.STEP_SIZE + 5 * events,
            forces.width(nv), nv, 3 * events, nv * moving, n * moving, motions,
        )  # fmt: skip
        (
            self.y, self.clock, self.shared, self._rates, self._scratch, self.force_row, _applied, self.sides, _parts,
            _spare, _motions
        ) = arrays  # fmt: skip
        (
            _, _, self._shared_at, _, _, self._forces_at, self._applied_at, _, self._parts_at, self._spare_at,
            self._motions_at
        ) = addresses.tolist()  # fmt: skip
        self.y[: len(y)] = y
        self.rate = self._rates[: len(y)]
        wrenches = self.force_row[nv : nv + 6 * len(forces.wrenches)]
        self.forces = [self.force_row[:nv], *wrenches.reshape(-1, 6)]
        for signal, value in zip(forces.signals, self.forces):
            value[:] = signal.value
        forces.failure.flag = self.shared[R.FAULT : R.FAULT + 1]

    def _make_records(self, system: System, origin: float, events: int) -> None:
        """Collect the addresses from which the compiled code starts, except those of the model."""
        forces, tau = self._applied, self._forces_at
        wrenches = len(forces.wrenches)
        sizes = [value.size for value in self.forces]
        self._signals, self._tables = signal_records(forces.signals, sizes, tau, origin)
        first = len(forces.signals) + 2  # after the signals and the events
        self._motions = motion_records(forces.driven, first, self._motions_at)
        field = forces.field
        apart = wrenches or forces.driven or field is not None
        context = {
            R.SIGNALS: self._signals.ctypes.data, R.WRENCHES: wrenches,
            R.TAU: tau, R.APPLIED: self._applied_at if apart else tau,
            R.NODES: forces.nodes.ctypes.data if wrenches else 0, R.WRENCH_DATA: tau + self.forces[0].nbytes,
            R.FORCES: integrators.address("engine_forces"), R.EVENTS: events, R.SHARED: self._shared_at,
            R.DAMPING_BAND: _damping_band(system), R.STATEFUL: int(self._stateful),
            R.WRENCH_FORCES: native.address("wrench_sweep") if wrenches else 0,
            R.MOTIONS: len(forces.driven), R.MOTION_RECORDS: self._motions.ctypes.data,
            R.WRENCH_PARTS: self._parts_at, R.SPARE_RATES: self._spare_at,
        }  # fmt: skip
        if field is not None:
            context |= {
                R.FIELD: field.address,
                R.FIELD_RECORD: field.record.ctypes.data,
                R.FIELD_FORCES: tau + sum(value.nbytes for value in self.forces),
            }
        self._context = np.array([context.get(i, 0) for i in range(R.CONTEXT)], dtype=np.int64)

    def _set_clock(self, origin: float, length: float) -> None:
        """Set the clock to the start of the run, and find the times at which steps must end."""
        settings, clock = self._settings, self.clock
        self.shared[R.ORIGIN_TIME] = origin
        clock[R.END_TIME], clock[R.STEP], clock[R.LARGEST] = (
            length,
            self.first_step,
            settings.largest,
        )
        clock[R.RTOL], clock[R.ATOL] = settings.rtol, settings.atol
        clock[R.NEEDS_RATE] = 1.0
        self._stops = np.array([*self._applied.stops(origin, length), np.inf])

    def set_model(self, system: System) -> None:
        """Pass the system with its present closures to the compiled code, and make the memory that depends on them."""
        context = self._context
        self._packed = packed = self._applied.packed(system)
        self._sweep = "closed" if system.closures else "articulated"
        implicit = any(m.implicit for m in self._settings.methods)
        numbers = _arguments(system) if self._settings.engine == "generated" else []
        arrays, addresses = side_by_side(
            len(packed.const) + len(numbers), int(packed.topo[L.WORK_SIZE]), *closure_sizes(system),
            *(implicit_sizes(system, self._stateful) if implicit else ()),
        )  # fmt: skip
        self._const, self._work, _closures, _geometry, geometry_const, *memory = arrays
        self._const[: len(packed.const)] = packed.const
        self._const[len(packed.const) :] = numbers
        self._memory = addresses[len(arrays) - len(memory) :]
        if memory:
            memory[R.SLOPES_STATE][R.AGE] = np.inf  # slopes were never taken
        const_at, work_at, closures_at, geometry_at = addresses[:4].tolist()
        rates, sweep = _rates(system, self._settings.engine, self._applied.names)
        found = {
            R.TOPO: packed.topo.ctypes.data, R.CONST: const_at, R.CONST_SIZE: len(packed.const), R.WORK: work_at,
            R.RATES: rates, R.SWEEP: sweep, R.MEMORY: self._memory.ctypes.data,
            R.IMPLICIT: 0, R.IMPLICIT_SWEEP: 0,  # `prepare` finds them
            R.CLOSURE_ROWS: system.rows, R.SOUGHT: int(bool(system.closures and sought(system))),
        }  # fmt: skip
        if system.closures:  # see `integrators.projection`
            geometry = system.geometry
            self._units = relation_units(system)
            geometry_const_at = geometry.const.ctypes.data
            if sought(
                system
            ):  # the compiled code changes where the search for their coordinates starts
                self._geometry_const = geometry_const
                geometry_const_at = geometry_const.ctypes.data
                self.seek_cut_joints(system)
            found |= {
                R.CLOSURE_SCRATCH: closures_at, R.GEOMETRY_TOPO: geometry.topo.ctypes.data,
                R.GEOMETRY_CONST: geometry_const_at, R.GEOMETRY_WORK: geometry_at,
                R.VIOLATIONS: native.address("violations"), R.ROW_RATES: native.address("row_rates"),
                R.CORRECTION_SWEEP: native.address("correction"),
                R.PROJECTION: integrators.address("engine_projection"), R.ROW_UNITS: self._units.ctypes.data,
            }  # fmt: skip
            if self.shared[R.EXTENT] == 0.0:  # the same for all closures of these bodies
                self.shared[R.EXTENT] = extent(system)
        for place, value in found.items():
            context[place] = value
        self.clock[R.PROJECTED_STEPS : R.BEST_CONDITION + 1] = 0.0

    def seek_cut_joints(self, system: System) -> None:
        """Find the coordinates of cut joints at the present state, independently of earlier ones.

        The compiled code tracks them from there.
        """
        if not (system.closures and sought(system)):
            return
        q = np.array(self.y[: system.nq])
        self._geometry_const[:] = constants_at(system, q, "geometry", "simulate")
        const = constants_at(system, q, "dynamics", "simulate")
        self._const[: len(const)] = const

    def set_event_function(self, address: int) -> None:
        """Pass the function that evaluates all events to the compiled code."""
        self._context[R.EVENT_FUNCTION] = address

    def rates(self, t: float, y: Array) -> Array:
        """dy/dt of [q; v] at a time."""
        rate = np.empty_like(y)
        _RATES(int(self._context[R.RATES]))(
            self._context.ctypes.data, t, y.ctypes.data, rate.ctypes.data
        )
        return rate

    def projected(self, y: Array) -> bool:
        """Move a state [q; v] to the nearest one on the closures; return whether there is one."""
        at = self._context.ctypes.data, self._const.ctypes.data, y.ctypes.data
        found = _PROJECTION(int(self._context[R.PROJECTION]))(*at)
        self.shared[R.GAP] = 0.0
        return found >= 0

    def prepare(self, method: Method) -> None:
        """Load the code that a method needs; it is compiled if this machine has not done so yet."""
        if method.implicit and not self._context[R.IMPLICIT]:
            self._context[R.IMPLICIT_SWEEP] = native.address(f"{self._sweep}_sweep")
            self._context[R.IMPLICIT] = integrators.address("engine_implicit")

    def advance(self, method: Method, until: float, outputs: Outputs, steps: int) -> int:
        """Integrate for at most `steps` steps, or until a time; return why it stopped, see `integrators.context`."""
        self.clock[R.END_TIME] = until
        return self._advance(
            self._context, method.record, self.y, self._rates, self._scratch, self.clock, self.sides,
            self._stops, outputs.t, outputs.y.reshape(-1), outputs.forces.reshape(-1), steps,
        )  # fmt: skip


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
