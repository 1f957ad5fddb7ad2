"""The real-time loop: packets, links, logs, and what each side does when something fails.  No test asserts timing."""

import contextlib
import json
import os
import pickle
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
import zlib
from collections import deque

import numpy as np
import pytest

import limber as lb
from helpers.pendulum import SCENARIO
from limber.control.guard import HOLD, OK, STOP, WAIT
from limber.control.realtime import controller_side, links, plant, wire
from limber.control.realtime.log import ROWS, LogWriter
from limber.control.realtime.pacing import undisturbed
from limber.control.realtime.shared_memory import SLOTS
from limber.simulation import integration

rt = lb.control.realtime
T = 0.002


def pendulum():
    a = lb.Assembly("pendulum", gravity=(0, -9.81, 0))
    a.attach(
        "bob", lb.RigidBody(1.0, (0.5, 0, 0), inertia=[0.1] * 3), lb.Revolute("z", armature=0.1)
    )
    return a.build()


SYSTEM = pendulum()


def loop(**options):
    """A noisy loop of one joint, with a servo."""
    given = {"reference": lb.trajectories.Quintic([0.0], [0.5], 0.3), "gravity": True}
    pid = lb.control.PID(60.0, 50.0, 9.0, sample_time=T, **given)
    return lb.control.Loop(
        SYSTEM,
        pid,
        sensors=[
            lb.control.Encoder(rate=1.0 / T, noise=1e-5),
            lb.control.Tachometer(rate=0.5 / T, noise=1e-4, delay=0.3 * T),
        ],
        actuators=[lb.control.Servo("bob", limit=20.0, current_time=1e-3)],
        seed=3,
        **options,
    )


@pytest.mark.parametrize(
    ("delay", "paced", "pending"), [(0.0, True, 1), (0.0, False, 0), (0.06, True, 3)]
)
def test_controllers_are_prepared_for_the_delay_of_the_run(delay, paced, pending):
    """In real time a command takes effect one sample late, and a regulator has gains for the commands under way."""
    lqr = lb.control.LQR([400.0, 1.0], 0.05, sample_time=0.02, about=[-np.pi / 2])
    slow = lb.control.Loop(SYSTEM, lb.control.Guard(lqr, hold=5.0), delay=delay)
    watch = rt.Watch(hold=5.0, give_up=10.0)
    run = rt.run(slow, 0.1, paced=paced, watch=watch, q0=[-1.5], method="rk4", step=0.01)
    assert run.samples == 5
    assert lqr.gains.shape == (1, 1, 2 + pending)
    lb.simulate(SYSTEM, 0.1, q0=[-1.5], torque=slow)  # a simulation has the delay of the loop
    assert lqr.gains.shape == (1, 1, 2 + round(delay / 0.02))


# --- packets ----------------------------------------------------------------------------------------


def test_a_packet_is_laid_out_as_documented():
    out = wire.Outgoing(wire.COMMAND, 2)
    out.values[:] = 1.5, -2.0
    packet = out.seal(7, 123, state=3, sequence=1, answers=9, time=0.25, echo=456)
    fields = struct.unpack("<4sIHHIIIQQdqq2d", packet)
    assert len(packet) == 64 + 16
    assert fields[0] == b"LMBR" and fields[1] == zlib.crc32(packet[8:])
    assert fields[2:] == (1, 3, 2, 3, 7, 1, 9, 0.25, 123, 456, 1.5, -2.0)
    came = wire.Incoming(10)
    came.buffer[: len(packet)] = packet
    assert came.read(len(packet))
    assert (came.kind, came.state, came.session, came.answers) == (wire.COMMAND, 3, 7, 9)
    assert came.values.tolist() == [1.5, -2.0] and came.time == 0.25 and came.echo == 456


def test_a_damaged_packet_is_not_taken():
    packet = wire.Outgoing(wire.SAMPLE, 3).seal(1, 2)
    came = wire.Incoming(10)
    for at in range(len(packet)):
        damaged = bytearray(packet)
        damaged[at] ^= 0x10
        came.buffer[: len(packet)] = damaged
        assert not came.read(len(packet))
    assert not came.read(10)


