"""A control loop during one run: samples at several rates, delays, and what the integrator needs.

At each instant the order is: sensors are read; readings that are due arrive; the controller computes a command;
commands that are due take effect. Between two sampling instants of any kind the integrator runs without Python.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.control.channels import speed_names
from limber.control.commands import checked_command
from limber.control.controller import Measured
from limber.control.joints import joint_unit
from limber.control.schedule import SAME, Pending, Ticks
from limber.control.sensors.base import Instant, Measurement
from limber.errors import ArgumentValueError
from limber.integrators.context import (
    L_DROP,
    L_FADING,
    L_HELD,
    L_LIMIT,
    L_POWER,
    L_SPEED,
    L_STALL,
    LAW,
    P_LAWS,
    P_NEXT,
    P_START,
    PLAN_HEAD,
)
from limber.simulation.sampled import Plant
from limber.simulation.samples import Log, Samples, samples_of
from limber.simulation.table import joint_speeds

if TYPE_CHECKING:
    from limber.control.loop import Loop

#: Times of the simulation are those of samples if they are off by no more than this many units of their last digit,
#: which is coarse where they count from an epoch.
ROUNDING = 4.0


class LoopSession:
    """A `Loop` during one run; `limber.simulation.sampled` describes the interface that `simulate` uses.

    system : the one being simulated, whose parameters may differ from those of the loop's system; the controller does
        not know them.
    """

    def __init__(self, loop: Loop, t0: float, system: System):
        self._loop, self._system, self._controller = loop, system, loop.controller
        self._readers = loop.readers
        if system is not loop.system:
            self._readers = tuple(sensor.reader(system) for sensor in loop.sensors)
        self._origin = self._run_start = t0
        self._plant: Plant | None = None
        self._measurements = [
            Measurement(sensor, reader, loop.seed)
            for sensor, reader in zip(loop.sensors, self._readers)
        ]
        self._sensor_ticks = [Ticks(1.0 / sensor.rate) for sensor in loop.sensors]
        self._control_ticks = Ticks(loop.sample_time)
        periods = [ticks.period for ticks in (*self._sensor_ticks, self._control_ticks)]
        self.period = min(periods)
        self._same = SAME * self.period
        self._scheduled = 0.0  # the time of the next sample, from the start of the loop
        self._readings_under_way, self._commands_under_way = Pending(), Pending()
        if loop.initial is not None:
            self._commands_under_way.send(0.0, loop.initial)
        self._ideal = not loop.sensors
        self._started = False
        self._first = True  # whether the next sample is the first one of a run
        self._prepare_readings()
        self._prepare_drives()
        self._make_logs()

    def _prepare_readings(self) -> None:
        """Readings are nan before the first one has arrived."""
        nq, nv = self._system.nq, self._system.nv
        self._readings = {
            sensor.name: np.full(len(reader.labels), math.nan)
            for sensor, reader in zip(self._loop.sensors, self._readers)
        }
        self._taken: dict[str, float] = {}
        self._q, self._v = np.full(nq, math.nan), np.full(nv, math.nan)
        self._applied: Array | None = None

    def _prepare_drives(self) -> None:
        """Set the torques to zero, and allocate those that change between samples."""
        s = self._system
        self._drives = [actuator.drive(s) for actuator in self._loop.actuators]
        for drive in self._drives:
            drive.origin = self._origin
        self._joints = joint_speeds(s)
        self._tau = np.zeros(s.nv)
        speeds = [i for drive in self._drives for i in drive.speeds]
        for i in speeds:
            if speeds.count(i) > 1:
                raise ArgumentValueError(
                    f"actuators: two of them drive v[{i}], {s.describe_v(i)}; a joint can have one servo only."
                )
        self.stateful = any(drive.stateful for drive in self._drives)
        self.plan = np.zeros(PLAN_HEAD + LAW * len(speeds))
        self.plan[P_LAWS] = len(speeds)
        laws = self.plan[PLAN_HEAD:].reshape(len(speeds), LAW)
        laws[:, L_SPEED] = speeds
        laws[:, [L_LIMIT, L_STALL, L_POWER]] = math.inf
        self._laws, at = [], 0
        for drive in self._drives:
            self._laws.append(laws[at : at + len(drive.speeds)])
            drive.begin_laws(self._laws[-1])
            at += len(drive.speeds)
        self._law_rows = laws
        self._channels = [len(drive.labels) for drive in self._drives]

    def _make_logs(self) -> None:
        loop = self._loop
        self._logs = {
            sensor.name: Log(reader.labels, reader.unit)
            for sensor, reader in zip(loop.sensors, self._readers)
        }
        if self._drives:
            labels = tuple(label for drive in self._drives for label in drive.labels)
            units = {drive.unit for drive in self._drives}
            self._command_log = Log(labels, units.pop() if len(units) == 1 else "")
        else:
            unit = joint_unit(self._system, self._joints, "N m", "N")
            self._command_log = Log(tuple(speed_names(self._system)), unit)
        self._logs["command"] = self._command_log
        self._recorded: dict[str, Log] = {}  # those of the controller's outputs

    # --- what `simulate` calls ---------------------------------------------------------------------------

    def bind(self, plant: Plant) -> None:
        """Connect to the run."""
        self._plant = plant

    def resume(self, t0: float) -> None:
        """Continue in a run that begins at t0."""
        now = t0 - self._origin
        first = self.plan[P_START] + self._run_start - self._origin
        if not first - self._same <= now <= self._next() + self._same:
            raise ArgumentValueError(
                f"t0={t0:g} is not where the previous run ended: its last sample was at t = {self._origin + first:.6g} s, "
                f"and the next one is at {self._origin + self._next():.6g} s. Give t0=result.t[-1]."
            )
        self._run_start = t0
        self._first = True
        self._make_logs()

    def signals(self) -> dict[str, Samples]:
        """The measurements and commands so far."""
        return samples_of(self._logs)

    def finish(self) -> None:
        """Tell the controller that the motion has ended."""
        self._controller.finish()

    def before(self, t: float, v: Array) -> Array:
        """The torques just before the first sample: those of `initial`, or those at which the last run ended."""
        now = self._since_start(t)
        if not self._scheduled and self._loop.initial is not None:
            self._put(now, self._loop.initial)
            self._applied = None
        tau = self._torques(now, v)
        self._first = True
        return tau

    def sample(self, t: float, q: Array, v: Array) -> Array:
        """Do everything that is due at this instant, and return the torques from now on."""
        if not self._loop.runs(self):
            raise ArgumentValueError(
                "torque: this loop or its controller is used in two runs at the same time, but the controller is one "
                "object with one state. Give each run its own, "
                "such as copy.deepcopy(loop)."
            )
        now = self._since_start(t)
        due = now + self._same
        self._read_sensors(t, due, q, v)
        if self._control_ticks.next <= due:
            self._control(q, v)
        for drive in self._drives:
            drive.advance(now)
        if self._commands_under_way.next <= due:
            for command in self._commands_under_way.arrived(due):
                self._put(now, command)
        return self._torques(now, v)

    # --- parts of a sample ------------------------------------------------------------------------------

    def _since_start(self, t: float) -> float:
        """The time from the start of the loop; exactly that of the sample that is due if t agrees with it to
        rounding."""
        now = t - self._origin
        close = max(self._same, ROUNDING * math.ulp(t))
        return self._scheduled if abs(now - self._scheduled) <= close else now

    def _read_sensors(self, t: float, due: float, q: Array, v: Array) -> None:
        """Read the sensors that are due, and let readings arrive."""
        instant = None
        arriving = self._readings_under_way
        for number, ticks in enumerate(self._sensor_ticks):
            while ticks.next <= due:
                if instant is None:
                    instant = Instant(t, q, v, self._plant)
                measurement = self._measurements[number]
                reading = measurement.sample(ticks.count, instant)
                at = self._origin + ticks.next
                if reading is not None:
                    self._logs[measurement.sensor.name].add(at, reading)
                    arriving.send(ticks.next + measurement.sensor.delay, (number, at, reading))
                ticks.step()
        if arriving.next <= due:
            for number, at, reading in arriving.arrived(due):
                self._take(number, at, reading)

    def _take(self, number: int, at: float, reading: Array) -> None:
        """Deliver a reading."""
        name, reader = self._measurements[number].sensor.name, self._measurements[number].reader
        self._readings[name], self._taken[name] = reading, at
        if reader.q is not None:
            self._q[reader.q] = reading
        if reader.v is not None:
            self._v[reader.v] = reading

    def _control(self, q: Array, v: Array) -> None:
        """Let the controller compute a command, which takes effect after the delay."""
        ticks = self._control_ticks
        t = self._origin + ticks.next
        if not self._ideal:
            q, v = self._q.copy(), self._v.copy()
        measured = Measured(t, q, v, self._readings, self._taken, self._applied)
        if not self._started:
            self._controller.start(t, measured)
            self._started = True
        command = self._controller.command(t, measured)
        if command is not None:
            command = checked_command(self._loop, t, command)
            self._command_log.add(t, command)
            self._commands_under_way.send(ticks.next + self._loop.delay, command)
        self._record(t)
        ticks.step()

    def _record(self, t: float) -> None:
        """Record the outputs of the controller."""
        for name, value in self._controller.outputs().items():
            log = self._recorded.get(name)
            if log is None:
                log = self._new_log(name, np.size(value))
            log.add(t, value if getattr(value, "ndim", 0) == 1 else np.ravel(value))

    def _new_log(self, name: str, width: int) -> Log:
        """A log for a new output of the controller."""
        if name in self._readings or name == "command":
            raise ArgumentValueError(
                f"outputs() of {self._named} has {name!r}, which is also the name of a sensor or of the command: rename it."
            )
        own = self._controller.controller
        sources = own, getattr(own, "observer", None)
        given = (tuple(getattr(x, "output_labels", {}).get(name, ())) for x in sources)
        labels = next((x for x in given if x), ())
        if not labels:
            labels = (name,) if width == 1 else tuple(f"{name}[{i}]" for i in range(width))
        if len(labels) != width:
            raise ArgumentValueError(
                f"output_labels of {self._named} has {len(labels)} labels for {name!r}, which has {width} numbers: "
                "give one label for each number."
            )
        unit = str(getattr(own, "output_units", {}).get(name, ""))
        log = self._recorded[name] = self._logs[name] = Log(labels, unit)
        return log

    @property
    def _named(self) -> str:
        return type(self._controller.controller).__name__

    def _put(self, now: float, command: Array) -> None:
        """Put a command into effect."""
        if not self._drives:
            self._tau = self._applied = command
            return
        asked, applied, at = command.tolist(), [], 0
        begins = command is self._loop.initial
        for drive, channels in zip(self._drives, self._channels):
            part = asked[at : at + channels]
            applied += drive.begin(part) if begins else drive.command(now, part)
            at += channels
        self._applied = np.array(applied)

    def _next(self) -> float:
        """The time of the next sample, from the start of the loop."""
        soonest = self._control_ticks.next
        for ticks in self._sensor_ticks:
            soonest = min(soonest, ticks.next)
        for drive in self._drives:
            soonest = min(soonest, drive.next)
        return min(soonest, self._readings_under_way.next, self._commands_under_way.next)

    def _torques(self, now: float, v: Array) -> Array:
        """The torques from now on, in the form that the integrator uses."""
        shift = self._run_start - self._origin
        self._scheduled = self._next()
        self.plan[P_NEXT], self.plan[P_START] = self._scheduled - shift, now - shift
        if not self._drives:
            return self._tau
        tau = np.zeros(self._system.nv)
        for drive, laws in zip(self._drives, self._laws):
            drive.add_torques(tau)
            if len(laws):
                drive.write_laws(laws)
        if (
            self._first
        ):  # the first row of the output has this; later on the integrator follows the laws
            _follow_laws(self._law_rows, v, tau)
            self._first = False
        return tau


def _follow_laws(laws: Array, v: Array, tau: Array) -> None:
    """The torques of laws at a sample, as `integrators.sampled.follow_laws` computes them."""
    for law in laws.tolist():
        i = int(law[L_SPEED])
        speed = float(v[i])
        drop, stall, most = law[L_DROP] * speed, law[L_STALL], law[L_LIMIT]
        torque = min(stall - drop, max(-stall - drop, law[L_HELD] + law[L_FADING]))
        if abs(speed) * most > law[L_POWER]:
            most = law[L_POWER] / abs(speed)
        tau[i] = max(-most, min(most, torque))
