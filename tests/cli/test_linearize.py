"""`limber linearize`."""

import numpy as np
import pytest

import limber as lb
from helpers.closed import four_bar
from helpers.command import limber, limber_json
from helpers.files import EXAMPLES
from limber.scenarios import load_scenario


def test_poles_matrices_and_files_of_a_model(tmp_path):
    picture, matrices = tmp_path / "bode.png", tmp_path / "model.npz"
    given = ["--input", "link1", "--output", "[position, link2, tip, y]", "--output", "link2"]
    found = limber_json(
        "linearize", EXAMPLES / "canadarm.yaml", *given, "--bode", picture, "--out", matrices
    )
    s = lb.load(EXAMPLES / "canadarm.yaml").build()
    m = lb.linearize(s, inputs=["link1"], outputs=[("position", "link2", "tip", "y"), "link2"])
    assert found["inputs"] == ["torque link1"]
    assert found["outputs"] == list(m.outputs)
    assert np.allclose(found["A"], m.A) and np.allclose(found["B"], m.B)
    assert picture.stat().st_size > 5000
    with np.load(matrices) as saved:
        assert np.array_equal(saved["C"], found["C"])


def test_poles_are_printed_as_frequencies():
    text = limber("linearize", EXAMPLES / "canadarm.yaml").stdout
    assert "frequency Hz" in text and "integrates" in text


def test_a_scenario_is_linearized_at_its_start_and_at_a_time():
    file = EXAMPLES / "canadarm_slew.yaml"
    start, later = (limber_json("linearize", file, "--at", at) for at in ("start", "0.05"))
    assert np.shape(start["A"]) == np.shape(later["A"])
    assert not np.allclose(start["A"], later["A"])


def test_a_scenario_is_linearized_as_it_is_closed_at_the_time(tmp_path):
    file = tmp_path / "grasp.yaml"
    file.write_text(
        """
limber: 1
model:
  bodies:
    one: {rigid: {mass: 2, inertia: [1, 1, 1]}, joint: free}
    two: {rigid: {mass: 3, inertia: [1, 2, 2]}, joint: {prismatic: x}, to: one}
closures:
  - {name: grip, a: {body: one}, b: {body: two}, joint: fixed}
events:
  - {at: 0.5, do: [{attach: grip, in_place: true}]}
duration: 1
"""
    )
    before, after = (limber_json("linearize", file, "--at", at) for at in ("0.25", "0.75"))
    assert len(before["poles"]) == 14
    assert len(after["poles"]) == 12


def test_a_scenario_is_linearized_with_the_propellant_that_is_left(tmp_path):
    file = tmp_path / "burn.yaml"
    file.write_text(
        """
limber: 1
model:
  bodies:
    bus: {rigid: {mass: 20, inertia: [5, 5, 5]}, joint: free}
    tank: {rigid: {mass: 80, inertia: [4, 4, 4]}, joint: {prismatic: x, stiffness: 500}, to: bus}
environment:
  orbit: {altitude: 4.0e5}
  burns: [{body: bus, thrust: [0, 0, 10], start: 0, duration: 50, isp: 1, tank: tank}]
duration: 60
"""
    )
    found = limber_json("linearize", file, "--at", "55")
    left = 80.0 - 50.0 * 10.0 / lb.orbit.G0
    reduced = 20.0 * left / (20.0 + left)
    assert max(found["frequencies"]) == pytest.approx(
        np.sqrt(500.0 / reduced) / (2 * np.pi), rel=1e-5
    )


def test_closed_models_and_equilibria(tmp_path):
    lb.save(four_bar(), tmp_path / "bar.yaml")
    found = limber_json("linearize", tmp_path / "bar.yaml", "--at", "equilibrium")
    s = four_bar().build()
    expected = lb.modes(s, lb.equilibrium(s, lb.assemble(s))).frequencies
    assert found["frequencies"] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    "given, text",
    [
        (["--at", "noon"], "which has no times"),
        (["--input", "[force, link1"], "not a YAML list"),
        (["--output", "[place, link1]"], "not a kind of output"),
        (["--out", "model.txt"], "must end in .npz"),
        (
            ["--bode", "bode.png"],
            "450 pairs, which are too many to draw (at most 24): choose some with --input and --output",
        ),
    ],
)
def test_wrong_options_are_refused(given, text):
    assert text in limber("linearize", EXAMPLES / "canadarm.yaml", *given, code=2).stderr


ARM = """
limber: 1
model:
  gravity: [0, -9.81, 0]
  bodies:
    link:
      beam: {length: 1.0, mass: 2.0, EI: 100, modes: {y: 1}, damping: 0.02}
      joint: {revolute: z, armature: 0.5}
duration: 1
"""
HELD = "initial: {q: {link: 2.5}, equilibrium: %s}\n"
PD = "controller: {pd: {kp: [100], kd: [20], sample_time: 0.01, reference: {link: 2.5}}, delay: 0.01}\n"


def test_a_controlled_scenario_in_equilibrium_has_the_torques_that_hold_it(tmp_path):
    arm = tmp_path / "arm.yaml"
    arm.write_text(ARM + HELD % "{}" + PD)
    s = load_scenario(arm).system
    q = lb.equilibrium(s, load_scenario(arm).q0, locked=["link"])
    tau = lb.inverse_dynamics(s, q, np.zeros(2), np.zeros(2))
    assert abs(tau[1]) > 5.0
    for at in ("start", "0", "equilibrium"):
        found = limber_json("linearize", arm, "--at", at)
        assert found["q"] == pytest.approx(q)
        assert found["equilibrium"]
        assert np.allclose(found["A"], lb.linearize(s, q, tau=tau).A)
    text = limber("linearize", arm, "--at", "equilibrium").stdout
    assert "link 2.5, joints held: link." in text
    text = limber("modes", arm, "--equilibrium").stdout
    assert "joints held: link: link 2.5." in text


def test_a_state_that_is_no_equilibrium_is_told(tmp_path):
    arm = tmp_path / "arm.yaml"
    arm.write_text(ARM + HELD % "false" + PD)
    done = limber("linearize", arm)
    assert done.stderr.count("Not an equilibrium") == 1 and "--at equilibrium finds" in done.stderr
    assert "Not an equilibrium" in limber("linearize", EXAMPLES / "dh_arm.yaml").stderr
    assert "Not an eq" not in limber("linearize", EXAMPLES / "canadarm.yaml").stderr


def test_the_equilibrium_of_a_scenario_is_that_under_its_torques(tmp_path):
    arm = tmp_path / "arm.yaml"
    arm.write_text(ARM + "initial: {q: {link: -0.5}}\ntorque: {constant: {link: 5.0}}\n")
    case = load_scenario(arm)
    q = lb.equilibrium(case.system, case.q0, tau=case.torque)
    assert abs(q[-1] + 0.5 * np.pi) > 0.3
    assert limber_json("linearize", arm, "--at", "equilibrium")["q"] == pytest.approx(q)
    assert limber_json("modes", arm, "--equilibrium")["q"] == pytest.approx(q)


def test_help_has_the_lists_in_square_brackets():
    text = " ".join(limber("linearize", "--help").stdout.replace("│", " ").split())
    for words in (
        "[position, link2, tip, y]",
        "[force, link1, tip, y]",
        "[position, link1, tip, y]",
    ):
        assert words in text