def test_another_version_is_refused_by_name():
    packet = wire.Outgoing(wire.HELLO, 0).seal(1, 2)
    packet[8:10] = struct.pack("<H", 9)
    packet[4:8] = struct.pack("<I", zlib.crc32(packet[8:]))
    came = wire.Incoming(1)
    came.buffer[: len(packet)] = packet
    assert not came.read(len(packet))  # during a run it is ignored
    with pytest.raises(rt.WireError, match="version 9"):
        came.greeting(len(packet))


# --- links ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["udp", "shm"])
def test_links_carry_packets_both_ways(kind):
    address = links.free_address(kind)
    with (
        contextlib.closing(rt.opened(address, "plant")) as one,
        contextlib.closing(rt.opened(address, "controller")) as other,
    ):
        buffer = bytearray(1000)
        assert one.receive(buffer) == 0
        other.send(bytearray(b"hello"))
        one.wait(1.0)
        assert bytes(buffer[: one.receive(buffer)]) == b"hello"
        one.adopt()
        for text in (b"a", b"bc"):
            one.send(bytearray(text))
        other.wait(1.0)
        assert [bytes(buffer[: other.receive(buffer)]) for _ in range(2)] == [b"a", b"bc"]
        assert other.receive(buffer) == 0


def test_empty_datagrams_of_strangers_hide_no_packets():
    address = links.free_address("udp")
    with (
        contextlib.closing(rt.opened(address, "plant")) as one,
        contextlib.closing(rt.opened(address, "controller")) as other,
        contextlib.closing(rt.opened(address, "controller")) as stranger,
    ):
        for link, text in ((stranger, b""), (stranger, b""), (other, b"hello"), (stranger, b"")):
            link.send(bytearray(text))
        one.wait(1.0)
        buffer = bytearray(1000)
        assert bytes(buffer[: one.receive(buffer)]) == b"hello"
        assert one.receive(buffer) == 0
        one.adopt()
        one.send(bytearray(b"answer"))
        other.wait(1.0)
        assert bytes(buffer[: other.receive(buffer)]) == b"answer"


def test_a_reader_of_shared_memory_that_was_overtaken_goes_on_with_the_newest():
    address = links.free_address("shm")
    with (
        contextlib.closing(rt.opened(address, "plant")) as one,
        contextlib.closing(rt.opened(address, "controller")) as other,
    ):
        for i in range(3 * SLOTS):
            one.send(bytearray([i]))
        buffer = bytearray(10)
        assert other.receive(buffer) == 1 and buffer[0] == 3 * SLOTS - 1
        assert other.receive(buffer) == 0


@pytest.mark.parametrize("address", ["tcp:1", "udp:here", "udp:127.0.0.1:99999", 5, "shm:"])
def test_addresses_that_mean_nothing_are_refused(address):
    with pytest.raises(lb.LimberError, match="address"):
        rt.opened(address, "plant")


# --- logs -------------------------------------------------------------------------------------------


def test_a_log_is_read_while_it_is_written_and_after(tmp_path):
    path = tmp_path / "x.log"
    log = LogWriter(path, [("t", ["t"], "s"), ("y", ["a", "b"], "m")], 10, {"note": "ü"})
    for i in range(3):
        log.row[:] = i, 2 * i, 3 * i
        log.commit()
    log.row[:] = 99.0  # not complete yet
    now = rt.read_log(path)
    assert len(now) == 3 and now.about == {"note": "ü"}
    assert now["y"].tolist() == [[0, 0], [2, 3], [4, 6]] and now.signals["y"].unit == "m"
    log.close()
    assert np.array_equal(rt.read_log(path)["y"], now["y"])
    long = LogWriter(path, [("t", ["t"], "s")], 1, {})
    for i in range(2 * ROWS + 5):
        long.row[0] = i
        long.commit()
    long.close()
    assert np.array_equal(rt.read_log(path).t, np.arange(2 * ROWS + 5))
    path.write_text("something else")
    with pytest.raises(lb.FileError, match="not a log"):
        rt.read_log(path)


# --- the plant --------------------------------------------------------------------------------------


