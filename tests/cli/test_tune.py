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


def test_poles_of_the_delay_are_left_out_and_modes_are_in_K():
    given = ["--method", "lqr", "--sample-time", "0.002", "--delay", "0.001"]
    file = EXAMPLES / "controlled_arm.yaml"
    assert max(limber_json("tune", file, *given)["frequencies"]) < 250.0
    text = limber("tune", file, *given).stdout
    assert "such as those of a delay, are left out" in text and "on the modes" in text


def test_a_low_bandwidth_without_rotor_inertia_is_explained(tmp_path):
    for armature, said in ((0.0, True), (0.5, False)):
        a = lb.Assembly("arm")
        link = lb.beam(1.0, 3.0, EI=800.0, modes=2, damping=0.01)
        a.attach("link1", link, lb.Revolute("z", armature=armature))
        a.attach("link2", link, lb.Revolute("z", armature=armature), to="link1", at="tip")
        lb.save(a, tmp_path / "arm.yaml")
        done = limber("tune", tmp_path / "arm.yaml", "--delay", "0.001")
        assert ("no rotor inertia: add an armature" in done.stderr) is said


def test_a_bandwidth_of_nothing_is_refused_in_hertz():
    words = limber("tune", EXAMPLES / "canadarm.yaml", "--bandwidth", "-1", code=2).stderr
    assert "'--bandwidth': must be a finite number above zero, got -1." in words


def test_motors_can_be_named():
    found = limber_json(
        "tune", EXAMPLES / "canadarm.yaml", "--bandwidth", "0.02", "--body", "link1"
    )
    assert found["joints"] == ["link1"] and len(found["kp"]) == 1


def test_closed_models_are_tuned_where_their_closures_are_satisfied():
    found = limber_json("tune", EXAMPLES / "four_bar.yaml", "--body", "crank", "--bandwidth", "2")
    s = lb.load(EXAMPLES / "four_bar.yaml").build()
    options = {"bodies": ["crank"], "sample_time": 0.001, "bandwidth": 4.0 * np.pi}
    expected = lb.control.tune(s, q=lb.assemble(s), **options)
    assert found["stable"] and np.allclose(found["kp"], expected.kp, rtol=1e-6)
