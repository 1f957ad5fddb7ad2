"""`limber tune`."""

import numpy as np

import limber as lb
from helpers.command import limber, limber_json
from helpers.files import EXAMPLES


def test_gains_are_those_of_python(tmp_path):
    file, out = EXAMPLES / "canadarm.yaml", tmp_path / "gains.npz"
    found = limber_json("tune", file, "--bandwidth", "0.02", "--out", out)
    expected = lb.control.tune(lb.load(file).build(), sample_time=0.001, bandwidth=0.04 * np.pi)
    assert np.allclose(found["K"], expected.K) and found["joints"] == ["link1", "link2", "link3"]
    assert found["stable"] is True and len(found["damping"]) == len(found["frequencies"])
    with np.load(out) as saved:
        assert np.allclose(saved["kp"], expected.kp)


def test_gains_poles_and_margins_of_a_scenario_are_printed():
    text = limber(
        "tune", EXAMPLES / "controlled_arm.yaml", "--method", "lqr", "--sample-time", "0.002"
    ).stdout
    for word in (
        "LQR for controlled arm",
        "upper arm",
        "Poles of the closed loop",
        "stable.",
        "gain up",
    ):
        assert word in text


def test_a_wrong_method_is_told():
    wrong = limber("tune", EXAMPLES / "canadarm.yaml", "--method", "best", code=None)
    assert wrong.exit_code != 0 and "method must be 'pd' or 'lqr'" in wrong.output