class Pipe:
    """A link whose other end is the test: what was sent, and what is to come."""

    def __init__(self):
        self.sent, self.coming = [], deque()

    def send(self, packet):
        came = wire.Incoming(100)
        came.buffer[: len(packet)] = packet
        assert came.read(len(packet))
        self.sent.append(came)

    def receive(self, buffer):
        if not self.coming:
            return 0
        packet = self.coming.popleft()
        buffer[: len(packet)] = packet
        return len(packet)

    def adopt(self):
        pass

    def wait(self, seconds):
        time.sleep(min(seconds, 0.001))

    def close(self):
        pass


class Plant:
    """The plant's side of a link, driven sample by sample."""

    def __init__(self, **watch):
        self.link, self.k = Pipe(), 0
        self.remote = plant.Remote(
            T,
            self.link,
            watch=plant.Watch(**{"lead_in": 0.0, "give_up": 30.0} | watch),
            safe=None,
            paced=True,
            spin=0.0,
        )
        self.loop = lb.control.Loop(SYSTEM, self.remote)
        self.measured = lb.control.Measured(0.0, np.zeros(1), np.zeros(1))
        self.remote.start(0.0, self.measured)

    def sample(self, answer=None, kind=wire.COMMAND, answers=None):
        """One sample; before it, the controller answers the last one with a number."""
        if answer is not None:
            out = wire.Outgoing(kind, 1 if kind == wire.COMMAND else 0)
            out.values[:] = answer
            last = self.link.sent[-1]
            number = last.sequence if answers is None else answers
            self.link.coming.append(bytes(out.seal(last.session, 0, answers=number)))
        command = self.remote.command(self.k * T, self.measured)
        self.k += 1
        return None if command is None else float(command[0]), self.remote.state


def test_the_plant_takes_each_command_at_the_next_sample():
    p = Plant()
    assert p.sample() == (None, WAIT)
    assert p.sample(1.0) == (1.0, OK)
    assert p.sample(2.0) == (2.0, OK)
    assert [x.sequence for x in p.link.sent] == [0, 1, 2]


def test_the_plant_holds_for_a_lost_late_or_nan_command_and_then_stops():
    p = Plant(hold=3.5 * T)
    p.sample()
    p.sample(1.0)
    assert p.sample() == (1.0, HOLD)  # lost
    assert p.sample(5.0, answers=1) == (
        5.0,
        HOLD,
    )  # late: newer than what was held, but not in time
    assert p.sample(np.nan) == (5.0, HOLD)
    assert p.sample(2.0) == (2.0, OK)
    states = [p.sample()[1] for _ in range(4)]
    assert states == [HOLD, HOLD, HOLD, STOP]
    assert p.sample(7.0) == (0.0, STOP)  # for good


def test_the_plant_ignores_commands_of_other_sessions_and_old_ones():
    p = Plant()
    p.sample()
    p.sample(1.0)
    p.sample(2.0)
    old = wire.Outgoing(wire.COMMAND, 1)
    old.values[:] = 9.0
    session = p.link.sent[-1].session
    for packet in (old.seal(session, 0, answers=0), old.seal(session ^ 1, 0, answers=2)):
        p.link.coming.append(bytes(packet))
    stranger = wire.Outgoing(wire.HELLO, 3)
    p.link.coming += [b"noise", bytes(stranger.seal(0, 0))]
    sent = len(p.link.sent)
    assert p.sample() == (2.0, HOLD)
    assert len(p.link.sent) == sent + 1  # strangers get no answer during a run


def test_the_plant_stops_at_once_when_the_controller_says_bye():
    p = Plant(give_up=0.2)
    p.sample()
    p.sample(1.0)
    assert p.sample(0.0, kind=wire.BYE) == (0.0, STOP)
    with pytest.raises(lb.SimulationError, match="it has ended"):
        for _ in range(1000):
            p.sample()


