"""`limber realtime`; the runs themselves are tested in tests/control/test_realtime.py."""

import contextlib
import threading

import pytest

from helpers.command import limber, limber_json
from helpers.files import EXAMPLES
from helpers.pendulum import SCENARIO
from limber.control import realtime
from limber.control.realtime import links
from limber.scenarios import load_scenario

FILE = EXAMPLES / "canadarm_realtime.yaml"


def test_the_numbers_of_packets_are_listed():
    found = limber_json("realtime", FILE, "--layout")
    assert found["sample_time"] == 0.001
    assert found["command"] == ["link1", "link2", "link3"]
    assert found["sample"][:2] == ["encoder: time taken", "encoder: link1"]
    assert found["sample"][-1] == "applied: link3"
    assert "tachometer: link2" in limber("realtime", FILE, "--layout").stdout


def test_the_worst_case_of_generated_code_is_printed():
    found = limber_json("realtime", FILE, "--worst-case")
    assert found["microseconds"]["step"]["cold"]["100.0"] > 0.0


def test_what_has_no_controller_is_refused():
    for name in ("canadarm.yaml", "canadarm_slew.yaml"):
        wrong = limber("realtime", EXAMPLES / name, code=3)
        assert "controller" in wrong.output


def test_one_side_needs_an_address():
    wrong = limber("realtime", FILE, "--side", "plant", code=2)
    assert "--address" in wrong.output
    wrong = limber("realtime", FILE, "--side", "plant", "--address", "tcp:1", code=2)
    assert "udp:HOST:PORT" in wrong.output


@pytest.mark.filterwarnings("ignore:safe stop")
def test_a_side_that_is_left_alone_prints_what_it_knows(tmp_path):
    file = tmp_path / "bob.yaml"
    file.write_text(SCENARIO)
    address = links.free_address("udp")
    loop = load_scenario(file).torque

    def leave():
        end = realtime.opened(address, "controller")
        side = realtime.ControllerSide(loop, realtime.Watch(late=1000.0, give_up=20.0))
        side._guard = Leaves(loop.controller)
        with contextlib.suppress(ZeroDivisionError):
            side.run(end)
        end.close()

    class Leaves:
        state = 0

        def __init__(self, guard):
            self._guard = guard

        def start(self, t, measured):
            self._guard.start(t, measured)

        def command(self, t, measured):
            if t > 0.1:
                raise ZeroDivisionError
            return self._guard.command(t, measured)

        def idle(self):
            self._guard.idle()

    other = threading.Thread(target=leave)
    other.start()
    done = limber("realtime", file, "--side", "plant", "--address", address, code=4)
    other.join()
    assert "overruns" in done.stdout and "work of the plant" in done.stdout
    reached = done.stdout.split("reached t = ")[1].split(" s")[0]
    assert float(reached) > 0.1 and len(reached) < 8
