"""The plant of a real-time loop: a simulation that keeps pace with the clock, with its controller at the other end of a link.

At every sample the plant waits for its deadline, reads the command that has arrived since the last one, sends its
sensor readings, and continues. A command therefore takes effect at the sample after the one that it answers.

    what happens                                          what the plant does                                      state
    no command has come, or the controller has none yet   no command, or `initial` of the loop                     wait
    no answer to the last sample, or one that is nan      the last command is held                                 hold
    that lasts longer than `hold`, or BYE                 permanent safe stop: `safe`, or zero                      stop
    that lasts longer than `give_up`                      the run ends
    the motion has ended                                  it says BYE at once, before the result is checked, and then
                                                          until the controller does, for `give_up`
    the plant itself is late                              samples follow at once until it has caught up
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from limber.checks import Array, number
from limber.control.actuators.base import Actuator
from limber.control.controller import Measured
from limber.control.guard import HELD_SAMPLES, HOLD, OK, STOP, WAIT, Guard
from limber.control.loop import Loop
from limber.control.realtime import wire
from limber.control.realtime.layout import Layout
from limber.control.realtime.links import Link
from limber.control.realtime.log import LogWriter, Part
from limber.control.realtime.pacing import Pacing, undisturbed, wait_until
from limber.control.sensors.base import Sensor
from limber.errors import SimulationError
from limber.simulation import Result, simulate

#: What a row of the log of a plant has before the sample and the command.
TIMES: tuple[Part, ...] = (
    ("t", ["t"], "s"),
    ("ready", ["ready"], "s"),  # how long before its deadline the plant was done with the last sample; negative: an overrun
    ("jitter", ["jitter"], "s"),  # how late after the deadline, or after it was ready, it went on
    ("response", ["response"], "s"),  # from the sending of the last sample to that of its command; nan without one in time
    ("state", ["state"], ""),
)  # fmt: skip
#: The time between two BYE packets of a plant, s.
AGAIN = 0.01


@dataclass(frozen=True)
class Watch:
    """When each side holds, stops and gives up.

    hold : how long the plant holds the last command before its safe stop, s; by default 10 samples.
    give_up : how long either side waits for the other before it ends the run, s.
    connect : how long either side waits for the other at the start, s.
    late : the fraction of a sample time by which a sample may be late before the controller counts it as lost.
    lead_in : how long samples of the initial state are sent before the run, so that both sides warm up, s.
    """

    hold: float | None = None
    give_up: float = 1.0
    connect: float = 60.0
    late: float = 0.5
    lead_in: float = 0.2

    def __post_init__(self) -> None:
        if self.hold is not None:
            number("hold", self.hold, minimum=0.0)
        for name in ("give_up", "connect", "late"):
            number(name, getattr(self, name), above=0.0)
        number("lead_in", self.lead_in, minimum=0.0)


class Remote(Guard):
    """The controller as seen by the plant: the other end of a link, with supervision. The head of this file describes
    it.
    """

    def __init__(
        self,
        sample_time: float,
        link: Link,
        *,
        watch: Watch,
        safe: Array | None,
        paced: bool,
        spin: float,
    ):
        self.sample_time, self.controller = sample_time, self
        self._link, self._watch, self._safe, self._paced = link, watch, safe, paced
        self._hold = HELD_SAMPLES * sample_time if watch.hold is None else watch.hold
        self._spin = round(1e9 * spin)
        self._packet = wire.Incoming()
        self._session = secrets.randbits(32) or 1
        self.log: LogWriter | None = None
        self.state = WAIT
        self._answered = -1  # the last sample that a command has answered
        self.ended = ""  # why the other side has gone

    def prepare(self, loop: Loop) -> None:
        """Prepare the packets."""
        self._layout = Layout(loop)
        self._sample = wire.Outgoing(wire.SAMPLE, self._layout.sample)
        self._hello = wire.Outgoing(wire.HELLO, 3)
        self._hello.values[:] = self._layout.numbers
        self._new = np.empty(self._layout.command)

    # --- before the run -----------------------------------------------------------------------------

    def connect(self) -> None:
        """Wait for the controller."""
        end = time.monotonic() + self._watch.connect
        while not self._greeted():
            if time.monotonic() > end:
                raise wire.WireError(
                    f"no controller has connected within {self._watch.connect:g} s: start it with the address of this "
                    "plant."
                )
            self._link.wait(0.05)

    def _greeted(self) -> bool:
        """Answer a controller that says hello."""
        packet = self._packet
        while size := self._link.receive(packet.buffer):
            if packet.greeting(size):
                self._welcome()
                theirs = tuple(packet.values.tolist())
                if theirs != self._layout.numbers:
                    raise wire.WireError(
                        mismatch("controller", theirs, "plant", self._layout.numbers)
                    )
                return True
        return False

    def _welcome(self) -> None:
        """Answer a controller with the layout of this plant."""
        self._link.adopt()
        self._link.send(self._hello.seal(self._session, time.monotonic_ns()))

    def start(self, t: float, measured: Measured) -> None:
        """Warm up by sending the initial state repeatedly."""
        self.state, self._last = WAIT, None
        self._sequence, self._fresh = 0, -1
        self._sound_at = t
        self._answered = -1
        self._commanded = False  # whether that was a command at all
        self._sent = 0
        self._period = round(1e9 * self.sample_time)
        self._begin = self._lead_in(t, measured)
        self._first, self._count, self._t0 = self._sequence, 0, t
        self._heard = time.monotonic_ns()

    def _lead_in(self, t: float, measured: Measured) -> int:
        """Send the initial state for some time, and until it is answered in time; return the time of the first sample,
        ns.
        """
        begin = deadline = time.monotonic_ns() + self._period
        lead = round(1e9 * self._watch.lead_in) if self._paced else 0
        wait_until(deadline, self._spin)
        while lead and (deadline < begin + lead or self._answered != self._sequence - 1):
            if deadline - begin > 1e9 * self._watch.connect:
                raise wire.WireError(
                    f"the controller has connected, but has not answered any sample in time for {self._watch.connect:g} s."
                )
            self._send(t, measured, wire.LEAD_IN)
            deadline = max(deadline, time.monotonic_ns()) + self._period
            wait_until(deadline, self._spin)
            self._take_commands()
        return deadline + self._period

    # --- a sample -----------------------------------------------------------------------------------

    def command(self, t: float, measured: Measured) -> Array | None:
        """Wait for the deadline, read the last command and send the sample."""
        if not self._paced:
            return self._in_step(t, measured)
        deadline = self._begin + round(1e9 * (t - self._t0))
        ready = time.monotonic_ns()
        now = wait_until(deadline, self._spin) if ready < deadline else ready
        stamp = self._take_commands()
        answer = self._sequence - 1 if self._count else -1
        fresh = self._answered >= self._first and self._answered == answer
        sent_before = self._sent
        self._send(t, measured, 0)
        command = self._commanded_now(t, fresh, now)
        log = self.log
        if log is not None:
            row = log.row
            late = now - max(deadline, ready)
            response = (stamp - sent_before) * 1e-9 if fresh else math.nan
            row[:5] = t, (deadline - ready) * 1e-9, late * 1e-9, response, self.state
            self._record(row[5:], command)
            log.commit()
        self._count += 1
        return command

    def _in_step(self, t: float, measured: Measured) -> Array | None:
        """Send the sample and wait for its command as long as necessary."""
        self._send(t, measured, wire.LOCKSTEP)
        sent, wanted = self._sent, self._sequence - 1
        end = time.monotonic_ns() + round(1e9 * self._watch.give_up)
        response = self._take_commands()
        while self._answered != wanted and not self.ended:
            if time.monotonic_ns() > end:
                self._give_up(f"it has not answered for {self._watch.give_up:g} s")
            self._link.wait(0.05)
            response = self._take_commands()
        if self.ended:
            self._give_up(self.ended)
        command = self._commanded_now(t, True, time.monotonic_ns())
        if self.log is not None:
            row = self.log.row
            row[:5] = t, 0.0, 0.0, (response - sent) * 1e-9, self.state
            self._record(row[5:], command)
            self.log.commit()
        return command

    def _record(self, row: Array, command: Array | None) -> None:
        row[: self._layout.sample] = self._sample.values
        row[self._layout.sample :] = math.nan if command is None else command

    def _send(self, t: float, measured: Measured, state: int) -> None:
        self._layout.write(measured, self._sample.values)
        self._sent = time.monotonic_ns()
        self._link.send(
            self._sample.seal(
                self._session, self._sent, state=state, sequence=self._sequence, time=t
            )
        )
        self._sequence += 1

    def _take_commands(self) -> int:
        """Read the newest command received; return its time stamp, or 0."""
        packet, stamp = self._packet, 0
        while size := self._link.receive(packet.buffer):
            if not packet.read(size):
                continue
            if packet.kind == wire.HELLO and self._answered < 0:  # it did not get the answer
                self._welcome()
            if packet.session != self._session:
                continue
            if packet.kind == wire.BYE:
                self.ended = "it has failed" if packet.state == wire.FAILED else "it has ended"
            fits = packet.kind == wire.COMMAND and packet.count == len(self._new)
            if fits and self._answered < packet.answers < self._sequence:
                stamp = self._taken(packet) or stamp
        return stamp

    def _taken(self, packet: wire.Incoming) -> int:
        """Accept a command; return its time stamp, or 0 if it is not finite."""
        if packet.state == WAIT:  # the controller has no command yet
            self._answered, self._commanded = packet.answers, False
            return packet.stamp
        values = packet.values
        if not math.isfinite(values.sum()):
            return 0
        self._answered, self._commanded = packet.answers, True
        self._new[:] = values
        return packet.stamp

    def _commanded_now(self, t: float, fresh: bool, now: int) -> Array | None:
        """The command from now on."""
        if self._answered >= self._first and self._fresh != self._answered:
            self._fresh = self._answered  # an answer that is late is still newer than what is held
            if self.state != STOP and self._commanded:
                self._last = self._new.copy()
            self._heard = now
        if now - self._heard > 1e9 * self._watch.give_up:
            self._give_up(self.ended or "nothing has arrived from it")
        if self.state == STOP:
            return self._stopping()
        if fresh:
            self.state, self._sound_at = WAIT if self._last is None else OK, t
            return self._last
        if self.ended or (self._last is not None and t - self._sound_at > self._hold):
            self.state = STOP
            return self._stopping()
        self.state = WAIT if self._last is None else HOLD
        return self._last

    def _stopping(self) -> Array:
        return np.zeros(self._layout.command) if self._safe is None else self._safe

    def _give_up(self, why: str) -> None:
        self.ended = why
        raise SimulationError(
            f"the controller has gone: {why}. The plant has stopped ({self._watch.give_up:g} s without a command)."
        )

    def outputs(self) -> dict[str, Any]:
        """Return the state of the supervision."""
        return {"guard": self.state}

    def finish(self) -> None:
        """Tell the controller that the motion has ended: to check the result takes longer than its patience."""
        self._link.send(self._goodbye(wire.DONE))

    def bye(self, failed: bool) -> None:
        """Tell the controller that the run is over, until it says so too: packets may be lost."""
        packet = self._goodbye(wire.FAILED if failed else wire.DONE)
        self._link.send(packet)
        end = time.monotonic() + self._watch.give_up
        while self._answered >= 0 and not self.ended and time.monotonic() < end:
            self._link.wait(AGAIN)
            self._take_commands()
            if not self.ended:
                self._link.send(packet)

    def _goodbye(self, state: int) -> bytearray:
        return wire.Outgoing(wire.BYE, 0).seal(self._session, 0, state=state)

    def __repr__(self) -> str:
        return f"Remote({self.sample_time:g} s)"


def mismatch(one: str, ones: Sequence[float], other: str, others: Sequence[float]) -> str:
    """The message for two incompatible sides."""

    def said(numbers: Sequence[float]) -> str:
        if len(numbers) != 3:
            return f"{len(numbers)} numbers where three are expected"
        return f"sample time {numbers[0]:g} s, {numbers[1]:g} numbers in a sample, {numbers[2]:g} in a command"

    return (
        f"the {one} has {said(ones)}, but the {other} has {said(others)}: give both the same sample time, sensors and "
        "actuators, in "
        "the same order."
    )


@dataclass(eq=False)
class PlantSide:
    """The plant, to be run in its own process.

    settings : of `lb.simulate`, such as q0, v0, external, method, engine.
    safe : the command of a safe stop of the plant; zero by default.
    paced : False to wait for every command instead of the clock, for tests and comparisons.
    initial : the command before the first one, as in `Loop`.
    """

    system: Any
    sample_time: float
    sensors: tuple[Sensor, ...]
    actuators: tuple[Actuator, ...]
    delay: float
    seed: int | None
    duration: float
    settings: dict[str, Any]
    watch: Watch
    pacing: Pacing
    safe: Array | None = None
    paced: bool = True
    log: str | None = None
    initial: Array | None = None

    @property
    def held_back(self) -> float:
        """The remaining delay when a command arrives with the sample after its own, s."""
        return max(0.0, self.delay - self.sample_time) if self.paced else self.delay

    def run(self, link: Link) -> tuple[Result | None, str, list[str]]:
        """Run the plant. Returns the result, what went wrong ("" if nothing did), and notes."""
        remote = Remote(
            self.sample_time, link, watch=self.watch, safe=self.safe, paced=self.paced,
            spin=self.pacing.spin,
        )  # fmt: skip
        loop = Loop(
            self.system, remote, sensors=self.sensors, actuators=self.actuators,
            delay=self.held_back, seed=self.seed, initial=self.initial,
        )  # fmt: skip
        self._warm_up()
        if self.log is not None:
            layout, rows = Layout(loop), round(self.duration / self.sample_time) + 2
            parts = (
                *TIMES,
                ("sample", layout.sample_labels, ""),
                ("command", layout.command_labels, ""),
            )
            about = {"side": "plant", "sample_time": self.sample_time, "paced": self.paced}
            remote.log = LogWriter(self.log, parts, rows, about)
        failed = True
        try:
            remote.connect()
            with undisturbed(self.pacing, "plant") as notes:
                try:
                    result, message = self._simulated(loop), ""
                    failed = False
                except SimulationError as error:
                    result, message = error.result, str(error)  # type: ignore[assignment]
            return result, message, notes
        finally:
            remote.bye(failed)
            if remote.log is not None:
                remote.log.close()

    def _simulated(self, torque: Any, duration: float | None = None) -> Result:
        t_end = self.duration if duration is None else duration
        return simulate(self.system, t_end, torque=torque, progress=False, **self.settings)

    def _warm_up(self) -> None:
        """Run some samples without a controller, so that all code is compiled and loaded."""
        loop = Loop(
            self.system, _Nothing(self.sample_time), sensors=self.sensors, actuators=self.actuators,
            seed=self.seed,
        )  # fmt: skip
        few = {k: x for k, x in self.settings.items() if k not in ("t_eval", "every", "events")}
        simulate(
            self.system, 5.0 * self.sample_time, torque=loop, progress=False, t_eval=[0.0], **few
        )


class _Nothing:
    """A controller without commands."""

    uses = ()

    def __init__(self, sample_time: float):
        self.sample_time = sample_time

    def start(self, t: float, measured: Measured) -> None:
        """Do nothing."""

    def command(self, t: float, measured: Measured) -> Array:
        """No command."""
        return np.full(1, np.nan)