def test_the_plant_says_bye_until_the_controller_does(monkeypatch):
    """The controller gets only the last one of five; one that is gone, or was never there, is not waited for."""
    p = Plant()
    p.sample()
    p.sample(1.0)
    session, left = p.link.sent[-1].session, iter(range(4))

    def wait(seconds):
        if next(left, None) is None:
            p.link.coming.append(bytes(wire.Outgoing(wire.BYE, 0).seal(session, 0)))

    monkeypatch.setattr(p.link, "wait", wait)
    p.remote.bye(False)
    byes = [x for x in p.link.sent if x.kind == wire.BYE]
    assert len(byes) == 5 and all(x.state == wire.DONE for x in byes)
    p.remote.bye(False)
    assert len(p.link.sent) == 8
    never = Plant()
    never.sample()
    never.remote.bye(True)
    assert [x.kind for x in never.link.sent] == [wire.SAMPLE, wire.BYE]


@pytest.mark.parametrize("stopped", [False, True])
def test_the_plant_says_bye_before_it_checks_its_result(stopped, monkeypatch):
    """The checks of a long run take longer than the controller holds its command for a missing sample."""
    p, sent = Plant(), []
    check = integration.refuse_indefinite
    monkeypatch.setattr(
        integration,
        "refuse_indefinite",
        lambda *x: (sent.extend((y.kind, y.state) for y in p.link.sent), check(*x)),
    )
    options = {"method": "rk4", "step": T, "engine": "general"}
    events = [lb.Event(2.5 * T, terminal=True)] if stopped else []
    lb.simulate(SYSTEM, 5 * T, torque=p.loop, events=events, **options)
    samples = [(wire.SAMPLE, 0)] * (3 if stopped else 5)
    assert sent == [*samples, (wire.BYE, wire.DONE)]


def test_a_plant_that_fails_does_not_say_that_it_is_done():
    p = Plant()

    def fails(t, q, v):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        lb.simulate(
            SYSTEM,
            5 * T,
            torque=p.loop,
            events=[lb.Event(2.5 * T, action=fails)],
            method="rk4",
            step=T,
        )
    assert all(x.kind == wire.SAMPLE for x in p.link.sent)


def test_sides_that_do_not_fit_together_say_so():
    p = Plant()
    hello = wire.Outgoing(wire.HELLO, 3)
    hello.values[:] = 0.5, 7, 1
    p.link.coming.append(bytes(hello.seal(0, 0)))
    with pytest.raises(
        rt.WireError,
        match=r"controller has sample time 0.5 s, 7 numbers.*plant has sample time 0.002 s, 3 numbers",
    ):
        p.remote.connect()


# --- the controller ---------------------------------------------------------------------------------


class Clock:
    """A clock that goes on when the controller waits."""

    def __init__(self):
        self.ns = 0

    def monotonic_ns(self):
        return self.ns

    def monotonic(self):
        return 1e-9 * self.ns


class Machine(Pipe):
    """The other end of a controller's link: it sends samples as a script says, one whenever the controller waits.

    A script has positions; None for a sample that is lost, "damaged" for one with a wrong checksum, "gone" for a machine that
    sends nothing any more.
    """

    def __init__(self, script, clock):
        super().__init__()
        self.script, self.clock, self.k = deque(script), clock, 0

    def wait(self, seconds):
        self.clock.ns += round(1e9 * min(seconds, T))
        if self.sent[-1].kind == wire.HELLO and self.k == 0 and self.script[0] != "hello":
            self.script.appendleft("hello")
        if not self.script:
            self.coming.append(bytes(wire.Outgoing(wire.BYE, 0).seal(5, 0)))
            return
        step = self.script.popleft()
        if step == "hello":
            self.k = 1
            out = wire.Outgoing(wire.HELLO, 3)
            out.values[:] = T, 3, 1
            self.coming.append(bytes(out.seal(5, 0)))
            return
        if step == "gone":
            self.script.appendleft(step)
        if step in (None, "gone"):
            self.k += 1
            self.clock.ns += round(1e9 * max(seconds - T, 0.0)) + 1
            return
        out = wire.Outgoing(wire.SAMPLE, 3)
        out.values[:] = 0.0 if step == "damaged" else step, 0.0, np.nan
        packet = bytearray(out.seal(5, 11, sequence=self.k, time=self.k * T))
        if step == "damaged":
            packet[70] ^= 1
        self.k += 1
        self.coming.append(bytes(packet))

    @property
    def commands(self):
        """What was answered: (sequence, command, state of the guard)."""
        return [
            (x.answers, float(x.values[0]), x.state) for x in self.sent if x.kind == wire.COMMAND
        ]


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(controller_side, "time", made)
    return made


