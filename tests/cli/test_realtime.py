"""`limber realtime`; the runs themselves are tested in tests/control/test_realtime.py."""

from helpers.command import limber, limber_json
from helpers.files import EXAMPLES

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
