"""The controller of a real-time loop: it answers every sample that the plant, or a machine, sends.

The plant sets the pace. A sample that does not arrive in time counts as one whose readings are all nan: the `Guard` of
the controller holds the last command, and stops safely if this persists (`limber.control.guard`).

    what happens                                    what the controller does                                    state
    not all sensors have sent a reading yet         it answers that there is no command                         wait
    all is well                                     it answers with its command                                 ok, limit
    a sample is lost, late or damaged               the last command is held                                    hold
    a reading is nan, or the command would be       the last command is held                                    hold
    that lasts longer than `hold` of the guard      safe stop: `safe_command` of the controller, or zero         stop
    an actuator does not follow for `follow`        safe stop                                                   stop
    no sample for `give_up`, or BYE                 the run ends
    the controller raises an error                  the plant is notified and stops at once; the error is raised

When a command is out, the controller may do work for the next sample (`idle` of a controller); the log does not include
its time.

Several samples that arrive at once, after a pause of the plant, are answered with one command, for the newest; the
others count as skipped.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from limber.checks import Array
from limber.control.commands import checked_command
from limber.control.guard import WAIT
from limber.control.loop import Loop
from limber.control.realtime import wire
from limber.control.realtime.layout import Layout
from limber.control.realtime.links import Link
from limber.control.realtime.log import LogWriter, Part
from limber.control.realtime.pacing import Pacing, undisturbed
from limber.control.realtime.plant import Watch, mismatch

#: What a row of the log of a controller has before the sample and the command.
TIMES: tuple[Part, ...] = (
    ("t", ["t"], "s"),
    ("interval", ["interval"], "s"),  # since the last sample came; nan for one that was lost
    ("work", ["work"], "s"),  # from its arrival to the sending of the command
    ("state", ["state"], ""),
)
#: The time between two HELLO packets of a controller, s.
AGAIN = 0.05


@dataclass
class ControllerSide:
    """The controller at its end of a link.

    loop : has the controller, and the sensors and actuators of the plant, which give the numbers their meaning.
    duration : of the run, if known, s; the log reserves space for it at the start.
    """

    loop: Loop
    watch: Watch = field(default_factory=Watch)
    pacing: Pacing = field(default_factory=Pacing)
    log: str | None = None
    duration: float = 60.0

    #: What happened: samples that were lost or late, skipped, and packets that were damaged.
    lost: int = 0
    skipped: int = 0
    damaged: int = 0

    def __post_init__(self) -> None:
        self._layout = Layout(self.loop)
        self._packet, self._spare = wire.Incoming(), wire.Incoming()
        self._command = wire.Outgoing(wire.COMMAND, self._layout.command)
        self._hello = wire.Outgoing(wire.HELLO, 3)
        self._hello.values[:] = self._layout.numbers
        self._guard = self.loop.controller
        self._missing = np.full(self._layout.sample, math.nan)
        self._none = np.full(self._layout.command, math.nan)
        self._session = 0

    def run(self, link: Link, alive: Callable[[], bool] = lambda: True) -> tuple[str, list[str]]:
        """Answer samples until the run is over. Returns what went wrong ("" if nothing did), and notes.

        alive : a function; if it returns False, the wait for the plant ends.
        """
        log = None
        if self.log is not None:
            parts = (
                *TIMES,
                ("sample", self._layout.sample_labels, ""),
                ("command", self._layout.command_labels, ""),
            )
            about = {"side": "controller", "sample_time": self.loop.sample_time}
            rows = round(self.duration / self.loop.sample_time) + 2
            log = LogWriter(self.log, parts, rows, about)
        failed = True
        try:
            self._connect(link, alive)
            with undisturbed(self.pacing, "controller") as notes:
                message = self._answer(link, log)
                self._guard.finish()
            failed = False
            return message, notes
        finally:
            state = wire.FAILED if failed else wire.DONE
            link.send(wire.Outgoing(wire.BYE, 0).seal(self._session, 0, state=state))
            if log is not None:
                log.close()

    def _connect(self, link: Link, alive: Callable[[], bool]) -> None:
        """Say hello until the plant answers."""
        packet, end = self._packet, time.monotonic() + self.watch.connect
        while time.monotonic() < end:
            if not alive():
                raise wire.WireError("the process of the plant has ended before the run began.")
            link.send(self._hello.seal(0, time.monotonic_ns()))
            link.wait(AGAIN)
            while size := link.receive(packet.buffer):
                if packet.greeting(size):
                    theirs = tuple(packet.values.tolist())
                    if theirs != self._layout.numbers:
                        raise wire.WireError(
                            mismatch("plant", theirs, "controller", self._layout.numbers)
                        )
                    self._session = packet.session
                    return
        raise wire.WireError(
            f"no plant has answered within {self.watch.connect:g} s: start it first, and give its address."
        )

    # --- the loop -----------------------------------------------------------------------------------

    def _answer(self, link: Link, log: LogWriter | None) -> str:
        clock, guard = time.monotonic_ns, self._guard
        period = round(1e9 * self.loop.sample_time)
        slack, give_up = round(period * self.watch.late), round(1e9 * self.watch.give_up)
        running = leading = False  # the run, or its lead-in, has begun
        sequence, t, came, heard, expected = -1, 0.0, 0, clock(), 0
        lockstep = False
        while True:
            timed = running and not lockstep
            found = self._newest(link, sequence, expected + slack if timed else heard + give_up)
            now, packet = clock(), self._packet
            if found == wire.BYE:
                return "" if packet.state == wire.DONE else "the plant has failed."
            if found == wire.SAMPLE:
                lockstep = bool(packet.state & wire.LOCKSTEP)
                if running:
                    self.skipped += packet.sequence - sequence - 1
                sequence, t, echo = packet.sequence, packet.time, packet.stamp
                values, interval = packet.values, now - came if running else math.nan
                came = heard = now
                expected = now + period
                lead_in = bool(packet.state & wire.LEAD_IN)
            elif now - heard >= give_up:
                return f"the plant has gone: no sample has arrived for {self.watch.give_up:g} s."
            else:  # lost, or late
                self.lost += 1
                sequence, t, echo = sequence + 1, t + self.loop.sample_time, 0
                values, interval, lead_in = self._missing, math.nan, False
                expected += period
            measured = self._layout.read(t, values)
            if lead_in != leading or not (running or leading):
                guard.start(t, measured)
                leading, running = lead_in, not lead_in
            asked = guard.command(t, measured)
            command = self._none if asked is None else checked_command(self.loop, t, asked)
            self._send(link, command, sequence, t, echo, WAIT if asked is None else guard.state)
            if log is not None and not lead_in:
                row = log.row
                row[:4] = t, interval * 1e-9, (clock() - now) * 1e-9, guard.state
                row[4 : 4 + self._layout.sample] = values
                row[4 + self._layout.sample :] = command
                log.commit()
            guard.idle()

    def _newest(self, link: Link, after: int, until: int) -> int:
        """Wait for a sample after a given one, at most until a time; return the kind of the packet, or 0."""
        clock = time.monotonic_ns
        while True:
            found = 0
            while size := link.receive(self._spare.buffer):
                packet = self._spare
                if not packet.read(size):
                    self.damaged += 1
                    continue
                if packet.session != self._session:
                    continue
                fits = packet.kind == wire.SAMPLE and packet.count == self._layout.sample
                if packet.kind == wire.BYE or (fits and packet.sequence > after):
                    self._packet, self._spare = packet, self._packet
                    found, after = packet.kind, packet.sequence
                    if found == wire.BYE or packet.state & wire.LOCKSTEP:
                        return found
            if found:
                return found
            left = until - clock()
            if left <= 0:
                return 0
            link.wait(left * 1e-9)

    def _send(
        self, link: Link, command: Array, answers: int, t: float, echo: int, state: int
    ) -> None:
        self._command.values[:] = command
        link.send(
            self._command.seal(
                self._session,
                time.monotonic_ns(),
                state=state,
                answers=answers,
                time=t,
                echo=echo,
            )
        )