def side(**guard):
    """A controller that holds a position, watched."""
    pd = lb.control.PD(10.0, 0.0, sample_time=T, reference=0.0)
    watched = lb.control.Guard(pd, **{"hold": 2.5 * T} | guard)
    return rt.ControllerSide(lb.control.Loop(SYSTEM, watched), rt.Watch(give_up=0.1))


def test_the_controller_answers_every_sample(clock):
    machine, controller = Machine([0.1, 0.2, 0.3], clock), side()
    assert controller.run(machine) == ("", [])
    assert machine.commands == [(1, -1.0, OK), (2, -2.0, OK), (3, pytest.approx(-3.0), OK)]
    assert machine.sent[-1].kind == wire.BYE
    assert controller.lost == controller.skipped == controller.damaged == 0


def test_the_controller_holds_when_a_sample_is_lost_or_damaged_or_nan(clock):
    machine, controller = Machine([0.1, None, 0.2, np.nan, 0.3, "damaged", None], clock), side()
    assert controller.run(machine)[0] == ""
    states = [(command, state) for _, command, state in machine.commands]
    expected = [(-1, OK), (-1, HOLD), (-2, OK), (-2, HOLD), (-3, OK), (-3, HOLD)]
    assert [(round(command, 9), state) for command, state in states] == expected
    assert (controller.lost, controller.damaged) == (2, 1)


def test_the_controller_stops_safely_when_readings_stay_nan(clock):
    machine, controller = Machine([0.1, *[np.nan] * 4, 0.2], clock), side()
    with pytest.warns(lb.ModelWarning, match="safe stop"):
        controller.run(machine)
    assert [s for _, _, s in machine.commands] == [OK, HOLD, HOLD, STOP, STOP, STOP]
    assert machine.commands[-1][1] == 0.0


def test_the_controller_ends_when_the_machine_disappears(clock):
    machine, controller = Machine([0.1, "gone"], clock), side()
    with pytest.warns(lb.ModelWarning, match="safe stop"):
        message, _ = controller.run(machine)
    assert message.startswith("the plant has gone")
    assert machine.commands[-1][1:] == (0.0, STOP)


def test_the_controller_works_ahead_after_each_command_that_it_gave(clock):
    done = []

    class Ahead(lb.control.Controller):
        sample_time = T

        def command(self, t, measured):
            done.append(round(measured.q[0], 9))
            return [0.0]

        def idle(self):
            done.append("idle")

    machine = Machine([0.1, None, 0.2, np.nan, 0.3], clock)
    watched = lb.control.Guard(Ahead(), hold=10 * T)
    rt.ControllerSide(lb.control.Loop(SYSTEM, watched)).run(machine)
    assert done == [0.1, "idle", 0.2, "idle", 0.3, "idle"]
    assert [s for *_, s in machine.commands] == [OK, HOLD, OK, HOLD, OK]


def test_an_error_in_the_controller_is_raised_and_the_plant_is_told(clock):
    class Broken(lb.control.Controller):
        sample_time = T

        def command(self, t, measured):
            raise ZeroDivisionError

    machine = Machine([0.1, 0.2], clock)
    controller = rt.ControllerSide(lb.control.Loop(SYSTEM, Broken()))
    with pytest.raises(ZeroDivisionError):
        controller.run(machine)
    assert machine.sent[-1].kind == wire.BYE and machine.sent[-1].state == wire.FAILED


# --- both -------------------------------------------------------------------------------------------


def test_two_processes_in_step_move_as_a_simulation_does(tmp_path):
    options = {"every": 0.01, "method": "rk4", "step": T, "engine": "general"}
    expected = lb.simulate(SYSTEM, 0.1, torque=loop(delay=0.4 * T), **options)
    patient = rt.Watch(give_up=20.0)
    run = rt.run(loop(delay=0.4 * T), 0.1, paced=False, log=tmp_path, watch=patient, **options)
    assert run.message == ""
    assert np.array_equal(run.result.q, expected.q) and np.array_equal(run.result.v, expected.v)
    command, logged = expected.signals["command"], rt.read_log(tmp_path / "plant.log")["command"]
    assert len(logged) == 50
    assert np.array_equal(logged[np.isfinite(logged)], command.y[:, 0])
    assert np.array_equal(run.result.signals["guard"].y, (~np.isfinite(logged[:, None])) * WAIT)


def test_a_paced_run_reports_its_deadlines(tmp_path):
    patient = rt.Watch(hold=5.0, lead_in=0.02, give_up=20.0, late=1000.0)
    run = rt.run(
        loop(), 0.1, link="shm", watch=patient, pacing=rt.Pacing(spin=0.0), method="rk4", step=T,
        engine="general",
    )  # fmt: skip
    assert run.message == "" and run.samples == 50
    assert run.overruns <= run.samples and set(run.states) == {"plant", "controller"}
    assert "delay" in run.notes[-1]
    found = run.summary()
    assert found["microseconds"]["work of the plant"]["50.0"] > 0.0
    json.dumps(found)
    assert "overruns" in str(run) and "work of the plant" in str(run)
    run.plot(tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 1000


def test_warnings_of_the_plant_are_given_here():
    a = lb.Assembly("rotor")
    a.attach("blade", lb.beam(1.0, 1.0, EI=1.0, modes={"y": 1}), lb.Revolute("z", armature=1.0))
    s = a.build()
    turning = lb.control.Loop(s, lb.control.PD([0.0], [0.1], sample_time=0.01))
    with pytest.warns(lb.TheoryWarning, match="'blade' turns at 2 rad/s"):
        rt.run(
            turning, 0.02, paced=False, watch=rt.Watch(give_up=20.0), v0=s.speeds({"blade": 2.0}),
            engine="general",
        )  # fmt: skip


@pytest.mark.slow
def test_what_the_plant_refuses_is_raised_here():
    with pytest.raises(lb.LimberError, match="fixed steps"):
        rt.run(loop(), 0.1, method="rk4", engine="general")


@pytest.mark.filterwarnings("ignore:safe stop")
@pytest.mark.parametrize("killed", ["plant", pytest.param("controller", marks=pytest.mark.slow)])
def test_the_side_that_is_left_ends_and_both_logs_are_readable(killed, tmp_path):
    file = tmp_path / "bob.yaml"
    file.write_text(SCENARIO)
    looped = lb.scenarios.load_scenario(file).torque
    address = links.free_address("udp")
    logs = {name: tmp_path / f"{name}.log" for name in ("plant", "controller")}
    command = ["realtime", file, "--side", killed, "--address", address, "--log", tmp_path]
    process = subprocess.Popen([sys.executable, "-m", "limber", *map(str, command)])

    def kill():
        while not all(path.exists() and len(rt.read_log(path)) > 20 for path in logs.values()):
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    watch = rt.Watch(late=20.0, give_up=2.0, hold=0.2)
    try:
        if killed == "plant":
            side = rt.ControllerSide(looped, watch, log=str(logs["controller"]), duration=60.0)
            with contextlib.closing(rt.opened(address, "controller")) as link:
                message, _ = side.run(link)
        else:
            settings = {"method": "rk4", "step": 0.005, "engine": "general"}
            side = rt.plant_side(looped, 60.0, watch=watch, log=logs["plant"], settings=settings)
            with contextlib.closing(rt.opened(address, "plant")) as link:
                _, message, _ = side.run(link)
    finally:
        process.kill()
        process.wait()
    assert message.startswith(f"the {killed} has gone")
    for path in logs.values():
        log = rt.read_log(path)
        assert len(log) > 20 and np.isfinite(log.t).all() and (np.diff(log.t) > 0).all()
    left = "plant" if killed == "controller" else "controller"
    assert rt.read_log(logs[left])["state"][-1] == STOP


def test_the_result_of_a_plant_that_was_killed_is_that_of_its_log(tmp_path, monkeypatch):
    children = []

    class Started(subprocess.Popen):
        def __init__(self, *given, **options):
            super().__init__(*given, **options)
            children.append(self)

    class Deadly:
        sample_time = T

        def start(self, t, measured):
            pass

        def command(self, t, measured):
            if t > 0.05 and children:
                children[0].kill()
            return np.array([3.0 + np.cos(40.0 * t)])

    monkeypatch.setattr(subprocess, "Popen", Started)
    (tmp_path / "controller.log").write_text("of an earlier run")
    settings = {"every": T, "method": "rk4", "step": T, "engine": "general"}
    run = rt.run(
        lb.control.Loop(SYSTEM, Deadly()), 10.0, log=tmp_path, paced=False, watch=rt.Watch(give_up=20.0), **settings
    )  # fmt: skip
    assert "the process of the plant has ended" in run.message and run.result.message
    assert run.result.t[-1] == run.plant.t[-1] > 0.04
    assert run.controller is not None
    children.clear()
    torque = lb.control.Loop(SYSTEM, Deadly())
    expected = lb.simulate(SYSTEM, run.result.t[-1], torque=torque, **settings)
    assert np.array_equal(run.result.q, expected.q)


def test_a_plant_whose_caller_is_gone_ends_in_words(tmp_path):
    given = {"watch": rt.Watch(connect=0.1), "settings": {"engine": "general"}}
    side = rt.plant_side(
        lb.control.Loop(SYSTEM, lb.control.PD(9.0, 3.0, sample_time=T)), 1.0, **given
    )
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "limber.control.realtime.child"]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as child:
        child.stdout.close()
        child.stdin.write(pickle.dumps((links.free_address("udp"), side)))
        child.stdin.close()
        said = child.stderr.read().decode()
    assert "Traceback" not in said
    assert "the process that started this plant has ended" in said and "no controller" in said


def test_what_is_not_permitted_is_said(monkeypatch):
    def refused(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", refused, raising=False)
    with undisturbed(rt.Pacing(priority=10), "plant") as notes:
        pass
    assert len(notes) == 1 and "without SCHED_FIFO" in notes[0] and "not permitted" in notes[0]
    for bad in ({"priority": 0}, {"cores": (1,)}, {"spin": -1.0}):
        with pytest.raises(lb.LimberError):
            rt.Pacing(**bad)


# --- actuators that do not follow ---------------------------------------------------------------------


@pytest.mark.parametrize("fault", [{"stuck": [(0.1, 1.0)]}, {"limit": 0.5}])
def test_a_servo_that_is_stuck_or_saturated_for_long_leads_to_a_safe_stop(fault):
    class Wave(lb.control.Controller):
        sample_time = T

        def command(self, t, measured):
            return [np.sin(20.0 * t) if "stuck" in fault else 1.0]

    def simulated(follow):
        guard = lb.control.Guard(Wave(), follow=follow)
        servo = lb.control.Servo("bob", **fault)
        looped = lb.control.Loop(SYSTEM, guard, actuators=[servo], delay=1.5 * T)
        return lb.simulate(SYSTEM, 0.4, torque=looped)

    with pytest.warns(lb.ModelWarning, match="channel 0 of the actuators has not followed"):
        state = simulated(0.05).signals["guard"]
    stopped = state.t[state.y[:, 0] == STOP][0]
    begin = 0.1 if "stuck" in fault else 0.0
    assert begin + 0.05 < stopped < begin + 0.05 + 8 * T
    assert not (simulated(None).signals["guard"].y == STOP).any()


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_worst_case_times_are_measured():
    found = rt.worst_case_time(SYSTEM, ["step", "inverse_dynamics"], calls=50)
    assert set(found.times) == {"step", "inverse_dynamics"}
    warm, cold = found.times["step"]
    assert warm.count == 50 and cold.count == 10 and warm.median <= warm.largest
    assert "step, warm caches" in str(found)
    with pytest.raises(lb.LimberError, match="functions"):
        rt.worst_case_time(SYSTEM, "step")
